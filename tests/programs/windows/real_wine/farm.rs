//! NVIDIA's own DLLs, put together anew on Windows' drive: CUDNN_GUARD_REAL is the folder of `.ci/wheels.py`.

use crate::support::place;
use crate::windows::wine::windows::Windows;
use std::fs;
use std::path::PathBuf;

/// A folder of DLLs. They are links to NVIDIA's: what changes one makes a file of it first.
pub struct Farm {
    dir: PathBuf,
    /// As Windows calls it.
    pub path: String,
}

/// The DLLs of a set.
pub fn real(set: &str) -> PathBuf {
    let root = std::env::var_os("CUDNN_GUARD_REAL")
        .expect("CUDNN_GUARD_REAL is the folder of .ci/wheels.py");
    PathBuf::from(root).join(set).join("nvidia/cudnn/bin")
}

impl Farm {
    /// A folder of this path below `C:\`, with the DLLs of a set alone.
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

    /// The folder of this path below `C:\\`, with what is there.
    pub fn at(windows: &Windows, path: &str) -> Self {
        let dir = windows.drive().join(path.replace('\\', "/"));
        fs::create_dir_all(&dir).unwrap();
        Self {
            dir,
            path: format!(r"C:\{path}"),
        }
    }

    /// All DLLs of a set on top.
    pub fn install(self, set: &str) -> Self {
        place(&real(set), &self.dir);
        self
    }

    pub fn without(self, name: &str) -> Self {
        fs::remove_file(self.file(name)).unwrap();
        self
    }

    /// One file of a set, in the place of what is there.
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

    /// The first bytes of a file are left of it.
    pub fn cut(self, name: &str, length: usize) -> Self {
        let whole = fs::read(self.file(name)).unwrap();
        self.with(name, &whole[..length])
    }

    /// A file says that it is for the processor of this number.
    pub fn for_cpu(self, name: &str, machine: u16) -> Self {
        let mut bytes = fs::read(self.file(name)).unwrap();
        let header = u32::from_le_bytes(bytes[0x3c..0x40].try_into().unwrap()) as usize;
        bytes[header + 4..header + 6].copy_from_slice(&machine.to_le_bytes());
        self.with(name, &bytes)
    }
}

/// The compression library that cuDNN 8 opens, as far as Windows' loader asks it.
pub fn with_zlib(windows: &Windows, farm: Farm) -> Farm {
    let source = "__declspec(dllexport) int deflate(void) { return 0; }\n";
    windows.compile("zlibwapi", source, &farm.file("zlibwapi.dll"), &["-shared"]);
    farm
}
