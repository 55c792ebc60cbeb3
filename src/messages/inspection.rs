//! Faults that prevent a program from running.

use crate::cudnn::file_name;
use crate::inspection::{InspectionFault, LibrarySource, PYTHONS};
use crate::loader::main_library::cudnn_major;
use crate::messages::phrases::after_space;
use crate::model::{LoadPhase, Owner, joined};
use crate::runtime::binary::Defect;
use crate::runtime::facts::{Finding, FindingId, Severity};
use crate::runtime::judge::Gpu;
use crate::runtime::messages::not_found::found_file;
use crate::runtime::system::DRIVER_SO;
use crate::toolkit::package_names;
use std::path::Path;

impl InspectionFault<'_> {
    pub fn finding(&self) -> Finding {
        match self {
            Self::Unreadable(path, defect) => {
                let path = path.display();
                let (id, help) = match defect {
                    Defect::Foreign(..) => {
                        return FindingId::IoError
                            .error(format!("`{path}` is not an ELF or PE program"))
                            .help("pass the compiled program itself, not a script that starts it");
                    }
                    Defect::Truncated(..) | Defect::Garbled | Defect::Empty => {
                        (FindingId::LibraryDamaged, "rebuild the program, or copy it again")
                    }
                    Defect::Class(_) => (
                        FindingId::WrongArchitecture,
                        "build the program for a 64-bit, little-endian CPU: cuDNN exists for no other",
                    ),
                    _ => (FindingId::IoError, "pass the path of a compiled program that you can read"),
                };
                id.error(format!("`{path}` {defect}")).help(help)
            }
            Self::NoGlibc(program, musl, missing) => FindingId::LibraryNotFound.error(format!(
                "{} built for glibc, but the C library of this system is musl",
                program.map_or("CUDA and cuDNN are".to_string(), |it| format!("`{}` is", it.display()))
            ))
            .with_some("loader", missing.map(|loader| format!("{loader} does not exist")))
            .with("musl", musl)
            .help("run the program in an image with glibc, such as Debian or Ubuntu: CUDA and cuDNN also require glibc"),
            Self::UsesMusl(program, cpu) => FindingId::PlatformUnsupported.warning(format!(
                "`{}` is built for musl, but CUDA and cuDNN require glibc",
                program.display()
            ))
            .help(format!(
                "build the program for `{cpu}-unknown-linux-gnu`, and run it in an image with glibc, such as Debian or Ubuntu"
            )),
            Self::NoInterpreter(program, interpreter) => FindingId::LibraryNotFound.error(format!(
                "`{}` requires the loader `{interpreter}`, which does not exist",
                program.display()
            ))
            .help("build the program on this system, or run it in the environment where it was built"),
            Self::WithoutCuda(package, reason) => FindingId::BuiltWithoutCuda
                .warning(format!("{package} was built without CUDA"))
                .with("reason", reason),
            Self::NotLinked(package, program) => FindingId::NotLoadedYet.warning(format!(
                "{package} was built to be linked with cuDNN, but this program does not depend on cuDNN"
            ))
            .with("program", program.display())
            .help("call a cuDNN function in the program: linkers omit unused libraries"),
            Self::NoProvider(framework, library, dirs) => FindingId::LibraryNotFound.warning(format!(
                "`{library}` was not found, so {framework} computes on the CPU"
            ))
            .help(match *framework {
                "ort" => "set ORT_DYLIB_PATH to the `libonnxruntime.so` of an ONNX Runtime for CUDA, such as the one in the Python package onnxruntime-gpu",
                PYTHONS => "install a PyTorch for CUDA: with LIBTORCH_USE_PYTORCH, torch-sys ignores LIBTORCH",
                _ => "set LIBTORCH to the directory of a libtorch for CUDA",
            })
            .with_paths("searched", dirs),
            Self::OtherTorch(dir, version, sys, required, pip) => FindingId::ConfigInvalid.error(format!(
                "the build of torch-sys {sys} fails: it requires PyTorch {required}, but `{}` is {version}",
                dir.display()
            ))
            .help(match pip {
                Some(pip) => format!("run `{pip} install torch=={required}`"),
                None => format!("set LIBTORCH to the directory of libtorch {required}"),
            }),
            Self::CpuTorch(dir, version, pip, index) => FindingId::LibraryNotFound.warning(format!(
                "PyTorch {version} at `{}` was built without CUDA, so tch computes on the CPU",
                dir.display()
            ))
            .helps(index.map(|name| format!("unset {name}, and install torch again")))
            .help(match pip {
                Some(pip) => format!(
                    "run `{pip} uninstall torch`, and install torch {} from the index for your CUDA, which pytorch.org/get-started/previous-versions lists",
                    version.trim_end_matches("+cpu")
                ),
                None => "set LIBTORCH to the directory of a libtorch for CUDA".to_string(),
            }),
            Self::SharedFile(file, wheels, installed) => {
                let described = |wheel: &Owner| format!("{} {}", wheel.name, wheel.version);
                let all: Vec<String> = wheels.iter().map(described).collect();
                FindingId::WheelsOverlap
                    .warning(format!("{} overwrite each other's `{}`", all.join(" and "), file.display()))
                    .with_some("now from", installed.map(described))
                    .helps(wheels.iter().map(|kept| {
                        format!("keep only {}: `{}`", kept.name, kept.reinstall(wheels))
                    }))
            }
            Self::DriverInImage(first, files) => FindingId::DriverInImage
                .warning(format!("the image contains libraries of NVIDIA's driver, such as `{}`", first.display()))
                .with_paths("files", files)
                .with("result", "NVIDIA's container runtime cannot add the host's driver (\"file exists\"), or programs load this one in its place")
                .help("delete these files in the Dockerfile, and do not build the image with NVIDIA's container runtime, which leaves them"),
            Self::DriverWithout(undefined, driver, is_certain) => {
                let (user, driver) = (undefined.caller.path.display(), driver.path.display());
                let first = undefined.first();
                let summary = format!(
                    "`{user}` calls {first}, which the NVIDIA driver at `{driver}` does not contain"
                );
                FindingId::DriverTooOld.error_if(*is_certain, summary)
                    .help("upgrade the NVIDIA driver")
                    .help("build the program with the CUDA version that `nvidia-smi` shows")
                    .with_lines("also", undefined.others())
            }
            Self::Undefined(undefined) => {
                let (user, first) = (undefined.caller.path.display(), undefined.first());
                let summary = format!("`{user}` calls {first}, which no loaded library contains");
                FindingId::LibraryNotFound.error_if(undefined.ends_program, summary)
                    .help(format!(
                        "install the versions of its libraries that `{user}` was built with"
                    ))
                    .with("needs", undefined.caller.linkage.needed.join(", "))
                    .with_lines("also", undefined.others())
                    .with("result", undefined.result())
            }
            Self::UndefinedVersions(user, library, name, versions) => {
                let (library, user) = (library.path.display(), user.path.display());
                let newest = versions.last().copied().unwrap_or_default();
                if name.starts_with("libcudnn") {
                    let required = after_space(cudnn_major(newest));
                    return FindingId::CudnnNotLoadable.error(format!(
                        "`{library}` does not define the symbol version {newest}, which `{user}` was linked with"
                    ))
                    .help(format!(
                        "install cuDNN{required}, or add its directory to LD_LIBRARY_PATH: a link from one name to the other does not help"
                    ));
                }
                let versions = versions.join(", ");
                FindingId::LibraryNotFound.error(format!(
                    "`{library}` does not define {versions}, which `{user}` requires"
                ))
                .help(match newest.strip_prefix("GLIBC_") {
                    Some(number) => format!(
                        "run the program on a system or in a container whose glibc is {number} or later"
                    ),
                    None => format!("add the directory of a {name} that defines {newest} to LD_LIBRARY_PATH"),
                })
            }
            Self::NoGpuCode((file, targets), others, gpu) => {
                let words = Gpu::new(&gpu.name, gpu.capability).words();
                let summary = format!("`{}` contains no code for {words}", file.display());
                FindingId::KernelsNotCoveringGpu.warning(summary)
                .with("compiled", joined(targets, ", "))
                .with_lines("also", others.iter().map(|other| other.0.display()))
                .with("result", "its kernels fail with \"no kernel image is available for execution on the device\"")
                .help(format!(
                    "install a version of `{}` that supports this GPU, or build it with `-gencode arch=compute_{1},code=sm_{1}`",
                    file_name(file), gpu.capability.number()
                ))
            }
            Self::RefusedLibrary(library, defect, user) => {
                let summary = format!("`{}` {defect}", library.path.display());
                // The program starts without a library that it opens itself.
                defect.id().error_if(library.need != LoadPhase::Later, summary)
                    .with_some("needed by", user.map(|user| user.path.display()))
                    .help(replacement_help(defect))
            }
            Self::MountedLater(place, missing) => {
                let (place, user) = (place.display(), missing.needed_by.display());
                FindingId::LibraryNotFound.warning(format!(
                    "`{user}` needs `{place}`, which is only a placeholder so far"
                ))
                .help("inspect the program again in a running container: some systems mount their own libraries over such files")
            }
            Self::NoDriver(missing, is_image) => {
                let user = missing.needed_by.display();
                let summary = format!(
                    "`{user}` needs {DRIVER_SO} of the NVIDIA driver, which the loader cannot find"
                );
                let help = match is_image {
                    true => "start the container with a GPU (`docker run --gpus all`, `apptainer exec --nv`): the driver comes from the host",
                    false => "install the NVIDIA driver if this machine has a GPU",
                };
                // The loader ends a program without a library that the program needs from its start.
                let ends_the_program = missing.need == LoadPhase::Start && !is_image;
                let finding = FindingId::DriverMissing.error_if(ends_the_program, summary).help(help);
                match &missing.unfit {
                    Some(unfit) => unfit.instead_of_driver(finding),
                    None => finding,
                }
            }
            Self::NoLibrary(missing, available, source) => {
                let (name, user) = (&missing.name, missing.needed_by.display());
                let is_later = missing.need == LoadPhase::Later;
                let verb = if is_later { "opens" } else { "needs" };
                let unfit = missing.unfit.as_ref();
                let existing = unfit.map(|file| format!("; `{}` {}", file.path.display(), file.defect));
                let summary = format!(
                    "`{user}` {verb} {name}, which the loader cannot find{}",
                    existing.unwrap_or_default()
                );
                let finding = FindingId::LibraryNotFound.error_if(!is_later, summary)
                    .with_some("found via", unfit.map(|file| &file.found_via))
                    .with("searched", missing.searched.join("\n"))
                    .with_lines("available", available.iter().map(found_file));
                match (unfit, &missing.link) {
                    (Some(unfit), _) => return finding.help(replacement_help(&unfit.defect)),
                    (None, Some(link)) => return link.explain(finding),
                    (None, None) => {}
                }
                finding.help(match source {
                    LibrarySource::Directory(dir) => format!("add `{dir}` to LD_LIBRARY_PATH"),
                    LibrarySource::Toolkit(cuda) => format!(
                        "install the libraries of CUDA {cuda}, which the driver does not include, or add their directory to LD_LIBRARY_PATH"
                    ),
                    LibrarySource::Wheel => format!(
                        "reinstall the Python package of `{user}`, which includes its own copy of this library"
                    ),
                    LibrarySource::Package => match package_names::of_gcc(name) {
                        Some(package) => format!("install {package}"),
                        None => format!(
                            "install the package that contains {name}, or add its directory to LD_LIBRARY_PATH"
                        ),
                    },
                })
            }
            Self::NoDll(missing, is_path_known, other) => {
                let (name, user) = (&missing.name, file_name(&missing.needed_by));
                let is_later = missing.need == LoadPhase::Later;
                let (verb, when) = match is_later {
                    true => ("loads", " on first use"),
                    false => ("needs", ""),
                };
                let reason = match is_path_known {
                    true => "Windows cannot find it",
                    false => "it is not next to the program",
                };
                let id = match name.to_ascii_lowercase().starts_with("cudnn") {
                    true => FindingId::CudnnNotLoadable,
                    false => FindingId::LibraryNotFound,
                };
                let summary = format!("`{user}` {verb} `{name}`{when}, but {reason}");
                id.error_if(*is_path_known && !is_later, summary)
                    .with_some("available", other.map(Path::display))
                    .with("searched", missing.searched.join("\n"))
                    .help(match other.and_then(Path::parent) {
                        Some(dir) => {
                            format!("add `{}` to PATH where the program runs", dir.display())
                        }
                        None => "add the directory that contains it to PATH where the program runs, or copy all DLLs in that directory next to the program".to_string(),
                    })
            }
        }
    }
}

