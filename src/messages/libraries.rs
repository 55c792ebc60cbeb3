//! Libraries that the loader does not find, or finds twice.

use crate::cudnn::consistency::file_name;
use crate::loader::dll_dependencies::{DllDependencies, DllFault, MissingDll};
use crate::loader::path_shadowing::{PathFault, Shadowed};
use crate::{Finding, FindingId, Severity, Version};
use std::path::Path;

impl PathFault<'_> {
    pub fn finding(&self) -> Finding {
        let hijack = |summary: String| Finding::warning(FindingId::LibraryPathHijack, summary);
        match self {
            PathFault::LibraryPath(shadowed) => {
                let reason = match shadowed.rival.main_library {
                    true => "the loader searches LD_LIBRARY_PATH before the RUNPATH that linkers write today, and before the \
                             system's directories",
                    false => "up to cuDNN 9.20 the first library looks for the others in LD_LIBRARY_PATH before it looks beside itself",
                };
                hijacked("LD_LIBRARY_PATH", shadowed)
                    .with("reason", reason)
                    .help(format!(
                        "take `{}` out of LD_LIBRARY_PATH where the program runs, or put `{}` before it",
                        shadowed.rival.dir.display(),
                        directory(shadowed.library)
                    ))
            }
            PathFault::DllPath {
                shadowed,
                by_system,
            } => {
                let (dir, linked) = (shadowed.rival.dir.display(), directory(shadowed.library));
                let (by, remedy) = if *by_system {
                    ("Windows", format!("delete the files `cudnn*.dll` from `{dir}`"))
                } else {
                    ("PATH", format!("put `{linked}` before `{dir}` in PATH where the program runs"))
                };
                hijacked(by, shadowed)
                    .with("reason", "Windows looks for each DLL beside the program, then in its system directory, then along PATH")
                    .help(remedy)
                    .help(format!("copy all DLLs of `{linked}` beside the program"))
            }
            PathFault::OlderNvrtc {
                first,
                release,
                cuda,
                dir,
            } => {
                let before = dir.map(|own| format!(", or put `{}` before it", own.display()));
                let (dir, release) = (directory(first), release.short());
                hijack(format!(
                    "LD_LIBRARY_PATH leads cuDNN to the libnvrtc {release} in `{dir}`, and the toolkit is CUDA {}",
                    cuda.short()
                ))
                .with("first", first.display())
                .with(
                    "reason",
                    "cuDNN compiles a part of its code when the program runs, and an older libnvrtc knows no GPU that came after it",
                )
                .help(format!(
                    "take `{dir}` out of LD_LIBRARY_PATH where the program runs{}",
                    before.unwrap_or_default()
                ))
            }
            PathFault::MixedLibraries([library, caller], function, dir, is_linked) => {
                let summary = format!(
                    "LD_LIBRARY_PATH selects CUDA libraries of two releases: `{}` calls `{function}`, which `{}` does not have",
                    file_name(caller),
                    file_name(library)
                );
                let severity = if *is_linked { Severity::Warning } else { Severity::Note };
                Finding::new(FindingId::CudaLibrariesMixed, severity, summary)
                    .help(format!("remove `{}` from LD_LIBRARY_PATH where the program runs", dir.display()))
                    .with("caller", caller.display())
                    .with("library", library.display())
            }
            PathFault::BelowPath { library, dir } => {
                let (file, own, dir) = (file_name(library), directory(library), dir.display());
                let summary = format!(
                    "PATH has `{dir}`, and `{file}` lies below it in `{own}`, where Windows does not look"
                );
                Finding::warning(FindingId::CudnnNotLoadable, summary)
                    .with("library", library.display())
                    .help(format!("add `{own}` to PATH where the program runs"))
                    .help("copy all DLLs from there beside the program")
            }
            PathFault::CondaRpath { link_dir, cxx } => hijack(format!(
                "the rpath to `{}` also gives the program the C++ library of that conda environment",
                link_dir.display()
            ))
            .with("beside", cxx.display())
            .help("build with the environment's own compilers: `conda install cxx-compiler`")
            .help("call `.rpath(false)` in build.rs, and set LD_LIBRARY_PATH where the program runs"),
        }
    }
}

