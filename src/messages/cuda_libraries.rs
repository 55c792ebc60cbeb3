//! CUDA libraries of a program that are missing, have different versions, or do not load.

use crate::cudnn::file_name;
use crate::inspection::mixed_libraries::{LibraryPathFix, MixedLibraries};
use crate::inspection::{Provider, ProviderFault, Undefined};
use crate::model::{Missing, Owner};
use crate::runtime::loader::LoadOrigin;
use crate::runtime::messages::loading::{MOST_NAMED, USES_CPU, install_wheels};
use crate::toolkit::dependencies::is_of_toolkit;
use crate::{Finding, FindingId, Version};
use std::path::{Path, PathBuf};

impl Undefined<'_> {
    pub fn first(&self) -> &str {
        self.functions.first().map_or("", String::as_str)
    }

    pub fn others(&self) -> impl Iterator<Item = &String> {
        self.functions.iter().skip(1).take(MOST_NAMED)
    }

    pub fn result(&self) -> &'static str {
        match (self.ends_program, self.is_looked_up) {
            (true, _) => "the loader fails with \"undefined symbol\" when it loads the caller",
            (false, true) => "the caller looks the function up by name, and fails",
            (false, false) => {
                "the program starts, and exits with \"symbol lookup error\" when the function is called; a program that opens the \
                 caller with RTLD_NOW, like Python, cannot load it"
            }
        }
    }
}

impl MixedLibraries<'_> {
    pub fn finding(&self) -> Finding {
        let ([caller, library], undefined) = (&self.files, &self.undefined);
        let (caller, library, first) = (caller.display(), library.display(), undefined.first());
        let is_cudnn = self.library.name.starts_with("libcudnn.");
        let is_cudas = is_of_toolkit(&self.library.name);
        let is_wheel = self.wheels[1].is_some() || self.restore.is_some();
        let id = match self.is_program || !is_cudas && !is_wheel {
            _ if is_cudnn => FindingId::CudnnNotLoadable,
            true => FindingId::LibraryNotFound,
            false => FindingId::CudaLibrariesMixed,
        };
        let summary = if self.is_program {
            format!("`{caller}` calls {first}, which `{library}` does not contain")
        } else {
            let cuda = if is_cudas { "CUDA " } else { "" };
            format!(
                "`{library}` does not contain {first}, which `{caller}` calls: their {cuda}versions differ"
            )
        };
        // A program that is linked with CUDA or cuDNN calls it. Other functions may never be called.
        let is_called = self.is_program && (is_cudnn || is_cudas);
        let finding = id.error_if(is_called || undefined.ends_program, summary);
        let fixes = self.fixes.iter().map(|fix| match fix {
            LibraryPathFix::Remove(dir) => {
                format!("remove `{}` from LD_LIBRARY_PATH", dir.display())
            }
            LibraryPathFix::PutFirst(dir) => {
                format!("put `{}` first in LD_LIBRARY_PATH", dir.display())
            }
        });
        let packages = self.wheels.iter().rev().flatten();
        let result = (!self.is_program).then(|| undefined.result());
        finding
            .helps(fixes)
            .helps(self.fixes.is_empty().then(|| self.install()))
            .with_some("found via", self.library.via.as_ref())
            .with_some("compatible", self.compatible.as_deref().map(Path::display))
            .with_lines("packages", packages)
            .with_lines("also", undefined.others())
            .with_some("result", result)
    }

    fn install(&self) -> String {
        let (name, [caller, file]) = (&self.library.name, &self.files);
        if let Some(command) = &self.restore {
            return format!("run `{command}`: `{name}` is no longer the file of that package");
        }
        if self.is_program {
            let stem = name.split(".so").next().unwrap_or_default();
            return format!(
                "add the directory of the {stem} that the program was linked with to LD_LIBRARY_PATH, or install that version"
            );
        }
        match (&self.wheels, self.version, &self.library.via) {
            ([_, Some(wheel)], Some(from), _) => {
                let below = Version::new(from.major + 1, 0, 0);
                let command = wheel.install(from, Some(below)).unwrap_or_default();
                format!("run `{command}`")
            }
            ([caller, Some(wheel)], None, _) => {
                let mut upgrade = vec!["--upgrade", &wheel.name];
                upgrade.extend(caller.as_ref().map(|caller| &*caller.name));
                format!("run `{}`", wheel.command("", &upgrade.join(" ")))
            }
            (_, version, via) => {
                let required = match version {
                    _ if !is_of_toolkit(name) => {
                        format!("a {name} that contains {}", self.undefined.first())
                    }
                    Some(version) => format!("a {name} from CUDA {} or later", version.short()),
                    None => format!("a {name} of the CUDA version of {}", file_name(caller)),
                };
                match via {
                    None | Some(LoadOrigin::LibraryPath(_)) => {
                        format!("put the directory of {required} first in LD_LIBRARY_PATH")
                    }
                    Some(via) => via.help(file.parent().unwrap_or(file), &required),
                }
            }
        }
    }
}

