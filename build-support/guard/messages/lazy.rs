//! A call of a function that is missing (`Link::Lazy`).

use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::lazy::{Cause, MissingFunction};
use crate::runtime::system::names::{DRIVER_SO, LOADER};
use crate::runtime::system::platform::LIBRARY_PATH;

impl MissingFunction {
    pub fn finding(&self) -> Finding {
        let (function, soname) = (&self.function, &self.soname);
        let is_cudnn = soname.starts_with("libcudnn.");
        let id = match is_cudnn {
            true => FindingId::CudnnNotLoadable,
            false if soname == DRIVER_SO => FindingId::DriverMissing,
            false => FindingId::LibraryNotFound,
        };
        match &self.cause {
            Cause::NotLoaded(message, misplaced) => {
                let mut summary =
                    format!("this program calls `{function}`, but `{soname}` cannot be loaded");
                let file = misplaced.as_ref().and_then(|one| one.file.as_ref());
                if let Some(file) = file {
                    summary += &format!(
                        "; `{}` exists, but {LOADER} does not search there",
                        file.display()
                    );
                }
                let finding = Finding::error(id, summary);
                let finding = match misplaced {
                    Some(misplaced) => finding
                        .help(misplaced.help())
                        .with("reason", misplaced.reason()),
                    None => finding,
                };
                if file.is_some() {
                    return finding.with("loader", message);
                }
                let finding = finding.with("loader", message);
                if soname == DRIVER_SO {
                    return finding
                        .help("install NVIDIA's driver, or run on a machine that has a GPU");
                }
                let product = self.built_with.split('.').next().unwrap_or_default();
                finding.help(format!(
                    "install {product}, or add the directory of its {soname} to {LIBRARY_PATH}"
                ))
            }
            Cause::NotContained(file) => Finding::error(
                id,
                format!(
                    "this program calls `{function}`, but `{}` does not contain it",
                    file.display()
                ),
            )
            .with("built with", &self.built_with)
            .help(match soname == DRIVER_SO {
                true => "upgrade the NVIDIA driver".to_string(),
                false => format!("install {} or later", self.built_with),
            }),
        }
    }
}
