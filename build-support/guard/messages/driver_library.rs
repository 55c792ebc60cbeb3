//! A file that is in the place of the driver's library.

use crate::runtime::binary::defect::{Defect, cpu_name};
use crate::runtime::driver::driver_library::LocatedProblem;
use crate::runtime::driver::query::DriverProblem;
use crate::runtime::facts::finding::Finding;
use crate::runtime::loader::load_origin::LoadOrigin;
use crate::runtime::loader::not_found::Unfit;
use crate::runtime::system::platform::LIBRARY_PATH;

impl LocatedProblem<'_> {
    /// Returns the finding for the problem, with the file that causes it.
    pub fn finding(&self) -> Finding {
        match self {
            LocatedProblem::Unlocated(problem) => problem.finding(),
            LocatedProblem::Unfit(missing, unfit) => {
                // The message names the defect because of which the file was not opened.
                let with_words = missing.not_opened.as_ref() != Some(&unfit.defect);
                unfit.instead_of_driver(missing.finding(with_words))
            }
            LocatedProblem::InPlace {
                problem,
                path,
                origin,
                behind,
            } => {
                let remove = match origin {
                    LoadOrigin::LibraryPath(entry) => {
                        format!("take `{}` out of {}", entry.display(), LIBRARY_PATH)
                    }
                    LoadOrigin::Rpath(entry) | LoadOrigin::Runpath(entry) => format!(
                        "build the program without `{}` in its rpath",
                        entry.display()
                    ),
                    LoadOrigin::Preload => "take it out of LD_PRELOAD".to_string(),
                    _ => format!("remove `{}`", path.display()),
                };
                let unlocated = problem.finding();
                let finding = Finding::warning(unlocated.id, unlocated.summary);
                let mut finding = finding.with("found via", origin);
                match (behind, problem) {
                    (Some((driver, release)), _) => {
                        let driver = format!("{}, of {}", driver.display(), release);
                        finding = finding.with("there is", driver).help(remove);
                        finding.help.extend(unlocated.help);
                    }
                    (None, DriverProblem::Stub(_)) => {
                        finding = finding.help(format!(
                            "install NVIDIA's driver, and {remove}: a stub is for linking alone"
                        ));
                    }
                    (None, _) => finding.help = unlocated.help,
                }
                finding.evidence.extend(unlocated.evidence);
                finding
            }
        }
    }
}

impl Unfit {
    /// Returns the finding for this file in the driver's place. `missing`: the finding if no file existed.
    pub fn instead_of_driver(&self, missing: Finding) -> Finding {
        let summary = format!(
            "`{}` {}, so no GPU can be used",
            self.path.display(),
            self.defect
        );
        let mut finding = Finding::warning(missing.id, summary).with("found via", &self.found_via);
        finding.evidence.extend(missing.evidence);
        let mut finding = match &self.defect {
            Defect::Machine(number, own) => {
                let other = cpu_name(*number).unwrap_or("that processor");
                finding.help(format!(
                    "install NVIDIA's driver for {own}, or use a build of this program for {other}"
                ))
            }
            Defect::Forbidden => finding.help(self.defect.help(&self.path)),
            Defect::Truncated(..) | Defect::Garbled | Defect::Foreign(..) => {
                return finding.help("install NVIDIA's driver again");
            }
            Defect::Empty if cfg!(windows) => return finding.help("install NVIDIA's driver again"),
            // A container image has an empty file, over which the driver's library is mounted.
            _ => finding,
        };
        finding.help.extend(missing.help);
        finding
    }
}
