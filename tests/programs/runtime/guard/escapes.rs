//! Names with terminal control characters, in everything that the guard writes.

use super::program::{GPU, command};
use crate::support::installation::{Folder, copy};
use std::fs;
use std::path::{Path, PathBuf};

/// An escape sequence, a line break, all characters that change the text direction (Unicode's Bidi_Control), and some
/// without a width.
const NAME: &str = "a\u{1b}[2J\nline\u{61c}\u{200e}\u{200f}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}\u{ad}\u{200b}\u{2060}\u{feff}\u{e0001}";

/// Returns everything that a run writes: stderr, the JSON report and the termination message.
fn written(task: &str, library_path: &str, variables: &[(&str, &str)]) -> String {
    let folder = Folder::new();
    let [text, json, log] = ["text", "json", "termination-log"].map(|name| folder.file(name));
    fs::write(&log, "").unwrap();
    let mut command = command(task, Path::new(library_path));
    command.envs(variables.iter().copied());
    command.env("TEST_TEXT", &text).env("TEST_JSON", &json);
    let output = command.env("CUDNN_GUARD_REPORT", &log).output().unwrap();
    let mut all = String::from_utf8(output.stderr).unwrap();
    for file in [text, json, log] {
        all += &fs::read_to_string(file).unwrap_or_default();
        all.push('\n');
    }
    all
}

#[test]
fn control_characters_in_names_are_escaped() {
    let folder = Folder::new();
    let cudnn = |release: &str| {
        let into = folder.file(release).join(NAME);
        copy(&Folder::new().with_cudnn(release).0, &into);
        into.to_str().unwrap().to_string()
    };
    let file = |folder: &str, name: &str| -> PathBuf { Path::new(folder).join(name) };
    let (sound, older, newer) = (cudnn("9.14.0"), cudnn("9.10.2"), cudnn("9.28.0"));
    let mut all = vec![written("startup", &older, &[GPU])];

    let (library, part) = ("libcudnn.so.9", "libcudnn_adv.so.9");
    fs::remove_file(file(&older, library)).unwrap();
    fs::create_dir(file(&older, library)).unwrap();
    all.push(written("startup", &older, &[]));

    fs::remove_file(file(&newer, "libcudnn_graph.so.9")).unwrap();
    let allowed = ("CUDNN_GUARD_ALLOW", "parts-missing");
    all.push(written("startup", &newer, &[GPU, allowed]));

    // A sub-library with such a name, and a sub-library from such a directory.
    let named = format!("libcudnn_{NAME}.so.9");
    fs::rename(file(&sound, part), file(&sound, &named)).unwrap();
    let other = folder.file("other").join(NAME);
    fs::create_dir_all(&other).unwrap();
    let ops = "libcudnn_ops.so.9";
    fs::rename(file(&sound, ops), other.join(ops)).unwrap();
    let other = other.to_str().unwrap();
    all.push(written("check", &format!("{sound}:{other}"), &[GPU]));

    let begins = [
        "loaded cuDNN 9.10.2 is ",
        "cudnn-guard: unknown: ",
        "cudnn-guard: allowed ",
        "cuDNN: pass\n",
    ];
    for (text, begin) in all.iter().zip(begins) {
        assert!(text.trim_start().starts_with(begin), "{text}");
        let acted_on = |c: char| c != '\n' && (c.is_control() || !c.is_ascii());
        assert!(!text.contains(acted_on), "{text:?}");
        assert!(
            !text
                .lines()
                .any(|line| line.trim_start().starts_with("line")),
            "{text}"
        );
    }
}
