//! The package that a cuDNN came in.

use crate::runtime::facts::version::Version;
use std::fmt;

/// Who installs packages of that kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Installer {
    /// conda, mamba and the like.
    Conda,
    /// pip, uv and the like.
    Pip,
    /// apt.
    Apt,
}

/// The package that a cuDNN came in, by the record of its installer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Who installed it.
    pub installer: Installer,
    /// `libcudnn`, `nvidia-cudnn-cu12`, `libcudnn9-cuda-12`.
    pub name: String,
    /// As the installer writes it: `9.10.1.4`, `8.9.2.26-1+cuda12.2`.
    pub version: String,
}

impl Owner {
    /// The command that brings a release from this one on, and before that one, in its place. None for apt, whose
    /// packages may have no such release.
    pub fn install(&self, from: Version, below: Option<Version>) -> Option<String> {
        let from = (from > Version::new(0, 0, 0)).then(|| format!(">={}", from.short()));
        let below = below.map(|below| format!("<{}", below.short()));
        let range: Vec<String> = from.into_iter().chain(below).collect();
        let wanted = format!("'{}{}'", self.name, range.join(","));
        match self.installer {
            Installer::Conda => Some(format!("conda install -c conda-forge {wanted}")),
            Installer::Pip => Some(format!("pip install {wanted}")),
            Installer::Apt => None,
        }
    }

    /// The CUDA major that it says it was built for: 13 of the wheel `nvidia-cudnn-cu13`, 12 of the Debian package
    /// `8.9.2.26-1+cuda12.2`.
    pub fn cuda_major(&self) -> Option<u32> {
        let major = match self.installer {
            Installer::Pip => self.name.rsplit_once("-cu")?.1,
            _ => self.version.split_once("+cuda")?.1.split('.').next()?,
        };
        major.parse().ok()
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.installer {
            Installer::Conda => "conda package",
            Installer::Pip => "Python package",
            Installer::Apt => "Debian package",
        };
        write!(f, "{kind} {} {}", self.name, self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// VER-02
    #[test]
    fn the_installer_of_a_package_is_told_what_to_install() {
        let range = |installer, name: &str, from, below| {
            let owner = Owner {
                installer,
                name: name.into(),
                version: "9.10.1.4".into(),
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
        assert_eq!(command(Installer::Apt, "libcudnn9-cuda-12", None), None);
    }
}
