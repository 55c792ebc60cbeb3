//! The release of NVIDIA's driver for Windows, as the version resource of its library has it.

use crate::runtime::binary::pe::Pe;
use std::path::Path;

/// 560.94 of the file's 32.0.15.6094: Windows takes the first numbers for itself.
pub fn find(library: &Path) -> Option<String> {
    let [_, _, third, fourth] = Pe::read(library).ok()?.file_numbers()?;
    let digits = format!("{}{:04}", third % 10, fourth);
    let (branch, rest) = digits.split_at_checked(3)?;
    Some(format!("{}.{}", branch, rest))
}
