use crate::model::{FoundVia, Obstacle};
use crate::runtime::binary::Defect;
use crate::runtime::facts::Version;
use std::fmt;
use std::path::PathBuf;

/// The reason why a candidate was not chosen.
#[derive(Clone, Debug, PartialEq)]
pub enum Rejection {
    /// A candidate found this way precedes it.
    OutrankedBy(FoundVia),
    /// The candidate in this directory, found the same way, precedes it.
    OutrankedByOther(PathBuf),
    /// A duplicate of an earlier candidate.
    SameAs(FoundVia),
    /// A variable requests another place, which contains nothing.
    AnotherPlaceRequested,
    NothingCompatible,
    TooOld(String),
    TooNew(String),
    /// A cuDNN for this CUDA major, which differs from the toolkit's.
    BuiltForCuda(u32),
    /// A toolkit for a different CUDA major than this one, which the chosen cuDNN was built for.
    CudnnBuiltForCuda(u32),
    /// A cuDNN for this architecture.
    OtherCpu(&'static str),
    /// A path that cannot be printed for cargo.
    UnprintablePath(&'static str),
    RuntimeOnly,
    /// Missing components, libraries or headers.
    Missing(String),
    /// A cuDNN for Windows without `cudnn.lib`.
    NoImportLibrary,
    NoLibrary,
    /// An unusable file in the place of its library.
    Obstructed(Obstacle),
    /// A file of this name that is not a library for this system.
    Damaged(String, Defect),
    HeaderSkew(Version, Version),
    /// Sub-libraries of different versions.
    MixedParts,
    /// A cuDNN with only the sub-libraries for `CUDNN_LIB_CONFIG=GRAPH_JIT_ONLY`.
    JitOnly,
    /// The bundled copy of this Python package.
    BundledWith(&'static str),
    /// An installation that is only in LD_LIBRARY_PATH.
    OnLibraryPath,
    /// A record of a directory that does not exist.
    Gone,
    /// A record of pip whose files do not exist.
    Emptied,
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutrankedBy(via) => write!(f, "outranked by {via}"),
            Self::OutrankedByOther(root) => write!(f, "outranked by `{}`", root.display()),
            Self::SameAs(via) => write!(f, "the same as the one found through {via}"),
            Self::AnotherPlaceRequested => f.write_str("another location was requested"),
            Self::NothingCompatible => f.write_str("nothing is compatible with it"),
            Self::TooOld(requirement) => write!(f, "too old for `{requirement}`"),
            Self::TooNew(requirement) => write!(f, "too new for `{requirement}`"),
            Self::BuiltForCuda(major) => write!(f, "built for CUDA {major}"),
            Self::CudnnBuiltForCuda(major) => write!(f, "cuDNN was built for CUDA {major}"),
            Self::OtherCpu(cpu) => write!(f, "built for {cpu}"),
            Self::UnprintablePath(what) => write!(f, "{what} cannot be passed to cargo"),
            Self::RuntimeOnly => {
                f.write_str("it only contains libraries: enough to run, but not to build")
            }
            Self::Missing(parts) => write!(f, "it does not contain {parts}"),
            Self::NoImportLibrary => f.write_str("its import library is missing"),
            Self::NoLibrary => f.write_str("it contains headers but no library"),
            Self::Obstructed(obstacle) => obstacle.fmt(f),
            Self::Damaged(file, defect) => write!(f, "`{file}` {defect}"),
            Self::HeaderSkew(header, library) => {
                write!(f, "its headers are {header}, but its library is {library}")
            }
            Self::MixedParts => f.write_str("its sub-libraries have different versions"),
            Self::JitOnly => f.write_str("it can only compile graphs at run time"),
            Self::BundledWith(package) => write!(
                f,
                "{package}'s own copy, which may be loaded first at run time"
            ),
            Self::OnLibraryPath => write!(
                f,
                "found only in {}, which a build does not search",
                FoundVia::LibraryPath
            ),
            Self::Emptied => f.write_str("pip has a record of it, but its files do not exist"),
            Self::Gone => f.write_str("this directory does not exist"),
        }
    }
}
