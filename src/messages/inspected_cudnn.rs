//! The cuDNN of a program: not found, refused, or of files that do not match.

use crate::cudnn::consistency::file_name;
use crate::inspection::fault::{FoundFile, Install, Reach, Request, UnresolvedCudnn};
use crate::loader::main_library::cudnn_major;
use crate::messages::phrases::after_space;
use crate::runtime::facts::{Finding, FindingId, quoted};
use crate::runtime::loader::library_names::FIRST_CUDARC_WITH_9;
use crate::runtime::loader::load_origin::LoadOrigin;
use crate::runtime::loader::not_found::NotFound;
use crate::runtime::messages::not_found::install_cudnn;
use std::path::Path;

/// The help for a DLL that Windows does not find.
pub const PUT_ON_PATH: &str = "add the directory that contains it to PATH where the program runs, or copy all DLLs in that directory next to the program";

impl UnresolvedCudnn<'_> {
    pub fn finding(&self) -> Finding {
        let is_dll = matches!(self.request, Request::Dll);
        let path = match is_dll {
            true => "PATH where the program runs",
            false => "LD_LIBRARY_PATH",
        };
        let summary = match &self.request {
            Request::Linked(user) => {
                let (user, name) = (user.display(), self.names.join(" or "));
                format!("`{user}` needs {name}, which the loader cannot find")
            }
            Request::Cudarc(version) => NotFound::headline(&self.names, Some(*version)),
            Request::Opened | Request::Dll => NotFound::headline(&self.names, None),
        };
        let elsewhere = match &self.reach {
            None => Vec::new(),
            Some(Reach::Directory(dir)) => vec![format!("add `{dir}` to {path}")],
            Some(Reach::Rpath(dir)) => vec![
                format!("add `{dir}` to {path}"),
                "relink the program with that directory as its rpath; `.link()` adds it unless `.rpath(false)` is set".into(),
            ],
            Some(Reach::Links(dir)) => vec![format!(
                "run `sudo ldconfig -n {}` to create its links, and add `{dir}` to {path}",
                quoted(dir)
            )],
            Some(Reach::Rename(dir)) => vec![format!(
                "create a link `libcudnn.so` to it in `{dir}`, and add `{dir}` to {path}"
            )],
        };
        let is_old =
            matches!(self.request, Request::Cudarc(Some(one)) if one < FIRST_CUDARC_WITH_9);
        let install = match &self.install {
            Install::Major(_) if is_dll => PUT_ON_PATH.into(),
            Install::Major(major) => install_cudnn(*major, is_old, path),
            Install::Beside(major) => format!(
                "install cuDNN{} beside it: another major version is not compatible, even if it is renamed",
                after_space(*major)
            ),
            Install::Accepted(required) => LoadOrigin::Cache.help(Path::new(""), required),
        };
        let unrequested = self.unrequested.as_ref();
        let finding = FindingId::CudnnNotLoadable
            .error_if(self.is_needed, summary)
            .with("searched", self.missing.searched.join("\n"))
            .with_lines("also found", self.also_found.iter().map(found_file))
            .with_some("available", unrequested.map(|(file, _)| file.display()));
        let unasked = unrequested.filter(|_| !is_dll);
        let not_found = NotFound {
            unfit: self.missing.unfit.clone(),
            untried: unasked.map(|(file, dir)| {
                let major = cudnn_major(file_name(file));
                (major.unwrap_or_default(), dir.clone())
            }),
        };
        not_found.explain(finding, elsewhere, vec![install])
    }
}

pub fn found_file((version, path): &FoundFile<'_>) -> String {
    let version = version.map_or_else(String::new, |version| format!("{version}  "));
    format!("{version}{}", path.display())
}
