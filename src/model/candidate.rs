//! What a search can find: toolkits and cuDNNs, each with how it was found and why it was not chosen.

use crate::model::environment::Variable;
use crate::model::found_via::FoundVia;
use crate::model::kind::Kind;
use crate::model::obstacle::Obstacle;
use crate::model::owner::Owner;
use crate::model::rejection::Rejection;
use crate::runtime::binary::defect::Defect;
use crate::runtime::facts::compute_capability::Target;
use crate::runtime::facts::version::Version;
use crate::runtime::install::sub_library_file::SubLibraryFile;
use std::path::{Path, PathBuf};

/// A CUDA toolkit, whole or in part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Toolkit {
    /// Its directory: `/usr/local/cuda-13.0`, `…/site-packages/nvidia/cu13`.
    pub root: PathBuf,
    /// `CUDA_VERSION` of its `cuda.h`, else what its nvcc says.
    pub version: Option<Version>,
    /// Its compiler.
    pub nvcc: Option<PathBuf>,
    /// Directories that hold its headers.
    pub include_dirs: Vec<PathBuf>,
    /// Directories that hold its libraries, without stubs.
    pub link_dirs: Vec<PathBuf>,
    /// Directories that hold stub libraries: the last to be searched when linking, never in an rpath.
    pub stub_dirs: Vec<PathBuf>,
    /// What the build asks for and it does not have: libraries by their short names, their headers.
    pub absent: Vec<String>,
}

impl Toolkit {
    /// Whether it is enough to run, and not to build with: libraries without headers and compiler.
    pub fn is_runtime(&self) -> bool {
        !self.link_dirs.is_empty() && self.nvcc.is_none() && self.include_dirs.is_empty()
    }

    /// What is missing in it.
    pub fn lacks(&self) -> Vec<&'static str> {
        let parts = [
            (self.nvcc.is_none(), "nvcc"),
            (self.include_dirs.is_empty(), "headers"),
            (self.link_dirs.is_empty(), "libraries"),
        ];
        let missing = parts.into_iter().filter(|(missing, _)| *missing);
        missing.map(|(_, name)| name).collect()
    }
}

/// A file to give to the linker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkName {
    /// `libcudnn.so`, `cudnn.lib`: by its short name.
    Short(String),
    /// `libcudnn.so.9`: by its whole file name, since there is no unversioned link beside it.
    Verbatim(String),
}

/// A cuDNN: headers, libraries, or both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cudnn {
    /// The directory that it was found under.
    pub root: PathBuf,
    /// The header that the version was read from.
    pub header: Option<PathBuf>,
    /// That header's directory.
    pub include_dir: Option<PathBuf>,
    /// `CUDNN_MAJOR`, `CUDNN_MINOR`, `CUDNN_PATCHLEVEL`.
    pub header_version: Option<Version>,
    /// The library that programs open: `…/libcudnn.so.9`.
    pub library: Option<PathBuf>,
    /// The version that its sub-libraries tell.
    pub library_version: Option<Version>,
    /// The directory to link against.
    pub link_dir: Option<PathBuf>,
    /// The file to link against.
    pub link_name: Option<LinkName>,
    /// The CUDA major that the library was built for, read off `libcublasLt.so.N` in its parts.
    pub cuda_major: Option<u32>,
    /// The processor that the library is for: `x86_64`, `aarch64`.
    pub cpu: Option<&'static str>,
    /// The main library and its sub-libraries.
    pub parts: Vec<SubLibraryFile>,
    /// The device code that all its core parts hold, read off them; empty where nobody looked.
    pub gpu_codes: Vec<Target>,
    /// The package that it came in, where a record tells.
    pub owner: Option<Box<Owner>>,
    /// What else shows in their files.
    pub files: Box<Files>,
}

/// Whole files of one part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copies {
    /// All of them.
    pub files: Vec<PathBuf>,
    /// Whether they are of different builds.
    pub differ: bool,
}

