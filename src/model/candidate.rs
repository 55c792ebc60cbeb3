//! The results of a search: toolkits and cuDNN installations, with how each was found and why it was rejected.

use crate::model::{FoundVia, Library, Obstacle, Owner, Rejection, Variable};
use crate::runtime::binary::Defect;
use crate::runtime::facts::{Target, Version};
use crate::runtime::install::Installed;
use std::path::{Path, PathBuf};

/// A CUDA toolkit, which may be incomplete.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Toolkit {
    /// The root directory: `/usr/local/cuda-13.0`, `…/site-packages/nvidia/cu13`.
    pub root: PathBuf,
    /// The version from `CUDA_VERSION` in its `cuda.h`, or from its nvcc.
    pub version: Option<Version>,
    pub nvcc: Option<PathBuf>,
    pub include_dirs: Vec<PathBuf>,
    /// Library directories without stubs.
    pub link_dirs: Vec<PathBuf>,
    /// Directories of stub libraries. The linker searches them last, and they are never in an rpath.
    pub stub_dirs: Vec<PathBuf>,
    /// Libraries (by short name) and headers that the build requires but that are missing here.
    pub absent: Vec<String>,
}

impl Toolkit {
    /// Returns `true` if it has libraries but neither headers nor a compiler, which is enough to run programs but not
    /// to build them.
    pub fn is_runtime(&self) -> bool {
        !self.link_dirs.is_empty() && self.nvcc.is_none() && self.include_dirs.is_empty()
    }

    pub fn missing_components(&self) -> Vec<&'static str> {
        let mut missing = Vec::new();
        for (is_missing, name) in &[
            (self.nvcc.is_none(), "nvcc"),
            (self.include_dirs.is_empty(), "headers"),
            (self.link_dirs.is_empty(), "libraries"),
        ] {
            if *is_missing {
                missing.push(*name);
            }
        }
        missing
    }
}

/// A cuDNN installation: headers, libraries, or both.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cudnn {
    /// The directory under which it was found.
    pub root: PathBuf,
    /// The header that the version was read from.
    pub header: Option<PathBuf>,
    pub include_dir: Option<PathBuf>,
    /// The version from `CUDNN_MAJOR`, `CUDNN_MINOR` and `CUDNN_PATCHLEVEL`.
    pub header_version: Option<Version>,
    /// The main library, which programs load: `…/libcudnn.so.9`.
    pub library: Option<PathBuf>,
    /// The version from the sub-libraries.
    pub library_version: Option<Version>,
    /// The directory for the linker's search path.
    pub link_dir: Option<PathBuf>,
    pub link_library: Option<Library>,
    /// The CUDA major that the library was built for, from `libcublasLt.so.N` in its sub-libraries.
    pub cuda_major: Option<u32>,
    /// The library's architecture: `x86_64`, `aarch64`.
    pub cpu: Option<&'static str>,
    /// The main library, the sub-libraries, and the missing ones.
    pub installed: Installed,
    /// The device code that all core sub-libraries contain. Empty if it was not read.
    pub gpu_codes: Vec<Target>,
    /// The package that installed it, if a package record names one.
    pub owner: Option<Box<Owner>>,
    /// Further facts about the files.
    pub files: Box<Files>,
}

/// Facts about the files of a cuDNN other than their versions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Files {
    /// The files of each sub-library that exists in different builds instead of one file and links to it.
    pub copies: Vec<Vec<PathBuf>>,
    /// Functions that a sub-library imports from another one that does not define them.
    pub unresolved: Vec<Unresolved>,
    /// The CUDA majors that the sub-libraries were built for, if they differ, each with a file.
    pub cuda_majors: Vec<(u32, PathBuf)>,
    /// The real directories of the files, with links resolved.
    pub directories: Vec<PathBuf>,
    /// The directory of its archives, if no shared library is beside them.
    pub archives: Option<PathBuf>,
    /// A header that cannot be read, if no other header contains the version.
    pub unreadable_header: Option<PathBuf>,
    pub unversioned_header: Option<PathBuf>,
    /// A header that includes a missing header of cuDNN, and the missing header's name.
    pub missing_header: Option<(PathBuf, String)>,
    /// The wheels that overwrote each other's files. The wheel that most of the files are from comes first.
    pub wheels: Vec<Owner>,
    /// The Debian package of the headers, if their version differs from the library's.
    pub header_owner: Option<Owner>,
    /// The reason why the file in the library's place cannot be used.
    pub obstacle: Option<Obstacle>,
    /// The library's real file, if the link that programs load does not point to the file.
    pub unlinked: Option<PathBuf>,
    /// The soname that the loader searches for, if no such file exists.
    pub absent_soname: Option<String>,
    /// `true` if the main library searches its own directory for sub-libraries before LD_LIBRARY_PATH, through a
    /// DT_RPATH. This is the case since 9.22, and in some builds of 9.21.
    pub own_first: bool,
}

