//! The file of `fetch --lock`: exact wheels with the hashes of their archives.

use crate::fetch::choice::Choice;
use crate::fetch::component::Component;
use crate::fetch::installed::failed;
use crate::fetch::installer::Installer;
use crate::fetch::release::Release;
use crate::fetch::requirements::{self, Pin};
use crate::whole_file;
use cudnn_guard::runtime::facts::majors;
use cudnn_guard::{Finding, FindingId, quoted};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

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
                pins: requirements::parse(&text),
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
        let cuda = majors::CUDA
            .iter()
            .find_map(|&major| version(Component::toolkit(major, None).packages.first()?));
        let cudnn = majors::CUDA
            .iter()
            .find_map(|&major| version(Component::cudnn(major, None).packages.first()?));
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
        let pin = |name: &String| {
            let mut pins = self.pins.iter();
            let pin = pins.find(|pin| pin.package == *name).cloned();
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
    let text = requirements::text(&Installer::find()?.hashes(&wheels.collect::<Vec<_>>())?);
    let head = format!(
        "# `cudnn-guard fetch --lock {}` fetches these wheels again, and nothing else.\n",
        quoted(&path.to_string_lossy())
    );
    whole_file::replace(path, &(head + &text)).map_err(|error| failed("write", path, &error))
}
