//! A call of a function that is missing (`Link::Lazy`).

use crate::runtime::facts::{Finding, FindingId, Version};
use crate::runtime::lazy::{Cause, MissingFunction};
use crate::runtime::system::by_system;
use crate::runtime::system::names::{DRIVER, LOADER};
use crate::runtime::system::platform::LIBRARY_PATH;
use std::path::Path;

const DRIVER_HELP: &str = "install NVIDIA's driver, or run on a machine that has a GPU";

impl MissingFunction {
    pub fn finding(&self) -> Finding {
        let (function, soname) = (&self.function, &self.soname);
        let is_driver = soname == DRIVER;
        let id = match soname.starts_with(by_system!("libcudnn.", "cudnn64_")) {
            true => FindingId::CudnnNotLoadable,
            false if is_driver => FindingId::DriverMissing,
            false => FindingId::LibraryNotFound,
        };
        let (message, misplaced) = match &self.cause {
            Cause::NotContained(file, version) => return self.older(id, file, *version),
            Cause::Unusable(finding) => {
                let finding = (**finding).clone();
                return Finding { id, ..finding }.with("called", function);
            }
            Cause::NotFound(message, misplaced) => (message, misplaced),
        };
        let mut summary =
            format!("this program calls `{function}`, but `{soname}` cannot be loaded");
        if let Some(file) = misplaced.as_ref().and_then(|one| one.file.as_ref()) {
            let file = file.display();
            summary += &format!("; `{file}` exists, but {LOADER} does not search there");
        }
        let mut finding = Finding::error(id, summary);
        if let Some(misplaced) = misplaced {
            finding = finding.help(misplaced.help());
            finding = finding.with("reason", misplaced.reason());
        }
        finding = finding.with("loader", message);
        if misplaced.as_ref().is_some_and(|one| one.file.is_some()) {
            return finding;
        }
        let directory = format!("the directory of {soname} to {LIBRARY_PATH}");
        finding.help(match self.built_with.split('.').next() {
            _ if is_driver => DRIVER_HELP.to_string(),
            None | Some("") => format!("add {directory}"),
            Some(product) => format!("install {product}, or add {directory}"),
        })
    }

    /// Returns the finding about a library that is older than the one of the build.
    fn older(&self, id: FindingId, file: &Path, version: Option<Version>) -> Finding {
        let function = &self.function;
        let introduced = match self.introduced.as_str() {
            "" => String::new(),
            release => format!(", introduced in {release}"),
        };
        let file = file.display();
        let summary = format!(
            "this program calls `{function}`{introduced}, but `{file}` does not contain it"
        );
        let loaded = version.map(|version| format!("cuDNN {version}"));
        let mut finding = Finding::error(id, summary).with_some("loaded", loaded);
        match self.built_with.as_str() {
            _ if self.soname == DRIVER => {
                finding.id = FindingId::DriverTooOld;
                finding.help("upgrade the NVIDIA driver")
            }
            "" => {
                finding.help("install the release that the program was built with, or a later one")
            }
            release => finding
                .with("built with", release)
                .help(format!("install {release} or later")),
        }
    }
}
