//! What keeps a program from running.

use crate::model::linkage::Missing;
use crate::runtime::binary::defect::Defect;
use crate::runtime::facts::version::Version;
use crate::runtime::loader::misplaced::Misplaced;
use std::path::Path;

/// A reason why a program may not run.
pub enum InspectionFault<'a> {
    /// A file that is not a program, with its damage if it is of that kind.
    Unreadable(&'a Path, Option<Defect>),
    /// A package that was built without CUDA, for this reason.
    WithoutCuda(&'a str, &'a str),
    /// A package that was built to be linked with cuDNN, in a program that is not.
    NotLinked(&'a str, &'a Path),
    /// Functions that a file calls and its library, by this name without numbers, does not have.
    UndefinedFunctions {
        user: &'a Path,
        library: &'a Path,
        stem: &'a str,
        functions: &'a [String],
        /// Whether the program is inspected in an image.
        is_image: bool,
    },
    /// Symbol versions that a file needs and its library, by this name, does not define. The newest is last.
    UndefinedVersions {
        user: &'a Path,
        library: &'a Path,
        name: &'a str,
        versions: Vec<&'a str>,
    },
    /// A main library of cuDNN that the loader refuses, in a program for this CPU.
    RefusedCudnn(&'a Path, &'a Defect, &'a str),
    /// Another library that the loader refuses.
    RefusedLibrary {
        path: &'a Path,
        defect: &'a Defect,
        /// Whether the program does not start without it.
        is_needed: bool,
        /// The file that needs it.
        user: Option<&'a Path>,
        /// The CPU of the program.
        cpu: &'a str,
    },
    /// A library in whose place is an empty file or a dangling link, over which something is mounted later.
    MountedLater(&'a Path, &'a Missing),
    /// No driver of NVIDIA's; whether the program is inspected in an image.
    NoDriver(&'a Missing, bool),
    /// No library, in a program for this CPU.
    NoLibrary(&'a Missing, Vec<FoundFile<'a>>, LibrarySource, &'a str),
    /// No DLL; whether the PATH where the program runs is known.
    NoDll(&'a Missing, bool),
}

/// A file that the loader does not reach, with its version if known.
pub type FoundFile<'a> = (Option<Version>, &'a Path);

/// The place to get a library from.
pub enum LibrarySource {
    /// A directory that contains it.
    Directory(String),
    /// The toolkits of these CUDA majors.
    Toolkit(String),
    /// A package of the system.
    Package,
}

/// A cuDNN that the loader finds by none of its names.
pub struct UnresolvedCudnn<'a> {
    /// The reason why it is searched.
    pub request: Request<'a>,
    /// Its names.
    pub names: Vec<&'a str>,
    /// The searched places, and a file that cannot be used.
    pub missing: &'a Missing,
    /// Whether the program cannot do without.
    pub is_needed: bool,
    pub alternatives: Alternatives<'a>,
}

/// Other cuDNNs than the requested one, and the ways to one.
pub struct Alternatives<'a> {
    /// Files that the loader does not reach.
    pub also_found: Vec<FoundFile<'a>>,
    /// One under a name that is not requested: its file and its directory.
    pub unrequested: Option<(&'a Path, String)>,
    /// The way to make the loader reach one.
    pub reach: Option<Reach<'a>>,
    /// The way to get one.
    pub install: Install,
}

/// The reason why a cuDNN is searched.
pub enum Request<'a> {
    /// This file is linked with it.
    Linked(&'a Path),
    /// The program opens it.
    Opened,
    /// A cudarc of this version opens it.
    Cudarc(Option<Version>),
    /// The program opens it on Windows.
    Dll,
}

/// A way to make the loader reach a cuDNN.
pub enum Reach<'a> {
    /// Search this directory.
    Directory(String),
    /// Search this directory, also by an rpath.
    Rpath(String),
    /// Add the links for the SONAMEs in this directory, and search it.
    Links(String),
    /// Add the name that cudarc requests in this directory, and search it.
    Rename(String),
    /// Remove the quotation marks in PATH.
    Unquote(&'a Misplaced),
}

/// A way to get a cuDNN.
pub enum Install {
    /// Install this major.
    Major(Option<u32>),
    /// Install this major beside another one.
    Beside(Option<u32>),
    /// Install the one that a guard accepts.
    Accepted(String),
    /// Make the DLL available.
    Dll,
}
