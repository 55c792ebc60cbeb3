//! Files that the loader does not find or refuses: damaged files, and system libraries that are too old.

use crate::cudnn::consistency;
use crate::inspection::preflight::{Other, PreflightInput};
use crate::inspection::{InspectionFault, LibrarySource};
use crate::loader::main_library::{cudnn_major, is_bundled};
use crate::model::{LoadPhase, Missing, Os};
use crate::runtime::binary::Defect;
use crate::runtime::facts::{Built, Finding, LibraryName, Loader};
use crate::runtime::judge::rules;
use crate::runtime::loader::not_found::installable;
use crate::runtime::loader::{FoundFile, MissingCudnn, Reach, ReachStep, Unfit, file_name};
use crate::runtime::system::DRIVER_DLL;
use crate::system::files;
use crate::toolkit::dependencies;
use std::path::Path;

impl Other {
    /// Returns `true` if one of these names is its SONAME but not its file name.
    fn is_unlinked(&self, names: &[String]) -> bool {
        let soname = self.soname.as_deref().unwrap_or_default();
        let mut names = names.iter();
        names.any(|name| name == soname) && consistency::file_name(&self.path) != soname
    }
}

impl PreflightInput {
    /// Returns the directory of a file, as it is named on the system that runs the program.
    fn dir(&self, file: &Path) -> String {
        let dir = file.parent().unwrap_or(file);
        self.graph.sysroot().inside(dir).display().to_string()
    }

    fn others_of(&self, names: &[String]) -> Vec<&Other> {
        let is_one = |other: &&Other| names.contains(&other.instead_of);
        self.others.iter().filter(is_one).collect()
    }

    /// Returns the files that the loader does not find.
    fn available(&self, names: &[String], missing: &Missing) -> Vec<FoundFile> {
        let unusable = missing.unfit.as_ref().map(|unfit| &unfit.path);
        let others = self.others_of(names).into_iter();
        let others = others.filter(|other| Some(&other.path) != unusable);
        files::dedup(others.map(|other| (other.version, other.path.clone())))
    }

