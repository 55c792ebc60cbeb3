//! The toolkit's stub in the place of the driver's library, as a file.

use crate::runtime::binary::elf::Elf;
use crate::runtime::install::missing_dlopen::{MissingLink, PLAIN_DRIVER};
use crate::runtime::loader::load_origin::LoadOrigin;
use crate::runtime::loader::search_path::SearchPath;
use crate::runtime::system::names::DRIVER_SO;
use std::path::{Path, PathBuf};

/// A stub that a program or library gets when it opens the driver.
pub struct StubInPlace {
    /// The file that opens it; `None` for this program.
    pub opener: Option<PathBuf>,
    /// The name by which it is opened.
    pub name: String,
    /// The file of the stub.
    pub path: PathBuf,
    /// The reason why the loader selects it.
    pub origin: LoadOrigin,
    /// The driver's library, under its usual name, and a link of the opened name.
    pub driver: Option<MissingLink>,
}

/// Returns `true` if this file is the toolkit's stub, wherever it was copied.
pub fn is_stub(path: &Path) -> bool {
    Elf::read(path).is_ok_and(|elf| elf.is_driver_stub())
}

/// Returns the stub that cudarc gets in this process. It tries `libcuda.so` before `libcuda.so.1`, the name of every
/// driver.
pub fn of_cudarc() -> Option<StubInPlace> {
    let search_path = SearchPath::of_program();
    let path = search_path.program_file(PLAIN_DRIVER)?;
    if !is_stub(&path) {
        return None;
    }
    let mut drivers = search_path.program_files(DRIVER_SO).into_iter();
    Some(StubInPlace {
        opener: None,
        name: PLAIN_DRIVER.to_string(),
        origin: search_path.to(&path),
        path,
        driver: drivers
            .find(|file| !is_stub(file))
            .map(|file| MissingLink::beside(file, PLAIN_DRIVER)),
    })
}
