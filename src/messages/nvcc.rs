//! nvcc: missing, refused or failed.

use crate::kernels::nvcc::death::Death;
use crate::kernels::nvcc::diagnostics::{FailureCause, ToolFailure, absent_header};
use crate::kernels::nvcc::missing::{UnusableToolkit, is_old_wheel};
use crate::messages::phrases::install_cross_packages;
use crate::messages::toolkit::install;
use crate::model::{Found, Os};
use crate::runtime::facts::{Finding, FindingId};
use crate::toolchain::Toolchain;
use crate::toolkit::nvcc::{MissingTemporaryDirectory, SAYS};
use crate::toolkit::package_names::{fetch_home, is_of_wheels};
use std::fmt;
use std::path::{Path, PathBuf};

impl UnusableToolkit<'_> {
    pub fn finding(&self) -> Finding {
        let unsupported = |headline: String, help: String| {
            FindingId::HostCompilerUnsupported
                .error(headline)
                .help(help)
                .help("compile only device code: call `.fatbin()` in build.rs, and load it with `cuModuleLoadData`")
        };
        match self {
            UnusableToolkit::NoNvcc(toolchain, builder, sources) => {
                no_nvcc(toolchain, *builder, sources)
            }
            UnusableToolkit::GnuLinker(target) => unsupported(
                format!(
                    "nvcc compiles host code for Windows only with Microsoft's `cl.exe`, which is incompatible with the target `{}`",
                    target.triple
                ),
                format!("build with `--target {}-pc-windows-msvc`", target.cpu),
            ),
            UnusableToolkit::NotOnWindows(target, builder) => unsupported(
                format!(
                    "nvcc compiles host code for Windows only on Windows, but this build for `{}` runs on `{}`",
                    target.triple, builder.triple
                ),
                format!(
                    "build on Windows, with `--target {}-pc-windows-msvc` and Visual Studio's C++ tools",
                    target.cpu
                ),
            ),
            UnusableToolkit::NoRuntime(toolkit, target) => {
                let cpu = &target.cpu;
                let has_wheels = |it: &crate::Version| it.major >= 13 && !target.toolkit_targets().is_empty();
                let wheels = toolkit.version.filter(has_wheels);
                FindingId::PartialToolkit.error(format!(
                    "the CUDA toolkit at `{}` does not contain the runtime library for {cpu}, which kernels require",
                    toolkit.root.display()
                ))
                .helps(wheels.map(|version| format!(
                    "run `pip install --platform manylinux2014_{cpu} --only-binary=:all: --no-deps --target DIR \
                     'nvidia-cuda-runtime=={}.*'`, and set CUDA_HOME_{} to `DIR/nvidia/cu{}`",
                    version.short(),
                    target.triple.replace('-', "_"),
                    version.major
                )))
                .help(install_cross_packages(target))
            }
            UnusableToolkit::NoStaticRuntime(toolkit) => FindingId::PartialToolkit
                .error(format!(
                    "the CUDA toolkit at `{}` does not contain `libcudart_static.a`, but build.rs requests `Cudart::Static`",
                    toolkit.root.display()
                ))
                .help("install the complete toolkit, or the package `cuda-cudart-dev` of this version")
                .help("call `.cudart(Cudart::Shared)` in build.rs"),
            UnusableToolkit::Path(path, sign) => {
                let path = path.display();
                FindingId::NvccFailed
                    .error(format!(
                        "nvcc cannot handle the path `{path}`: it does not pass {sign} on to the programs that it runs"
                    ))
                    .help("move it to a path without the characters $ ` \" ' \\ and ,")
                    .help("create a link to it at such a path, and use the link")
            }
        }
    }
}