    /// Returns the fault of a cuDNN that is not found by any of these names. `user` is linked to it.
    pub(super) fn no_cudnn<'a>(
        &self,
        user: Option<&'a Path>,
        names: Vec<String>,
        missing: &Missing,
        is_needed: bool,
    ) -> MissingCudnn<'a> {
        let is_dll = self.platform.os == Os::Windows;
        let built = self.by_cudarc().filter(|_| !is_dll && user.is_none());
        let majors = match built {
            Some(built) => rules::majors(built),
            None => {
                let major = |name: &String| LibraryName::read(name)?.major();
                names.iter().filter_map(major).collect()
            }
        };
        // Linux skips such a file.
        let is_skipped = |unfit: &Unfit| match unfit.defect {
            Defect::Closed(_) | Defect::Machine(..) | Defect::Class(_) => !is_dll,
            _ => false,
        };
        let is_replaceable = missing.unfit.as_ref().is_none_or(is_skipped);
        let (mut reach, mut mismatch, mut other) = (None, None, None);
        for elsewhere in self.others_of(&names) {
            let file = consistency::file_name(&elsewhere.path);
            let mut rest = names.iter().filter_map(|name| file.strip_prefix(&**name));
            let is_named = rest.any(|rest| rest.is_empty() || rest.starts_with('.'));
            // A version that a guard rejects would not help.
            match elsewhere.version.and_then(|version| self.refusal(version)) {
                _ if !is_named && !elsewhere.is_unlinked(&names) => {
                    let soname = elsewhere.soname.as_deref();
                    let major = cudnn_major(soname.unwrap_or(file));
                    other = other.or(major.filter(|major| !majors.contains(major)));
                }
                Some(fault) => mismatch = mismatch.or(Some(fault)),
                None if is_replaceable && reach.is_none() => {
                    reach = Some(self.reach(elsewhere, &names, user, built));
                }
                None => {}
            }
        }
        let mut available = self.available(&names, missing);
        let is_absent = missing.unfit.is_none() && reach.is_none() && mismatch.is_none();
        other = other.filter(|_| is_absent);
        let is_tried = is_dll && is_absent || built.is_some() && missing.unfit.is_none();
        let mut untried = None;
        if let Some(file) = self.unrequested.as_ref().filter(|_| is_tried) {
            let name = consistency::file_name(file).to_ascii_lowercase();
            (other, reach) = (cudnn_major(&name), None);
            untried = built.map(|_| self.dir(file));
            let known = available.iter().position(|(_, path)| path == file);
            let found = known.map_or_else(|| (None, file.clone()), |at| available.remove(at));
            available.insert(0, found);
        }
        // The contents of a directory that cannot be entered are unknown.
        let is_closed = |unfit: &Unfit| matches!(unfit.defect, Defect::Closed(_));
        let unfit = missing.unfit.clone();
        let unfit = unfit.filter(|unfit| reach.is_none() || !is_closed(unfit));
        MissingCudnn {
            is_dll,
            is_needed,
            user,
            cudarc: built.map(|built| built.cudarc),
            names: built.map_or(names, file_name::opened_names),
            major: installable(&majors),
            mismatch,
            unfit,
            reach,
            other,
            untried,
            available,
            looked_at: missing.searched.clone(),
            ..MissingCudnn::default()
        }
    }

    /// Returns how to make the loader find this cuDNN, which is in a directory that the loader does not search.
    fn reach(
        &self,
        other: &Other,
        names: &[String],
        user: Option<&Path>,
        cudarc: Option<&Built>,
    ) -> Reach {
        let name = consistency::file_name(&other.path);
        let requested = cudarc.map(file_name::opened_names);
        let mut guards = self.guards.iter();
        let all_link = guards.all(|guard| guard.loader == Loader::Linked);
        Reach {
            file: other.path.clone(),
            dir: self.dir(&other.path),
            step: if requested.is_some_and(|names| !names.iter().any(|one| one == name)) {
                ReachStep::Rename
            } else if other.is_unlinked(names) {
                ReachStep::Links
            } else if user.is_some() && all_link {
                ReachStep::Rpath
            } else {
                // `.link()` writes no rpath for a program that opens its cuDNN.
                ReachStep::Search
            },
        }
    }

    pub(super) fn no_library<'a>(&'a self, missing: &'a Missing) -> InspectionFault<'a> {
        let (name, names) = (&*missing.name, std::slice::from_ref(&missing.name));
        let is_it = |other: &&Other| consistency::file_name(&other.path) == name;
        let other = self.others_of(names).into_iter().find(is_it);
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
        InspectionFault::NoLibrary(missing, self.available(names, missing), source)
    }

    /// Adds the findings about DLLs that a program for Windows imports and that are not found.
    pub(super) fn dlls_not_found(&self, findings: &mut Vec<Finding>, unknown: &mut Vec<String>) {
        for missing in self.graph.missing.iter().filter(|one| !self.opens_dll(one)) {
            let name = &missing.name;
            if name.eq_ignore_ascii_case(DRIVER_DLL) {
                unknown.push("no NVIDIA driver was found".into());
                continue;
            }
            if !self.path_known {
                unknown.push(format!("{name} may be on the PATH where the program runs"));
            }
            // A version that a guard rejects would not help.
            let is_usable = |other: &&Other| {
                let refusal = other.version.and_then(|version| self.refusal(version));
                other.instead_of == *name && refusal.is_none()
            };
            let other = self.others.iter().find(is_usable);
            let other = other.map(|other| &*other.path);
            findings.push(InspectionFault::NoDll(missing, self.path_known, other).finding());
        }
    }

    /// Returns `true` if the program opens this DLL itself, which the file's tables do not show.
    pub(super) fn opens_dll(&self, missing: &Missing) -> bool {
        let delayed = self.graph.objects.first().map(|one| &one.linkage.delayed);
        missing.need == LoadPhase::Later
            && missing.needed_by == self.program
            && delayed.is_none_or(|delayed| !delayed.contains(&missing.name))
    }

    /// Adds the findings about files that are truncated or not libraries. Files of cuDNN are checked with cuDNN.
    pub(super) fn damaged(&self, findings: &mut Vec<Finding>) {
        for object in &self.graph.objects {
            let Some(defect) = &object.defect else {
                continue;
            };
            let mut files = self.cudnn.iter().flat_map(|cudnn| cudnn.installed.files());
            if files.any(|file| file.path == object.path) {
                continue;
            }
            let objects = &self.graph.objects;
            let user = object.requester.and_then(|index| objects.get(index));
            findings.push(InspectionFault::RefusedLibrary(object, defect, user).finding());
        }
    }

    /// Adds the findings about system libraries that do not define required symbol versions.
    pub(super) fn too_old(&self, findings: &mut Vec<Finding>) {
        let objects = self.graph.objects.iter();
        for object in objects.filter(|object| object.need != LoadPhase::Later) {
            for (from, versions) in &object.linkage.needed_versions {
                // cuDNN's sub-libraries are compared by their versions, and a guard checks cuDNN itself.
                let is_cudnn = from.starts_with("libcudnn");
                if from.starts_with("libcudnn_") || is_cudnn && !self.guards.is_empty() {
                    continue;
                }
                let found = self.graph.loaded(from);
                let Some(found) = found.and_then(|index| self.graph.objects.get(index)) else {
                    continue;
                };
                let defined = &found.linkage.defined_versions;
                let mut undefined: Vec<&str> = versions.iter().map(String::as_str).collect();
                undefined.retain(|version| !defined.iter().any(|known| known == version));
                if !undefined.is_empty() && !defined.is_empty() {
                    let fault = InspectionFault::UndefinedVersions(object, found, from, undefined);
                    findings.push(fault.finding());
                    // One of its libraries is enough.
                    break;
                }
            }
        }
    }
}

