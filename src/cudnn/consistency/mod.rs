//! The checks of one cuDNN: headers against library, and sub-libraries against each other.

#[cfg(test)]
mod tests;

use crate::model::{Cudnn, Installer, Owner, Rejection, Unresolved};
use crate::runtime::binary::Defect;
use crate::runtime::facts::{Finding, Version, VersionSource, sub_libraries};
use crate::runtime::install::MissingSubLibraries;
use std::path::{Path, PathBuf};

/// The facts about the user of a cuDNN that its findings depend on.
#[derive(Default)]
pub struct Asker<'a> {
    /// `true` if the programs run on this machine, and fail at their first convolution if a sub-library is missing.
    pub runs_here: bool,
    /// The variables of the headers and of the libraries, if they are different ones.
    pub variables: &'a [String],
}

pub enum SubLibraryFault<'a> {
    /// A library whose SONAME does not exist as a file.
    AbsentSoname { soname: &'a str, library: &'a Path },
    /// Sub-libraries in several directories, some of unknown version.
    SeveralDirectories,
    /// A sub-library that imports functions from another sub-library that does not define them.
    Unresolved(&'a Unresolved),
    /// Sub-libraries that were built for different CUDA majors.
    SeveralCudaMajors(&'a [(u32, PathBuf)]),
    /// Wheels that overwrote each other's files.
    SeveralWheels(&'a [Owner]),
    /// The files of each sub-library that exists in different builds, of which one belongs to another version.
    DifferentCopies(&'a [Vec<PathBuf>]),
}

/// Returns the findings about incompatible files of this cuDNN.
pub fn findings(cudnn: &Cudnn, asker: &Asker) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(header_library(cudnn, asker.variables));
    // A cuDNN with an unusable main library is never chosen.
    findings.extend(cudnn.installed.findings(None, &|_| false));
    let finding = |fault: SubLibraryFault| fault.finding(cudnn);
    let wheels = Some(&*cudnn.files.wheels).filter(|wheels| wheels.len() > 1);
    if !cudnn.installed.missing.is_empty() {
        // They are needed only on the machine that runs the program.
        let fault = MissingSubLibraries {
            is_uncertain: !asker.runs_here,
            ..MissingSubLibraries::new(&cudnn.installed, false, &[])
        };
        findings.push(fault.finding());
    }
    if let (Some(soname), Some(library)) = (&cudnn.files.absent_soname, &cudnn.library) {
        findings.push(finding(SubLibraryFault::AbsentSoname { soname, library }));
    }
    let is_apart = cudnn.files.directories.len() > 1;
    let mut files = cudnn.installed.files().into_iter();
    let is_unknown = is_apart && files.any(|file| file.version.is_none());
    let is_mixed = cudnn.installed.mixed_versions().is_some();
    if is_unknown && !is_mixed {
        findings.push(finding(SubLibraryFault::SeveralDirectories));
    }
    findings.extend(unresolved(cudnn).map(finding));
    // Different versions and several wheels have findings of their own.
    let is_other = !is_mixed && wheels.is_none();
    let majors = Some(&*cudnn.files.cuda_majors).filter(|majors| is_other && !majors.is_empty());
    findings.extend(majors.map(SubLibraryFault::SeveralCudaMajors).map(finding));
    findings.extend(wheels.map(SubLibraryFault::SeveralWheels).map(finding));
    if let copies @ [_, ..] = &*cudnn.files.copies {
        findings.push(finding(SubLibraryFault::DifferentCopies(copies)));
    }
    findings
}

/// Returns the reason why another cuDNN is preferred to this one.
pub fn doubtful(cudnn: &Cudnn) -> Option<Rejection> {
    let versions = differing(cudnn);
    if let Some((header, library)) = versions.filter(|pair| !is_same_minor(pair.0, pair.1)) {
        return Some(Rejection::HeaderSkew(header, library));
    }
    // A link to nothing counts as missing, and what this user cannot enter is unknown.
    let is_certain = |it: &&Defect| !matches!(it, Defect::Dangling(_) | Defect::Closed(_));
    for part in cudnn.installed.list.iter().filter(|part| part.needed) {
        if let Some(defect) = part.defect.as_ref().filter(is_certain) {
            let file = file_name(&part.path).to_string();
            return Some(Rejection::Damaged(file, defect.clone()));
        }
    }
    let mixed = cudnn.installed.mixed_versions();
    if mixed.is_some_and(|mixed| mixed.matters()) {
        return Some(Rejection::MixedParts);
    }
    cudnn.installed.jit_only.then_some(Rejection::JitOnly)
}

/// Returns the versions of headers and library, if they differ. A main library reports the version of a sub-library
/// beside it as its own, even if that is different.
fn differing(cudnn: &Cudnn) -> Option<(Version, Version)> {
    let (header, library) = cudnn.header_version.zip(cudnn.library_version)?;
    let main = &cudnn.installed.main;
    let is_by_build = main.told_by == Some(VersionSource::BuildId);
    let own = main.version.filter(|_| is_by_build).unwrap_or(library);
    let reports = |name: &str| sub_libraries::find(name).is_some_and(|known| known.reports_version);
    let mut files = cudnn
        .installed
        .list
        .iter()
        .filter(|file| reports(&file.name));
    let reported = files.find_map(|file| file.version);
    (header != own && Some(header) != reported).then_some((header, own))
}

pub fn is_same_minor(one: Version, other: Version) -> bool {
    (one.major, one.minor) == (other.major, other.minor)
}

/// Returns the finding if headers and library have different versions.
fn header_library(cudnn: &Cudnn, variables: &[String]) -> Option<Finding> {
    let (header, library) = differing(cudnn)?;
    let headers = cudnn.files.header_owner.as_ref();
    let packages = headers.zip(cudnn.owner.as_deref());
    let packages = packages.filter(|(headers, library)| {
        library.installer == Installer::Apt && headers.version != library.version
    });
    let header = (&**cudnn.header.as_ref()?, header);
    let library = (&**cudnn.library.as_ref()?, library);
    Some(cudnn.header_library_skew(header, library, packages, variables))
}

pub fn library_dir(cudnn: &Cudnn) -> String {
    // DLLs are not beside their import libraries.
    let dlls = cudnn.library.as_deref().filter(|library| is_dll(library));
    let dir = dlls.and_then(Path::parent).or(cudnn.link_dir.as_deref());
    dir.unwrap_or(&cudnn.root).display().to_string()
}

pub fn is_dll(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "dll")
}

pub fn file_name(path: &Path) -> &str {
    path.file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default()
}

/// Returns the first sub-library that imports functions from another one that does not define them. A leftover of a
/// later version counts only if this version opens it.
fn unresolved(cudnn: &Cudnn) -> Option<SubLibraryFault<'_>> {
    let is_opened = |one: &&Unresolved| {
        let mut files = cudnn.installed.files().into_iter();
        let part = files.find(|file| file.path == one.part);
        let Some((part, version)) = part.zip(cudnn.library_version) else {
            return true;
        };
        let own = sub_libraries::of_release(version);
        sub_libraries::opens_absent_part(version) || own.iter().any(|own| own.name == part.name)
    };
    let mut unresolved = cudnn.files.unresolved.iter();
    unresolved.find(is_opened).map(SubLibraryFault::Unresolved)
}
