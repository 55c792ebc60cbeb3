//! A library for Linux without the link by which programs open it.

use crate::runtime::binary::bounded_file::files_in;
use crate::runtime::binary::defect::Defect;
use crate::runtime::binary::elf::Elf;
use std::path::{Path, PathBuf};

/// Returns a library in this directory that has this SONAME but other file names: `ldconfig` was not run for it.
pub fn find(dir: &Path, soname: &str) -> Option<(PathBuf, Defect)> {
    let stem = soname.split(['.', '-', '_']).next()?;
    for file in files_in(dir).into_iter().rev() {
        let name = file.file_name()?.to_str().unwrap_or_default();
        if name.starts_with(stem) && name.contains(".so") {
            let own = Elf::open(&file).ok();
            // A link to the toolkit's stub would hide the driver.
            let own = own.filter(|elf| !elf.is_driver_stub());
            if own.and_then(|elf| elf.soname()).as_deref() == Some(soname) {
                return Some((file, Defect::Unlinked(soname.to_string())));
            }
        }
    }
    None
}
