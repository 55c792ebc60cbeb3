//! Libraries that the loader does not find, or finds twice.

use crate::cudnn::file_name;
use crate::loader::{DllDependencies, MissingDll, PathFault, ShadowingLibrary};
use crate::model::{Cudnn, Os};
use crate::{Finding, FindingId, Severity, Version};
use std::path::Path;

impl PathFault<'_> {
    pub fn finding(&self) -> Finding {
        let hijack = |summary: String| FindingId::LibraryPathHijack.warning(summary);
        match self {
            PathFault::Cudnn(rival, library, version, Os::Windows) => {
                let (dir, linked) = (rival.dir.display(), directory(library));
                let (by, remedy) = if rival.is_system {
                    ("Windows", format!("delete the `cudnn*.dll` files from `{dir}`"))
                } else {
                    ("PATH", format!("add `{linked}` before `{dir}` to PATH where the program runs"))
                };
                rival.finding(by, library, *version)
                    .with("reason", "Windows searches the program's directory for each DLL, then the system directory, then PATH")
                    .help(remedy)
                    .help(format!("copy all DLLs from `{linked}` to the program's directory"))
            }
            PathFault::Cudnn(rival, library, version, _) => {
                let (dir, linked) = (rival.dir.display(), directory(library));
                rival.finding("LD_LIBRARY_PATH", library, *version)
                    .with("reason", match rival.main_library {
                        true => "the loader searches LD_LIBRARY_PATH before the program's RUNPATH and the system directories".to_string(),
                        false => format!(
                            "up to cuDNN 9.20, `{}` searches LD_LIBRARY_PATH for its sub-libraries before its own directory",
                            file_name(library)
                        ),
                    })
                    .help(format!("remove `{dir}` from LD_LIBRARY_PATH where the program runs, or add `{linked}` before it"))
            }
            PathFault::OlderNvrtc(first, version, cuda, dir) => {
                let before = dir.map(|own| format!(", or add `{}` before it", own.display()));
                let (dir, version) = (directory(first), version.short());
                hijack(format!(
                    "LD_LIBRARY_PATH makes cuDNN load libnvrtc {version} from `{dir}`, but the toolkit is CUDA {}",
                    cuda.short()
                ))
                .with("loaded", first.display())
                .with(
                    "reason",
                    "cuDNN compiles some of its code at run time, and an older libnvrtc does not support newer GPUs",
                )
                .help(format!(
                    "remove `{dir}` from LD_LIBRARY_PATH where the program runs{}",
                    before.unwrap_or_default()
                ))
            }
            PathFault::MixedLibraries([library, caller], function, dir, is_linked) => {
                let summary = format!(
                    "LD_LIBRARY_PATH mixes CUDA libraries of two versions: `{}` calls `{function}`, which `{}` does not contain",
                    file_name(caller),
                    file_name(library)
                );
                let severity = if *is_linked { Severity::Warning } else { Severity::Note };
                Finding::new(FindingId::CudaLibrariesMixed, severity, summary)
                    .help(format!("remove `{}` from LD_LIBRARY_PATH where the program runs", dir.display()))
                    .with("caller", caller.display())
                    .with("library", library.display())
            }
            PathFault::CondaRpath { link_dir, cxx } => hijack(format!(
                "the rpath to `{}` also makes the program load the C++ library of that conda environment",
                link_dir.display()
            ))
            .with("libstdc++", cxx.display())
            .help("build with the environment's own compilers: `conda install cxx-compiler`")
            .help("call `.rpath(false)` in build.rs, and set LD_LIBRARY_PATH where the program runs"),
        }
    }
}

impl ShadowingLibrary {
    /// Returns the finding for a program that loads it because of a variable, instead of this library of this version.
    fn finding(&self, by: &str, library: &Path, linked: Option<Version>) -> Finding {
        let (dir, file) = (self.dir.display(), file_name(library));
        let cudnn = |version: Option<Version>| match version {
            Some(version) => format!("cuDNN {version}"),
            None => "a cuDNN of unknown version".into(),
        };
        let (theirs, ours) = (cudnn(self.version), cudnn(linked));
        let (summary, first) = match self.main_library {
            true => (
                format!(
                    "{by} makes the program load {theirs} from `{dir}`, but it is linked with {ours}"
                ),
                self.dir.join(file).display().to_string(),
            ),
            false => (
                format!(
                    "{by} makes `{file}` of {ours} load the sub-libraries of {theirs} in `{dir}`"
                ),
                self.parts.join("\n"),
            ),
        };
        FindingId::LibraryPathHijack
            .warning(summary)
            .with("linked", library.display())
            .with("loaded", first)
    }
}

fn directory(library: &Path) -> String {
    library.parent().unwrap_or(library).display().to_string()
}

impl DllDependencies {
    /// Returns the finding for missing DLLs of this cuDNN, or of the CUDA that it was built for. It is a warning, since
    /// the program may bring the DLL itself, or a note if PATH is unknown.
    pub fn finding(&self, missing: &[&MissingDll], cudnn: &Cudnn) -> Option<Finding> {
        let line = |(part, dll): &&MissingDll| format!("{} needs {dll}", file_name(part));
        let ((part, dll), library) = (missing.first()?, cudnn.library.as_deref()?);
        let mut places = self.places.clone();
        let mut severity = Severity::Note;
        if self.path_known {
            places.push("PATH".into());
            severity = Severity::Warning;
        }
        let is_of_cudnn = dll.starts_with("cudnn");
        let id = match is_of_cudnn {
            true => FindingId::PartsMissing,
            false => FindingId::CudnnNotLoadable,
        };
        let part = file_name(part);
        let summary = format!("`{part}` needs `{dll}`, which is not on Windows' search path");
        let several = if missing.len() > 1 { missing } else { &[] };
        let finding = Finding::new(id, severity, summary)
            .with_paths("searched", &places)
            .with_lines("missing", several.iter().map(line));
        if is_of_cudnn {
            let (file, dir) = (file_name(library), directory(library));
            return Some(finding.help(format!(
                "copy all `cudnn*.dll` files of the same version as `{file}` to `{dir}`"
            )));
        }
        let unknown = || "the CUDA version that".to_string();
        let cuda = cudnn.cuda_major;
        let toolkit = cuda.map_or_else(unknown, |major| format!("CUDA {major}, which"));
        let finding = finding
            .help(format!(
                "add the directory that contains `{dll}` to PATH where the program runs"
            ))
            .help(format!("install {toolkit} this cuDNN was built for"))
            .help(format!(
                "copy all DLLs from the directory that contains `{dll}` to the program's directory"
            ));
        Some(finding)
    }
}
