//! The release of NVIDIA's driver, by its kernel module and by the file of its library.

#[cfg(windows)]
use crate::runtime::binary::pe::Pe;
use crate::runtime::system::proc;

/// That of the kernel module, as the module tells it.
pub fn of_module() -> Option<String> {
    parse_release(&proc::text("driver/nvidia/version")?)
}

/// That of the library in this file, by its name.
#[cfg(not(windows))]
pub fn of_library(library: &str) -> Option<String> {
    release_in_name(library)
}

/// That of the library in this file, by its version resource: 560.94 of 32.0.15.6094. Windows takes the first numbers for
/// itself.
#[cfg(windows)]
pub fn of_library(library: &str) -> Option<String> {
    let path = std::path::Path::new(library);
    let [_, _, third, fourth] = Pe::read(path).ok()?.file_numbers()?;
    let digits = format!("{}{:04}", third % 10, fourth);
    let (branch, rest) = digits.split_at_checked(3)?;
    Some(format!("{branch}.{rest}"))
}

/// The release in `/proc/driver/nvidia/version`: the first word of its first line that is made of numbers with
/// points between them, as in `NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 ...`.
pub fn parse_release(text: &str) -> Option<String> {
    text.lines()
        .next()?
        .split_whitespace()
        .find(|word| is_release(word))
        .map(str::to_string)
}

fn is_release(word: &str) -> bool {
    word.contains('.')
        && word
            .split('.')
            .all(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The release in a name such as `libcuda.so.535.183.01`. A Jetson's `libcuda.so.1.1` tells none.
pub fn release_in_name(library: &str) -> Option<String> {
    let (_, release) = library.rsplit_once("libcuda.so.")?;
    if is_release(release) && !release.starts_with("1.") {
        Some(release.to_string())
    } else {
        None
    }
}
