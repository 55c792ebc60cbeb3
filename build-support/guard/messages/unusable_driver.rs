//! Files that are not a usable driver but are in the place of NVIDIA's.

use crate::runtime::binary::defect::{Defect, cpu_name};
use crate::runtime::driver::stub::UnusableDriver;
use crate::runtime::driver::{DriverProblem, MissingDriver};
use crate::runtime::facts::{Finding, FindingId};
use crate::runtime::install::missing_dlopen::MissingLink;
use crate::runtime::loader::{LoadOrigin, Unfit};
use crate::runtime::messages::loading::new_link;
use std::path::{Path, PathBuf};

impl MissingDriver {
    /// Returns the finding for a missing driver, with the unusable file of its name.
    pub fn with_unfit(&self, unfit: &Unfit) -> Finding {
        // The message names the defect because of which the file was not opened.
        let with_words = self.not_opened.as_ref() != Some(&unfit.defect);
        unfit.instead_of_driver(self.finding_with(with_words))
    }
}

impl DriverProblem {
    /// Returns the finding for a library that is loaded in place of the driver's. `behind`: the driver's library, later
    /// on the search path, and its version.
    pub fn in_place_finding(
        &self,
        path: &Path,
        origin: &LoadOrigin,
        behind: Option<(PathBuf, String)>,
    ) -> Finding {
        let remove = origin.removal(path);
        let unlocated = self.finding();
        let help = match (&behind, self) {
            (Some(_), _) => [vec![remove], unlocated.help].concat(),
            (None, DriverProblem::Stub(_)) => vec![install_instead(&remove)],
            // A library of the cuda-compat package.
            (None, _) if path.to_string_lossy().contains("compat/") => vec![remove],
            (None, _) => unlocated.help,
        };
        let available =
            behind.map(|(driver, version)| format!("{}, version {version}", driver.display()));
        let finding = unlocated.id.warning(unlocated.summary);
        let finding = finding.with("found via", origin);
        let finding = finding.with_some("available", available);
        let finding = finding.with_lines("packages", origin.packages(path));
        finding.with_all(unlocated.evidence).helps(help)
    }
}

fn install_instead(remove: &str) -> String {
    format!("install NVIDIA's driver, and {remove}: a stub is only for linking")
}

impl UnusableDriver {
    pub fn finding(&self) -> Finding {
        let opener = match &self.opener {
            Some(file) => format!("`{}`", file.display()),
            None => "this program".to_string(),
        };
        let (name, path) = (&self.name, self.path.display());
        let remove = self.origin.removal(&self.path);
        let (id, file, instead) = match &self.older {
            None => (
                FindingId::DriverStub,
                format!("the toolkit's stub `{path}`, not NVIDIA's driver"),
                install_instead(&remove),
            ),
            Some((own, module)) => (
                FindingId::DriverError,
                format!("`{path}` {own}, which is older than kernel module {module}"),
                format!("{remove}, and install the libraries of NVIDIA's driver {module}"),
            ),
        };
        let summary = format!("{opener} opens {name} and gets {file}, so it cannot use a GPU");
        let driver = self.driver.as_ref();
        id.warning(summary)
            .with("found via", &self.origin)
            .with_lines("available", driver.map(|driver| driver.existing.display()))
            .with_lines("packages", self.origin.packages(&self.path))
            .help(match driver {
                None => instead,
                Some(MissingLink {
                    existing,
                    link: Some(link),
                }) => format!(
                    "{remove}; cuDNN 8, and cudarc before 0.13.1, also need a link: {}",
                    new_link(existing, link)
                ),
                Some(_) => remove,
            })
    }
}

impl Unfit {
    /// Returns the finding for this file in the driver's place. `missing`: the finding if no file existed.
    pub fn instead_of_driver(&self, missing: Finding) -> Finding {
        let (path, defect) = (self.path.display(), &self.defect);
        // A container image has an empty file, over which the driver's library is mounted.
        let help = match defect {
            Defect::Machine(number, own) => {
                let other = cpu_name(*number).unwrap_or("that CPU");
                Some(format!(
                    "install NVIDIA's driver for {own}, or use a build of this program for {other}"
                ))
            }
            Defect::Forbidden => Some(defect.help(&self.path)),
            Defect::Special => Some(format!("remove `{path}`")),
            _ => None,
        };
        let is_damaged = matches!(
            defect,
            Defect::Truncated(..) | Defect::Garbled | Defect::Foreign(..)
        );
        let help = match is_damaged || cfg!(windows) && *defect == Defect::Empty {
            true => vec!["reinstall NVIDIA's driver".to_string()],
            false => help.into_iter().chain(missing.help).collect(),
        };
        missing
            .id
            .warning(format!("`{path}` {defect}, so no GPU can be used"))
            .with("found via", &self.found_via)
            .with_all(missing.evidence)
            .helps(help)
    }
}
