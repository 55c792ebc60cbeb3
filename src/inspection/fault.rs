//! The faults that prevent a program from running.

use crate::model::linkage::{Missing, Object};
use crate::runtime::binary::defect::Defect;
use crate::runtime::facts::Version;
use std::path::{Path, PathBuf};

pub enum InspectionFault<'a> {
    /// A file that is not a program, or a damaged one.
    Unreadable(&'a Path, Defect),
    /// A package that was built without CUDA, and the reason.
    WithoutCuda(&'a str, &'a str),
    /// A package that was built to be linked with cuDNN, in a program that is not.
    NotLinked(&'a str, &'a Path),
    /// A crate whose framework is found without this library, which is its CUDA part, in these directories.
    NoProvider(&'a str, &'a str, &'a [PathBuf]),
    /// A file, a library with its name without numbers, and functions that the file calls but the library does not
    /// have. `true` if the program is inspected in an image.
    UndefinedFunctions(&'a Object, &'a Object, &'a str, &'a [String], bool),
    /// A file, a library with its name, and symbol versions that the file needs but the library does not define. The
    /// newest is last.
    UndefinedVersions(&'a Object, &'a Object, &'a str, Vec<&'a str>),
    /// Another library that the loader refuses, and the file that needs the library.
    RefusedLibrary(&'a Object, &'a Defect, Option<&'a Object>),
    /// A library that is replaced by an empty file or a dangling link, over which the real one is mounted later.
    MountedLater(&'a Path, &'a Missing),
    /// A missing NVIDIA driver. `true` if the program is inspected in an image.
    NoDriver(&'a Missing, bool),
    NoLibrary(&'a Missing, Vec<FoundFile<'a>>, LibrarySource),
    /// A missing DLL. `true` if PATH on the system that runs the program is known.
    NoDll(&'a Missing, bool, Option<&'a Path>),
}

/// A file that the loader does not reach, with its version if known.
pub type FoundFile<'a> = (Option<Version>, &'a Path);

pub enum LibrarySource {
    /// A directory that contains it.
    Directory(String),
    /// The toolkits of these CUDA majors.
    Toolkit(String),
    /// The wheel of the file that needs it, which contains a copy.
    Wheel,
    /// A package of the system.
    Package,
}

/// A cuDNN that the loader does not find by any of its names, and the alternatives to it.
pub struct UnresolvedCudnn<'a> {
    pub request: Request<'a>,
    pub names: Vec<&'a str>,
    /// The searched places, and a file that cannot be used.
    pub missing: &'a Missing,
    /// `true` if the program cannot run without it.
    pub is_needed: bool,
    /// Files that the loader does not reach.
    pub also_found: Vec<FoundFile<'a>>,
    /// A cuDNN under a name that is not requested: its file and its directory.
    pub unrequested: Option<(&'a Path, String)>,
    /// The way to make the loader find one.
    pub reach: Option<Reach>,
    pub install: Install,
}

/// The reason why a cuDNN is required.
pub enum Request<'a> {
    Linked(&'a Path),
    Opened,
    Cudarc(Option<Version>),
    Dll,
}

/// A way to make the loader find a cuDNN.
pub enum Reach {
    /// Search this directory.
    Directory(String),
    /// Search this directory, also by an rpath.
    Rpath(String),
    /// Create the links for the SONAMEs in this directory, and search it.
    Links(String),
    /// Create the name that cudarc requests in this directory, and search it.
    Rename(String),
}

/// A way to get a cuDNN.
pub enum Install {
    /// Install this major.
    Major(Option<u32>),
    /// Install this major in addition to another one.
    Beside(Option<u32>),
    Accepted(String),
}
