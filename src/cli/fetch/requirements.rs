//! Wheels with hashes, in the format of pip and uv:
//!
//! ```text
//! nvidia-cudnn-cu13==9.28.1.4 \
//!     --hash=sha256:73d874c6bd8a1c75ca040228f77c4e163efe9bab3b65bd85914e2b7334ac68ee
//! ```

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// The project: `nvidia-cudnn-cu13`.
    pub package: String,
    /// The version: `9.28.1.4`.
    pub version: String,
    /// The hashes, one for each platform's archive: `sha256:73d8..`.
    pub hashes: Vec<String>,
}

/// Formats requirements for pip.
pub fn text(pins: &[Pin]) -> String {
    let mut text = String::new();
    for pin in pins {
        text.push_str(&format!("{}=={}", pin.package, pin.version));
        for hash in &pin.hashes {
            text.push_str(&format!(" \\\n    --hash={hash}"));
        }
        text.push('\n');
    }
    text
}

/// Parses pip's requirements. Skips wheels without a hash, and values with unexpected characters, since pip would
/// interpret them.
pub fn parse(text: &str) -> Vec<Pin> {
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'));
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    let wheels = text.replace("\\\n", " ");
    let pin = |line: &str| {
        let mut words = line.split_whitespace();
        let (package, version) = words.next()?.split_once("==")?;
        let hashes = words.filter_map(|word| word.strip_prefix("--hash="));
        let hashes: Vec<String> = hashes.map(str::to_string).collect();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.:+!".contains(c);
        let is_sound = |text: &str| !text.is_empty() && text.chars().all(is_plain);
        let all_sound = hashes.iter().all(|hash| is_sound(hash));
        if hashes.is_empty() || !all_sound || !is_sound(package) || !is_sound(version) {
            return None;
        }
        Some(Pin {
            package: package.to_ascii_lowercase().replace(['_', '.'], "-"),
            version: version.to_string(),
            hashes,
        })
    };
    wheels.lines().filter_map(pin).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_requirements_can_be_parsed() {
        let pins = [("nvidia-cublas", 2), ("nvidia-cudnn-cu13", 1)].map(|(package, count)| Pin {
            package: package.to_string(),
            version: "13.5.37".to_string(),
            hashes: vec!["sha256:30cd".to_string(); count],
        });
        let text = text(&pins);
        assert_eq!(
            text,
            "nvidia-cublas==13.5.37 \\\n    --hash=sha256:30cd \\\n    --hash=sha256:30cd\n\
             nvidia-cudnn-cu13==13.5.37 \\\n    --hash=sha256:30cd\n"
        );
        assert_eq!(parse(&format!("# a comment\n{text}")), pins);
        for nothing in [
            "",
            "# x==1 --hash=y",
            "nvidia-cublas==1",
            "--hash=sha256:30cd",
        ] {
            assert_eq!(parse(nothing), [], "{nothing}");
        }
    }
}
