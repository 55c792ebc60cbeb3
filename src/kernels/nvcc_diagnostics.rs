//! What nvcc's words mean, where they tell little to somebody who reads them for the first time.

/// Words of nvcc or its host compiler, and what to do.
const KNOWN: &[(&str, &str)] = &[
    (
        "No supported gcc/g++ host compiler found",
        "install a g++ that this CUDA takes, or set NVCC_CCBIN to one",
    ),
    (
        "Failed to preprocess host compiler properties",
        "install g++, or set NVCC_CCBIN to it: nvcc cannot start its host compiler",
    ),
    (
        "Cannot find compiler 'cl.exe' in PATH",
        "build in the developer prompt of Visual Studio, or set NVCC_CCBIN to its cl.exe",
    ),
    (
        "parameter packs not expanded with",
        "install `g++-10`, and set NVCC_CCBIN=/usr/bin/g++-10: CUDA before 11.6 cannot compile the C++ library of gcc 11",
    ),
    ("unsupported GNU version!", "set NVCC_CCBIN to an older g++"),
    (
        "unsupported clang version!",
        "set NVCC_CCBIN to an older clang or to a g++",
    ),
    (
        "unsupported Microsoft Visual Studio version!",
        "build in the developer prompt of another MSVC toolset",
    ),
    (
        "cudnn.h: No such file or directory",
        "ask for cuDNN in build.rs, so that its headers are found: `.cudnn(\">=9\")`",
    ),
];

/// What to do about it.
pub fn help(said: &str) -> Option<&'static str> {
    let known = KNOWN.iter().find(|(words, _)| said.contains(words));
    known.map(|(_, help)| *help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn helps(said: &str, with: &str) {
        let help = help(said).unwrap_or_default();
        assert!(help.contains(with), "{help}");
    }

    /// CMP-01
    #[test]
    fn a_header_that_nobody_asked_for() {
        helps(
            "a.cu:1:10: fatal error: cudnn.h: No such file or directory",
            "ask for cuDNN in build.rs",
        );
    }

    /// CMP-05
    #[test]
    fn a_cpp_library_that_cuda_cannot_compile() {
        helps(
            "/usr/include/c++/11/bits/std_function.h:435:145: error: parameter packs not expanded with '...'",
            "NVCC_CCBIN=/usr/bin/g++-10",
        );
    }

    /// CMP-08
    #[test]
    fn a_host_compiler_that_is_not_there() {
        helps(
            "nvcc fatal   : Cannot find compiler 'cl.exe' in PATH",
            "developer prompt",
        );
        // Debian's own choice among its compilers comes first: nvcc says the second line.
        helps(
            "ERROR: No supported gcc/g++ host compiler found.\n\
             nvcc fatal   : Failed to preprocess host compiler properties.",
            "that this CUDA takes",
        );
        helps(
            "gcc: No such file or directory\nnvcc fatal   : Failed to preprocess host compiler properties.",
            "install g++",
        );
        assert_eq!(help("a.cu(1): error: identifier \"y\" is undefined"), None);
    }
}
