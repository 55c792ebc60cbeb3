//! Package installers and their install commands.

use crate::model::Kind;
use crate::runtime::facts::{Version, majors};
pub use crate::runtime::install::package_owner::{Installer, Owner};
use std::fmt;

impl Installer {
    /// Returns the command that installs the newest cuDNN (headers and libraries) for this CUDA major, at least `from`
    /// and before `below`. Returns `None` if no such package exists.
    pub fn install_cudnn(self, cuda: u32, from: Version, below: Option<Version>) -> Option<String> {
        let newest = majors::NEWEST_CUDNN;
        let install = |name: &str| Owner::new(self, name, "").install(from, below);
        match self {
            _ if !majors::CUDA.contains(&cuda) => None,
            Installer::Apt if cuda == 11 || below.is_some_and(|below| below.major <= newest) => {
                None
            }
            Installer::Apt => Some(format!("sudo apt install libcudnn{newest}-dev-cuda-{cuda}")),
            Installer::Pip | Installer::Uv => install(&format!("nvidia-cudnn-cu{cuda}")),
            Installer::Conda => Some(install("cudnn")? + &format!(" cuda-version={cuda}")),
        }
    }
}

/// NVIDIA's wheels of cuDNN and their versions.
const WHEELS: &str = include_str!("../../build-support/compat/cudnn-wheels.txt");

/// Returns `false` for a wheel of cuDNN of which NVIDIA has published no version in this range. Versions that are newer
/// than the table may exist.
fn is_published(name: &str, from: Version, below: Option<Version>) -> bool {
    let newest = WHEELS.split_whitespace().filter_map(Version::parse).max();
    let mut lines = WHEELS.lines();
    let versions = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    let is_met = |version| version >= from && below.is_none_or(|below| version < below);
    versions.is_none_or(|all| all.split(' ').filter_map(Version::parse).any(is_met))
        || newest.is_some_and(|newest| from > newest)
}

/// Returns a version without its third number if that is 0: 9.1, but 9.10.2.
fn brief(version: Version) -> String {
    match version.patch {
        0 => version.short(),
        _ => version.to_string(),
    }
}

/// Returns the option of `cudnn-guard fetch` for a version, if the newest version might not be at least `from` and before
/// `below`. A version that was fetched before stays unless another one is named.
pub fn to_fetch(
    kind: Kind,
    from: Version,
    below: Option<Version>,
    fetched: Option<Version>,
) -> Option<String> {
    let (newest, least) = match kind {
        Kind::Toolkit => (majors::NEWEST_CUDA, from.short()),
        Kind::Cudnn => (majors::NEWEST_CUDNN, brief(from)),
    };
    let version = match below {
        _ if fetched.is_some_and(|fetched| fetched < from) => least,
        None => return None,
        Some(below) => match (below.minor, below.patch) {
            (0, 0) if below.major > newest => return None,
            (0, 0) => below.major.saturating_sub(1).to_string(),
            (minor @ 1.., patch) if patch == 0 || from.major == 0 => {
                format!("{}.{}", below.major, minor - 1)
            }
            _ => least,
        },
    };
    Some(format!(" --{} {version}", kind.name()))
}

impl Owner {
    /// Returns the command that replaces this package with a version of at least `from` and before `below`. Returns
    /// `None` for apt, which may not have such a version, and for a wheel of cuDNN without one.
    pub fn install(&self, from: Version, below: Option<Version>) -> Option<String> {
        if self.installer == Installer::Apt || !is_published(&self.name, from, below) {
            return None;
        }
        let kind = match self.name.contains("cudnn") {
            true => Kind::Cudnn,
            false => Kind::Toolkit,
        };
        let option = to_fetch(kind, from, below, Some(Version::new(0, 0, 0)));
        let mut range = Vec::new();
        if from > Version::new(0, 0, 0) {
            range.push(format!(">={}", brief(from)));
        }
        range.extend(below.map(|below| format!("<{}", brief(below))));
        let package = format!("'{}{}'", self.name, range.join(","));
        Some(self.command(&option.unwrap_or_default(), &package))
    }

