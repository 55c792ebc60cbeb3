//! Why a candidate was not chosen.

use crate::model::found_via::FoundVia;
use crate::model::obstacle::Obstacle;
use crate::runtime::binary::defect::Defect;
use crate::runtime::facts::version::Version;
use std::fmt;
use std::path::PathBuf;

/// Why a candidate was not chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// This one goes before it.
    OutrankedBy(FoundVia),
    /// The one in this directory goes before it, which was found in the same way.
    OutrankedByOther(PathBuf),
    /// It is the one that was found before, under another name.
    SameAs(FoundVia),
    /// A variable asks for another place, where nothing is.
    AnotherPlaceAsked,
    /// Nothing that was found fits it.
    NothingFits,
    /// It is older than this requirement.
    TooOld(String),
    /// It is newer than this requirement.
    TooNew(String),
    /// The cuDNN was built for this CUDA, which is not the toolkit's.
    BuiltForCuda(u32),
    /// The cuDNN that is chosen was built for this CUDA, and this toolkit is another.
    CudnnBuiltForCuda(u32),
    /// It is for this processor.
    OtherCpu(&'static str),
    /// No line for cargo can hold its path.
    UntellablePath(&'static str),
    /// A toolkit with libraries alone.
    RuntimeOnly,
    /// It lacks these.
    Lacks(Vec<&'static str>),
    /// It lacks these libraries or headers, which the build asks for.
    LacksAsked(Vec<String>),
    /// A cuDNN for Windows without `cudnn.lib`.
    NoImportLibrary,
    /// Headers without a library.
    NoLibrary,
    /// What lies in the place of its library cannot be used.
    Obstructed(Obstacle),
    /// A file of this name is no library for this system.
    Damaged(String, Defect),
    /// The headers are of the first release, the library is of the second.
    HeaderSkew(Version, Version),
    /// The parts are of different releases.
    MixedParts,
    /// It has the parts for `CUDNN_LIB_CONFIG=GRAPH_JIT_ONLY`, and no others.
    JitOnly,
    /// This Python package keeps it for itself.
    BundledWith(&'static str),
    /// LD_LIBRARY_PATH alone leads there.
    OnLibraryPath,
    /// The directory that a record names does not exist.
    Gone,
    /// pip has a record of it, and its files are gone.
    Emptied,
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutrankedBy(via) => write!(f, "outranked by {via}"),
            Self::OutrankedByOther(root) => write!(f, "outranked by `{}`", root.display()),
            Self::SameAs(via) => write!(f, "the same as the one found via {via}"),
            Self::AnotherPlaceAsked => f.write_str("another place was asked for"),
            Self::NothingFits => f.write_str("nothing fits it"),
            Self::TooOld(requirement) => write!(f, "older than `{requirement}` asks for"),
            Self::TooNew(requirement) => write!(f, "newer than `{requirement}` allows"),
            Self::BuiltForCuda(major) => write!(f, "built for CUDA {major}"),
            Self::CudnnBuiltForCuda(major) => write!(f, "the cuDNN was built for CUDA {major}"),
            Self::OtherCpu(cpu) => write!(f, "it is for {cpu}"),
            Self::UntellablePath(what) => write!(f, "cargo cannot be told {what}"),
            Self::RuntimeOnly => f.write_str("it has libraries alone: enough to run, not to build"),
            Self::Lacks(parts) => write!(f, "it has no {}", parts.join(" and no ")),
            Self::LacksAsked(names) => write!(f, "it has no {}", names.join(" and no ")),
            Self::NoImportLibrary => f.write_str("it has no import library"),
            Self::NoLibrary => f.write_str("there is no library beside the headers"),
            Self::Obstructed(obstacle) => obstacle.fmt(f),
            Self::Damaged(file, flaw) => write!(f, "`{file}` {flaw}"),
            Self::HeaderSkew(header, library) => {
                write!(f, "its headers are {header}, its library is {library}")
            }
            Self::MixedParts => f.write_str("its parts are of different releases"),
            Self::JitOnly => f.write_str("it can only compile graphs at run time"),
            Self::BundledWith(package) => write!(
                f,
                "{package}'s own copy, which may be loaded first at run time"
            ),
            Self::OnLibraryPath => write!(
                f,
                "{} leads there, which does not count in a build",
                FoundVia::LibraryPath
            ),
            Self::Emptied => f.write_str("pip has a record of it, and its files are not there"),
            Self::Gone => f.write_str("that directory is not there"),
        }
    }
}
