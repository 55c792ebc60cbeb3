//! Reads the device code targets of a cuDNN.

pub mod fatbin;
pub mod gpu_code;
#[cfg(test)]
mod tests;

use crate::model::{Cudnn, Os};
use crate::runtime::binary::number;
use crate::runtime::facts::{Target, sub_libraries};
use crate::system::Binary;
use std::path::Path;

/// Returns the targets that all core sub-libraries support. The list is empty if one of them cannot be read.
pub fn read(cudnn: &Cudnn, os: Os) -> Vec<Target> {
    let mut files = cudnn.installed.files();
    // The core sub-libraries are those in which every GPU needs device code.
    files.retain(|file| sub_libraries::find(&file.name).is_some_and(|part| part.has_gpu_code));
    let files = files.into_iter();
    let targets: Option<Vec<_>> = files.map(|file| read_library(&file.path, os)).collect();
    gpu_code::common(&targets.unwrap_or_default())
}

/// Returns the targets of a library, or `None` if it cannot be read.
pub fn read_library(path: &Path, os: Os) -> Option<Vec<Target>> {
    let library = Binary::open(path, os).ok()?;
    let (start, size) = library.device_code()?;
    if start.checked_add(size)? > library.length() {
        return None; // a truncated file: the missing code itself is not read
    }
    targets_at(&library, start, size)
}

/// Returns the targets in a part of a file.
fn targets_at(library: &Binary, start: u64, size: u64) -> Option<Vec<Target>> {
    fatbin::targets(size, &mut |at, length| {
        library.bytes(start.checked_add(at)?, length)
    })
}

/// Returns the targets of the fatbins in a file, also of those in other sections, until there are enough. `None` if the
/// file cannot be read.
pub fn search_file(path: &Path, os: Os, enough: &dyn Fn(&[Target]) -> bool) -> Option<Vec<Target>> {
    const BLOCK: u64 = 1 << 20;
    let library = Binary::open(path, os).ok()?;
    let (mut found, mut offset) = (Vec::new(), 0);
    while offset < library.length() && !enough(&found) {
        let block = library.bytes(offset, BLOCK.min(library.length() - offset))?;
        // Fatbins are aligned.
        let words = block.chunks_exact(8).zip((offset..).step_by(8));
        for (_, start) in words.filter(|(word, _)| *word == fatbin::START) {
            let size = number(&library.bytes(start + 8, 8)?, 0, 8)?.checked_add(16)?;
            found.extend(targets_at(&library, start, size)?);
        }
        offset += BLOCK;
    }
    found.sort();
    found.dedup();
    Some(found)
}
