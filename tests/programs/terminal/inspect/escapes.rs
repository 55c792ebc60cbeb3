//! Names with control characters in the output of `inspect`.

use super::image::{Image, linked};
use crate::support::circumstances::installed;
use crate::support::{program, run, simulated};
use std::fs;

/// An escape sequence, a line break, and a character that changes the text direction.
const NAME: &str = "a\u{1b}[2J\nline\u{202e}";

#[test]
fn control_characters_in_names_are_not_printed() {
    let image = Image::new("escapes");
    let (folder, missing) = (image.at(NAME), format!("libmissing{NAME}.so"));
    image.cudnn(NAME, 14);
    simulated::copy(
        &installed((9, 14, 0)).join("driver"),
        &folder.join("driver"),
    );
    image.library(&missing, "int missing;", &[]);
    let flags = [
        format!("IMAGE/{NAME}/libcudnn.so.9"),
        format!("IMAGE/{missing}"),
        format!("-Wl,-rpath,IMAGE/{NAME}"),
    ];
    let record = linked("9.14.0").replace("crate app", "crate app\u{1b}[2J\u{202e}");
    image.program(&[&record], &flags.each_ref().map(String::as_str));
    fs::remove_file(image.at(&missing)).unwrap();
    let written = || {
        let mut inspect = program(env!("CARGO_BIN_EXE_cudnn-guard"));
        inspect.arg("inspect").arg(image.at("app/app"));
        run(inspect.env("LD_LIBRARY_PATH", folder.join("driver")))
    };
    let whole = written().exits_with(1).says("GPU").says("found via");
    // A crate whose record was written by a later version.
    let later = record.replace("policy compatible", "policy later\u{202e}");
    image.program(&[&later], &[&flags[0], &flags[2]]);
    let unknown = written().exits_with(0).says("verdict: unknown");
    for text in [whole.text(), unknown.text()] {
        let acted_on = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!text.contains(acted_on), "{text:?}");
        assert!(!text.lines().any(|line| line.starts_with("line")), "{text}");
    }
}
