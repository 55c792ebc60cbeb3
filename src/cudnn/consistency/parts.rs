//! The checks of sub-libraries: missing, of different versions, in different directories, or copied instead of linked.

use crate::cudnn::consistency::{installed, is_elsewhere, major};
use crate::model::{Copies, Cudnn, Owner, Unresolved};
use crate::runtime::facts::sub_libraries::{self, TENSOR_IR};
use crate::runtime::facts::{Finding, majors};
use crate::runtime::install::installed::MissingSubLibraries;
use crate::runtime::install::mixed_folder::MixedVersions;
use crate::runtime::install::mixed_sub_libraries::FileOrigins;
use crate::runtime::loader::search_path::LoadOrigin;
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
    /// Different builds of one sub-library.
    DifferentCopies(&'a Copies),
    /// Identical files instead of links to one file.
    EqualCopies(&'a Copies),
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
    let is_unknown = is_apart && cudnn.parts.iter().any(|part| part.version.is_none());
    let is_mixed = mixed_versions(cudnn).is_some();
    if is_unknown && !is_mixed {
        findings.push(finding(SubLibraryFault::SeveralDirectories));
    }
    findings.extend(unresolved(cudnn).map(finding));
    // Different versions and several wheels have findings of their own.
    let is_other = !is_mixed && wheels.is_none();
    let majors = Some(&*cudnn.files.cuda_majors).filter(|majors| is_other && !majors.is_empty());
    findings.extend(majors.map(SubLibraryFault::SeveralCudaMajors).map(finding));
    findings.extend(wheels.map(SubLibraryFault::SeveralWheels).map(finding));
    findings.extend(copies(cudnn).map(finding));
    findings
}

/// Returns the finding about missing sub-libraries. They are needed only on the machine that runs the program.
fn missing(cudnn: &Cudnn, runs_here: bool) -> Option<Finding> {
    if missing_parts(cudnn).is_empty() {
        return None;
    }
    let installed = installed(cudnn);
    let fault = MissingSubLibraries::new(&installed, false, &|_| true);
    let fault = MissingSubLibraries {
        is_uncertain: !runs_here,
        // Those beside the main library show its version, even if the loader does not find them.
        release: fault.release.or(cudnn.library_version),
        ..fault
    };
    Some(fault.finding())
}

/// Returns the files of the sub-libraries that a convolution needs and that the loader does not find.
pub fn missing_parts(cudnn: &Cudnn) -> Vec<String> {
    let (Some(library), Some(major)) = (&cudnn.library, major(cudnn)) else {
        return Vec::new();
    };
    // A `libcudnn.so` without a number may point anywhere.
    if library.ends_with("libcudnn.so") {
        return Vec::new();
    }
    // Which sub-libraries a later major needs is unknown.
    if !majors::CUDNN.contains(&major) {
        return Vec::new();
    }
    installed(cudnn).missing
}

/// The other directories in which this system's loader finds sub-libraries.
impl FileOrigins for Cudnn {
    fn origin_of(&self, file: &Path) -> LoadOrigin {
        let mut elsewhere = self.files.elsewhere.iter();
        let found = elsewhere.find(|(_, path)| path == file);
        found.map_or(LoadOrigin::Elsewhere, |(origin, _)| origin.clone())
    }

    fn is_before(&self, _: &Path, _: &LoadOrigin) -> bool {
        false
    }

    fn is_valid(&self, _: &Path) -> bool {
        false
    }
}

/// Returns the sub-libraries, if they are of different versions. One that this cuDNN opens although it does not contain
/// it has a finding of its own.
pub(super) fn mixed_versions(cudnn: &Cudnn) -> Option<MixedVersions<'_>> {
    let mut parts = Vec::new();
    for part in &cudnn.parts {
        if part.name != TENSOR_IR || !is_elsewhere(part, cudnn) {
            parts.push(part);
        }
    }
    MixedVersions::new(parts, cudnn.library_version?, None)
}

/// Returns the first sub-library that imports functions from another one that does not define them. A leftover of a
/// later version counts only if this version opens it.
fn unresolved(cudnn: &Cudnn) -> Option<SubLibraryFault<'_>> {
    let is_opened = |one: &&Unresolved| {
        let part = cudnn.parts.iter().find(|part| part.path == one.part);
        let Some((part, version)) = part.zip(cudnn.library_version) else {
            return true;
        };
        let own = sub_libraries::of_release(version);
        sub_libraries::opens_absent_part(version) || own.iter().any(|own| own.name == part.name)
    };
    let mut unresolved = cudnn.files.unresolved.iter();
    unresolved.find(is_opened).map(SubLibraryFault::Unresolved)
}

/// Returns the fault of files instead of links, which a copy that follows links creates. Identical copies are harmless.
/// If they differ, one belongs to another version.
fn copies(cudnn: &Cudnn) -> Option<SubLibraryFault<'_>> {
    let copies = &cudnn.files.copies;
    let different = copies.iter().find(|one| one.differ);
    let different = different.map(SubLibraryFault::DifferentCopies);
    different.or_else(|| copies.first().map(SubLibraryFault::EqualCopies))
}
