//! The file names of a cuDNN's libraries, and those by which a program opens it.

use crate::runtime::facts::{Built, LibraryName, Loader, Version, cudnn_file};
use crate::runtime::judge::rules;
use crate::runtime::system::by_system;
use std::path::Path;

/// The pattern that matches all of them.
pub const ALL: &str = by_system!("libcudnn*", "cudnn*.dll");

/// Returns the name by which programs open cuDNN.
pub fn of_main(major: u32) -> String {
    cudnn_file("", major, cfg!(windows))
}

/// Returns the name of this sub-library in every cuDNN.
pub fn of_part(name: &str, major: u32) -> String {
    cudnn_file(name, major, cfg!(windows))
}

/// Returns the names with more numbers that this cuDNN for Linux tries first for a sub-library.
pub fn precise(name: &str, version: Option<Version>) -> Vec<String> {
    match version {
        Some(version) if version.major >= 9 => vec![
            format!("libcudnn_{name}.so.{version}"),
            format!("libcudnn_{name}.so.{}", version.short()),
        ],
        _ => Vec::new(),
    }
}

/// Returns the sub-library that a file name stands for, with its major: `libcudnn_ops.so.9.1.0` is `ops` of 9. The
/// library that opens the others, `libcudnn.so.9`, has an empty name.
pub fn parse(path: &Path) -> Option<(String, Option<u32>)> {
    let file = LibraryName::of(path).filter(|file| file.is_dll == cfg!(windows))?;
    Some((file.sub_library()?.to_string(), file.major()))
}

/// Returns the names by which a program opens cuDNN, in the order in which they are tried.
pub fn opened_names(built: &Built) -> Vec<String> {
    if built.loader == Loader::Cudarc {
        return of_cudarc(built.cudarc, built.cuda);
    }
    let majors = rules::majors(built).into_iter();
    majors.map(of_main).collect()
}

/// The first cudarc that tries `libcudnn.so.9`. Earlier versions only find `libcudnn.so`: their other names belong to
/// no cuDNN.
pub const FIRST_CUDARC_WITH_9: Version = Version::new(0, 19, 2);

/// Returns the name that cudarc tries first, in all directories before it tries another.
pub fn first_name(is_dll: bool) -> &'static str {
    match is_dll {
        true => "cudnn.dll",
        false => "libcudnn.so",
    }
}

/// Returns `true` if the program tries the name of this file.
pub fn is_tried(built: &Built, path: &Path) -> bool {
    let mut names = opened_names(built).into_iter();
    names.any(|name| path.file_name() == Some(name.as_ref()))
}

/// The ends of cudarc's names on Linux, in its order. `M` and `m` are the CUDA version for which cudarc is compiled,
/// and `+` marks the names since [`FIRST_CUDARC_WITH_9`]. (Two names that belong to no cuDNN were added later:
/// `libcudnn.so.1` in cudarc 0.13.1, `libcudnn64_11.so` in 0.18.2.)
const ENDS: &str = ".so 64.so 64_M.so 64_Mm.so 64_Mm_0.so 64_M0_m.so 64_10.so 64_11.so +64_12.so 64_M0_0.so 64_9.so \
    .so.M +.so.12 .so.11 .so.10 +.so.9 .so.1";

/// Returns the names that the crate cudarc tries, in its order; a test compares them with cudarc's own. An unknown
/// version counts as the newest, and the CUDA version is assumed to be that of the build.
pub fn of_cudarc(cudarc: Option<Version>, cuda: Option<Version>) -> Vec<String> {
    let is_newer = cudarc.is_none_or(|cudarc| cudarc >= FIRST_CUDARC_WITH_9);
    let mut names = Vec::new();
    for end in ENDS.split(' ') {
        let mut end = end.to_string();
        if let Some(Version { major, minor, .. }) = cuda {
            end = end.replace('M', &major.to_string());
            end = end.replace('m', &minor.to_string());
        }
        if !end.contains('M') && (is_newer || !end.starts_with('+')) {
            let end = end.trim_start_matches('+');
            let end = by_system!(end.to_string(), end.replacen(".so", ".dll", 1));
            names.push(format!("{}{end}", by_system!("libcudnn", "cudnn")));
        }
    }
    names
}
