//! The traditional preprocessor of Microsoft's compiler, which is its default. The C++ headers of CUDA 13.2 reject it.

use crate::host_compiler::{HostCompiler, Make};
use crate::system::files;
use std::path::PathBuf;

/// The arguments of nvcc that select the other preprocessor.
pub const CONFORMING: [&str; 2] = ["-Xcompiler", "/Zc:preprocessor"];

/// A macro that makes these headers accept any preprocessor.
const ACCEPTED: &str = "CCCL_IGNORE_MSVC_TRADITIONAL_PREPROCESSOR_WARNING";

/// Returns `true` if this compiler needs [`CONFORMING`] for the headers in this search path, and none of these nvcc
/// flags sets the preprocessor.
pub fn is_unusable(compiler: &HostCompiler, search_path: &[PathBuf], flags: &[String]) -> bool {
    let names = ["Zc:preprocessor", "experimental:preprocessor", ACCEPTED];
    let decides = |flag: &String| names.iter().any(|name| flag.contains(name));
    // The flag is new in Visual Studio 2019 16.5.
    if compiler.make != Make::Msvc || compiler.number() < 1925 || flags.iter().any(decides) {
        return false;
    }
    for dir in search_path {
        for dir in [dir, &dir.join("cccl")] {
            let dir = dir.join("cuda/std/__cccl");
            if let Ok(checks) = files::read(&dir.join("preprocessor.h")) {
                let compilers = files::read(&dir.join("compiler.h")).unwrap_or_default();
                return rejects(&checks) || expands_macro(&compilers, flags);
            }
        }
    }
    false
}

/// Returns `true` if a flag defines a macro with the name of a compiler, and the header passes this name to its own
/// macro, as in `_CCCL_CUDA_COMPILER(NVCC)`. The traditional preprocessor expands the name first. CUDA 12.8 passes no
/// names. https://github.com/NVIDIA/cccl/issues/5165
fn expands_macro(header: &str, flags: &[String]) -> bool {
    let mut defined = flags.iter().filter_map(|flag| flag.strip_prefix("-D"));
    defined.any(|defined| {
        let name = defined.split('=').next().unwrap_or_default();
        header.contains(&format!("_COMPILER({name})"))
    })
}

/// Returns `true` if the first directive after the condition is `#error`. CUDA 13.1 only prints a message, and 13.0
/// checks nothing.
fn rejects(header: &str) -> bool {
    let after = header.split_once(ACCEPTED).map_or("", |(_, rest)| rest);
    for line in after.lines() {
        if let Some(directive) = line.trim().strip_prefix('#') {
            return directive.trim_start().starts_with("error");
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::facts::Version;

    /// The form of the check in CUDA 13.2 and later.
    const REFUSES: &str = "#ifndef A_H\n#define A_H\n#if defined(_MSC_VER) && !defined(__clang__)\n\
        #  if (!defined(_MSVC_TRADITIONAL) || _MSVC_TRADITIONAL == 1) \\\n    \
        && !defined(CCCL_IGNORE_MSVC_TRADITIONAL_PREPROCESSOR_WARNING)\n\
        #    error \\\nanother text\n#  endif\n#endif\n";

    #[test]
    fn header_compiler_and_flags_decide() {
        let dir = std::env::temp_dir().join(format!("cudnn-guard-cccl-{}", std::process::id()));
        let cccl = dir.join("cccl/cuda/std/__cccl");
        std::fs::create_dir_all(&cccl).unwrap();
        let search_path = [PathBuf::from("/nowhere"), dir.clone()];
        let refused = |make, number: u32, header: &str, flags: &[&str]| {
            std::fs::write(cccl.join("preprocessor.h"), header).unwrap();
            let compiler = HostCompiler {
                make,
                version: Version::new(number / 100, number % 100, 0),
                glibc: None,
                host_config: None,
            };
            let flags: Vec<String> = flags.iter().map(ToString::to_string).collect();
            is_unusable(&compiler, &search_path, &flags)
        };
        let other = ["-DN", "-Xcompiler", "/Zc:__cplusplus"];
        for number in [1925, 1944, 1950, 2010] {
            assert!(refused(Make::Msvc, number, REFUSES, &other), "{number}");
        }
        // Visual Studio 2019 16.4 does not have the flag.
        assert!(!refused(Make::Msvc, 1924, REFUSES, &[]));
        // clang-cl has one preprocessor.
        assert!(!refused(Make::Clang, 2100, REFUSES, &[]));
        for flags in [
            &["-Xcompiler", "/Zc:preprocessor"][..],
            &["-Xcompiler=/MD,/Zc:preprocessor"],
            &["-Xcompiler", "-Zc:preprocessor-"],
            &["-Xcompiler", "/experimental:preprocessor"],
            &["-DCCCL_IGNORE_MSVC_TRADITIONAL_PREPROCESSOR_WARNING"],
        ] {
            assert!(!refused(Make::Msvc, 1944, REFUSES, flags), "{flags:?}");
        }
        // CUDA 13.1, and CUDA 12.9 and 13.0
        let message = REFUSES.replace("error \\\nanother text", "pragma message( \"error\")");
        for header in [&*message, "#define _CCCL_PP_EAT(...)\n#error\n", ""] {
            assert!(!refused(Make::Msvc, 1944, header, &[]), "{header}");
        }
        // CUDA 12.9 and later pass names of compilers to macros.
        for (header, flag, expected) in [
            ("#if _CCCL_CUDA_COMPILER(NVCC)\n", "-DNVCC", true),
            ("#if _CCCL_CUDA_COMPILER(NVCC)\n", "-DNVCC=1", true),
            ("#if _CCCL_CUDA_COMPILER(NVCC)\n", "-DNVCC_X", false),
            ("#if _CCCL_CUDA_COMPILER(NVCC)\n", "-DMSVC", false),
            ("#if _CCCL_CUDA_COMPILER(NVCC)\n", "-D", false),
            // CUDA 12.8
            ("#if defined(_CCCL_CUDA_COMPILER_NVCC)\n", "-DNVCC", false),
        ] {
            std::fs::write(cccl.join("compiler.h"), header).unwrap();
            let flags = ["-O3", flag];
            assert_eq!(refused(Make::Msvc, 1944, "", &flags), expected, "{flag}");
            assert!(!refused(Make::Gcc, 1500, "", &flags));
            let decided = ["-Xcompiler=/Zc:preprocessor-", flag];
            assert!(!refused(Make::Msvc, 1944, "", &decided));
        }
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