/// Returns the CUDA majors that include a library with this number, which need not be CUDA's own: `10, 11, 12 or 13`
/// for `libcurand.so.10`.
///
/// Source: NVIDIA's wheels for CUDA 11.8, 12.9 and 13.0 on PyPI, and Debian's packages of CUDA 11.8.
pub fn cuda_of(file: &str, number: u32) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choice::requirement::Requirements;
    use crate::loader::ldso::LoadGraph;
    use crate::model::Platform;
    use crate::model::linkage::{Linkage, Object};
    use crate::runtime::facts::{Built, Loader, Policy, Version};

    const DLL: &str = "cudnn64_9.dll";

    /// A program that requires 9.10 or later, and the cuDNNs of these versions outside of the search path.
    fn input(need: LoadPhase, minors: &[u32]) -> PreflightInput {
        let other = |minor: &u32| Other {
            instead_of: DLL.into(),
            path: format!("/dnn{minor}/{DLL}").into(),
            soname: None,
            version: Some(Version::new(9, *minor, 0)),
        };
        let mut graph = LoadGraph::default();
        graph.missing.push(Missing {
            name: DLL.into(),
            need,
            ..Missing::default()
        });
        PreflightInput {
            platform: Platform::from_triple("x86_64-pc-windows-msvc"),
            guards: vec![Built {
                loader: Loader::Dlopen,
                policy: Policy::Requirement,
                requirement: Requirements::parse(None, Some(">=9.10")).0.cudnn,
                ..Built::default()
            }],
            graph,
            others: minors.iter().map(other).collect(),
            path_known: true,
            ..PreflightInput::default()
        }
    }

    fn opened(minors: &[u32]) -> Vec<String> {
        let input = input(LoadPhase::Later, minors);
        let missing = &input.graph.missing[0];
        let fault = input.no_cudnn(None, vec![DLL.into()], missing, true);
        fault.finding().help
    }

    fn linked(minors: &[u32]) -> Vec<String> {
        let (mut findings, mut unknown) = (Vec::new(), Vec::new());
        input(LoadPhase::Start, minors).dlls_not_found(&mut findings, &mut unknown);
        findings.remove(0).help
    }

    #[test]
    fn only_a_cudnn_that_the_program_can_run_with_is_recommended() {
        let right = ["add `/dnn14` to PATH where the program runs"];
        assert_eq!(opened(&[1, 14]), right);
        assert_eq!(linked(&[1, 14]), right);
        let any = "add the directory that contains it to PATH where the program runs, or copy all DLLs in that directory next \
                   to the program";
        let required = "install a cuDNN that meets `>=9.10`, or add its directory to PATH";
        assert_eq!(opened(&[1]), [required]);
        assert_eq!(linked(&[1]), [any]);
    }

    #[test]
    fn a_delayed_dll_is_not_one_that_the_program_opens_itself() {
        let mut input = input(LoadPhase::Later, &[]);
        input.graph.objects.push(Object::default());
        assert!(input.opens_dll(&input.graph.missing[0]));
        let linkage = Linkage {
            delayed: vec![DLL.into()],
            ..Linkage::default()
        };
        input.graph.objects[0].linkage = linkage.into();
        assert!(!input.opens_dll(&input.graph.missing[0]));
    }
}
