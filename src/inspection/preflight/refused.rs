//! Files that the loader does not find or refuses: damaged files, and system libraries that are too old.

use crate::cudnn::consistency;
use crate::inspection::fault::{
    FoundFile, InspectionFault, Install, LibrarySource, Reach, Request, UnresolvedCudnn,
};
use crate::inspection::preflight::{Other, PreflightInput};
use crate::loader::main_library::is_bundled;
use crate::model::linkage::{LoadPhase, Missing};
use crate::runtime::facts::{Finding, LibraryName, Loader};
use crate::runtime::judge::rules;
use crate::runtime::loader::library_names;
use crate::runtime::loader::not_found::installable;
use crate::system::files;
use crate::system::sysroot::Sysroot;
use crate::toolkit::dependencies;
use std::path::Path;

impl Other {
    /// Returns `true` if one of these names is its SONAME but not its file name.
    fn is_unlinked(&self, names: &[&str]) -> bool {
        let soname = self.soname.as_deref().unwrap_or_default();
        names.contains(&soname) && consistency::file_name(&self.path) != soname
    }
}

impl PreflightInput {
    /// Returns the directory of a file, as it is named on the system that runs the program.
    fn dir(&self, file: &Path) -> String {
        let dir = file.parent().unwrap_or(file);
        let root = self.root.as_deref();
        Sysroot { root }.inside(dir).display().to_string()
    }

    fn others_of(&self, names: &[&str]) -> Vec<&Other> {
        let is_one = |other: &&Other| names.contains(&other.instead_of.as_str());
        self.others.iter().filter(is_one).collect()
    }

