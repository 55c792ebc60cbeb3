//! A file of `fetch --lock`, in the format of pip and uv, which enforce its hashes:
//!
//! ```text
//! nvidia-cudnn-cu13==9.28.1.4 \
//!     --hash=sha256:73d874c6bd8a1c75ca040228f77c4e163efe9bab3b65bd85914e2b7334ac68ee
//! ```

use crate::Finding;
use crate::cli::fetch::fault::{failed, io};
use crate::cli::fetch::installer::Installer;
use crate::cli::terminal::show_step;
use crate::cli::whole_file;
use crate::model::text::pattern::pattern;
use crate::runtime::facts::quoted;
use crate::system::files;
use std::path::Path;

/// The wheels that `fetch` installs, for any CUDA. NVIDIA has no other projects, so anyone could register those.
const NAME: &str = "cuda-toolkit|nvidia-(?:cudnn-cu1[123]|cudnn-jit-cu1[23]|nvvm|cuda-crt|nvjitlink(?:-cu12)?|\
    (?:cublas|cuda-(?:cccl|nvcc|nvrtc|runtime)|curand|cufft|cusparse|cusolver|npp|nvjpeg)(?:-cu1[12])?)";
/// A version, and a hash for each platform's archive.
const PIN: &str = r"==[0-9A-Za-z.+!]+(?:(?: |\\\n)+--hash=sha256:[0-9a-f]{64})+";

/// Parses known wheels with hashes. Returns only them: pip and uv would interpret everything else, and also characters
/// in a comment that end a line or name an encoding.
pub fn parse(text: &str) -> Option<String> {
    let text = text.replace("\r\n", "\n");
    let text = pattern("(?m)^ *#.*\n?").replace_all(&text, "");
    let wheels = pattern(&format!("(?m)^(?:{NAME}){PIN}$"));
    let is_all = wheels.replace_all(&text, "").trim().is_empty();
    let wheels = wheels.find_iter(&text).map(|wheel| wheel.as_str());
    is_all.then(|| Vec::from_iter(wheels).join("\n") + "\n")
}

pub fn read(file: &Path) -> Result<String, Finding> {
    let text = parse(&files::read(file)?).unwrap_or_default();
    if text.contains("nvidia-cuda-runtime") && text.contains("nvidia-cudnn-") {
        return Ok(text);
    }
    let (shown, path) = (file.display(), quoted(&file.to_string_lossy()));
    let summary = format!(
        "the lock file `{shown}` does not consist of NVIDIA wheels with SHA-256 hashes, with a toolkit and a cuDNN"
    );
    let command = format!("cudnn-guard fetch --lock {path}");
    let help = format!("remove the file, and run `{command}` to create it again");
    Err(failed(summary).help(help))
}

/// Creates a lock file with the wheels of these packages. Returns them.
pub fn create(file: &Path, home: &Path, packages: &str) -> Result<String, Finding> {
    if std::path::absolute(file).is_ok_and(|file| file.starts_with(home)) {
        let file = file.display();
        let summary = format!("the lock file `{file}` would be among the fetched files");
        let help = "create it in another directory, such as that of the crate";
        return Err(failed(summary).help(help));
    }
    let wheels = Installer::find()?.resolve(packages)?;
    let head = "# `cudnn-guard fetch --lock FILE` installs exactly these wheels.\n";
    whole_file::replace(file, &format!("{head}{wheels}")).map_err(io("write", file))?;
    show_step("✓", "locked", file.display());
    Ok(wheels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toolkit::package_names::FETCHED_ON_REQUEST;

    #[test]
    fn only_known_wheels_with_hashes_are_accepted() {
        let hash = format!("sha256:{}", "30cd".repeat(16));
        let wheels = format!(
            "nvidia-cublas==13.5.37 \\\n    --hash={hash} \\\n    --hash={hash}\nnvidia-cudnn-cu13==9.28.1.4 --hash={hash}\n"
        );
        let text = format!("# a comment: \u{e9}\n\n  # x\n{wheels}\n");
        assert_eq!(parse(&text).as_ref(), Some(&wheels));
        assert_eq!(parse(&text.replace('\n', "\r\n")).as_ref(), Some(&wheels));
        assert_eq!(parse("# x==1 --hash=y").as_deref(), Some("\n"));
        for name in FETCHED_ON_REQUEST {
            for end in ["", "-cu12"] {
                assert!(parse(&format!("nvidia-{name}{end}==1 --hash={hash}")).is_some());
            }
        }
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