fn no_nvcc(toolchain: &Toolchain, builder: Option<&Toolchain>, sources: &[PathBuf]) -> Finding {
    let candidates = &builder.unwrap_or(toolchain).candidates;
    let what = match sources {
        [one] => format!("`{}`", one.display()),
        more => format!("{} kernels", more.len()),
    };
    let (headline, variable) = match builder {
        None => {
            let root = toolchain.cuda_root().unwrap_or(Path::new("")).display();
            (
                format!(
                    "cannot compile {what}: the CUDA toolkit at `{root}` does not include nvcc"
                ),
                "CUDA_HOME".to_string(),
            )
        }
        Some(builder) => {
            let triple = &builder.host.platform.triple;
            let target = &toolchain.host.platform.triple;
            (
                format!(
                    "cannot compile {what}: no CUDA toolkit for `{triple}`, where this build for `{target}` runs, includes nvcc"
                ),
                format!("CUDA_HOME_{}", triple.replace('-', "_")),
            )
        }
    };
    let (mut wheels, mut fetched) = (false, false);
    let mut searched = Vec::new();
    for candidate in candidates {
        let Found::Toolkit(toolkit) = &candidate.found else {
            continue;
        };
        wheels |= toolkit.nvcc.is_none() && is_old_wheel(&toolkit.root);
        fetched |= fetch_home(&toolkit.root).is_some();
        let verdict = match (&toolkit.nvcc, &candidate.rejected) {
            (None, _) => "no nvcc".to_string(),
            (Some(_), Some(reason)) => reason.to_string(),
            (Some(_), None) => "not chosen".to_string(),
        };
        let (root, via) = (toolkit.root.display(), &candidate.via);
        searched.push(format!("{root} ({via}): {verdict}"));
    }
    // This toolkit is incompatible with a cuDNN for CUDA 11 or 12.
    let cudnn = candidates.iter().any(|candidate| {
        matches!(&candidate.found, Found::Cudnn(cudnn) if candidate.is_chosen() && cudnn.cuda_major != Some(13))
    });
    let install = || {
        format!(
            "install the wheels of CUDA 13, since those of CUDA 11 and 12 do not include nvcc: `pip install \
         nvidia-cuda-nvcc nvidia-nvvm nvidia-cuda-crt nvidia-cuda-runtime nvidia-cuda-cccl{}`",
            if cudnn { " nvidia-cudnn-cu13" } else { "" }
        )
    };
    FindingId::NvccNotFound
        .error(headline)
        .with_lines("searched", searched)
        .helps((wheels && !fetched).then(install))
        .help(format!(
            "set {variable} to a CUDA toolkit that contains `bin/nvcc`, or put its nvcc on PATH"
        ))
        .help(match fetched {
            // Without an option, the installed version stays.
            true => "run `cudnn-guard fetch --cuda 13`: the wheels of CUDA 11 and 12 do not contain nvcc",
            false => {
                "run `cudnn-guard fetch` to install one without root (to get it, run `cargo install --path . --features cli` in a \
                 clone of cudnn-guard)"
            }
        })
}

impl ToolFailure<'_> {
    pub fn finding(&self) -> Finding {
        let id = FindingId::NvccFailed;
        match self {
            ToolFailure::Compilation(source, command, output, cause) => {
                let output = without_blank_lines(output);
                let prompt =
                    "the developer prompt of Visual Studio, which sets PATH, LIB and INCLUDE";
                id.error(format!("nvcc failed to compile `{}`", source.display()))
                    .with(SAYS, output.as_deref().unwrap_or("nothing"))
                    .with("command", command)
                    .with_some("run in", (!command.env.is_empty()).then_some(prompt))
                    .helps(cause.help())
            }
            ToolFailure::Died(source, first, second) => died(source, first, *second),
            ToolFailure::DeviceLink(command, output) => id
                .error("nvcc failed to link the device code of these kernels")
                .with(SAYS, output.trim())
                .with("command", command),
            ToolFailure::Archive(name, error) => FindingId::IoError
                .error(format!(
                    "cannot create the library `{name}` from its object files"
                ))
                .with("reason", error)
                .help("install `ar` (from binutils), or set AR to another archiver"),
            ToolFailure::Wrapper(program, source, output) => {
                let (program, source) = (program.display(), source.display());
                let output = Some(output.trim()).filter(|output| !output.is_empty());
                id.warning(format!(
                    "`{program}` failed, but nvcc alone compiled `{source}`, so these kernels are compiled without the wrapper"
                ))
                .help(format!(
                    "install a version of `{program}` that works with this nvcc"
                ))
                .with_some("output", output)
            }
            #[cfg(feature = "cli")]
            ToolFailure::NoCicc(nvcc, cicc, cause) => {
                let nvcc = nvcc.display();
                id.warning(format!(
                    "`{nvcc}` cannot compile kernels: `cicc` is missing"
                ))
                .with("missing", cicc.display())
                .helps(cause.help())
            }
        }
    }
}

/// Returns the error of a compilation that died twice, or the warning if the second one succeeded.
fn died(source: &Path, first: &Death, second: Option<(&Death, Option<&Path>)>) -> Finding {
    let (id, file) = (FindingId::NvccFailed, source.display());
    let signal = second.map_or(first, |(death, _)| death).signal;
    // SIGKILL, STATUS_NO_MEMORY, STATUS_COMMITMENT_LIMIT
    let is_killed = matches!(signal, Some(9 | 0xC000_0017 | 0xC000_012D));
    let fate = match signal {
        _ if is_killed => "was killed",
        Some(_) => "crashed",
        None => "failed without any output",
    };
    let headline = format!("nvcc {fate} while compiling `{file}`");
    let Some((second, cache)) = second else {
        let jobs = first.jobs / 2;
        let fewer = || format!("run `cargo build -j {jobs}` to compile fewer files at a time");
        return id
            .warning(format!("{headline}; the second attempt succeeded"))
            .with("first", first)
            .helps((jobs > 0).then(fewer));
    };
    let help = match (cache.map(Path::display), signal) {
        (Some(nvcc), _) => {
            format!("set NVCC to the full path of nvcc itself: `{nvcc}` is a compiler cache")
        }
        _ if is_killed => format!(
            "give this machine or container more memory, or split `{file}` into smaller files"
        ),
        (_, Some(_)) => "install another version of the CUDA toolkit".into(),
        (_, None) => "run the command in a terminal to see how nvcc fails".into(),
    };
    id.error(format!("{headline}, even when it ran alone"))
        .help(help)
        .with("first", first)
        .with("second", second)
        .with("command", &second.command)
        .with_some(SAYS, without_blank_lines(&second.output))
}

