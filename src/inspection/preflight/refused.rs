//! Files that the loader does not find, and such as it finds and refuses: damaged ones, and libraries of the system that
//! are too old.

use crate::cudnn::consistency;
use crate::inspection::preflight::{Other, PreflightInput};
use crate::loader::main_library::cudnn_major;
use crate::model::linkage::{LoadPhase, Missing};
use crate::runtime::binary::defect::Defect;
use crate::runtime::facts::built::Loader;
use crate::runtime::facts::finding::{Finding, Severity};
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::facts::library_name::LibraryName;
use crate::runtime::judge::rules;
use crate::runtime::loader::library_names;
use crate::runtime::loader::load_origin::LoadOrigin;
use crate::runtime::loader::not_found::{NotFound, Unfit, installable};
use crate::toolkit::dependencies;
use std::path::Path;

impl Other {
    /// Returns `true` if it has one of these names as its SONAME, by which it is asked for, and not as its file name.
    fn is_unlinked(&self, names: &[&str]) -> bool {
        let soname = self.soname.as_deref().unwrap_or_default();
        names.contains(&soname) && consistency::file_name(&self.path) != soname
    }

    /// Returns `true` if it is a library of one of these names.
    fn is_named(&self, names: &[&str]) -> bool {
        let file = consistency::file_name(&self.path);
        let mut rest = names.iter().filter_map(|name| file.strip_prefix(name));
        rest.any(|rest| rest.is_empty() || rest.starts_with('.')) || self.is_unlinked(names)
    }
}

impl PreflightInput {
    /// Returns the folder of a file, as it is called where the program runs.
    fn dir(&self, file: &Path) -> String {
        let dir = file.parent().unwrap_or(file);
        let root = self.root.as_deref();
        match root.and_then(|root| dir.strip_prefix(root).ok()) {
            Some(inside) => format!("/{}", inside.display()),
            None => dir.display().to_string(),
        }
    }

    fn others_of<'a>(&'a self, names: &'a [&str]) -> impl Iterator<Item = &'a Other> + Clone {
        let is_one = |other: &&Other| names.contains(&other.instead_of.as_str());
        self.others.iter().filter(is_one)
    }

