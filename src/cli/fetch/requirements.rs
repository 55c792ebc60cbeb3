//! A file of `fetch --lock`, in the format of pip and uv:
//!
//! ```text
//! nvidia-cudnn-cu13==9.28.1.4 \
//!     --hash=sha256:73d874c6bd8a1c75ca040228f77c4e163efe9bab3b65bd85914e2b7334ac68ee
//! ```

/// Parses the wheels, each with its version. Returns `None` if there is anything but wheels with hashes, since pip and uv
/// would interpret it.
pub fn parse(text: &str) -> Option<Vec<(String, String)>> {
    let is_comment = |line: &&str| line.trim_start().starts_with('#');
    let lines: Vec<&str> = text.lines().filter(|line| !is_comment(line)).collect();
    let text = lines.join("\n").replace("\\\n", " ");
    let wheels = text.lines().filter(|line| !line.trim().is_empty());
    wheels.map(parse_wheel).collect()
}

fn parse_wheel(line: &str) -> Option<(String, String)> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.:+!".contains(c);
    let is_sound = |text: &str| !text.is_empty() && text.chars().all(is_plain);
    let mut words = line.split_whitespace();
    let (package, version) = words.next()?.split_once("==")?;
    let mut hashes = words.map(|word| word.strip_prefix("--hash=")).peekable();
    let is_hashed = hashes.peek().is_some() && hashes.all(|hash| hash.is_some_and(is_sound));
    let is_name = is_sound(package) && !package.starts_with('-') && is_sound(version);
    let package = package.to_ascii_lowercase().replace(['_', '.'], "-");
    (is_hashed && is_name).then(|| (package, version.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_wheels_with_hashes_are_accepted() {
        let text = "# a comment\nNVIDIA_cublas==13.5.37 \\\n    --hash=sha256:30cd \\\n    --hash=sha256:30cd\n\n\
                    nvidia-cudnn-cu13==9.28.1.4 --hash=sha256:30cd\n";
        let wheel = |package: &str, version: &str| (package.to_string(), version.to_string());
        let wheels = [
            wheel("nvidia-cublas", "13.5.37"),
            wheel("nvidia-cudnn-cu13", "9.28.1.4"),
        ];
        assert_eq!(parse(text).as_deref(), Some(&wheels[..]));
        assert_eq!(parse("# x==1 --hash=y"), Some(Vec::new()));
        for other in [
            "nvidia-cublas==1",
            "--hash=sha256:30cd",
            "--index-url=x==1 --hash=y",
            "-r other.txt",
            "x @ https://example.org/x.whl --hash=y",
            "x==1 --hash=y -r other.txt",
            "x==${HOME} --hash=y",
        ] {
            assert_eq!(parse(&format!("{text}{other}\n")), None, "{other}");
        }
    }
}
