//! Libraries that the loader does not find, each with what bears on it.

use crate::model::linkage::Missing;
use crate::runtime::facts::version::Version;
use crate::runtime::loader::misplaced::Misplaced;
use crate::runtime::loader::not_found::Unfit;
use std::path::Path;

/// A file that the loader does not reach, with its version if known.
pub type FoundFile<'a> = (Option<Version>, &'a Path);

/// A library that the loader does not find.
pub enum UnresolvedLibrary<'a> {
    /// An empty file or a dangling link, over which something is mounted later.
    Mounted { place: &'a Path, user: &'a Path },
    /// NVIDIA's driver.
    Driver {
        user: &'a Path,
        /// Whether the program is inspected in an image.
        is_image: bool,
        unfit: Option<&'a Unfit>,
    },
    /// A library for Linux.
    Library {
        missing: &'a Missing,
        also_found: Vec<FoundFile<'a>>,
        source: LibrarySource,
        /// The CPU of the program.
        cpu: &'a str,
    },
    /// A DLL. It may be on the PATH of another system if that is not known.
    Dll {
        missing: &'a Missing,
        is_path_known: bool,
    },
}

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
