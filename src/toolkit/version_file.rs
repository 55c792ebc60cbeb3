//! What the file beside a toolkit's directories says of its release.

use crate::model::version::Version;

/// `12.4` of `"cuda" : { "name" : "CUDA SDK", "version" : "12.4.1" }` in `version.json`, which there is from CUDA 11.1
/// on. The third number is no release of CUDA; in some it is a date.
pub fn json(text: &str) -> Option<Version> {
    text.match_indices("\"cuda\"").find_map(|(at, name)| {
        let object = value(text.get(at + name.len()..)?)?.strip_prefix('{')?;
        let (object, _) = object.split_once('}')?;
        object.match_indices("\"version\"").find_map(|(at, name)| {
            let value = value(object.get(at + name.len()..)?)?;
            release(value.strip_prefix('"')?.split_once('"')?.0)
        })
    })
}

/// What stands behind the name of a member.
fn value(rest: &str) -> Option<&str> {
    Some(rest.trim_start().strip_prefix(':')?.trim_start())
}

/// `10.2` of `CUDA Version 10.2.89` in `version.txt`, up to CUDA 11.0.
pub fn text(text: &str) -> Option<Version> {
    let said = text.trim_start().strip_prefix("CUDA Version ")?;
    release(said.split_whitespace().next()?)
}

fn release(numbers: &str) -> Option<Version> {
    let mut numbers = numbers.split('.').map(|number| number.parse().ok());
    let (major, minor) = (numbers.next()??, numbers.next()??);
    numbers
        .all(|number: Option<u32>| number.is_some())
        .then(|| Version::new(major, minor, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_in_version_json() {
        let whole = "{\n   \"cuda\" : {\n      \"name\" : \"CUDA SDK\",\n      \"version\" : \"12.4.1\"\n   },\n   \
            \"cuda_cudart\" : {\n      \"name\" : \"CUDA Runtime (cudart)\",\n      \"version\" : \"12.4.127\"\n   }\n}\n";
        assert_eq!(json(whole), Some(Version::new(12, 4, 0)));
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
    fn the_release_in_version_txt() {
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
