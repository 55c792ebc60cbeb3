//! The faults that the steps of a check find: an incompatible cuDNN, or a step that was not possible.

use crate::runtime::check::NotChecked;
use crate::runtime::facts::{Finding, FindingId, Version, after_space, printable};
use crate::runtime::install::sub_library_files::SubLibraries;
use crate::runtime::install::{MainLibrary, SubLibraryFile, package_owner};
use crate::runtime::messages::sub_libraries::{names, replace_all};
use std::path::Path;

impl NotChecked<'_> {
    pub fn finding(&self) -> Finding {
        let unsupported = |summary| FindingId::PlatformUnsupported.warning(summary);
        let unknown = |summary| FindingId::UnknownNewerVersion.warning(summary);
        let untested = |summary| FindingId::ConvolutionFailed.warning(summary);
        match self {
            NotChecked::BuiltWithoutCuda(reason) => {
                let summary = "this program was built without CUDA";
                FindingId::BuiltWithoutCuda.warning(summary).with("reason", reason)
            }
            NotChecked::StaticLibc => unsupported(
                "cuDNN cannot be checked in a program with a statically linked C library (crt-static)".to_string(),
            )
            .help("build the program without `-C target-feature=+crt-static`: CUDA and cuDNN require a dynamic C library"),
            NotChecked::UnsupportedPlatform => {
                let (system, arch) = (std::env::consts::OS, std::env::consts::ARCH);
                let is_musl = cfg!(target_env = "musl");
                let libc = if is_musl { " with musl" } else { "" };
                unsupported(format!("cuDNN is not checked on {arch} {system}{libc}"))
            }
            NotChecked::NoCudnn => FindingId::ConfigInvalid
                .warning("`check_version()` has nothing to check: build.rs does not require cuDNN")
                .help("call `check()`, which checks the driver and the GPU"),
            NotChecked::UnknownRule(written_by, rule) => unknown(
                "this program was built with a rule that this version of cudnn-guard does not know".to_string(),
            )
            .with("written by", format!("cudnn-guard {written_by}"))
            .with("rule", rule)
            .help("use the same version of cudnn-guard in [dependencies] and [build-dependencies] of Cargo.toml"),
            NotChecked::UnknownVersion(folder) => unknown(format!(
                "the files of the cuDNN at `{}` do not contain their version",
                folder.display()
            )),
            NotChecked::GraphJitNotEnabled => untested(
                "this cuDNN only compiles graphs at run time and is not configured for it, so no convolution was tested",
            )
            .help("set CUDNN_LIB_CONFIG=GRAPH_JIT_ONLY, which NVIDIA requires for a cuDNN without the other sub-libraries"),
            NotChecked::NoConvolution(reasons) => {
                untested("no convolution could be tested").with_lines("not tested", *reasons)
            }
        }
    }
}

impl MainLibrary {
    /// Returns the finding for a cuDNN whose reported version (`called`) differs from that of its files, or whose
    /// sub-libraries disagree with each other, although no foreign file explains it. `failed`: the names of cuDNN's own
    /// version checks that failed.
    pub fn disagreement(
        &self,
        parts: &SubLibraries,
        files: Option<Version>,
        called: Option<Version>,
        failed: &[String],
    ) -> Finding {
        let folder = self.folder().display().to_string();
        let versions = match (files, called) {
            (Some(files), Some(called)) if files != called => {
                Some(format!("cuDNN reports {called}, but its files are {files}"))
            }
            _ => None,
        };
        let failed = Some(failed.join(", ")).filter(|failed| !failed.is_empty());
        let is_unknown = |part: &&SubLibraryFile| part.needed && part.version.is_none();
        let unknown = parts.installed.list.iter().filter(is_unknown);
        FindingId::PartsMixed
            .error(format!(
                "the sub-libraries of cuDNN at `{folder}` do not match each other"
            ))
            .with_all(self.evidence())
            .with_some("versions", versions)
            .with_some("mismatch", failed)
            .with_lines("no version", unknown.map(|part| part.path.display()))
            .help(replace_all(cfg!(windows), &folder))
    }

    /// Returns the help that loads a cuDNN for this CUDA major instead.
    pub fn cuda_help(&self, cuda: u32) -> String {
        let help = package_owner::keep_help(self.folder(), cuda);
        help.unwrap_or_else(|| {
            self.origin
                .help(self.folder(), &format!("the cuDNN for CUDA {cuda}"))
        })
    }
}

impl SubLibraries {
    /// Returns the finding for sub-libraries that Windows does not find by their names.
    pub fn not_found_finding(&self) -> Finding {
        let version = after_space(self.installed.version().map(|(version, _)| version));
        let (files, here) = (names(&self.not_found), self.installed.folder().display());
        FindingId::PartsMissing
            .warning(format!(
                "Windows cannot find {files} of cuDNN{version} at `{here}`, which cuDNN opens by name"
            ))
            .help(format!(
                "add `{here}` to PATH, or open these files by path before you call cuDNN"
            ))
    }
}

impl SubLibraryFile {
    /// Returns the finding for a file that changed while it was checked. `loaded`: the file that would be loaded now.
    pub fn changed_finding(&self, loaded: &Path) -> Finding {
        FindingId::PartsMixed
            .error("cuDNN's files changed during the check")
            .with("checked", self.path.display())
            .with("loaded", printable(&loaded.to_string_lossy()))
            .help("restart the program when no installation is running")
    }
}

impl Finding {
    /// Adds the value of CUDA_DEVICE_ORDER, which determines the first of several GPUs.
    pub(crate) fn with_device_order(self, order: Option<String>) -> Self {
        let order = order.map(|order| format!("CUDA_DEVICE_ORDER={order}"));
        let default = "CUDA_DEVICE_ORDER is not set, so CUDA puts the fastest GPU first";
        self.with("order", order.as_deref().unwrap_or(default))
    }

    /// Returns the warning about this program without the guard.
    pub(crate) fn but_for_this_guard(mut self) -> Self {
        self.summary.insert_str(0, "without this guard, ");
        self.into_warning()
    }
}
