//! The small file system of a case: one entry to a line.
//!
//! ```text
//! usr/include/cuda.h                 a text file, whose lines stand below it, each behind four spaces
//!     #define CUDA_VERSION 12080
//! usr/include/cudnn.h (empty)        an empty file
//! usr/lib64/libcudnn.so.9 (elf)      a library that tells nothing; `elf aarch64`: for that processor; `elf cut`: torn
//! dnn/bin/cudnn64_9.dll (dll version 9.1.0, imports cublas64_12.dll one two)
//!                                    a DLL that says this, see `host/dll/made.rs`; `dll`: one that says nothing
//! usr/bin/nvcc (failing program)     a program that is only looked at
//! usr/bin/nvcc (program)             a script, whose lines stand below it, as those of the next ones do
//! usr/include/cudnn.h (crlf)         a text file with the line ends of Windows; `bom crlf`: with a byte order mark too
//! proc/version (unended)             a text file without a newline at its end
//! usr/local/cuda -> cuda-12.8        a link
//! opt/nothing/                       an empty directory
//! ```

use crate::host::dll::made::Made;
use std::fs;
use std::path::Path;

const INDENT: &str = "    ";

/// Makes it in `root`, with libraries for the processor `cpu`.
pub fn make(lines: &[String], root: &Path, cpu: &str) {
    fs::create_dir_all(root).unwrap();
    let mut rest = lines;
    while let [line, below @ ..] = rest {
        let is_text = |line: &String| line.is_empty() || line.starts_with(INDENT);
        let end = below.iter().take_while(|line| is_text(line)).count();
        let text: Vec<&str> = below[..end]
            .iter()
            .map(|line| line.strip_prefix(INDENT).unwrap_or(line))
            .collect();
        let text = text.join("\n");
        let (path, entry) = Entry::parse(line, text.trim_end_matches('\n'), cpu);
        entry.write(&root.join(path), root);
        rest = &below[end..];
    }
}

enum Entry {
    Directory,
    Link(String),
    Program(String),
    File(Vec<u8>),
}

impl Entry {
    fn parse<'a>(line: &'a str, text: &str, cpu: &str) -> (&'a str, Self) {
        let kind = line.strip_suffix(')').and_then(|it| it.rsplit_once(" ("));
        let (path, kind) = kind.unwrap_or((line, "text"));
        let has_text = matches!(kind, "text" | "crlf" | "bom crlf" | "unended" | "program");
        let bare = path.ends_with('/') || path.contains(" -> ");
        assert!(
            (has_text && !bare) != text.is_empty(),
            "{line:?}: text stands below a file that has some, and below no other entry"
        );
        if let Some(path) = line.strip_suffix('/') {
            return (path, Self::Directory);
        }
        if let Some((path, target)) = line.split_once(" -> ") {
            return (path, Self::Link(target.to_string()));
        }
        let bytes = match kind {
            "text" => format!("{text}\n").into_bytes(),
            "crlf" => format!("{text}\n").replace('\n', "\r\n").into_bytes(),
            "bom crlf" => format!("\u{feff}{text}\n")
                .replace('\n', "\r\n")
                .into_bytes(),
            "unended" => text.into(),
            "program" => return (path, Self::Program(format!("{text}\n"))),
            "failing program" => return (path, Self::Program(FAILING.to_string())),
            "empty" => Vec::new(),
            "elf" => bare_elf(cpu).into(),
            "elf aarch64" => bare_elf("aarch64").into(),
            "elf cut" => bare_elf(cpu)[..40].into(),
            "dll" => Made::from_lines("", cpu),
            _ => match kind.strip_prefix("dll ") {
                Some(says) => Made::from_lines(&says.replace(", ", "\n"), cpu),
                None => panic!("{line:?}: {kind:?} is no kind of file"),
            },
        };
        (path, Self::File(bytes))
    }

    fn write(&self, path: &Path, root: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        assert!(
            path.symlink_metadata().is_err(),
            "{path:?} stands there twice"
        );
        match self {
            Self::Directory => fs::create_dir(path).unwrap(),
            Self::Link(target) => link(&target.replace("$ROOT", root.to_str().unwrap()), path),
            Self::Program(text) => program(text, path),
            Self::File(bytes) => fs::write(path, bytes).unwrap(),
        }
    }
}

const FAILING: &str = "#!/bin/sh\necho 'this compiler is only looked at' >&2\nexit 1\n";

/// The shortest file that is a library: a header that counts nothing.
fn bare_elf(cpu: &str) -> [u8; 64] {
    let mut bytes = [0; 64];
    bytes[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    bytes[16] = 3; // a shared library
    bytes[18] = if cpu == "aarch64" { 183 } else { 62 };
    bytes[20] = 1; // the version of the format
    bytes[52] = 64; // the size of this header
    bytes[58] = 64; // the size of a section's header
    bytes
}

/// Written by another program: were it written here, a test that starts a program at the same time could hold it open,
/// and a file that is open for writing cannot be started.
#[cfg(unix)]
fn program(text: &str, path: &Path) {
    let status = std::process::Command::new("sh")
        .args(["-c", r#"printf %s "$1" >"$0" && chmod 755 "$0""#])
        .arg(path)
        .arg(text)
        .status();
    assert!(status.unwrap().success());
}

#[cfg(not(unix))]
fn program(text: &str, path: &Path) {
    fs::write(path, text).unwrap();
}

#[cfg(unix)]
fn link(target: &str, path: &Path) {
    std::os::unix::fs::symlink(target, path).unwrap();
}

#[cfg(not(unix))]
fn link(_: &str, _: &Path) {
    panic!("cases with links run on Unix");
}
