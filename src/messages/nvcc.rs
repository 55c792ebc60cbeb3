//! nvcc: missing, refused or failed.

use crate::kernels::job::FailedCompilation;
use crate::kernels::link::device_link::FailedDeviceLink;
#[cfg(feature = "cli")]
use crate::kernels::nvcc::diagnostics::MissingCicc;
use crate::kernels::nvcc::diagnostics::{FailureCause, KnownFailure};
use crate::kernels::nvcc::missing::{
    MissingCudaRuntime, MissingNvcc, UnpassablePath, UnusableHostCode, is_old_wheel,
};
use crate::kernels::nvcc::wrapper::FailedWrapper;
use crate::model::candidate::Found;
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::finding_id::FindingId;
use crate::toolkit::nvcc::MissingTemporaryDirectory;
use crate::toolkit::package_names::package_suffix;

impl MissingNvcc<'_> {
    pub fn finding(&self) -> Finding {
        let what = match self.sources {
            [one] => format!("`{}`", one.display()),
            more => format!("{} kernels", more.len()),
        };
        let (headline, variable) = match self.builder {
            None => (
                format!(
                    "the CUDA at `{}` has no nvcc to compile {what} with",
                    self.root.display()
                ),
                "CUDA_HOME".to_string(),
            ),
            Some(builder) => (
                format!(
                    "no CUDA for `{builder}`, on which this build for `{}` runs, has an nvcc to compile {what} with",
                    self.target
                ),
                format!("CUDA_HOME_{}", builder.replace('-', "_")),
            ),
        };
        let mut wheels = false;
        let mut looked = Vec::new();
        for candidate in self.candidates {
            let Found::Toolkit(toolkit) = &candidate.found else {
                continue;
            };
            wheels |= toolkit.nvcc.is_none() && is_old_wheel(&toolkit.root);
            let verdict = match (&toolkit.nvcc, &candidate.rejected) {
                (None, _) => "no nvcc".to_string(),
                (Some(_), Some(reason)) => reason.to_string(),
                (Some(_), None) => "not chosen".to_string(),
            };
            looked.push(format!(
                "{} ({}): {verdict}",
                toolkit.root.display(),
                candidate.via
            ));
        }
        let mut finding =
            Finding::error(FindingId::NvccNotFound, headline).with_lines("looked at", looked);
        if wheels {
            // One for CUDA 11 or 12 would not be taken with that toolkit.
            let cudnn = self.candidates.iter().any(|candidate| {
                matches!(&candidate.found, Found::Cudnn(cudnn) if candidate.chosen && cudnn.cuda_major != Some(13))
            });
            finding = finding.help(format!(
                "install the wheels of CUDA 13, since those of CUDA 11 and 12 hold no nvcc: `pip install \
                 nvidia-cuda-nvcc nvidia-nvvm nvidia-cuda-crt nvidia-cuda-runtime nvidia-cuda-cccl{}`",
                if cudnn { " nvidia-cudnn-cu13" } else { "" }
            ));
        }
        finding
            .help(format!(
                "set {variable} to a CUDA toolkit that has `bin/nvcc`, or put its nvcc on PATH"
            ))
            .help(
                "or run `cudnn-guard fetch` (from `cargo install --path . --features cli` in a clone of cudnn-guard), which installs one without \
                 root",
            )
    }
}

impl UnusableHostCode<'_> {
    pub fn finding(&self) -> Finding {
        let triple = &self.platform.triple;
        let msvc = format!("{}-pc-windows-msvc", self.platform.cpu);
        let (headline, help) = match &self.builder {
            Some(builder) => (
                format!(
                    "nvcc compiles host code for Windows on Windows alone, and this build for `{triple}` runs on `{builder}`"
                ),
                format!("build on Windows, with `--target {msvc}` and Visual Studio's C++ tools"),
            ),
            None => (
                format!(
                    "nvcc compiles host code for Windows with Microsoft's `cl.exe` alone, which a program for `{triple}` cannot be linked with"
                ),
                format!("build with `--target {msvc}`"),
            ),
        };
        Finding::error(FindingId::HostCompilerUnsupported, headline)
            .help(help)
            .help("or compile device code alone, with `.fatbin()` in build.rs, for `cuModuleLoadData`")
    }
}

impl MissingCudaRuntime<'_> {
    pub fn finding(&self) -> Finding {
        let cpu = &self.platform.cpu;
        let headline = format!(
            "the CUDA at `{}` has no runtime for {cpu}, with which kernels are linked",
            self.root.display()
        );
        let mut finding = Finding::error(FindingId::PartialToolkit, headline);
        let mut or = "";
        if let Some(release) = self.release.filter(|release| release.major >= 13) {
            finding = finding.help(format!(
                "set CUDA_HOME_{} to `DIR/nvidia/cu{}`, after `pip install --platform manylinux2014_{cpu} \
                 --only-binary=:all: --no-deps --target DIR 'nvidia-cuda-runtime=={}.*'`",
                self.platform.triple.replace('-', "_"),
                release.major,
                release.short()
            ));
            or = "or ";
        }
        let targets = self.platform.toolkit_targets().join("` or `targets/");
        finding.help(format!(
            "{or}install NVIDIA's packages for cross building, which fill `targets/{targets}` of a toolkit"
        ))
    }
}

