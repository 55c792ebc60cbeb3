//! Checks whether paths can be passed to cargo, the loader and nvcc. Paths that cannot be passed are errors and are
//! never changed.

use std::path::Path;

/// Returns the reason why this path cannot be printed for cargo. cargo reads UTF-8 and trims trailing space.
pub fn cargo_cannot_take(path: &Path) -> Option<&'static str> {
    match path.to_str() {
        None => Some("a path that is not UTF-8"),
        Some(text) if text.contains(char::is_control) => Some("a path with a control character"),
        Some(text) if text.trim_end() != text => Some("a path that ends with whitespace"),
        Some(_) => None,
    }
}

/// Returns the reason why an rpath cannot contain this directory. The loader splits an rpath at colons, and replaces
/// `$ORIGIN`, `$LIB` and `$PLATFORM` (see ld.so(8)).
pub fn loader_cannot_take(dir: &Path) -> Option<&'static str> {
    let text = dir.to_string_lossy();
    let replaced = ["ORIGIN", "LIB", "PLATFORM"]
        .iter()
        .any(|name| text.contains(&format!("${name}")) || text.contains(&format!("${{{name}}}")));
    if text.contains(':') {
        Some("the loader treats `:` as the end of a directory")
    } else if replaced {
        Some("the loader replaces its `$` variable")
    } else {
        None
    }
}

/// Returns a character of this path that nvcc does not pass on unchanged. nvcc runs its programs through a shell and
/// splits some of its options at commas. Spaces are safe.
pub fn nvcc_cannot_take(path: &Path) -> Option<char> {
    let text = path.to_string_lossy();
    text.chars()
        .find(|character| ['$', '`', '"', '\'', '\\', ','].contains(character))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_a_line_cannot_contain() {
        for good in [
            "/a b",
            "/ü",
            "/a\u{200f}",
            "/a$HOME",
            "/a\"b'c",
            "/a\\b",
            "/a,b=c",
            "/a:b",
            "/ a",
        ] {
            assert_eq!(cargo_cannot_take(Path::new(good)), None, "{good:?}");
        }
        for bad in [
            "/a\nb",
            "/a\rcargo::error=x",
            "/a\tb",
            "/a ",
            "/a\u{1b}[2J",
            "/a\u{a0}",
        ] {
            assert!(cargo_cannot_take(Path::new(bad)).is_some(), "{bad:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_path_that_is_not_utf8() {
        use std::os::unix::ffi::OsStrExt;
        let path = Path::new(std::ffi::OsStr::from_bytes(b"/a\xff"));
        assert_eq!(cargo_cannot_take(path), Some("a path that is not UTF-8"));
    }

    #[test]
    fn a_directory_that_an_rpath_cannot_contain() {
        for good in ["/a b", "/a$HOME", "/a,b", "/LIB"] {
            assert_eq!(loader_cannot_take(Path::new(good)), None, "{good:?}");
        }
        for bad in ["/a:b", "/$ORIGIN/lib", "/${LIB}/x", "/$PLATFORM"] {
            assert!(loader_cannot_take(Path::new(bad)).is_some(), "{bad:?}");
        }
    }

    #[test]
    fn a_path_that_a_shell_would_change() {
        for good in ["/a b", "/ü", "/a=b", "/a;b&c(d)", "/a:b"] {
            assert_eq!(nvcc_cannot_take(Path::new(good)), None, "{good:?}");
        }
        for (bad, why) in [
            ("/a$HOME", '$'),
            ("/a`b`", '`'),
            ("/a,b", ','),
            ("/a'b", '\''),
        ] {
            assert_eq!(nvcc_cannot_take(Path::new(bad)), Some(why), "{bad:?}");
        }
    }
}
