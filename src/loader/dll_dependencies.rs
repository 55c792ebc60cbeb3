//! What the DLLs of cuDNN need besides each other: error 126 on Windows names the one that needs, never the one that
//! is not there.

use crate::cudnn::consistency::missing_parts;
use crate::model::candidate::Cudnn;
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::sub_libraries;
use crate::runtime::facts::version::Version;
use std::path::{Path, PathBuf};

/// What was looked for beside a cuDNN.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DllDependencies {
    /// Where was looked, apart from PATH and the toolkit.
    pub places: Vec<PathBuf>,
    /// Whether the compression library that cuDNN 8 opens is nowhere.
    pub lacks_zlib: bool,
    /// It, and its processor, where that is another one than cuDNN's.
    pub foreign_zlib: Option<(PathBuf, &'static str)>,
    /// What import tables name and is nowhere.
    pub missing_dlls: Vec<MissingDll>,
    /// Whether PATH is that of the system where the program runs.
    pub path_known: bool,
}

/// A DLL that is nowhere, and the part that needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingDll {
    /// The part.
    pub part: PathBuf,
    /// The DLL's file name.
    pub dll: String,
}

/// Whether a DLL is one that CUDA, cuDNN or their user has to bring. Windows' own are nobody's to judge.
pub fn is_judged(dll: &str) -> bool {
    let name = dll.to_ascii_lowercase();
    let brought = [
        "cublas",
        "cudart",
        "cudnn",
        "nvjitlink",
        "nvrtc",
        "zlibwapi",
    ];
    brought.iter().any(|start| name.starts_with(start))
}

/// Whether it opens `zlibwapi.dll`.
pub fn opens_zlib(cudnn: &Cudnn) -> bool {
    let version = cudnn.library_version.or(cudnn.header_version);
    version.is_some_and(sub_libraries::opens_zlib)
}

/// A DLL that cuDNN needs and Windows does not find, or cannot load.
pub enum DllFault<'a> {
    /// The compression library that a cuDNN 8 of this release, in this directory, opens is nowhere.
    MissingZlib(Version, &'a Path),
    /// The one that this release opens is this file, for this processor. cuDNN calls that error 193.
    ForeignZlib(Version, &'a Path, &'static str),
    /// DLLs of cuDNN itself are nowhere.
    MissingPart {
        /// The DLLs.
        needs: Vec<&'a MissingDll>,
        /// The first library of cuDNN.
        library: &'a Path,
        /// The directory of cuDNN.
        dir: &'a Path,
    },
    /// These DLLs of CUDA, and of this major that cuDNN was built for, are nowhere.
    MissingCuda(Vec<&'a MissingDll>, Option<u32>),
}

/// Says what is nowhere.
pub fn findings(cudnn: &Cudnn, dll_dependencies: &DllDependencies) -> Vec<Finding> {
    let mut faults = Vec::new();
    let dir = dll_dependencies.places.first();
    if let (Some(version), Some(dir), true) = (cudnn.version(), dir, dll_dependencies.lacks_zlib) {
        faults.push(DllFault::MissingZlib(version, dir));
    }
    if let (Some(version), Some((path, cpu))) = (cudnn.version(), &dll_dependencies.foreign_zlib) {
        faults.push(DllFault::ForeignZlib(version, path, cpu));
    }
    let needed = missing_parts(cudnn);
    // That a part is lacking which a convolution needs is said already.
    let new = dll_dependencies
        .missing_dlls
        .iter()
        .filter(|one| !needed.contains(&one.dll));
    let (own, others): (Vec<_>, Vec<_>) = new.partition(|one| one.dll.starts_with("cudnn"));
    if let (Some(library), Some(dir), false) = (&cudnn.library, dir, own.is_empty()) {
        faults.push(DllFault::MissingPart {
            needs: own,
            library,
            dir,
        });
    }
    if !others.is_empty() {
        faults.push(DllFault::MissingCuda(others, cudnn.cuda_major));
    }
    let faults = faults.iter();
    faults
        .map(|fault| fault.finding(dll_dependencies))
        .collect()
}
