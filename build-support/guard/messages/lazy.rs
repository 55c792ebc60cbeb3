//! A call of a function that is missing (`Link::Lazy`).

use crate::runtime::facts::{Finding, FindingId, Version};
use crate::runtime::lazy::{Cause, MissingFunction};
use crate::runtime::messages::driver::DRIVER_HELP;
use crate::runtime::system::platform::LIBRARY_PATH;
use crate::runtime::system::{DRIVER, LOADER, by_system};
use std::path::Path;

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
            Cause::NotFound(message, misplaced) => (message, misplaced.as_ref()),
        };
        let file = misplaced.and_then(|misplaced| misplaced.file.as_ref());
        let mut summary =
            format!("this program calls `{function}`, but `{soname}` cannot be loaded");
        if let Some(file) = file {
            let file = file.display();
            summary += &format!("; `{file}` exists, but {LOADER} does not search there");
        }
        let finding = id
            .error(summary)
            .helps(misplaced.map(|misplaced| misplaced.help()))
            .with_some("reason", misplaced.map(|misplaced| misplaced.reason()))
            .with("loader", message);
        if file.is_some() {
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
            version => format!(", introduced in {version}"),
        };
        let id = match self.soname == DRIVER {
            true => FindingId::DriverTooOld,
            false => id,
        };
        let finding = id
            .error(format!(
                "this program calls `{function}`{introduced}, but `{}` does not contain it",
                file.display()
            ))
            .with_some("loaded", version.map(|version| format!("cuDNN {version}")));
        match self.built_with.as_str() {
            _ if self.soname == DRIVER => finding.help("upgrade the NVIDIA driver"),
            "" => {
                finding.help("install the version that the program was built with, or a later one")
            }
            version => finding
                .with("built with", version)
                .help(format!("install {version} or later")),
        }
    }
}
