//! Files that the loader does not find, and such as it finds and refuses: damaged ones, and libraries of the system that
//! are too old.

use crate::cudnn::consistency;
use crate::inspection::preflight::{Other, PreflightInput};
use crate::loader::main_library;
use crate::model::linkage::{LoadPhase, Missing, Unfit};
use crate::runtime::binary::defect::Defect;
use crate::runtime::facts::built::{Built, Loader};
use crate::runtime::facts::finding::{Finding, Severity};
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::facts::library_name::LibraryName;
use crate::runtime::facts::majors;
use crate::runtime::judge::rules;
use crate::runtime::loader::library_names;
use crate::runtime::loader::load_origin::LoadOrigin;
use crate::toolkit::dependencies;
use std::path::Path;

impl PreflightInput {
    /// The folder of a file, as it is called where the program runs.
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

    /// Where files lie that the loader does not come to, for evidence.
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
        // Under another name than its SONAME, which is asked for.
        let is_unlinked = |other: &Other| {
            let soname = other.soname.as_deref().unwrap_or_default();
            names.contains(&soname) && consistency::file_name(&other.path) != soname
        };
        let same = |other: &&Other| {
            let file = consistency::file_name(&other.path);
            let mut names = names.iter().filter_map(|name| file.strip_prefix(name));
            let is_named = names.any(|rest| rest.is_empty() || rest.starts_with('.'));
            is_named || is_unlinked(other)
        };
        let major = |name: &str| name.rsplit('.').next().unwrap_or_default().to_string();
        // A requirement that is open at its end lets a major in that nobody can install yet.
        let is_later = |name: &str| {
            let major = major(name).parse::<u32>();
            major.is_ok_and(|major| major > majors::NEWEST_CUDNN)
        };
        let newest = names.iter().find(|name| !is_later(name));
        let mut wanted = major(newest.or(names.first()).unwrap_or(&""));
        if let Some(built) = self.by_cudarc() {
            let newest = majors::NEWEST_CUDNN;
            let asked = rules::majors(built).into_iter();
            let installable = asked.filter(|major| *major <= newest);
            wanted = installable.max().unwrap_or(newest).to_string();
            if let Some(path) = &self.unasked {
                let dir = self.dir(path);
                let major =
                    main_library::cudnn_major(consistency::file_name(path)).unwrap_or_default();
                let finding = finding.with("there is", path.display());
                return library_names::by_another_name(finding, major, &dir);
            }
        }
        // Of a release that a guard refuses, it would be no help.
        let unfit = |other: &Other| {
            let mut guards = self.guards.iter().filter(|guard| guard.absent.is_none());
            guards.find_map(|guard| rules::version(guard, other.version?).err())
        };
        let mut there = self.others_of(names).filter(same);
        let other = there.clone().find(|other| unfit(other).is_none());
        if let Some(one) = &missing.unfit {
            let told = finding
                .clone()
                .with_unfit(&one.path, &one.defect, &one.found_via);
            match one.defect {
                // What is in a directory that may not be entered, nobody knows.
                Defect::Closed(_) if other.is_some() => {}
                Defect::Machine(..) | Defect::Class if other.is_some() => {
                    finding = Finding {
                        help: Vec::new(),
                        ..told
                    };
                }
                _ => return told,
            }
        }
        if let Some(other) = other {
            let dir = self.dir(&other.path);
            let asked = self.by_cudarc().map(library_names::opened_names);
            let name = consistency::file_name(&other.path).to_string();
            if asked.is_some_and(|names| !names.contains(&name)) {
                return finding.help(format!(
                    "put a link `libcudnn.so` to it into `{dir}`, and `{dir}` into LD_LIBRARY_PATH"
                ));
            }
            if is_unlinked(other) {
                return finding.help(format!(
                    "make its links, and put `{dir}` into LD_LIBRARY_PATH: `sudo ldconfig -n {dir}`"
                ));
            }
            let finding = finding.help(format!("put `{dir}` into LD_LIBRARY_PATH"));
            // `.link()` writes none for a program that opens its cuDNN.
            let opens = |guard: &Built| guard.loader != Loader::Linked;
            if self.guards.iter().any(opens) {
                return finding;
            }
            finding.help("or link the program again with that directory as its rpath, which `.link()` does unless `.rpath(false)`")
        } else if let Some(mismatch) = there.find_map(unfit) {
            finding.help(LoadOrigin::Cache.help(Path::new(""), &mismatch.wanted))
        } else if self.others_of(names).next().is_some() {
            finding.help(format!(
                "install cuDNN {wanted} beside it: one major does not stand in for another, not even under its name"
            ))
        } else {
            finding.help(format!(
                "install cuDNN {wanted}, or put its directory into LD_LIBRARY_PATH"
            ))
        }
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

    /// What to do about a library that is none of a cuDNN.
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
    let major = main_library::cudnn_major(version);
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