    /// Returns the files that the loader does not find.
    fn also_found<'a>(&'a self, names: &[&str], missing: &Missing) -> Vec<FoundFile<'a>> {
        let unusable = missing.unfit.as_ref().map(|unfit| &unfit.path);
        let others = self.others_of(names).into_iter();
        let others = others.filter(|other| Some(&other.path) != unusable);
        files::dedup(others.map(|other| (other.version, &*other.path)))
    }

    /// Returns the fault of a cuDNN that the loader does not find by any of these names.
    pub(super) fn no_cudnn<'a>(
        &'a self,
        request: Request<'a>,
        names: Vec<&'a str>,
        missing: &'a Missing,
        is_needed: bool,
    ) -> UnresolvedCudnn<'a> {
        let majors = match self.by_cudarc() {
            Some(built) => rules::majors(built),
            None => {
                let major = |name: &&str| LibraryName::read(name)?.major();
                names.iter().filter_map(major).collect()
            }
        };
        let unrequested = self.unrequested.as_deref();
        let unrequested = unrequested.filter(|_| self.by_cudarc().is_some());
        // A version that a guard rejects would not help.
        let mismatch = |other: &Other| self.refusal(other.version?);
        let others = self.others_of(&names);
        // Its file name or SONAME is one of these.
        let is_named = |other: &&&Other| {
            let file = consistency::file_name(&other.path);
            let mut rest = names.iter().filter_map(|name| file.strip_prefix(name));
            rest.any(|rest| rest.is_empty() || rest.starts_with('.')) || other.is_unlinked(&names)
        };
        let mut named = others.iter().filter(is_named);
        let other = named.clone().find(|other| mismatch(other).is_none());
        UnresolvedCudnn {
            also_found: self.also_found(&names, missing),
            unrequested: unrequested.map(|path| (path, self.dir(path))),
            reach: other.map(|other| self.reach(other, &names)),
            install: if let Some(mismatch) = named.find_map(|other| mismatch(other)) {
                Install::Accepted(mismatch.required_cudnn())
            } else if !others.is_empty() {
                Install::Beside(installable(&majors))
            } else {
                Install::Major(installable(&majors))
            },
            request,
            names,
            missing,
            is_needed,
        }
    }

    /// Returns how to make the loader find this cuDNN, which is in a directory that the loader does not search.
    fn reach(&self, other: &Other, names: &[&str]) -> Reach {
        let (dir, name) = (self.dir(&other.path), consistency::file_name(&other.path));
        let requested = self.by_cudarc().map(library_names::opened_names);
        let mut guards = self.guards.iter();
        let all_link = guards.all(|guard| guard.loader == Loader::Linked);
        if requested.is_some_and(|names| !names.iter().any(|requested| requested == name)) {
            Reach::Rename(dir)
        } else if other.is_unlinked(names) {
            Reach::Links(dir)
        } else if all_link {
            Reach::Rpath(dir)
        } else {
            // `.link()` writes no rpath for a program that opens its cuDNN.
            Reach::Directory(dir)
        }
    }

    pub(super) fn no_library<'a>(&'a self, missing: &'a Missing) -> InspectionFault<'a> {
        let name = &*missing.name;
        let is_it = |other: &&Other| consistency::file_name(&other.path) == name;
        let other = self.others_of(&[name]).into_iter().find(is_it);
        let cuda = LibraryName::read(name).and_then(|file| file.major());
        let cuda = cuda.filter(|_| dependencies::is_of_toolkit(name));
        let beside = missing.needed_by.with_file_name(name);
        let source = match (other, cuda) {
            _ if files::is_file(&beside) => LibrarySource::Directory(self.dir(&beside)),
            (Some(other), _) => LibrarySource::Directory(self.dir(&other.path)),
            (None, Some(number)) => LibrarySource::Toolkit(cuda_of(name, number)),
            (None, None) if is_bundled(name) => LibrarySource::Wheel,
            (None, None) => LibrarySource::Package,
        };
        let also_found = self.also_found(&[name], missing);
        InspectionFault::NoLibrary(missing, also_found, source)
    }

    /// Adds the findings about files that are truncated or not libraries. Files of cuDNN are checked with cuDNN.
    pub(super) fn damaged(&self, findings: &mut Vec<Finding>) {
        for object in &self.objects {
            let Some(defect) = &object.defect else {
                continue;
            };
            let mut parts = self.cudnn.iter().flat_map(|cudnn| &cudnn.parts);
            if parts.any(|part| part.path == object.path) {
                continue;
            }
            let user = object.requester.and_then(|index| self.objects.get(index));
            findings.push(InspectionFault::RefusedLibrary(object, defect, user).finding());
        }
    }

    /// Adds the findings about system libraries that do not define required symbol versions.
    pub(super) fn too_old(&self, findings: &mut Vec<Finding>) {
        let mut reported: Vec<&Path> = Vec::new();
        let objects = self.objects.iter();
        for object in objects.filter(|object| object.need != LoadPhase::Later) {
            for (from, versions) in &object.linkage.needed_versions {
                // cuDNN's sub-libraries are compared by their versions, and a guard checks cuDNN itself.
                let is_cudnn = from.starts_with("libcudnn");
                if from.starts_with("libcudnn_") || is_cudnn && !self.guards.is_empty() {
                    continue;
                }
                let found = self.objects.iter().find(|other| {
                    other.name == *from || other.linkage.soname.as_deref() == Some(from)
                });
                let Some(found) = found else {
                    continue;
                };
                let defined = &found.linkage.defined_versions;
                let mut undefined: Vec<&str> = versions.iter().map(String::as_str).collect();
                undefined.retain(|version| !defined.iter().any(|known| known == version));
                let is_known = defined.is_empty() || reported.contains(&&*object.path);
                if undefined.is_empty() || is_known {
                    continue;
                }
                reported.push(&object.path);
                let fault = InspectionFault::UndefinedVersions(object, found, from, undefined);
                findings.push(fault.finding());
            }
        }
    }
}

/// Returns the CUDA majors that include a library with this number, which need not be CUDA's own: `10, 11, 12 or 13`
/// for `libcurand.so.10`.
///
/// Source: NVIDIA's wheels for CUDA 11.8, 12.9 and 13.0 on PyPI, and Debian's packages of CUDA 11.8.
fn cuda_of(file: &str, number: u32) -> String {
    let stem = file.split(".so").next().unwrap_or_default();
    match (stem, number) {
        ("libcurand", 10) => "10, 11, 12 or 13".into(),
        ("libcufft", 10) => "10 or 11".into(),
        ("libcusolver", 11) => "11 or 12".into(),
        ("libcusparse", 12) => "12 or 13".into(),
        ("libcufft", 11 | 12) | ("libcusolver", 12) => (number + 1).to_string(),
        _ => number.to_string(),
    }
}