    /// Adds the files that the loader does not come to.
    fn also_found(&self, finding: Finding, names: &[&str], missing: &Missing) -> Finding {
        let line = |other: &Other| match other.version {
            Some(version) => format!("{version}  {}", other.path.display()),
            None => other.path.display().to_string(),
        };
        let mut lines: Vec<String> = Vec::new();
        let said = missing.unfit.as_ref().map(|unfit| &unfit.path);
        let others = self.others_of(names);
        for line in others.filter(|one| Some(&one.path) != said).map(line) {
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        finding.with_lines("also found", lines)
    }

    /// Returns the finding for a cuDNN that the loader finds by none of these names.
    pub(super) fn no_cudnn(
        &self,
        summary: String,
        names: &[&str],
        missing: &Missing,
        sure: bool,
    ) -> Finding {
        let severity = Severity::error_if(sure);
        let finding = Finding::new(FindingId::CudnnNotLoadable, severity, summary)
            .with("looked at", missing.looked_at.join("\n"));
        let mut finding = self.also_found(finding, names, missing);
        let majors = match self.by_cudarc() {
            Some(built) => rules::majors(built),
            None => {
                let major = |name: &&str| LibraryName::read(name)?.major();
                names.iter().filter_map(major).collect()
            }
        };
        let unasked = self
            .unasked
            .as_deref()
            .filter(|_| self.by_cudarc().is_some());
        if let Some(path) = unasked {
            finding = finding.with("there is", path.display());
        }
        let wanted = installable(&majors).map_or_else(String::new, |major| format!(" {major}"));
        // Of a release that a guard refuses, it would be no help.
        let mismatch = |other: &Other| {
            let mut guards = self.guards.iter().filter(|guard| guard.absent.is_none());
            guards.find_map(|guard| rules::version(guard, other.version?).err())
        };
        let mut there = self.others_of(names).filter(|other| other.is_named(names));
        let other = there.clone().find(|other| mismatch(other).is_none());
        let install = if let Some(mismatch) = there.find_map(mismatch) {
            LoadOrigin::Cache.help(Path::new(""), &mismatch.wanted)
        } else if self.others_of(names).next().is_some() {
            format!(
                "install cuDNN{wanted} beside it: one major does not stand in for another, not even under its name"
            )
        } else {
            format!("install cuDNN{wanted}, or put its directory into LD_LIBRARY_PATH")
        };
        let elsewhere = other.map_or_else(Vec::new, |other| self.way_to(other, names));
        let not_found = NotFound {
            unfit: missing.unfit.clone(),
            unasked: unasked.map(|path| {
                let major = cudnn_major(consistency::file_name(path));
                (major.unwrap_or_default(), self.dir(path))
            }),
        };
        not_found.explain(finding, elsewhere, vec![install])
    }

    /// Returns what leads the loader to this cuDNN, which is in a directory that it does not search.
    fn way_to(&self, other: &Other, names: &[&str]) -> Vec<String> {
        let (dir, name) = (self.dir(&other.path), consistency::file_name(&other.path));
        let asked = self.by_cudarc().map(library_names::opened_names);
        if asked.is_some_and(|names| !names.iter().any(|asked| asked == name)) {
            return vec![format!(
                "put a link `libcudnn.so` to it into `{dir}`, and `{dir}` into LD_LIBRARY_PATH"
            )];
        }
        if other.is_unlinked(names) {
            return vec![format!(
                "make its links, and put `{dir}` into LD_LIBRARY_PATH: `sudo ldconfig -n {dir}`"
            )];
        }
        let mut help = vec![format!("put `{dir}` into LD_LIBRARY_PATH")];
        // `.link()` writes none for a program that opens its cuDNN.
        if self
            .guards
            .iter()
            .all(|guard| guard.loader == Loader::Linked)
        {
            help.push("or link the program again with that directory as its rpath, which `.link()` does unless `.rpath(false)`".into());
        }
        help
    }

    pub(super) fn no_library(&self, missing: &Missing) -> Finding {
        let (name, asking) = (&missing.name, missing.needed_by.display());
        let is_later = missing.need == LoadPhase::Later;
        let verb = if is_later { "opens" } else { "needs" };
        let summary = format!("`{asking}` {verb} {name}, which the loader does not find");
        let severity = Severity::error_if(!is_later);
        let finding = Finding::new(FindingId::LibraryNotFound, severity, summary)
            .with("looked at", missing.looked_at.join("\n"));
        let finding = self.also_found(finding, &[name], missing);
        if let Some(Unfit {
            path,
            defect,
            found_via,
        }) = &missing.unfit
        {
            let mut finding = finding.with_unfit(path, defect, found_via);
            finding.help = vec![self.replacement_help(defect)];
            return finding;
        }
        let is_it = |other: &&Other| consistency::file_name(&other.path) == name;
        if let Some(other) = self.others_of(&[name]).find(is_it) {
            let dir = self.dir(&other.path);
            return finding.help(format!("put `{dir}` into LD_LIBRARY_PATH"));
        }
        let cuda = LibraryName::read(name).and_then(|file| file.major());
        if let (true, Some(number)) = (dependencies::is_of_toolkit(name), cuda) {
            let cuda = cuda_of(name, number);
            return finding.help(format!(
                "install the libraries of CUDA {cuda}, which do not come with the driver, or put their directory into LD_LIBRARY_PATH"
            ));
        }
        finding.help(format!(
            "install the package that has {name}, or put its directory into LD_LIBRARY_PATH"
        ))
    }

    /// Files that are cut off, or no libraries. Those of the cuDNN are judged with it.
    pub(super) fn damaged(&self, findings: &mut Vec<Finding>) {
        for object in &self.objects {
            let Some(flaw) = &object.flaw else {
                continue;
            };
            let mut parts = self.cudnn.iter().flat_map(|cudnn| &cudnn.parts);
            if parts.any(|part| part.path == object.path) {
                continue;
            }
            let summary = format!("`{}` {flaw}", object.path.display());
            let severity = Severity::error_if(object.need != LoadPhase::Later);
            let asking = object.asked_by.and_then(|index| self.objects.get(index));
            findings.push(
                Finding::new(flaw.id(), severity, summary)
                    .with_lines("needed by", asking.map(|asking| asking.path.display()))
                    .help(self.replacement_help(flaw)),
            );
        }
    }

    /// Returns the help for a library that is none of a cuDNN.
    pub(super) fn replacement_help(&self, defect: &Defect) -> String {
        match defect {
            Defect::Cpu(_) | Defect::Machine(..) | Defect::Class => {
                format!("copy the one for {} in its place", self.platform.cpu)
            }
            _ => "install the package that has it again, and see that the disk is not full".into(),
        }
    }

    /// Versions of symbols that a library of the system is too old for.
    pub(super) fn too_old(&self, findings: &mut Vec<Finding>) {
        let mut said: Vec<&Path> = Vec::new();
        let objects = self.objects.iter();
        for object in objects.filter(|object| object.need != LoadPhase::Later) {
            for (from, versions) in &object.linkage.needed_versions {
                // Parts of cuDNN are compared by their releases, and the whole by a guard.
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
                let lacks = |version: &&String| !found.linkage.defined_versions.contains(version);
                let lacking: Vec<&str> =
                    versions.iter().filter(lacks).map(String::as_str).collect();
                if lacking.is_empty()
                    || found.linkage.defined_versions.is_empty()
                    || said.contains(&&*object.path)
                {
                    continue;
                }
                said.push(&object.path);
                let newest = lacking.last().copied().unwrap_or_default();
                if is_cudnn {
                    findings.push(other_major(&object.path, &found.path, newest));
                    continue;
                }
                let summary = format!(
                    "`{}` has no {}, which `{}` needs",
                    found.path.display(),
                    lacking.join(", "),
                    object.path.display()
                );
                let finding = Finding::error(FindingId::LibraryNotFound, summary);
                findings.push(match newest.strip_prefix("GLIBC_") {
                    Some(number) => finding.help(format!(
                        "run the program on a system or in a container whose glibc is {number} or later"
                    )),
                    None => finding.help(format!(
                        "put the directory of a {from} that has {newest} into LD_LIBRARY_PATH"
                    )),
                });
            }
        }
    }
}

/// Returns the finding for a cuDNN whose functions do not have the version with which the program was linked: the
/// loader ends the program before `main`.
fn other_major(program: &Path, library: &Path, version: &str) -> Finding {
    let summary = format!(
        "`{}` does not have its functions as {version}, with which `{}` was linked",
        library.display(),
        program.display()
    );
    let major = cudnn_major(version);
    let wanted = major.map_or_else(String::new, |major| format!(" {major}"));
    Finding::error(FindingId::CudnnNotLoadable, summary).help(format!(
        "install cuDNN{wanted}, or put its directory into LD_LIBRARY_PATH: a link from one name to the other does not help"
    ))
}

/// Returns the releases of CUDA that bring a library under this number, which need not be CUDA's own: `10, 11, 12 or
/// 13` of `libcurand.so.10`.
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
