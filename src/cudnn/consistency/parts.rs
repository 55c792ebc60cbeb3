//! The checks of sub-libraries: missing, of different versions, in different directories, or of different builds.

use crate::model::{Cudnn, Owner, Unresolved};
use crate::runtime::facts::Finding;
use crate::runtime::facts::sub_libraries;
use crate::runtime::install::installed::MissingSubLibraries;
use std::path::{Path, PathBuf};

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

pub(super) fn findings(cudnn: &Cudnn, runs_here: bool) -> Vec<Finding> {
    let finding = |fault: SubLibraryFault| fault.finding(cudnn);
    let wheels = Some(&*cudnn.files.wheels).filter(|wheels| wheels.len() > 1);
    let mut findings = Vec::new();
    findings.extend(missing(cudnn, runs_here));
    let soname = cudnn
        .files
        .absent_soname
        .as_ref()
        .zip(cudnn.library.as_ref());
    let not_linked =
        soname.map(|(soname, library)| SubLibraryFault::AbsentSoname { soname, library });
    findings.extend(not_linked.map(finding));
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

/// Returns the finding about missing sub-libraries. They are needed only on the machine that runs the program.
fn missing(cudnn: &Cudnn, runs_here: bool) -> Option<Finding> {
    if cudnn.installed.missing.is_empty() {
        return None;
    }
    let fault = MissingSubLibraries {
        is_uncertain: !runs_here,
        ..MissingSubLibraries::new(&cudnn.installed, false, &|_| true)
    };
    Some(fault.finding())
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