impl Missing {
    /// Returns the finding for the builtins of an NVRTC. `dir`: the directory of the file, in which the loader does not
    /// search; `other`: builtins of another version; `wheel`: the wheel of NVRTC.
    pub fn builtins_finding(
        &self,
        dir: Option<PathBuf>,
        other: Option<String>,
        wheel: Option<Owner>,
    ) -> Finding {
        let (nvrtc, name) = (self.needed_by.display(), &self.name);
        let mut summary = format!("`{nvrtc}` opens {name}, which the loader cannot find");
        let mut id = FindingId::LibraryNotFound;
        if let (Some(other), None) = (other, &dir) {
            summary += &format!(": {other} beside it is from another CUDA version");
            id = FindingId::CudaLibrariesMixed;
        }
        let version = name.rsplit_once(".so.").map_or("", |(_, version)| version);
        let help = match (dir, wheel) {
            (Some(dir), _) => format!("add `{}` to LD_LIBRARY_PATH", dir.display()),
            (None, Some(wheel)) => {
                let package = format!("--force-reinstall --no-deps '{}=={version}.*'", wheel.name);
                format!("run `{}`", wheel.command("", &package))
            }
            (None, None) => format!("install libnvrtc of CUDA {version} with its builtins library"),
        };
        id.warning(summary)
            .help(help)
            .with("searched", self.searched.join("\n"))
            .with(
                "result",
                format!("NVRTC fails to open {name} when it compiles code"),
            )
    }
}

impl ProviderFault {
    pub fn finding(&self, of: &Provider) -> Finding {
        let path = of.path.display();
        let (framework, result) = match of.is_torch {
            false if of.is_without_cudnn() => (
                "an ONNX Runtime",
                "operations of ONNX Runtime that need cuDNN fail: NOT_IMPLEMENTED",
            ),
            false => ("an ONNX Runtime", USES_CPU),
            true => (
                "a libtorch",
                "a program that is linked with this library does not start",
            ),
        };
        let own = of.cuda.unwrap_or_default();
        let mismatch = |summary: String| FindingId::CudaFlavourMismatch.warning(summary);
        let not_found = |summary: String| FindingId::LibraryNotFound.warning(summary);
        let (dirs, has_all, toolkit, cudnn) = match self {
            Self::NoShared(shared) => {
                let dir = of.path.parent().unwrap_or(&of.path).display();
                return not_found(format!("`{shared}` is not next to `{path}`"))
                    .help(format!(
                        "copy `{shared}` from the same ONNX Runtime into `{dir}`"
                    ))
                    .with("result", result);
            }
            Self::OtherCudnn(other) => {
                return mismatch(format!(
                    "`{path}` was built for CUDA {own}, but it loads a cuDNN that was built for CUDA {other}"
                ))
                .help(match of.is_dll {
                    true => format!("copy the DLLs of a cuDNN for CUDA {own} next to the program"),
                    false => format!(
                        "install a cuDNN for CUDA {own}, and put its directory first in LD_LIBRARY_PATH"
                    ),
                });
            }
            Self::NoLibraries(dirs, has_all, toolkit, cudnn) => (dirs, *has_all, *toolkit, *cudnn),
        };
        let names: Vec<&str> = of.missing.iter().map(|one| &*one.name).collect();
        let here = match (toolkit, cudnn) {
            (Some(one), Some(other)) if one == other => "the toolkit and cuDNN are for",
            (Some(_), _) => "the toolkit is",
            (None, _) => "cuDNN is for",
        };
        let (variable, finder) = match of.is_dll {
            true => ("PATH", "Windows"),
            false => ("LD_LIBRARY_PATH", "the loader"),
        };
        let finding = match toolkit.or(cudnn) {
            Some(major) => mismatch(format!(
                "`{path}` was built for CUDA {own}, but {here} CUDA {major}"
            ))
            .help(format!("use {framework} that was built for CUDA {major}")),
            None => {
                let first = names.first().copied().unwrap_or_default();
                not_found(format!(
                    "`{path}` needs {first}, which {finder} cannot find"
                ))
            }
        };
        let install = || match of.is_torch {
            false => install_wheels(of.cuda, &names, cudnn.is_some(), of.is_dll),
            true => "install the packages that torch requires: `pip check` lists them".into(),
        };
        let dirs = dirs.iter().map(|dir| dir.display());
        let searched = of.missing.first().map(|one| one.searched.join("\n"));
        finding
            .helps(dirs.map(|dir| format!("add `{dir}` to {variable}")))
            .helps((!has_all).then(install))
            .with("result", result)
            .with("not found", names.join(", "))
            .with_some("searched", searched)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::linkage::Missing;

    /// NVIDIA has no wheels for CUDA 10, and none of cuDNN 8 for CUDA 13.
    #[test]
    fn only_published_wheels_are_installed() {
        let help = |cuda, names: [&str; 2]| {
            let missing = names.map(|name| Missing {
                name: name.into(),
                ..Missing::default()
            });
            let provider = Provider {
                path: "/opt/ort/libonnxruntime_providers_cuda.so".into(),
                is_dll: false,
                is_torch: false,
                opens_cudnn: false,
                cuda: Some(cuda),
                missing: missing.into(),
            };
            let fault = ProviderFault::NoLibraries(Vec::new(), false, None, None);
            fault.finding(&provider).help.remove(0)
        };
        assert_eq!(
            help(10, ["libcublas.so.10", "libcudnn.so.7"]),
            "install the package that contains libcublas.so.10"
        );
        assert_eq!(
            help(13, ["libcublas.so.13", "libcudnn.so.8"]),
            "install the package that contains libcublas.so.13"
        );
        let install = help(12, ["libcublas.so.12", "libcudnn.so.8"]);
        assert!(
            install.contains(" \"nvidia-cudnn-cu12==8.*\"`"),
            "{install}"
        );
    }
}
