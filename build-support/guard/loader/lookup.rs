//! The rule by which the loader of Linux decides about a file that it tries.

use crate::runtime::binary::defect::Defect;
use crate::runtime::binary::elf::Elf;
use std::path::Path;

/// Tries a file for a program with this CPU. `real` is the regular file at the path, if there is one.
///
/// The loader continues with the next directory if nothing exists at the path (`None`), or if
/// [`is_passed_over`](Defect::is_passed_over) is `true` for the defect: a broken link, a file for another CPU, or a
/// file that cannot be opened. It takes every other file, also a damaged or empty one or a directory, and fails on it.
/// A pipe or a device is never opened here.
pub fn try_file(
    path: &Path,
    real: Option<&Path>,
    root: Option<&Path>,
    cpu: &str,
) -> Option<Result<Elf, Defect>> {
    match real {
        Some(real) => Some(Elf::open_for(real, cpu)),
        None => Defect::below(path, root).map(Err),
    }
}
