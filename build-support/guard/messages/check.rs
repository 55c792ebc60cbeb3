//! The faults that the steps of a check find: an incompatible cuDNN, or a step that was not possible.

use crate::runtime::check::NotChecked;
use crate::runtime::check::child_verdict::Disagreement;
use crate::runtime::check::pin::ChangedFile;
use crate::runtime::facts::{Finding, FindingId, printable};
use crate::runtime::install::main_library::MainLibrary;
use crate::runtime::install::mixed_folder::MixedFolder;
use crate::runtime::install::package_owner;
use crate::runtime::install::sub_library_file::SubLibraryFile;

impl NotChecked<'_> {
    pub fn finding(&self) -> Finding {
        let unsupported = |summary| Finding::warning(FindingId::PlatformUnsupported, summary);
        let unknown = |summary| Finding::warning(FindingId::UnknownNewerVersion, summary);
        let untested = |summary| Finding::warning(FindingId::ConvolutionFailed, summary);
        match self {
            NotChecked::BuiltWithoutCuda(reason) => {
                let summary = "this program was built without CUDA";
                Finding::warning(FindingId::BuiltWithoutCuda, summary).with("reason", reason)
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

impl Disagreement<'_> {
    pub fn finding(&self) -> Finding {
        let folder = self.main_library.folder().display().to_string();
        let summary = format!("the sub-libraries of cuDNN at `{folder}` do not match each other");
        let mut finding = Finding::error(FindingId::PartsMixed, summary);
        finding.evidence = self.main_library.evidence();
        if let (Some(files), Some(called)) = (self.files, self.called) {
            if files != called {
                finding = finding.with(
                    "versions",
                    format!("cuDNN reports {called}, but its files are {files}"),
                );
            }
        }
        if !self.failed_checks.is_empty() {
            finding = finding.with("mismatch", self.failed_checks.join(", "));
        }
        let is_unknown = |part: &&SubLibraryFile| part.needed && part.version.is_none();
        let unknown = self.parts.installed.list.iter().filter(is_unknown);
        finding
            .with_lines("no version", unknown.map(|part| part.path.display()))
            .help(MixedFolder::replace_all(cfg!(windows), &folder))
    }
}

impl ChangedFile<'_> {
    pub fn finding(&self) -> Finding {
        Finding::error(
            FindingId::PartsMixed,
            "cuDNN's files changed during the check",
        )
        .with("checked", self.checked.display())
        .with("loaded", printable(&self.loaded.to_string_lossy()))
        .help("restart the program when no installation is running")
    }
}

impl MainLibrary {
    /// Adds the foreign sub-libraries that were mapped to the finding about their versions.
    pub fn add_foreign(&self, finding: Finding, foreign: &[SubLibraryFile]) -> Finding {
        let foreign = foreign.iter().map(|part| part.path.display());
        let mut finding = finding.with_lines("also", foreign);
        self.add_evidence(&mut finding);
        finding
    }

    /// Adds this library to the finding about its CUDA major, and the help that loads a cuDNN for this CUDA major
    /// instead.
    pub fn explain_cuda_mismatch(&self, mut finding: Finding, cuda: u32) -> Finding {
        let required = format!("the cuDNN for CUDA {cuda}");
        finding.evidence = self.evidence();
        let help = package_owner::keep_help(self.folder(), cuda);
        finding.help = vec![help.unwrap_or_else(|| self.origin.help(self.folder(), &required))];
        finding
    }
}

impl Finding {
    /// Adds the value of CUDA_DEVICE_ORDER, which determines the first of several GPUs.
    pub(crate) fn with_device_order(self, order: Option<String>) -> Self {
        let order = order.map(|order| format!("CUDA_DEVICE_ORDER={order}"));
        let default = "CUDA_DEVICE_ORDER is not set, so CUDA puts the fastest GPU first";
        self.with("order", order.as_deref().unwrap_or(default))
    }

    /// Turns the finding into a warning about this program without the guard.
    pub(crate) fn but_for_this_guard(mut self) -> Self {
        self.summary = format!("without this guard, {}", self.summary);
        self.into_warning()
    }
}