impl UnpassablePath<'_> {
    pub fn finding(&self) -> Finding {
        let headline = format!(
            "nvcc cannot take the path `{}`: it does not pass {} on to the programs that it runs",
            self.path.display(),
            self.sign
        );
        Finding::error(FindingId::NvccFailed, headline)
            .help("move that to a directory whose path has none of the signs $ ` \" ' \\ and ,")
            .help("or make a link to it under such a path, and name the link")
    }
}

impl FailedCompilation<'_> {
    pub fn finding(&self) -> Finding {
        // Its empty lines tell nothing, and cargo puts the name of the package before each.
        let lines = self.said.lines().filter(|line| !line.trim().is_empty());
        let words = match &*lines.collect::<Vec<_>>() {
            [] => "nothing".to_string(),
            words => words.join("\n"),
        };
        let headline = format!("nvcc could not compile `{}`", self.source.display());
        let mut finding =
            Finding::error(FindingId::NvccFailed, headline).with("command", self.command);
        if !self.command.env.is_empty() {
            let prompt =
                "the developer prompt of Visual Studio: it was given that PATH, LIB and INCLUDE";
            finding = finding.with("works in", prompt);
        }
        finding = finding.with("nvcc says", words);
        match &self.cause {
            Some(cause) => finding.help(cause.help()),
            None => finding,
        }
    }
}

impl FailureCause<'_> {
    /// Returns what to do about it.
    pub fn help(&self) -> String {
        match self {
            FailureCause::TemporaryDirectory(directory) => directory.help(),
            FailureCause::MissingTool {
                tool: name,
                wheel: Some(wheel),
                ..
            } => from_wheel(name, wheel),
            FailureCause::MissingHeader {
                header: name,
                wheel: Some(wheel),
                ..
            } => from_wheel(name, wheel),
            FailureCause::MissingTool { tool, nvcc, .. } => format!(
                "install the package of `{}` again, with all that it depends on: `{tool}` is missing",
                nvcc.display()
            ),
            FailureCause::HeaderElsewhere { header, root } => format!(
                "set CUDA_HOME to `{}`, which has `{header}`",
                root.display()
            ),
            FailureCause::MissingHeader {
                header,
                package,
                release,
                ..
            } => {
                let release = package_suffix(*release);
                format!(
                    "install `{header}`: `lib{package}-dev{release}` (Debian, Ubuntu), `lib{package}-devel{release}` \
                     (Fedora, RHEL), or the whole toolkit"
                )
            }
            FailureCause::HostCompiler(missing) => missing.help(),
            FailureCause::Known(known) => known.help().to_string(),
        }
    }
}

fn from_wheel(name: &str, wheel: &str) -> String {
    format!("run `pip install '{wheel}'`, which brings `{name}`")
}

impl KnownFailure {
    /// Returns what to do about it.
    pub fn help(self) -> &'static str {
        match self {
            KnownFailure::NoSupportedGcc => {
                "install a g++ that this CUDA takes, or set NVCC_CCBIN to one"
            }
            KnownFailure::NoHostCompiler => super::host_compiler::NO_GCC,
            KnownFailure::Libstdcxx11 => {
                "install `g++-10`, and set NVCC_CCBIN=/usr/bin/g++-10: CUDA before 11.6 cannot compile the C++ library of gcc 11"
            }
            KnownFailure::UnsupportedGcc => "set NVCC_CCBIN to an older g++",
            KnownFailure::UnsupportedClang => "set NVCC_CCBIN to an older clang or to a g++",
            KnownFailure::UnsupportedMsvc => {
                "build in the developer prompt of another MSVC toolset"
            }
            KnownFailure::NoCudnnHeader => {
                "ask for cuDNN in build.rs, so that its headers are found: `.cudnn(\">=9\")`"
            }
        }
    }
}

impl MissingTemporaryDirectory<'_> {
    /// Returns what to do about it.
    pub fn help(&self) -> String {
        let dir = self.0.display();
        format!("set TMPDIR to a directory that is there, or unset it: `{dir}` is not")
    }
}

#[cfg(feature = "cli")]
impl MissingCicc<'_> {
    pub fn finding(&self) -> Finding {
        let headline = format!(
            "`{}` has no `cicc`, without which it compiles no kernel",
            self.nvcc.display()
        );
        Finding::warning(FindingId::NvccFailed, headline)
            .help(self.cause.help())
            .with("missed", self.cicc.display())
    }
}

impl FailedDeviceLink<'_> {
    pub fn finding(&self) -> Finding {
        let headline = "nvcc could not link the device code of these kernels";
        Finding::error(FindingId::NvccFailed, headline)
            .with("command", self.command)
            .with("nvcc says", self.said.trim())
    }
}

impl FailedWrapper<'_> {
    pub fn finding(&self) -> Finding {
        let (program, source) = (self.program.display(), self.source.display());
        let headline = format!(
            "`{program}` fails where nvcc alone compiles `{source}`: these kernels are compiled without it"
        );
        let finding = Finding::warning(FindingId::NvccFailed, headline).help(format!(
            "install a release of `{program}` that works with this nvcc"
        ));
        match self.said.trim() {
            "" => finding,
            said => finding.with("it says", said),
        }
    }
}
