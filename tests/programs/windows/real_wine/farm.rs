//! NVIDIA's own DLLs in new combinations on the Windows drive. CUDNN_GUARD_REAL is the directory of `.ci/wheels.py`.

use crate::support::place;
use crate::windows::wine::windows::Windows;
use std::fs;
use std::path::PathBuf;

/// A directory of DLLs. They are links to NVIDIA's files, and are replaced by copies before they are changed.
pub struct Farm {
    dir: PathBuf,
    /// The directory in Windows notation.
    pub path: String,
}

/// Returns the DLL directory of a set.
pub fn real(set: &str) -> PathBuf {
    let root = std::env::var_os("CUDNN_GUARD_REAL")
        .expect("set CUDNN_GUARD_REAL to the directory of .ci/wheels.py");
    PathBuf::from(root).join(set).join("nvidia/cudnn/bin")
}

impl Farm {
    /// Creates this directory below `C:\`, with only the DLLs of a set.
    pub fn of(windows: &Windows, path: &str, set: &str) -> Self {
        let farm = Self::empty(windows, path);
        farm.install(set)
    }

    pub fn empty(windows: &Windows, path: &str) -> Self {
        let dir = windows.drive().join(path.replace('\\', "/"));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        Self {
            dir,
            path: format!(r"C:\{path}"),
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
