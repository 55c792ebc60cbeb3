//! NVIDIA's own DLLs in new combinations on the Windows drive. CUDNN_GUARD_REAL is the directory of `.ci/wheels.py`.

use super::{V8_9_5, V8_9_7, V9_10, V9_14, V9_28};
use crate::real::set;
use crate::support::place;
use crate::windows::wine::windows::Windows;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

/// A directory of DLLs. They are links to NVIDIA's files, and are replaced by copies before they are changed.
pub struct Farm {
    dir: PathBuf,
    /// The directory in Windows notation.
    pub path: String,
}

/// Returns the DLL directory of a set.
pub fn real(name: &str) -> PathBuf {
    set(name).join("nvidia/cudnn/bin")
}

/// Returns the set of a version.
fn set_of(version: &str) -> &'static str {
    match version {
        "8.9.5" => V8_9_5,
        "8.9.7" => V8_9_7,
        "9.10" => V9_10,
        "9.14" => V9_14,
        "9.28" => V9_28,
        _ => panic!("{version}"),
    }
}

impl Farm {
    /// Creates this directory below `C:\`. It contains the DLLs of versions, which are then changed: `9.28, without
    /// cudnn_ops64_9.dll`.
    pub fn of(windows: &Windows, path: &str, contents: &str) -> Self {
        let dir = windows.drive().join(path.replace('\\', "/"));
        let _ = fs::remove_dir_all(&dir);
        let mut farm = Self::at(windows, path);
        for content in contents.split(", ") {
            farm = farm.changed(windows, content);
        }
        farm
    }

    fn changed(self, windows: &Windows, content: &str) -> Self {
        let words: Vec<&str> = content.split(' ').collect();
        match words[..] {
            ["nothing"] => self,
            [version] => self.install(set_of(version)),
            ["without", file] => self.without(file),
            [file, "of", version] => self.from(set_of(version), file),
            [file, "as", other] => {
                fs::rename(self.file(file), self.file(other)).unwrap();
                self
            }
            [file, "for", machine] => self.for_cpu(file, u16::from_str_radix(machine, 16).unwrap()),
            [file, "cut", "to", length] => self.cut(file, length.parse().unwrap()),
            [file, "empty"] => self.with(file, b""),
            [file, "a", "text"] => self.with(file, b"version https://git-lfs.github.com/spec/v1\n"),
            [file, "a", "directory"] => {
                fs::remove_file(self.file(file)).unwrap();
                fs::create_dir(self.file(file)).unwrap();
                self
            }
            // A copy instead of a link, or the original would be held open too.
            [file, "copied"] => {
                let bytes = fs::read(self.file(file)).unwrap();
                self.with(file, &bytes)
            }
            ["a", "link", "to", dir] => {
                fs::remove_dir(&self.dir).unwrap();
                symlink(windows.drive().join(dir), &self.dir).unwrap();
                self
            }
            _ => panic!("{content}"),
        }
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Uses this directory below `C:\`, keeping its files.
    pub fn at(windows: &Windows, path: &str) -> Self {
        let dir = windows.drive().join(path.replace('\\', "/"));
        fs::create_dir_all(&dir).unwrap();
        Self {
            dir,
            path: format!(r"C:\{path}"),
        }
    }

    /// Adds all DLLs of a set.
    pub fn install(self, set: &str) -> Self {
        place(&real(set), &self.dir);
        self
    }

    pub fn without(self, name: &str) -> Self {
        fs::remove_file(self.file(name)).unwrap();
        self
    }

    /// Adds or replaces one file of a set.
    pub fn from(self, set: &str, name: &str) -> Self {
        let _ = fs::remove_file(self.file(name));
        fs::hard_link(real(set).join(name), self.file(name))
            .or_else(|_| fs::copy(real(set).join(name), self.file(name)).map(|_| ()))
            .unwrap();
        self
    }

    pub fn with(self, name: &str, bytes: &[u8]) -> Self {
        let _ = fs::remove_file(self.file(name));
        fs::write(self.file(name), bytes).unwrap();
        self
    }

    /// Truncates a file to its first bytes.
    pub fn cut(self, name: &str, length: usize) -> Self {
        let whole = fs::read(self.file(name)).unwrap();
        self.with(name, &whole[..length])
    }

    /// Changes the machine number in the header of a file.
    pub fn for_cpu(self, name: &str, machine: u16) -> Self {
        let mut bytes = fs::read(self.file(name)).unwrap();
        let header = u32::from_le_bytes(bytes[0x3c..0x40].try_into().unwrap()) as usize;
        bytes[header + 4..header + 6].copy_from_slice(&machine.to_le_bytes());
        self.with(name, &bytes)
    }
}
