//! Installed wheels: their versions, and the files in their RECORDs, with hash and size.

use crate::cli::terminal::harmless;
use crate::runtime::binary::bounded_file::files_in;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

/// An installed wheel, as left by `pip install --target` in a directory.
#[derive(Clone)]
pub struct Wheel {
    /// Its name in the spelling of its directory: `nvidia_cudnn_cu13`.
    pub name: String,
    /// Its version: `9.14.0.64`.
    pub version: String,
    /// The directory of its RECORD: `nvidia_cudnn_cu13-9.14.0.64.dist-info`.
    pub info: PathBuf,
}

/// A line `path,sha256=hash,size` of a RECORD.
#[derive(Debug, PartialEq)]
pub struct RecordedFile {
    /// The path relative to the directory that the wheel is installed in.
    pub path: String,
    /// The SHA-256 of the contents, in RECORD's base64.
    sha256: Option<String>,
    size: Option<u64>,
}

/// The Python packages in CUTLASS's wheels besides the headers. `cutlass` is in older ones, such as 3.8.
const NOT_MOVED: [&str; 3] = ["cutlass/", "cutlass_cppgen/", "pycute/"];

pub fn installed(dir: &Path) -> Vec<Wheel> {
    let entries = files_in(dir).into_iter();
    let wheel = |info: PathBuf| {
        let stem = info.file_name()?.to_str()?.strip_suffix(".dist-info")?;
        let (name, version) = stem.split_once('-')?;
        Some(Wheel {
            name: name.to_ascii_lowercase().replace(['-', '.'], "_"),
            version: version.to_string(),
            info,
        })
    };
    entries.filter_map(wheel).collect()
}

impl Wheel {
    /// Reads the files in its RECORD.
    ///
    /// # Errors
    /// The reason why they cannot be read, for messages.
    pub fn files(&self) -> Result<Vec<RecordedFile>, String> {
        match fs::read_to_string(self.info.join("RECORD")) {
            Ok(text) => Ok(parse(&text).collect()),
            Err(_) => Err("RECORD is missing".to_string()),
        }
    }

    /// Describes the first file that is missing or has another size.
    pub fn damage(&self) -> Option<String> {
        let dir = self.info.parent()?;
        match self.files() {
            Ok(files) => files.iter().find_map(|file| {
                let damage = file.damage_at_a_glance(dir)?;
                Some(harmless(&format!("{} {damage}", file.path)))
            }),
            Err(why) => Some(why),
        }
    }

    pub fn licenses(&self) -> Vec<PathBuf> {
        let dirs = ["licenses", "license_files", "."].map(|folder| self.info.join(folder));
        let mut found: Vec<PathBuf> = dirs.iter().flat_map(|dir| files_in(dir)).collect();
        found.retain(|path| {
            let name = path.file_name().unwrap_or_default().to_ascii_lowercase();
            path.is_file() && name.to_string_lossy().starts_with("license")
        });
        found.sort();
        found
    }
}

/// Parses the files of a RECORD that stay unchanged after the installation. Bytecode and files outside the directory
/// may change. `nvidia/__init__.py` is in every wheel and is not moved with one, nor are CUTLASS's other Python packages.
fn parse(text: &str) -> impl Iterator<Item = RecordedFile> + '_ {
    text.lines().filter_map(parse_line).filter(|file| {
        let mut parts = Path::new(&file.path).components();
        let inside = parts.all(|part| matches!(part, Component::Normal(_)));
        let is_moved = file.path != "nvidia/__init__.py"
            && !NOT_MOVED.iter().any(|dir| file.path.starts_with(dir));
        inside && !file.path.ends_with(".pyc") && is_moved
    })
}

/// Parses a line. A path with a comma is in quotation marks.
fn parse_line(line: &str) -> Option<RecordedFile> {
    let mut fields = line.rsplitn(3, ',');
    let size = fields.next()?.trim().parse().ok();
    let sha256 = fields.next()?.strip_prefix("sha256=").map(String::from);
    let path = fields.next()?;
    let in_quotes = path.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
    let path = in_quotes.map_or(path.to_string(), |inner| inner.replace("\"\"", "\""));
    Some(RecordedFile { path, sha256, size })
}

impl RecordedFile {
    /// Describes damage that is visible without reading the contents.
    pub fn damage_at_a_glance(&self, dir: &Path) -> Option<String> {
        let found = match fs::metadata(dir.join(&self.path)) {
            Ok(found) if found.is_file() => found.len(),
            _ => return Some("is missing".to_string()),
        };
        let recorded = self.size.filter(|recorded| *recorded != found)?;
        Some(format!("has {found} bytes instead of {recorded}"))
    }

    pub fn damage_of_contents(&self, dir: &Path) -> Option<String> {
        let recorded = self.sha256.as_ref()?;
        match sha256(&dir.join(&self.path)) {
            Ok(found) if found == *recorded => None,
            Ok(_) => Some("has different contents".to_string()),
            Err(error) => Some(format!("cannot be read: {error}")),
        }
    }
}

/// Returns the hash of a file in [the format of
/// RECORD](https://packaging.python.org/specifications/recording-installed-packages/).
fn sha256(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(BASE64_URL_SAFE_NO_PAD.encode(hasher.finalize())),
            count => hasher.update(&buffer[..count]),
        }
    }
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
    fn files_that_may_change_are_left_out() {
        let text = "nvidia/__pycache__/__init__.cpython-311.pyc,,\n../../bin/nvcc,sha256=x,1\n/etc/passwd,,\n\
            nvidia/__init__.py,sha256=x,0\nnvidia/cudnn/__init__.py,sha256=x,0\npycute/layout.py,sha256=x,1\n";
        assert_eq!(
            parse(text).collect::<Vec<_>>(),
            [recorded("nvidia/cudnn/__init__.py", Some("x"), Some(0))]
        );
    }

    /// The first line is that of every wheel's REQUESTED, which is empty.
    #[test]
    fn a_file_with_other_contents_is_damaged() {
        let dir = std::env::temp_dir().join(format!("cudnn-guard-record-{}", std::process::id()));
        fs::create_dir_all(dir.join("folder")).expect("a folder");
        fs::write(dir.join("empty"), "").expect("a file");
        fs::write(dir.join("one"), "1").expect("a file");
        let empty = Some("47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU");
        let one = Some("a4ayc_80_OGda4BO_1o_V0etpOqiLx1JwB5S3beHW0s");
        for (file, expected) in [
            (recorded("empty", empty, Some(0)), None),
            (recorded("one", one, Some(1)), None),
            (recorded("one", one, None), None),
            (recorded("one", None, None), None),
            (
                recorded("one", empty, Some(1)),
                Some("has different contents"),
            ),
            (
                recorded("one", one, Some(2)),
                Some("has 1 bytes instead of 2"),
            ),
            (recorded("two", one, Some(1)), Some("is missing")),
            (recorded("folder", None, None), Some("is missing")),
        ] {
            let contents = || file.damage_of_contents(&dir);
            let damage = file.damage_at_a_glance(&dir).or_else(contents);
            assert_eq!(damage.as_deref(), expected, "{file:?}");
        }
        fs::remove_dir_all(&dir).expect("room again");
    }
}
