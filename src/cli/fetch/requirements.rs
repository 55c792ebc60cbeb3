//! A file of `fetch --lock`, in the format of pip and uv:
//!
//! ```text
//! nvidia-cudnn-cu13==9.28.1.4 \
//!     --hash=sha256:73d874c6bd8a1c75ca040228f77c4e163efe9bab3b65bd85914e2b7334ac68ee
//! ```

use crate::cli::fetch::wheels::is_known;

/// A version of a wheel, with a hash for each platform's archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    pub name: String,
    pub version: String,
    /// Options, as in the file.
    hashes: String,
}

/// Formats wheels for pip and uv.
pub fn text(pins: &[Pin]) -> String {
    let line = |pin: &Pin| format!("{}=={} \\\n    {}\n", pin.name, pin.version, pin.hashes);
    pins.iter().map(line).collect()
}

/// Parses a text that consists of known wheels with hashes, and of comments. pip and uv get only what was parsed: they
/// would interpret everything else, and also characters in a comment that end a line or name an encoding.
pub fn parse(text: &str) -> Option<Vec<Pin>> {
    let is_comment = |line: &&str| line.trim_start().starts_with('#');
    let lines: Vec<&str> = text.lines().filter(|line| !is_comment(line)).collect();
    let text = lines.join("\n").replace("\\\n", " ");
    let wheels = text.lines().filter(|line| !line.trim().is_empty());
    wheels.map(parse_wheel).collect()
}

fn parse_wheel(line: &str) -> Option<Pin> {
    let mut words = line.split_ascii_whitespace();
    let (name, version) = words.next()?.split_once("==")?;
    let name = name.to_ascii_lowercase().replace(['_', '.'], "-");
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".+!".contains(c);
    let hashes: Vec<&str> = words.collect();
    let is_valid = is_known(&name)
        && !version.is_empty()
        && version.chars().all(is_plain)
        && !hashes.is_empty()
        && hashes.iter().all(|word| is_sha256(word));
    is_valid.then(|| Pin {
        name,
        version: version.to_string(),
        hashes: hashes.join(" \\\n    "),
    })
}

fn is_sha256(word: &str) -> bool {
    let digits = word.strip_prefix("--hash=sha256:").unwrap_or_default();
    digits.len() == 64 && digits.chars().all(|c| c.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_wheels_with_hashes_are_accepted() {
        let hash = format!("sha256:{}", "30cd".repeat(16));
        let text = format!(
            "# a comment: \u{e9}\nNVIDIA_cublas==13.5.37 \\\n    --hash={hash} \\\n    --hash={hash}\n\n\
             nvidia-cudnn-cu13==9.28.1.4 --hash={hash}\n"
        );
        let pin = |name: &str, version: &str, count| Pin {
            name: name.to_string(),
            version: version.to_string(),
            hashes: vec![format!("--hash={hash}"); count].join(" \\\n    "),
        };
        let pins = [
            pin("nvidia-cublas", "13.5.37", 2),
            pin("nvidia-cudnn-cu13", "9.28.1.4", 1),
        ];
        assert_eq!(parse(&text).as_deref(), Some(&pins[..]));
        assert_eq!(
            parse(&text.replace('\n', "\r\n")).as_deref(),
            Some(&pins[..])
        );
        assert_eq!(parse(&self::text(&pins)).as_deref(), Some(&pins[..]));
        assert_eq!(parse("# x==1 --hash=y"), Some(Vec::new()));
        for other in [
            "nvidia-nvvm==1",
            "nvidia-nvvm==1 --hash=sha256:30cd",
            &format!("nvidia-nvvm==1 --hash=md5:{}", "0".repeat(64)),
            &format!("nvidia-nvvm==1.* --hash={hash}"),
            &format!("nvidia-nvvm=={} --hash={hash}", "${HOME}"),
            &format!("nvidia-nvvm==1 --hash={hash} -r other.txt"),
            &format!("nvidia-nvvm-cu12==1 --hash={hash}"),
            &format!("nvidia-nvjitlink-cu11==1 --hash={hash}"),
            &format!("nvidia-evil==1 --hash={hash}"),
            &format!("evil==1 --hash={hash}"),
            &format!("evil @ https://example.org/x.whl --hash={hash}"),
            &format!("--hash={hash}"),
            "-r other.txt",
        ] {
            assert_eq!(parse(&format!("{text}{other}\n")), None, "{other}");
        }
    }
}
