//! Parsers of a toolkit's version files.

use crate::model::{Pattern, pattern, short_version};
use crate::runtime::facts::Version;

/// Parses `12.4` in `"cuda" : { "name" : "CUDA SDK", "version" : "12.4.1" }` from `version.json`, which exists since
/// CUDA 11.1. The third number is not part of CUDA's version. In some files it is a date.
pub fn json(text: &str) -> Option<Version> {
    static CUDA: Pattern =
        Pattern::new(|| pattern(r#""cuda"\s*:\s*\{[^}]*?"version"\s*:\s*"([^"]*)""#));
    short_version(&CUDA.captures(text)?[1])
}

/// Parses `10.2` in `CUDA Version 10.2.89` from `version.txt`, up to CUDA 11.0.
pub fn text(text: &str) -> Option<Version> {
    let rest = text.trim_start().strip_prefix("CUDA Version")?;
    short_version(rest.split_whitespace().next()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_in_version_json() {
        let complete = "{\n   \"cuda\" : {\n      \"name\" : \"CUDA SDK\",\n      \"version\" : \"12.4.1\"\n   },\n   \
            \"cuda_cudart\" : {\n      \"name\" : \"CUDA Runtime (cudart)\",\n      \"version\" : \"12.4.127\"\n   }\n}\n";
        assert_eq!(json(complete), Some(Version::new(12, 4, 0)));
        let dated =
            "{\"cuda_cccl\":{\"version\":\"1.2.3\"},\"cuda\":{\"version\":\"12.6.20241114\"}}";
        assert_eq!(json(dated), Some(Version::new(12, 6, 0)));
        for other in [
            "",
            "{}",
            "\"cuda\"",
            "{\"cuda\":\"12.4\"}",
            "{\"cuda\":{}}",
            "{\"cuda\":{\"version\":12}}",
            "{\"cuda\":{\"version\":\"12\"}}",
            "{\"cuda\":{\"version\":\"12.x.1\"}}",
            "{\"cuda\":{\"version\":\"12.4",
            "{\"cuda\":{\"name\":\"x\"},\"other\":{\"version\":\"12.4.1\"}}",
            "{\"name\":\"cuda\",\"version\":\"12.4.1\"}",
        ] {
            assert_eq!(json(other), None, "{other:?}");
        }
    }

    #[test]
    fn the_version_in_version_txt() {
        assert_eq!(text("CUDA Version 10.2.89\n"), Some(Version::new(10, 2, 0)));
        assert_eq!(
            text("CUDA Version 9.0.176\nCUDA Patch Version 9.0.176.1\n"),
            Some(Version::new(9, 0, 0))
        );
        for other in [
            "",
            "CUDA Version ",
            "CUDA Version ten",
            "1.2.3\n",
            "CUDA Version 10",
        ] {
            assert_eq!(text(other), None, "{other:?}");
        }
    }
}