/// Functions that one sub-library imports from another that does not define them.
#[derive(Clone, Debug, PartialEq)]
pub struct Unresolved {
    /// The importing sub-library.
    pub part: PathBuf,
    /// The sub-library that should define the functions.
    pub sibling: PathBuf,
    pub symbols: Vec<String>,
}

impl Cudnn {
    pub fn main_library_defect(&self) -> Option<(&Path, &Defect)> {
        let main = &self.installed.main;
        Some((&main.path, main.defect.as_ref()?))
    }

    /// Returns the version from the header, or else from the library.
    pub fn version(&self) -> Option<Version> {
        self.header_version.or(self.library_version)
    }

    /// Returns the version from the library, or else from the header.
    pub fn linked_version(&self) -> Option<Version> {
        self.library_version.or(self.header_version)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Toolkit,
    Cudnn,
}

impl Kind {
    pub const BOTH: [Kind; 2] = [Kind::Toolkit, Kind::Cudnn];

    /// Returns the name of the method of `Config`.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Toolkit => "cuda",
            Kind::Cudnn => "cudnn",
        }
    }

    /// Returns the name for messages.
    pub fn product(self) -> &'static str {
        match self {
            Kind::Toolkit => "CUDA toolkit",
            Kind::Cudnn => "cuDNN",
        }
    }
}

/// A toolkit or a cuDNN.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant)] // there are a dozen of them
pub enum Found {
    Toolkit(Toolkit),
    Cudnn(Cudnn),
}

pub fn chosen(candidates: &[Candidate], kind: Kind) -> Option<&Candidate> {
    let is_chosen = |one: &&Candidate| one.is_chosen() && one.kind() == kind;
    candidates.iter().find(is_chosen)
}

/// A search result, and why it was chosen or rejected.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub found: Found,
    pub via: FoundVia,
    /// After the choice, the two chosen candidates are not rejected.
    pub rejected: Option<Rejection>,
    /// The variable that requests this place.
    pub request: Option<Variable>,
}

impl Candidate {
    pub fn is_chosen(&self) -> bool {
        self.rejected.is_none()
    }

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

    pub fn version(&self) -> Option<Version> {
        match &self.found {
            Found::Toolkit(toolkit) => toolkit.version,
            Found::Cudnn(cudnn) => cudnn.version(),
        }
    }

    /// Returns product and version: `CUDA 12.4`.
    pub fn title(&self) -> String {
        format!("{} {}", self.product(), self.version_text())
    }

    /// Returns the version as NVIDIA writes it, for messages.
    pub fn version_text(&self) -> String {
        match (self.version(), self.kind()) {
            (None, _) => "of unknown version".into(),
            (Some(version), Kind::Toolkit) => version.short(),
            (Some(version), Kind::Cudnn) => version.to_string(),
        }
    }

    pub fn toolkit(&self) -> Option<&Toolkit> {
        match &self.found {
            Found::Toolkit(toolkit) => Some(toolkit),
            Found::Cudnn(_) => None,
        }
    }

    pub fn cudnn(&self) -> Option<&Cudnn> {
        match &self.found {
            Found::Cudnn(cudnn) => Some(cudnn),
            Found::Toolkit(_) => None,
        }
    }

    pub fn kind(&self) -> Kind {
        match self.found {
            Found::Toolkit(_) => Kind::Toolkit,
            Found::Cudnn(_) => Kind::Cudnn,
        }
    }

    /// Returns the short name of its kind, for messages.
    pub fn product(&self) -> &'static str {
        match self.kind() {
            Kind::Toolkit => "CUDA",
            Kind::Cudnn => "cuDNN",
        }
    }

    /// Returns the package of a cuDNN.
    pub fn owner(&self) -> Option<&Owner> {
        self.cudnn()?.owner.as_deref()
    }

    /// Returns `true` if only a record of it exists.
    pub fn is_gone(&self) -> bool {
        match &self.found {
            Found::Toolkit(toolkit) => toolkit.missing_components().len() == 3,
            Found::Cudnn(cudnn) => {
                let parts = [&cudnn.header, &cudnn.library, &cudnn.link_dir];
                parts.iter().all(|part| part.is_none()) && cudnn.files.obstacle.is_none()
            }
        }
    }

    /// Returns `true` if a build can use any part of it. A Python package's bundled copy is not usable.
    pub fn is_usable(&self) -> bool {
        match &self.found {
            Found::Toolkit(toolkit) => toolkit.nvcc.is_some() || !toolkit.include_dirs.is_empty(),
            Found::Cudnn(cudnn) => cudnn.header.is_some() || cudnn.link_dir.is_some(),
        }
    }
}