/// What shows in the files of a cuDNN beyond their releases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// Files of one part that are all whole, where there should be one and links to it.
    pub copies: Vec<Copies>,
    /// Functions that its sub-libraries import from each other and that are missing there.
    pub unresolved: Vec<Unresolved>,
    /// The directories that contain the files once links are followed.
    pub folders: Vec<PathBuf>,
    /// Where its archives are, if it has no library beside them.
    pub archives: Option<PathBuf>,
    /// A header that this user may not read, if none tells the release.
    pub unreadable: Option<PathBuf>,
    /// A header that tells no release.
    pub mute: Option<PathBuf>,
    /// A header that includes another one of cuDNN which is not there, and that one's name.
    pub missing_header: Option<(PathBuf, String)>,
    /// The Debian package of its headers, where they are not of the library's release.
    pub header_owner: Option<Owner>,
    /// Why what lies in the place of its library cannot be used.
    pub obstacle: Option<Obstacle>,
    /// The file of the library where its link is not what programs open.
    pub unlinked: Option<PathBuf>,
    /// Parts that are there and cannot be used, by their files' names.
    pub part_obstacles: Vec<(String, Obstacle)>,
    /// The name by which the loader looks for the library, where that is not there.
    pub absent_soname: Option<String>,
    /// Whether the main library looks for its parts beside itself before it looks in LD_LIBRARY_PATH: a DT_RPATH, from 9.22.
    pub own_first: bool,
}

/// Functions that a sub-library imports from another, which does not define them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unresolved {
    /// The part that needs.
    pub part: PathBuf,
    /// The part that lacks.
    pub sibling: PathBuf,
    /// What is lacking.
    pub symbols: Vec<String>,
}

impl Cudnn {
    /// Returns the library that programs open and its defect, if it has one.
    pub fn flaw(&self) -> Option<(&Path, &Defect)> {
        let main = self.parts.iter().find(|part| part.name == "cudnn")?;
        Some((&main.path, main.defect.as_ref()?))
    }

    /// The release: what the header says, else what the library says.
    pub fn version(&self) -> Option<Version> {
        self.header_version.or(self.library_version)
    }

    /// The release of its library, which the headers tell where the library does not.
    pub fn linked_version(&self) -> Option<Version> {
        self.library_version.or(self.header_version)
    }
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant)] // there are a dozen of them
pub enum Found {
    /// A toolkit.
    Toolkit(Toolkit),
    /// A cuDNN.
    Cudnn(Cudnn),
}

/// Something that was found, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// What was found.
    pub found: Found,
    /// How.
    pub via: FoundVia,
    /// Whether it was chosen.
    pub chosen: bool,
    /// Why it was not.
    pub rejected: Option<Rejection>,
    /// The variable in which somebody asked for it.
    pub request: Option<Variable>,
}

impl Candidate {
    /// Its directory.
    pub fn root(&self) -> &Path {
        match &self.found {
            Found::Toolkit(toolkit) => &toolkit.root,
            Found::Cudnn(cudnn) => &cudnn.root,
        }
    }

    /// Returns the path by which it was found, for messages.
    pub fn shown_path(&self) -> &Path {
        match &self.found {
            Found::Toolkit(toolkit) => &toolkit.root,
            Found::Cudnn(cudnn) => {
                let file = cudnn.header.as_ref().or(cudnn.library.as_ref());
                file.unwrap_or(&cudnn.root)
            }
        }
    }

    /// Its release.
    pub fn version(&self) -> Option<Version> {
        match &self.found {
            Found::Toolkit(toolkit) => toolkit.version,
            Found::Cudnn(cudnn) => cudnn.version(),
        }
    }

    /// The toolkit, if it is one.
    pub fn toolkit(&self) -> Option<&Toolkit> {
        match &self.found {
            Found::Toolkit(toolkit) => Some(toolkit),
            Found::Cudnn(_) => None,
        }
    }

    /// The cuDNN, if it is one.
    pub fn cudnn(&self) -> Option<&Cudnn> {
        match &self.found {
            Found::Cudnn(cudnn) => Some(cudnn),
            Found::Toolkit(_) => None,
        }
    }

    /// Returns its kind.
    pub fn kind(&self) -> Kind {
        match self.found {
            Found::Toolkit(_) => Kind::Toolkit,
            Found::Cudnn(_) => Kind::Cudnn,
        }
    }

    /// Returns `true` if a build could use a part of it: not what a Python package brought along for itself.
    pub fn is_usable(&self) -> bool {
        match &self.found {
            Found::Toolkit(toolkit) => toolkit.nvcc.is_some() || !toolkit.include_dirs.is_empty(),
            Found::Cudnn(cudnn) => cudnn.header.is_some() || cudnn.link_dir.is_some(),
        }
    }
}
