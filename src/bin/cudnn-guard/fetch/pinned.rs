//! The file of `fetch --lock`: exact wheels with the hashes of their archives, in the form that pip and uv read.
//!
//! ```text
//! nvidia-cudnn-cu13==9.28.1.4 \
//!     --hash=sha256:73d874c6bd8a1c75ca040228f77c4e163efe9bab3b65bd85914e2b7334ac68ee
//! ```

use crate::fetch::choice::Choice;
use crate::fetch::component::{Component, MAJORS, Release};
use crate::fetch::installed::failed;
use crate::fetch::installer::Installer;
use crate::whole_file;
use cudnn_guard::{Finding, FindingId, quoted};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// One wheel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// `nvidia-cudnn-cu13`
    pub package: String,
    /// `9.28.1.4`
    pub version: String,
    /// `sha256:73d8..`: one for each system that there is an archive for.
    pub hashes: Vec<String>,
}

/// What a file names.
pub struct Pinned {
    path: PathBuf,
    pins: Vec<Pin>,
}

impl Pinned {
    /// Reads it; none if it is not there.
    pub fn read(path: &Path) -> Result<Option<Self>, Finding> {
        match fs::read_to_string(path) {
            Ok(text) => Ok(Some(Self {
                path: path.to_path_buf(),
                pins: parse(&text),
            })),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed("read", path, &error)),
        }
    }

    /// The releases in it.
    pub fn choice(&self) -> Result<Choice, Finding> {
        let version = |package: &str| {
            let mut pins = self.pins.iter();
            Some(pins.find(|pin| pin.package == package)?.version.clone())
        };
        let cuda = MAJORS.into_iter().find_map(|major| {
            let package = Component::toolkit(major, None).packages.first()?;
            version(package)
        });
        let cudnn = MAJORS.into_iter().find_map(|major| {
            let package = Component::cudnn(major, None).packages.first()?;
            version(package)
        });
        match (cuda, cudnn) {
            (Some(cuda), Some(cudnn)) => Ok(Choice {
                cuda: Some(Release::of_wheel(&cuda).first(2)),
                cudnn: Some(Release::of_wheel(&cudnn).first(3)),
            }),
            _ => Err(self.lacking("a toolkit and a cuDNN")),
        }
    }

    /// Those of a component.
    pub fn of(&self, component: &Component) -> Result<Vec<Pin>, Finding> {
        let pin = |name: &&str| {
            let mut pins = self.pins.iter();
            let pin = pins.find(|pin| pin.package == **name).cloned();
            pin.ok_or_else(|| self.lacking(name))
        };
        component.packages.iter().map(pin).collect()
    }

    fn lacking(&self, what: &str) -> Finding {
        let path = self.path.display();
        let summary = format!("`{path}` does not name {what}");
        Finding::error(FindingId::FetchFailed, summary).help(format!(
            "remove it, and run `cudnn-guard fetch --lock {}`, which writes it anew",
            quoted(&self.path.to_string_lossy())
        ))
    }
}

/// Writes what is installed, with the hashes that the installer is told by its index.
pub fn write(path: &Path, home: &Path, components: &[Component]) -> Result<(), Finding> {
    let wheels = components.iter().flat_map(|one| {
        let packages = one.packages.iter().zip(one.wheels(home));
        packages.filter_map(|(name, wheel)| Some(format!("{name}=={}", wheel?.version)))
    });
    let text = text(&Installer::find()?.hashes(&wheels.collect::<Vec<_>>())?);
    let head = format!(
        "# `cudnn-guard fetch --lock {}` fetches these wheels again, and nothing else.\n",
        quoted(&path.to_string_lossy())
    );
    whole_file::replace(path, &(head + &text)).map_err(|error| failed("write", path, &error))
}

/// As pip's requirements.
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

/// Reads them. A wheel without a hash is none.
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
        (!hashes.is_empty()).then(|| Pin {
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
    fn what_is_written_is_read() {
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
