//! Atomic replacement of a text file: if it is interrupted, the old file remains.

use crate::runtime::report::output::replace_file;
use crate::system::files;
use std::path::Path;
use std::{fs, io};

const BYTE_ORDER_MARK: char = '\u{feff}';

/// Reads a text without its byte order mark, and with `\n` if every line ends with `\r\n`. Returns `None` if the file does
/// not exist.
pub fn read(path: &Path) -> io::Result<Option<String>> {
    match files::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        text => Ok(Some(as_edited(&text?))),
    }
}

/// Replaces a file, keeping its byte order mark, line ends and mode. Like in an editor, a link is kept, and its target is
/// replaced. A link without a target is replaced itself.
pub fn replace(path: &Path, text: &str) -> io::Result<()> {
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let old = files::read_to_string(&real).unwrap_or_default();
    replace_file(&real, &in_form_of(&old, text))
}

/// Converts a file's text to the form that [`read`] returns.
pub fn as_edited(file: &str) -> String {
    let text = file.strip_prefix(BYTE_ORDER_MARK).unwrap_or(file);
    if has_windows_lines(text) {
        text.replace("\r\n", "\n")
    } else {
        text.to_string()
    }
}

/// Converts a new text to the form of the old file.
pub fn in_form_of(old: &str, text: &str) -> String {
    let mut text = text.to_string();
    if has_windows_lines(old) {
        text = text.replace('\n', "\r\n");
    }
    if old.starts_with(BYTE_ORDER_MARK) {
        text.insert(0, BYTE_ORDER_MARK);
    }
    text
}

/// Returns `true` if all lines end with `\r\n`.
fn has_windows_lines(text: &str) -> bool {
    let lines = text.matches('\n').count();
    lines > 0 && text.matches("\r\n").count() == lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edited_text_keeps_its_form() {
        for (file, edited) in [
            ("", ""),
            ("a\nb", "a\nb"),
            ("a\r\nb", "a\nb"),
            ("\u{feff}a\r\nb\r\n", "a\nb\n"),
            ("\u{feff}a\n", "a\n"),
            // Mixed line ends stay.
            ("a\r\nb\n", "a\r\nb\n"),
            ("\u{feff}\u{feff}a\r", "\u{feff}a\r"),
        ] {
            assert_eq!(as_edited(file), edited, "{file:?}");
            assert_eq!(in_form_of(file, edited), file);
        }
    }

    #[test]
    #[cfg(unix)]
    fn a_replaced_file_keeps_its_mode() {
        use std::os::unix::fs::PermissionsExt;
        let path = std::env::temp_dir().join(format!("cudnn-guard-whole-{}", std::process::id()));
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        replace(&path, "new").unwrap();
        let (text, mode) = (
            fs::read_to_string(&path),
            fs::metadata(&path).unwrap().permissions().mode(),
        );
        fs::remove_file(&path).unwrap();
        assert_eq!((text.unwrap().as_str(), mode & 0o777), ("new", 0o600));
    }

    /// A cloned repository may contain a link with any name.
    #[test]
    #[cfg(unix)]
    fn no_other_file_is_written() {
        use std::os::unix::fs::symlink;
        let dir = std::env::temp_dir().join(format!("cudnn-guard-beside-{}", std::process::id()));
        fs::create_dir(&dir).unwrap();
        let at = |name: &str| dir.join(name);
        for (name, text) in [
            ("own", "old"),
            ("own.new", "mine"),
            ("real", "old"),
            ("other", "mine"),
        ] {
            fs::write(at(name), text).unwrap();
        }
        symlink(at("other"), at("fresh.new")).unwrap();
        symlink("real", at("link")).unwrap();
        symlink(at("absent"), at("dangling")).unwrap();
        for name in ["own", "fresh", "link", "dangling"] {
            replace(&at(name), "new").unwrap();
        }
        let read = |name| fs::read_to_string(at(name)).unwrap_or_default();
        let (texts, links) = (
            [
                "own", "fresh", "real", "dangling", "own.new", "other", "absent",
            ]
            .map(read),
            ["fresh.new", "link", "dangling"].map(|name| at(name).is_symlink()),
        );
        fs::remove_dir_all(&dir).unwrap();
        assert_eq!(texts, ["new", "new", "new", "new", "mine", "mine", ""]);
        assert_eq!(links, [true, true, false]);
    }
}
