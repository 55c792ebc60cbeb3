//! The version of NVIDIA's driver, from its kernel module and from its library's file.

#[cfg(windows)]
use crate::runtime::binary::pe::Pe;
use crate::runtime::facts::is_number;
use crate::runtime::system::proc;

/// Returns the version that the kernel module reports.
pub fn of_module() -> Option<String> {
    parse_release(&proc::text("driver/nvidia/version")?)
}

/// Returns the version in the library's file name.
#[cfg(not(windows))]
pub fn of_library(library: &str) -> Option<String> {
    release_in_name(library)
}

/// Returns the version in the library's version resource: 560.94 for 32.0.15.6094. The first two numbers are Windows's.
#[cfg(windows)]
pub fn of_library(library: &str) -> Option<String> {
    let path = std::path::Path::new(library);
    let [_, _, third, fourth] = Pe::read(path).ok()?.file_numbers()?;
    let digits = format!("{}{:04}", third % 10, fourth);
    let (branch, rest) = digits.split_at_checked(3)?;
    Some(format!("{branch}.{rest}"))
}

/// Parses `/proc/driver/nvidia/version`. The version is the first word of the first line that consists of numbers with
/// points between them, as in `NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 ...`.
pub fn parse_release(text: &str) -> Option<String> {
    let mut words = text.lines().next()?.split_whitespace();
    words.find(|word| is_release(word)).map(str::to_string)
}

fn is_release(word: &str) -> bool {
    word.contains('.') && word.split('.').all(is_number)
}

/// Returns the version in a name such as `libcuda.so.535.183.01`. A Jetson's `libcuda.so.1.1` contains none.
pub fn release_in_name(library: &str) -> Option<String> {
    let (_, release) = library.rsplit_once("libcuda.so.")?;
    (is_release(release) && !release.starts_with("1.")).then(|| release.to_string())
}
