//! The file of `fetch --lock`: exact versions of wheels, with their hashes.

use crate::cli::fetch::choice::Choice;
use crate::cli::fetch::component::Component;
use crate::cli::fetch::fault::{FetchFault, failed};
use crate::cli::fetch::installer::Installer;
use crate::cli::fetch::release::Release;
use crate::cli::fetch::requirements::{self, Pin};
use crate::cli::whole_file;
use crate::model::kind::Kind;
use crate::runtime::facts::finding::quoted;
use crate::toolkit::package_names::FETCHED_ON_REQUEST;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

pub struct Pinned {
    path: PathBuf,
    pins: Vec<Pin>,
}

impl Pinned {
    /// Reads a file; `None` if it does not exist.
    pub fn read(path: &Path) -> Result<Option<Self>, FetchFault> {
        match fs::read_to_string(path) {
            Ok(text) => Ok(Some(Self {
                path: path.to_path_buf(),
                pins: requirements::parse(&text),
            })),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed("read", path)(error)),
        }
    }

    fn find(&self, package: &str) -> Option<&Pin> {
        self.pins.iter().find(|pin| pin.package == package)
    }

    pub fn choice(&self) -> Result<Choice, FetchFault> {
        let release = |kind: Kind| {
            let every = kind.every();
            let mut firsts = every.iter().filter_map(|one| one.packages.first());
            let pin = firsts.find_map(|package| self.find(package))?;
            Some(Release::from_wheel(&pin.version).first(kind.numbers()))
        };
        match Kind::BOTH.map(release) {
            [Some(cuda), cudnn @ Some(_)] => {
                let toolkit = Component::new(Kind::Toolkit, cuda.major(), None);
                let is_pinned = |name: &&str| self.find(&toolkit.package_of(name)).is_some();
                let libraries = FETCHED_ON_REQUEST.into_iter().filter(is_pinned);
                Ok(Choice {
                    libraries: libraries.map(String::from).collect(),
                    cuda: Some(cuda.into()),
                    cudnn,
                })
            }
            _ => Err(self.not_locked(None)),
        }
    }

    pub fn pins_for(&self, component: &Component) -> Result<Vec<Pin>, FetchFault> {
        let pin = |name: &String| {
            self.find(name)
                .cloned()
                .ok_or_else(|| self.not_locked(Some(name)))
        };
        component.packages.iter().map(pin).collect()
    }

    fn not_locked(&self, package: Option<&String>) -> FetchFault {
        FetchFault::NotLocked(self.path.clone(), package.cloned())
    }
}

/// Writes the installed wheels, with hashes from the installer's index.
pub fn write(path: &Path, home: &Path, components: &[Component]) -> Result<(), FetchFault> {
    let wheels = components.iter().flat_map(|one| {
        let packages = one.packages.iter().zip(one.wheels(home));
        packages.filter_map(|(name, wheel)| Some(format!("{name}=={}", wheel?.version)))
    });
    let text = requirements::text(&Installer::find()?.hashes(&wheels.collect::<Vec<_>>())?);
    let head = format!(
        "# `cudnn-guard fetch --lock {}` installs exactly these wheels.\n",
        quoted(&path.to_string_lossy())
    );
    whole_file::replace(path, &(head + &text)).map_err(failed("write", path))
}