impl Finding {
    /// Returns the finding about a driver that the machine does not have, as an error if the program that needs it does
    /// not start.
    pub(crate) fn with_needed_driver(self, needed: &Finding) -> Finding {
        match needed.severity {
            Severity::Error => Finding {
                severity: needed.severity,
                summary: needed.summary.clone(),
                ..self
            },
            _ => self,
        }
    }
}

/// Returns the help for a library that does not belong to cuDNN.
fn replacement_help(defect: &Defect) -> String {
    match defect.program_cpu() {
        Some(cpu) => format!("replace it with the one for {cpu}"),
        None => {
            "reinstall the package that contains it, and check that the disk is not full".into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::linkage::Missing;

    /// The loader ends a program that is linked to the driver with code 127, and opens the same file later for others.
    #[test]
    fn a_missing_driver_is_an_error_where_the_program_cannot_start() {
        let severity = |need, is_image| {
            let missing = Missing {
                needed_by: "/app".into(),
                need,
                ..Missing::default()
            };
            let finding = InspectionFault::NoDriver(&missing, is_image).finding();
            assert_eq!(finding.id, FindingId::DriverMissing);
            finding.severity
        };
        assert_eq!(severity(LoadPhase::Start, false), Severity::Error);
        assert_eq!(severity(LoadPhase::Part, false), Severity::Warning);
        assert_eq!(severity(LoadPhase::Later, false), Severity::Warning);
        // The container's runtime adds the driver of its machine.
        assert_eq!(severity(LoadPhase::Start, true), Severity::Warning);
    }
}
