//! Reads off the parts of a cuDNN what they hold device code for.

pub mod fatbin;
pub mod gpu_code;
#[cfg(test)]
mod tests;

use crate::model::candidate::Cudnn;
use crate::model::platform::Os;
use crate::runtime::facts::compute_capability::Target;
use crate::runtime::facts::sub_libraries;
use crate::system::library_file::Binary;
use std::path::Path;

/// The device code that serves a GPU in all core parts; none where one of them does not tell.
pub fn read(cudnn: &Cudnn, os: Os) -> Vec<Target> {
    let core = cudnn.parts.iter().filter(|part| is_core(&part.name));
    let parts: Option<Vec<Vec<Target>>> = core.map(|part| read_library(&part.path, os)).collect();
    gpu_code::common(&parts.unwrap_or_default())
}

/// Whether every GPU needs this part.
pub fn is_core(name: &str) -> bool {
    sub_libraries::find(name).is_some_and(|part| part.has_gpu_code)
}

/// The device code in a library; none where it does not tell.
pub fn read_library(path: &Path, os: Os) -> Option<Vec<Target>> {
    let library = Binary::open(path, os).ok()?;
    let (start, size) = library.device_code()?;
    if start.checked_add(size)? > library.length() {
        return None; // the code itself is not read, and would not be missed
    }
    fatbin::targets(size, &mut |at, length| {
        library.bytes(start.checked_add(at)?, length)
    })
}
