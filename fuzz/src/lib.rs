//! Helpers for the targets: a file to read, and checks of text that is printed or that cargo reads.

use cudnn_guard::fuzzing::directive::Directive;
use cudnn_guard::internals::facts::is_unprintable;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Writes the bytes to a file, replacing the previous one. `.ci/fuzz` sets TMPDIR to a directory in memory.
pub fn file(bytes: &[u8]) -> &'static Path {
    static FILE: LazyLock<PathBuf> = LazyLock::new(|| folder().join("file"));
    std::fs::write(&*FILE, bytes).expect("cannot write a file in TMPDIR");
    &FILE
}

/// Creates a directory for this process.
pub fn folder() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("cudnn-guard-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("cannot create a directory in TMPDIR");
    folder
}

/// Checks that text from the input was escaped.
#[track_caller]
pub fn expect_printable(text: &str) {
    let odd = text
        .chars()
        .find(|one| *one != '\n' && is_unprintable(*one));
    assert_eq!(odd, None, "{text:?}");
}

/// Checks that a directive is one line, or two for an rpath that contains a comma.
#[track_caller]
pub fn expect_directive(directive: &Directive) {
    let text = directive.to_string();
    let count = match directive {
        Directive::Rpath(dir) if dir.to_string_lossy().contains(',') => 2,
        _ => 1,
    };
    assert_eq!(text.split(['\n', '\r']).count(), count, "{text:?}");
    let is_text = matches!(directive, Directive::Text(_));
    let mut lines = text.lines();
    assert!(
        is_text || lines.all(|line| line.starts_with("cargo::")),
        "{text:?}"
    );
}
