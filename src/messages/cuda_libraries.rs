//! CUDA libraries of different versions in one program.

use crate::cudnn::consistency::file_name;
use crate::inspection::mixed_libraries::{LibraryPathFix, MixedLibraries};
use crate::model::Owner;
use crate::model::linkage::Missing;
use crate::runtime::loader::load_origin::LoadOrigin;
use crate::{Finding, FindingId, Version};
use std::path::{Path, PathBuf};

impl MixedLibraries<'_> {
    pub fn finding(&self) -> Finding {
        let ([caller, library], first) = (&self.files, &self.function);
        let (caller, library) = (caller.display(), library.display());
        let finding = FindingId::CudaLibrariesMixed.warning(format!(
            "`{library}` does not contain {first}, which `{caller}` calls: their CUDA versions differ"
        ));
        let fixes = self.fixes.iter().map(|fix| match fix {
            LibraryPathFix::Remove(dir) => {
                format!("remove `{}` from LD_LIBRARY_PATH", dir.display())
            }
            LibraryPathFix::PutFirst(dir) => {
                format!("put `{}` first in LD_LIBRARY_PATH", dir.display())
            }
        });
        let packages = self.wheels.iter().rev().flatten();
        finding
            .helps(fixes)
            .helps(self.fixes.is_empty().then(|| self.install()))
            .with_some("found via", self.library.via.as_ref())
            .with_some("compatible", self.compatible.as_deref().map(Path::display))
            .with_lines("packages", packages)
            .with(
                "result",
                "the program starts, and exits with \"symbol lookup error\" when the function is called; a program that opens the \
                 caller with RTLD_NOW, like Python, cannot load it",
            )
    }

    fn install(&self) -> String {
        let (name, [caller, file]) = (&self.library.name, &self.files);
        match (&self.wheels, self.version, &self.library.via) {
            ([_, Some(wheel)], Some(from), _) => {
                let below = Version::new(from.major + 1, 0, 0);
                let command = wheel.install(from, Some(below)).unwrap_or_default();
                format!("run `{command}`")
            }
            ([Some(caller), Some(wheel)], None, _) => {
                let pip = wheel.installer.pip();
                let (wheel, caller) = (&wheel.name, &caller.name);
                format!("run `{pip} install --upgrade {wheel} {caller}`")
            }
            (_, version, via) => {
                let required = match version {
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
    pub fn builtins(
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
                let (pip, name) = (wheel.installer.pip(), &wheel.name);
                format!("run `{pip} install --force-reinstall --no-deps '{name}=={version}.*'`")
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