/// Returns the finding for a cuDNN that the program loads because of a variable.
fn hijacked(by: &str, shadowed: &Shadowed) -> Finding {
    let (rival, library) = (shadowed.rival, shadowed.library);
    let (dir, file) = (rival.dir.display(), file_name(library));
    let (theirs, ours) = (release(rival.version), release(shadowed.version));
    let (summary, first) = if rival.main_library {
        let summary = format!(
            "{by} leads the program to the cuDNN {theirs} in `{dir}`, and the program is linked to {ours}"
        );
        (summary, rival.dir.join(file).display().to_string())
    } else {
        let summary =
            format!("{by} gives `{file}` the parts {theirs} in `{dir}`, and it is {ours} itself");
        (summary, rival.parts.join("\n"))
    };
    Finding::warning(FindingId::LibraryPathHijack, summary)
        .with("linked", library.display())
        .with("first", first)
}

fn release(version: Option<Version>) -> String {
    match version {
        Some(version) => version.to_string(),
        None => "of unknown release".into(),
    }
}

fn directory(library: &Path) -> String {
    library.parent().unwrap_or(library).display().to_string()
}

impl DllFault<'_> {
    pub fn finding(&self, searched: &DllDependencies) -> Finding {
        match self {
            DllFault::MissingZlib(version, dir) => {
                let summary = format!(
                    "cuDNN {version} for Windows opens `zlibwapi.dll`, which does not come with it, and none was found"
                );
                looked_in(FindingId::CudnnNotLoadable, summary, searched)
                    .help(format!(
                        "put the `zlibwapi.dll` that NVIDIA's installation guide for cuDNN 8 leads to into `{}`",
                        dir.display()
                    ))
                    .help("move to cuDNN 9, which does without")
            }
            DllFault::ForeignZlib(version, path, cpu) => {
                let path = path.display();
                let summary = format!(
                    "`{path}`, which cuDNN {version} opens, is for {cpu}: Windows calls that error 193"
                );
                looked_in(FindingId::WrongArchitecture, summary, searched).help(format!(
                    "put the `zlibwapi.dll` for 64 bits that NVIDIA's installation guide for cuDNN 8 leads to in the place of `{path}`"
                ))
            }
            DllFault::MissingPart {
                needs,
                library,
                dir,
            } => needed(FindingId::PartsMissing, needs, searched).help(format!(
                "copy every `cudnn*.dll` file of the release of `{}` to `{}`",
                file_name(library),
                dir.display()
            )),
            DllFault::MissingCuda(needs, major) => {
                let toolkit =
                    major.map_or_else(|| "the CUDA".into(), |major| format!("the CUDA {major}"));
                needed(FindingId::CudnnNotLoadable, needs, searched)
                    .help("put the directory that contains it into PATH where the program runs")
                    .help(format!(
                        "install {toolkit} that this cuDNN was built for, or copy all DLLs of that directory beside the program"
                    ))
            }
        }
    }
}

fn needed(id: FindingId, needs: &[&MissingDll], searched: &DllDependencies) -> Finding {
    let several = if needs.len() > 1 { needs } else { &[] };
    let several = several.iter();
    let all = several.map(|MissingDll { part, dll }| format!("{} needs {dll}", file_name(part)));
    let summary = needs.first().map(|MissingDll { part, dll }| {
        let part = file_name(part);
        format!("`{part}` needs `{dll}`, which is not where Windows looks for it")
    });
    looked_in(id, summary.unwrap_or_default(), searched).with_lines("lacking", all)
}

/// Creates a finding. It is a warning, since the program may bring the DLL itself, or a note if PATH is unknown.
fn looked_in(id: FindingId, summary: String, searched: &DllDependencies) -> Finding {
    let places = searched.places.iter().map(|dir| dir.display().to_string());
    let (severity, path) = match searched.path_known {
        true => (Severity::Warning, Some("PATH".to_string())),
        false => (Severity::Note, None),
    };
    Finding::new(id, severity, summary).with_lines("looked in", places.chain(path))
}