/// Returns the output without blank lines, since cargo prefixes each line with the name of the package.
fn without_blank_lines(output: &str) -> Option<String> {
    let mut lines = Vec::new();
    for line in output.lines() {
        if !line.trim().is_empty() {
            lines.push(line);
        }
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// The numbers of a death: `signal 9, 12 compilations at a time, 3174 MiB of memory available before`.
impl fmt::Display for Death {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.signal {
            Some(code @ 64..) => write!(f, "exception 0x{code:08X}")?,
            Some(signal) => write!(f, "signal {signal}")?,
            None => f.write_str("no output")?,
        }
        let plural = if self.jobs == 1 { "" } else { "s" };
        write!(f, ", {} compilation{plural} at a time", self.jobs)?;
        match self.available {
            Some(bytes) => write!(f, ", {} MiB of memory available before", bytes >> 20),
            None => Ok(()),
        }
    }
}

impl FailureCause<'_> {
    pub fn help(&self) -> Option<String> {
        Some(match self {
            FailureCause::TemporaryDirectory(missing) => missing.help(),
            FailureCause::MissingTool(tool, (nvcc, cuda)) => match nvcc.ancestors().nth(2) {
                Some(root) if is_of_wheels(root) => {
                    let wheel = if *tool == "cicc" { "nvvm" } else { "cuda-nvcc" };
                    let install = install(root, *cuda, &[(wheel, wheel)], Os::Linux);
                    format!("{install} to install `{tool}`")
                }
                _ => format!(
                    "reinstall the package of `{}` with all of its dependencies: `{tool}` is missing",
                    nvcc.display()
                ),
            },
            FailureCause::InToolkit(header, root) => {
                let root = root.display();
                format!("set CUDA_HOME to `{root}`, which contains `{header}`")
            }
            FailureCause::MissingHeader(header, (nvcc, cuda), package, os) => {
                let install = install(nvcc.ancestors().nth(2)?, *cuda, &[*package], *os);
                format!("{install} to get `{header}`")
            }
            FailureCause::HostCompiler(missing) => missing.help(),
            FailureCause::Output(output) => {
                if let Some((_, help)) = KNOWN.iter().find(|(words, _)| output.contains(words)) {
                    return Some(help.to_string());
                }
                let mut errors = output.lines().filter(|line| line.contains("fatal error"));
                let header = errors.find_map(absent_header)?;
                format!(
                    "call `.include(..)` in build.rs with the directory that contains `{header}`"
                )
            }
        })
    }
}

/// Error messages of nvcc or its host compiler, and the help for each.
const KNOWN: &[(&str, &str)] = &[
    (
        "No supported gcc/g++ host compiler found",
        "install a g++ that this CUDA supports, or set NVCC_CCBIN to one",
    ),
    (
        "Failed to preprocess host compiler properties",
        super::host_compiler::NO_GCC,
    ),
    (
        "parameter packs not expanded with",
        "install `g++-10`, and set NVCC_CCBIN=/usr/bin/g++-10: CUDA before 11.6 cannot compile the C++ library of gcc 11",
    ),
    (
        "ccache: error",
        "set NVCC to the full path of nvcc itself: the program with this name runs a compiler cache",
    ),
    (
        "MSVC/cl.exe with traditional preprocessor is used",
        "add `-Xcompiler=/Zc:preprocessor` to NVCC_APPEND_FLAGS, or `.flag(\"-Xcompiler=/Zc:preprocessor\")` in build.rs: the C++ \
         headers of this CUDA support no other preprocessor",
    ),
    (
        "requires .target sm_",
        "set CUDNN_GUARD_ARCHS or CUDA_COMPUTE_CAP to the target that nvcc names or a higher one, or call `.at_least(..)` on \
         these kernels in build.rs to exclude lower targets",
    ),
    (
        "not supported on .target",
        "set CUDNN_GUARD_ARCHS or CUDA_COMPUTE_CAP to a target that supports this instruction; some require a target with a letter: \
         `90a`, `100a`, `120a`",
    ),
    (
        "Unresolved extern function",
        "add `.flag(\"-rdc=true\")` in build.rs if another of these files defines the function: without this flag, nvcc does \
         not link device code",
    ),
    (
        "cudnn.h: No such file or directory",
        "require cuDNN in build.rs so that its headers are found: `.cudnn(\">=9\")`",
    ),
];

impl MissingTemporaryDirectory<'_> {
    pub fn help(&self) -> String {
        let dir = self.0.display();
        format!("set TMPDIR to an existing directory, or unset it: `{dir}` is not a directory")
    }
}
