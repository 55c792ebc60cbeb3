//! A file in place of the driver's library: the toolkit's stub, or a library that is older than the kernel module.

use crate::runtime::binary::Elf;
use crate::runtime::install::missing_dlopen::{MissingLink, PLAIN_DRIVER};
use crate::runtime::loader::{LoadOrigin, SearchPath};
use crate::runtime::system::DRIVER_SO;
use std::path::{Path, PathBuf};

/// A file that a program or library opens as the driver and that cannot use a GPU.
pub struct UnusableDriver {
    /// The file that opens it; `None` for this program.
    pub opener: Option<PathBuf>,
    /// The name by which it is opened.
    pub name: String,
    pub path: PathBuf,
    /// The versions of the file and of the kernel module, if the file is older. Otherwise the file is the toolkit's stub.
    pub older: Option<(String, String)>,
    /// The reason why the loader selects it.
    pub origin: LoadOrigin,
    /// The driver's library under its usual name, and a link with the opened name.
    pub driver: Option<MissingLink>,
}

/// Returns `true` if this file is the toolkit's stub, wherever it was copied.
pub fn is_stub(path: &Path) -> bool {
    Elf::read(path).is_ok_and(|elf| elf.is_driver_stub())
}

/// Returns the stub that cudarc gets in this process. It tries `libcuda.so` before `libcuda.so.1`, the name of every
/// driver.
pub fn of_cudarc() -> Option<UnusableDriver> {
    let search_path = SearchPath::of_program();
    let path = search_path.program_file(PLAIN_DRIVER)?;
    if !is_stub(&path) {
        return None;
    }
    let mut drivers = search_path.program_files(DRIVER_SO).into_iter();
    Some(UnusableDriver {
        opener: None,
        name: PLAIN_DRIVER.to_string(),
        origin: search_path.origin_of(&path),
        path,
        older: None,
        driver: drivers
            .find(|file| !is_stub(file))
            .map(|file| MissingLink::beside(file, PLAIN_DRIVER)),
    })
}