    /// Returns the CUDA major in the package's name or version: 13 for the wheel `nvidia-cudnn-cu13` and for the Debian
    /// package `libcudnn9-cuda-13`, 12 for the Debian package version `8.9.2.26-1+cuda12.2`.
    pub fn cuda_major(&self) -> Option<u32> {
        let number = |text: &str| text.split([':', '.']).next()?.parse().ok();
        let in_name = |before| number(self.name.rsplit_once(before)?.1);
        let in_version = || number(self.version.split_once("+cuda")?.1);
        // The package of another architecture is `libcudnn9-cuda-12:arm64`.
        in_name("-cuda-")
            .or_else(|| in_name("-cu"))
            .or_else(in_version)
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.installer {
            Installer::Conda => "conda package",
            Installer::Pip | Installer::Uv => "Python package",
            Installer::Apt => "Debian package",
        };
        write!(f, "{kind} {} {}", self.name, self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn install_commands_for_a_range_of_versions() {
        let range = |installer, name: &str, from, below| {
            let owner = Owner {
                installer,
                name: name.into(),
                version: "9.10.1.4".into(),
                fetched: None,
            };
            owner.install(from, below)
        };
        let command =
            |installer, name, below| range(installer, name, Version::new(9, 13, 0), below);
        let ten = Some(Version::new(10, 0, 0));
        assert_eq!(
            command(Installer::Conda, "cudnn", None).unwrap(),
            "conda install -c conda-forge 'cudnn>=9.13'"
        );
        assert_eq!(
            command(Installer::Pip, "nvidia-cudnn-cu12", ten).unwrap(),
            "pip install 'nvidia-cudnn-cu12>=9.13,<10.0'"
        );
        assert_eq!(
            range(
                Installer::Pip,
                "nvidia-cudnn-cu12",
                Version::new(0, 0, 0),
                ten
            )
            .unwrap(),
            "pip install 'nvidia-cudnn-cu12<10.0'"
        );
        assert_eq!(
            command(Installer::Uv, "nvidia-cudnn-cu12", None).unwrap(),
            "uv pip install 'nvidia-cudnn-cu12>=9.13'"
        );
        assert_eq!(command(Installer::Apt, "libcudnn9-cuda-12", None), None);
        // Without the last number, pip considers the installed version new enough.
        assert_eq!(
            range(
                Installer::Pip,
                "nvidia-cudnn-cu12",
                Version::new(8, 9, 8),
                None
            )
            .unwrap(),
            "pip install 'nvidia-cudnn-cu12>=8.9.8'"
        );
    }

    #[test]
    fn a_fetched_wheel_is_fetched_in_a_version_below_the_bound() {
        let mut owner = Owner::new(Installer::Pip, "nvidia-cudnn-cu12", "9.10.1.4");
        owner.fetched = Some("/cuda".into());
        let command = |from, below| owner.install(from, Some(below)).unwrap();
        let (any, nine) = (Version::new(0, 0, 0), Version::new(9, 0, 0));
        assert_eq!(
            command(any, Version::new(9, 5, 0)),
            "cudnn-guard fetch --cudnn 9.4 --to /cuda"
        );
        assert_eq!(command(any, nine), "cudnn-guard fetch --cudnn 8 --to /cuda");
        assert_eq!(
            command(Version::new(9, 13, 0), Version::new(10, 0, 0)),
            "cudnn-guard fetch --cudnn 9.13 --to /cuda"
        );
    }

    #[test]
    fn a_package_names_its_cuda_major() {
        for (installer, name, version, major) in [
            (Installer::Pip, "nvidia-cudnn-cu13", "9.14.0.64", Some(13)),
            (Installer::Apt, "libcudnn9-cuda-12", "9.10.2.21-1", Some(12)),
            (
                Installer::Apt,
                "libcudnn9-cuda-12:arm64",
                "9.10.2.21-1",
                Some(12),
            ),
            (Installer::Apt, "libcudnn8", "8.9.2.26-1+cuda12.2", Some(12)),
            (Installer::Conda, "libcudnn", "9.10.1.4", None),
        ] {
            let owner = Owner {
                installer,
                name: name.into(),
                version: version.into(),
                fetched: None,
            };
            assert_eq!(owner.cuda_major(), major, "{owner}");
        }
    }

    #[test]
    fn the_table_of_wheels_is_complete() {
        let rows = WHEELS.lines().filter(|line| !line.starts_with('#'));
        let mut names = Vec::new();
        for (name, versions) in rows.filter_map(|row| row.split_once(' ')) {
            let parsed: Vec<_> = versions.split(' ').map(Version::parse).collect();
            assert!(
                parsed.len() > 20 && parsed.iter().all(Option::is_some),
                "{name}"
            );
            assert!(parsed.is_sorted(), "{name}");
            names.push(name);
        }
        for cuda in majors::CUDA {
            assert!(
                names.contains(&&*format!("nvidia-cudnn-cu{cuda}")),
                "{names:?}"
            );
        }
    }

    #[test]
    fn cudnn_is_installed_for_the_cuda_that_was_found() {
        let (any, nine) = (Version::new(0, 0, 0), Version::new(9, 1, 0));
        let eight = Some(Version::new(9, 0, 0));
        for (installer, cuda, from, below, command) in [
            (
                Installer::Pip,
                12,
                any,
                None,
                "pip install 'nvidia-cudnn-cu12'",
            ),
            (
                Installer::Pip,
                13,
                nine,
                None,
                "pip install 'nvidia-cudnn-cu13>=9.1'",
            ),
            (Installer::Pip, 14, any, None, ""),
            // NVIDIA has published no such wheel for this CUDA.
            (Installer::Pip, 13, nine, Some(Version::new(9, 2, 0)), ""),
            (Installer::Uv, 13, any, eight, ""),
            (Installer::Pip, 11, Version::new(9, 11, 0), None, ""),
            // The table does not know whether this version exists.
            (
                Installer::Pip,
                13,
                Version::new(9, 99, 0),
                None,
                "pip install 'nvidia-cudnn-cu13>=9.99'",
            ),
            (Installer::Pip, 11, Version::new(8, 9, 7), eight, ""),
            (
                Installer::Pip,
                12,
                Version::new(8, 9, 7),
                eight,
                "pip install 'nvidia-cudnn-cu12>=8.9.7,<9.0'",
            ),
            (
                Installer::Conda,
                12,
                nine,
                None,
                "conda install -c conda-forge 'cudnn>=9.1' cuda-version=12",
            ),
            (
                Installer::Apt,
                12,
                nine,
                None,
                "sudo apt install libcudnn9-dev-cuda-12",
            ),
            (Installer::Apt, 11, any, None, ""),
            (Installer::Apt, 12, any, eight, ""),
        ] {
            let found = installer.install_cudnn(cuda, from, below);
            assert_eq!(found.unwrap_or_default(), command, "{installer:?} {cuda}");
        }
    }
}
