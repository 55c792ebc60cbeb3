//! What a header says of its release.

use crate::model::version::Version;

/// `CUDA_VERSION` of `cuda.h`.
pub fn cuda(text: &str) -> Option<Version> {
    number(text, "CUDA_VERSION").map(Version::from_cuda)
}

/// `CUDNN_MAJOR`, `CUDNN_MINOR` and `CUDNN_PATCHLEVEL` of `cudnn_version.h`; of `cudnn.h` up to cuDNN 7.
pub fn cudnn(text: &str) -> Option<Version> {
    Some(Version::new(
        number(text, "CUDNN_MAJOR")?,
        number(text, "CUDNN_MINOR")?,
        number(text, "CUDNN_PATCHLEVEL")?,
    ))
}

/// The headers of cuDNN that this one includes by a path, as one that a project keeps for all its machines does.
pub fn included_by_path(text: &str) -> Vec<&str> {
    let included = text.lines().filter_map(|line| {
        let rest = line.trim_start_matches('\u{feff}').trim_start();
        let rest = rest.strip_prefix('#')?.trim_start();
        let name = rest.strip_prefix("include")?.trim_start();
        let (path, _) = name.strip_prefix('"')?.split_once('"')?;
        let (_, file) = path.rsplit_once('/')?;
        file.starts_with("cudnn").then_some(path)
    });
    included.collect()
}

/// The value of a macro that stands for one number. The headers that say it are long (`cuda.h` has a megabyte) and
/// build scripts are compiled without optimisation, so all lines but the directives are passed over whole.
fn number(text: &str, name: &str) -> Option<u32> {
    let mut offset = 0;
    let mut lines = text.split_inclusive('\n');
    while let Some(line) = lines.next() {
        let start = offset;
        offset += line.len();
        let trimmed = line.trim_start_matches('\u{feff}').trim_start();
        if !trimmed.starts_with('#') && !trimmed.starts_with("/*") {
            continue;
        }
        let mut directive = trimmed.trim_end().to_string();
        while directive.ends_with('\\') {
            directive.pop();
            let next = lines.next().unwrap_or_default();
            offset += next.len();
            directive.push_str(next.trim_end());
        }
        let value = definition(&without_comments(&directive), name);
        if value.is_some() && !inside_comment(text, start) {
            return value;
        }
    }
    None
}

/// The number in `#define NAME number`, odd spacing and one pair of parentheses included.
fn definition(directive: &str, name: &str) -> Option<u32> {
    let rest = directive.trim_start().strip_prefix('#')?.trim_start();
    let rest = rest.strip_prefix("define")?;
    let value = rest.trim_start().strip_prefix(name)?;
    if !rest.starts_with(char::is_whitespace) || !value.starts_with([' ', '\t', '(']) {
        return None;
    }
    let value = value.trim();
    let inner = value
        .strip_prefix('(')
        .and_then(|value| value.strip_suffix(')'));
    inner.unwrap_or(value).trim().parse().ok()
}

fn without_comments(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(start) = rest.find('/') {
        let (before, from) = rest.split_at(start);
        out.push_str(before);
        if from.starts_with("//") {
            return out;
        }
        if from.starts_with("/*") {
            out.push(' ');
            rest = from.find("*/").map_or("", |end| &from[end + 2..]);
        } else {
            out.push('/');
            rest = &from[1..];
        }
    }
    out + rest
}

/// Whether the last comment that was opened before this place is still open.
fn inside_comment(text: &str, offset: usize) -> bool {
    let before = &text[..offset];
    match (before.rfind("/*"), before.rfind("*/")) {
        (Some(open), Some(close)) => open > close,
        (open, _) => open.is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_header() {
        let text = "#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 14\n#define CUDNN_PATCHLEVEL 0\n";
        assert_eq!(cudnn(text), Some(Version::new(9, 14, 0)));
        assert_eq!(
            cuda("#define CUDA_VERSION 13050\n"),
            Some(Version::new(13, 5, 0))
        );
    }

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
            "#define CUDA_VERSION_MIN 11000\n#if CUDA_VERSION < 9000\n#endif\n#define CUDA_VERSION 12040",
        ] {
            assert_eq!(cuda(line), Some(Version::new(12, 4, 0)), "{line:?}");
        }
    }

    #[test]
    fn what_says_nothing_is_unknown() {
        for text in [
            "",
            "#define CUDA_VERSION",
            "#define CUDA_VERSION OTHER",
            "#defineCUDA_VERSION 12040",
            "CUDA_VERSION 12040",
            "#define CUDA_VERSION 99999999999",
            "/* #define CUDA_VERSION 12040",
            "#define CUDA_VERSION \\",
        ] {
            assert_eq!(cuda(text), None, "{text:?}");
        }
        assert_eq!(
            cudnn("#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 1\n"),
            None
        );
    }
}
