//! What the targets share: a file to read, and what holds of every text that is shown or that cargo reads.

use cudnn_guard::fuzzing::directive::Directive;
use cudnn_guard::runtime::facts::json::is_unprintable;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// A file with these bytes, in the place of the one before. `.ci/fuzz` has TMPDIR lie in memory.
pub fn file(bytes: &[u8]) -> &'static Path {
    static FILE: LazyLock<PathBuf> = LazyLock::new(|| folder().join("file"));
    std::fs::write(&*FILE, bytes).expect("a file in TMPDIR");
    &FILE
}

/// A folder of this process.
pub fn folder() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("cudnn-guard-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder in TMPDIR");
    folder
}

/// Nothing that was read is shown unescaped.
#[track_caller]
pub fn expect_printable(text: &str) {
    let odd = text
        .chars()
        .find(|one| *one != '\n' && is_unprintable(*one));
    assert_eq!(odd, None, "{text:?}");
}

/// A directive is one line; an rpath with a comma in it is two.
#[track_caller]
pub fn expect_directive(directive: &Directive) {
    let text = directive.to_string();
    let count = match directive {
        Directive::Rpath(dir) if dir.to_string_lossy().contains(',') => 2,
        _ => 1,
    };
    assert_eq!(text.split(['\n', '\r']).count(), count, "{text:?}");
    let is_told = matches!(directive, Directive::Text(_));
    let mut lines = text.lines();
    assert!(
        is_told || lines.all(|line| line.starts_with("cargo::")),
        "{text:?}"
    );
}
