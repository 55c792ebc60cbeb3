//! A wheel's RECORD: its files, with the hash and the size of each.

use sha2::{Digest, Sha256};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path};

/// A line `path,sha256=hash,size`.
#[derive(Debug, PartialEq)]
pub struct RecordedFile {
    /// Where it is, from the folder that the wheel is installed in.
    pub path: String,
    /// The hash of its contents, in base64 as RECORD has it.
    sha256: Option<String>,
    size: Option<u64>,
}

/// What a file has instead of what is recorded.
#[derive(Debug)]
pub enum Damage {
    /// It is not there.
    Missing,
    /// It has another size.
    Size { found: u64, recorded: u64 },
    /// It has the size, and not the hash.
    Contents,
    /// It is there, and cannot be read.
    Unreadable(io::Error),
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Damage::Missing => f.write_str("is missing"),
            Damage::Size { found, recorded } => {
                write!(f, "has {found} bytes instead of {recorded}")
            }
            Damage::Contents => f.write_str("has other contents"),
            Damage::Unreadable(error) => write!(f, "cannot be read: {error}"),
        }
    }
}

/// The files of a RECORD that stay as they were installed. Bytecode, and what the installer put outside, come and go;
/// what makes `nvidia` a package is every wheel's, and is not moved along.
pub fn parse(text: &str) -> impl Iterator<Item = RecordedFile> + '_ {
    text.lines().filter_map(line).filter(|file| {
        let mut parts = Path::new(&file.path).components();
        let inside = parts.all(|part| matches!(part, Component::Normal(_)));
        inside && !file.path.ends_with(".pyc") && file.path != "nvidia/__init__.py"
    })
}

/// A path with a comma stands in quotes.
fn line(line: &str) -> Option<RecordedFile> {
    let mut fields = line.rsplitn(3, ',');
    let size = fields.next()?.trim().parse().ok();
    let sha256 = fields.next()?.strip_prefix("sha256=").map(String::from);
    let path = fields.next()?;
    let in_quotes = path
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    let path = match in_quotes {
        Some(inner) => inner.replace("\"\"", "\""),
        None => path.to_string(),
    };
    Some(RecordedFile { path, sha256, size })
}

impl RecordedFile {
    /// What is wrong with it in a folder, as far as that is seen without reading it.
    pub fn damage_at_a_glance(&self, dir: &Path) -> Option<Damage> {
        let found = match fs::metadata(dir.join(&self.path)) {
            Ok(found) if found.is_file() => found.len(),
            _ => return Some(Damage::Missing),
        };
        let recorded = self.size.filter(|recorded| *recorded != found)?;
        Some(Damage::Size { found, recorded })
    }

    /// What is wrong with it in a folder.
    pub fn damage(&self, dir: &Path) -> Option<Damage> {
        if let Some(damage) = self.damage_at_a_glance(dir) {
            return Some(damage);
        }
        let recorded = self.sha256.as_ref()?;
        match sha256(&dir.join(&self.path)) {
            Ok(found) if found == *recorded => None,
            Ok(_) => Some(Damage::Contents),
            Err(error) => Some(Damage::Unreadable(error)),
        }
    }
}

/// The hash of a file, as RECORD has it: https://packaging.python.org/specifications/recording-installed-packages/
fn sha256(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let count = file.read(&mut buffer)?;
        match buffer.get(..count) {
            Some(bytes) if !bytes.is_empty() => hasher.update(bytes),
            _ => return Ok(base64(&hasher.finalize())),
        }
    }
}

/// The base64 of URLs, without padding.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let number = |index: usize| three.get(index).copied().map_or(0, u32::from);
        let bits = number(0) << 16 | number(1) << 8 | number(2);
        for index in 0..=three.len() {
            let digit = bits >> (18 - 6 * index) & 63;
            out.push(char::from(DIGITS[digit as usize]));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(path: &str, sha256: Option<&str>, size: Option<u64>) -> RecordedFile {
        RecordedFile {
            path: path.to_string(),
            sha256: sha256.map(String::from),
            size,
        }
    }

    #[test]
    fn a_record_gives_paths_hashes_and_sizes() {
        let text = "a/b.h,sha256=x,12\n\"c,d\"\"e.h\",sha256=y-_,3\na-1.dist-info/RECORD,,\nf.h,md5=z,1\nnonsense\n";
        assert_eq!(
            parse(text).collect::<Vec<_>>(),
            [
                recorded("a/b.h", Some("x"), Some(12)),
                recorded("c,d\"e.h", Some("y-_"), Some(3)),
                recorded("a-1.dist-info/RECORD", None, None),
                recorded("f.h", None, Some(1)),
            ]
        );
    }

    #[test]
    fn what_comes_and_goes_is_left_out() {
        let text = "nvidia/__pycache__/__init__.cpython-311.pyc,,\n../../bin/nvcc,sha256=x,1\n/etc/passwd,,\n\
            nvidia/__init__.py,sha256=x,0\nnvidia/cudnn/__init__.py,sha256=x,0\n";
        assert_eq!(
            parse(text).collect::<Vec<_>>(),
            [recorded("nvidia/cudnn/__init__.py", Some("x"), Some(0))]
        );
    }

    /// RFC 4648, section 10, without the padding; and the two digits that URLs have for themselves.
    #[test]
    fn base64_is_that_of_urls() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg"),
            ("fo", "Zm8"),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg"),
        ] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
        assert_eq!(base64(&[0xfb, 0xff]), "-_8");
    }

    /// The first is what every wheel's RECORD says of an empty file, as its REQUESTED is.
    #[test]
    fn a_file_is_told_from_one_with_other_contents() {
        let dir = std::env::temp_dir().join(format!("cudnn-guard-record-{}", std::process::id()));
        fs::create_dir_all(dir.join("folder")).expect("a folder");
        fs::write(dir.join("empty"), "").expect("a file");
        fs::write(dir.join("one"), "1").expect("a file");
        let empty = Some("47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU");
        let one = Some("a4ayc_80_OGda4BO_1o_V0etpOqiLx1JwB5S3beHW0s");
        for (file, told) in [
            (recorded("empty", empty, Some(0)), None),
            (recorded("one", one, Some(1)), None),
            (recorded("one", one, None), None),
            (recorded("one", None, None), None),
            (recorded("one", empty, Some(1)), Some("has other contents")),
            (
                recorded("one", one, Some(2)),
                Some("has 1 bytes instead of 2"),
            ),
            (recorded("two", one, Some(1)), Some("is missing")),
            (recorded("folder", None, None), Some("is missing")),
        ] {
            let damage = file.damage(&dir).map(|damage| damage.to_string());
            assert_eq!(damage.as_deref(), told, "{file:?}");
        }
        fs::remove_dir_all(&dir).expect("room again");
    }
}
