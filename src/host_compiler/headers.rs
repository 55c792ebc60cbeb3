//! Conflicts between the headers of glibc and of CUDA.

use crate::runtime::facts::Version;

/// Functions that glibc declares with `noexcept`, with the minor version that added it. CUDA declares them for device
/// code.
/// https://sourceware.org/git/?p=glibc.git;a=blob;f=math/bits/mathcalls.h
const REDECLARED: [(&str, u32); 3] = [("cospi", 41), ("sinpi", 41), ("rsqrt", 42)];

/// Returns the functions that this glibc declares with `noexcept` and the toolkit's `crt/math_functions.h` declares
/// without it. They are an error in every source. The header decides, not its version, because distributions patch it.
pub fn contradictions(math_functions: &str, glibc: Version) -> Vec<&'static str> {
    let mut names = Vec::new();
    for (name, since) in REDECLARED {
        let is_redeclared = (glibc.major, glibc.minor) >= (2, since);
        if is_redeclared && is_without_noexcept(math_functions, name) {
            names.push(name);
        }
    }
    names
}

/// Returns `true` if the function is declared with nothing after its parameters:
/// `extern __DEVICE_FUNCTIONS_DECL__ __device_builtin__ double cospi(double x);`
fn is_without_noexcept(text: &str, name: &str) -> bool {
    let words = format!("{name}(double x)");
    for line in text.lines() {
        let (before, behind) = line.split_once(&words).unwrap_or_default();
        if before.starts_with("extern ") && before.ends_with(' ') {
            return behind.trim() == ";";
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host_compiler::HostCompilerFault;
    use std::path::Path;

    const BARE: &str = "
/* rsqrt(double x); cospi(double x); */
extern __DEVICE_FUNCTIONS_DECL__ __device_builtin__ double                 rsqrt(double x);
extern __DEVICE_FUNCTIONS_DECL__ __device_builtin__ double                 sinpi(double x);
extern __DEVICE_FUNCTIONS_DECL__ __device_builtin__ double                 cospi(double x);
extern __DEVICE_FUNCTIONS_DECL__ __device_builtin__ void                   sincospi(double x, double *sptr, double *cptr);
";

    /// Observed with CUDA 11.8 and the headers of glibc 2.41.
    #[test]
    fn the_header_decides_which_functions_conflict() {
        let with = |text: &str, minor| contradictions(text, Version::new(2, minor, 0));
        assert_eq!(with(BARE, 40), [""; 0]);
        assert_eq!(with(BARE, 41), ["cospi", "sinpi"]);
        assert_eq!(with(BARE, 42), ["cospi", "sinpi", "rsqrt"]);
        let patched = BARE.replace("pi(double x);", "pi(double x) noexcept (true);");
        assert_eq!(with(&patched, 41), [""; 0]);
        // As in CUDA 13.0.
        assert_eq!(with(&patched, 42), ["rsqrt"]);
        let by_macro = BARE.replace("(double x);", "(double x) _NV_SPECIFIER;");
        assert_eq!(with(&by_macro, 42), [""; 0]);
        assert_eq!(with("", 42), [""; 0], "what is not declared is unknown");
    }

    #[test]
    fn the_remedies_are_named() {
        let text = |names: &[&'static str], minor, cuda| {
            let header = Path::new("/cuda/include/crt/math_functions.h");
            let glibc = Version::new(2, minor, 0);
            let fault = HostCompilerFault::Headers(header, names, glibc, cuda);
            fault.finding().to_string()
        };
        let names = contradictions(BARE, Version::new(2, 41, 0));
        assert_eq!(
            text(&names, 41, "CUDA 12.9"),
            "the headers of glibc 2.41 and CUDA 12.9 contradict each other, so no kernel compiles  [host-headers-incompatible]\n  \
             = help: upgrade to CUDA 13.0 or later, whose headers are compatible with this glibc\n  \
             = help: build in a container with a glibc older than 2.41, such as Debian 12 or Ubuntu 24.04\n  \
             = help: add `noexcept (true)` to these functions and their `float` variants in that header, if you can edit it\n  \
             CUDA        `cospi`, `sinpi` without `noexcept`: /cuda/include/crt/math_functions.h\n  \
             glibc       `cospi`, `sinpi` with `noexcept`, for every compiler"
        );
        let text = text(&["rsqrt"], 42, "CUDA 13.0");
        assert!(text.contains("upgrade to CUDA 13.2 or later"), "{text}");
    }
}
