//! Versions in headers.

use crate::model::text::pattern::{Pattern, pattern};
use crate::runtime::facts::Version;

pub fn cuda(text: &str) -> Option<Version> {
    number(text, "CUDA_VERSION").map(Version::from_cuda)
}

/// Reads `CUDNN_MAJOR`, `CUDNN_MINOR` and `CUDNN_PATCHLEVEL` from `cudnn_version.h`, or from `cudnn.h` up to cuDNN 7.
pub fn cudnn(text: &str) -> Option<Version> {
    Some(Version::new(
        number(text, "CUDNN_MAJOR")?,
        number(text, "CUDNN_MINOR")?,
        number(text, "CUDNN_PATCHLEVEL")?,
    ))
}

/// Returns the headers of cuDNN that a header includes.
pub fn included(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let directive = line
            .trim_start_matches(['\u{feff}', ' ', '\t'])
            .strip_prefix('#')?;
        let name = directive.trim_start().strip_prefix("include")?.trim_start();
        let name = name.strip_prefix('"')?.split('"').next()?;
        let file = name.rsplit('/').next()?;
        file.starts_with("cudnn").then_some(name)
    })
}

/// Returns the value of a numeric macro. Headers are long (`cuda.h` has a megabyte), so the pattern is only matched
/// against directives that contain the name.
fn number(text: &str, name: &str) -> Option<u32> {
    static DEFINITION: Pattern = Pattern::new(|| {
        pattern(
            r"^\x{feff}?[ \t]*#[ \t]*define[ \t]+([A-Z_]+)(?:[ \t]|[ \t]*\()[ \t]*([0-9]+)[ \t]*\)?[ \t]*$",
        )
    });
    let mut directive = String::new();
    let mut in_comment = false;
    // A header contains the macro in a few short lines. The limit bounds the time that the pattern takes.
    let mut left: usize = 1 << 14;
    for line in text.lines() {
        let spliced = line.strip_suffix('\\');
        in_comment = push_code(&mut directive, spliced.unwrap_or(line), in_comment);
        if in_comment || spliced.is_some() {
            continue;
        }
        if directive.contains('#') && directive.contains(name) {
            left = left.checked_sub(directive.len())?;
            let found = DEFINITION.captures(&directive);
            let found = found.filter(|found| &found[1] == name);
            if let Some(value) = found.and_then(|found| found[2].parse().ok()) {
                return Some(value);
            }
        }
        directive.clear();
    }
    None
}

/// Appends a line without comments, each replaced by a space. Returns `true` if a comment continues on the next line.
fn push_code(code: &mut String, mut rest: &str, mut in_comment: bool) -> bool {
    loop {
        if in_comment {
            // Searching for one byte is fast, and most lines of a license do not contain it.
            let end = rest.contains('/').then(|| rest.split_once("*/"));
            let Some((_, behind)) = end.flatten() else {
                return true;
            };
            code.push(' ');
            rest = behind;
        }
        let (before, from) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        code.push_str(before);
        if from.is_empty() || from.starts_with("//") {
            return false;
        }
        in_comment = from.starts_with("/*");
        if in_comment {
            rest = &from[2..];
        } else {
            code.push('/');
            rest = &from[1..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn spacing_comments_and_continuations_survive() {
        for line in [
            "#define CUDA_VERSION 12040",
            "\u{feff}#define CUDA_VERSION 12040\r\n",
            "  #  define\tCUDA_VERSION\t 12040  \n",
            "#define CUDA_VERSION 12040 // the release",
            "#define /* the */ CUDA_VERSION /* release */ 12040 /* 12.4 */",
            "/* the release */ #define CUDA_VERSION 12040",
            "#define CUDA_VERSION \\\n    12040\n",
            "#define CUDA_VERSION \\\r\n    12040\r\n",
            "#define CUDA_VERSION (12040)",
            "/*\n#define CUDA_VERSION 11080\n*/\n#define CUDA_VERSION 12040",
            "// #define CUDA_VERSION 11080\n#define CUDA_VERSION 12040",
            "// see include/*.h\n#define CUDA_VERSION 12040",
            "//* see cuda.h\n#define CUDA_VERSION 12040",
            "/* the license */\n#define CUDA_VERSION 12040",
            "/* one */ /* two\n#define CUDA_VERSION 11080\n*/\n#define CUDA_VERSION 12040",
            "/*/ open\n#define CUDA_VERSION 11080\n*/\n#define CUDA_VERSION 12040",
            "#define CUDA_VERSION /* the\n release */ 12040",
            "#if 1 / 1\n#define CUDA_VERSION 12040",
            "#define CUDA_VERSION_MIN 11000\n#if CUDA_VERSION < 9000\n#endif\n#define CUDA_VERSION 12040",
        ] {
            assert_eq!(cuda(line), Some(Version::new(12, 4, 0)), "{line:?}");
        }
    }

    #[test]
    fn a_header_without_the_macro_has_no_version() {
        for text in [
            "",
            "#define CUDA_VERSION",
            "#define CUDA_VERSION OTHER",
            "#defineCUDA_VERSION 12040",
            "CUDA_VERSION 12040",
            "#define CUDA_VERSION 99999999999",
            "/* #define CUDA_VERSION 12040",
            "/* one */ /* two\n#define CUDA_VERSION 12040",
            "#define CUDA_VERSION12040",
            "#define CUDA_VERSION 12/040",
            "#define CUDA_VERSION \\",
        ] {
            assert_eq!(cuda(text), None, "{text:?}");
        }
        assert_eq!(
            cudnn("#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 1\n"),
            None
        );
    }

    #[test]
    fn a_megabyte_of_anything_is_read_in_time() {
        for (start, part) in [
            ("/*", "#define CUDA_VERSION 12040\n"),
            ("/*", "*//*"),
            ("", "// #define CUDA_VERSION 12040\n"),
            ("", "#define CUDA_VERSION x\n"),
            ("#define CUDA_VERSION", " "),
            ("#define CUDA_VERSION x", "/* */ x\\\n"),
            ("", "/"),
            ("#define CUDA_VERSION", "/"),
        ] {
            let text = start.to_string() + &part.repeat((1 << 20) / part.len());
            let begun = Instant::now();
            assert_eq!(cuda(&text), None, "{start:?} {part:?}");
            let time = begun.elapsed();
            assert!(time.as_secs() < 5, "{start:?} {part:?}: {time:?}");
        }
    }
}
