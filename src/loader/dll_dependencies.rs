//! The dependencies of cuDNN's DLLs on other DLLs. Error 126 on Windows names the importing DLL, never the missing one.

use crate::cudnn::consistency::missing_parts;
use crate::model::candidate::Cudnn;
use crate::runtime::facts::sub_libraries;
use crate::{Finding, Version};
use std::path::{Path, PathBuf};

/// The search for the dependencies of a cuDNN.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DllDependencies {
    /// The searched directories, without PATH and the toolkit.
    pub places: Vec<PathBuf>,
    /// Set if the compression library that cuDNN 8 opens was not found.
    pub is_zlib_missing: bool,
    /// The compression library and its architecture, if it is not cuDNN's.
    pub foreign_zlib: Option<(PathBuf, &'static str)>,
    pub missing_dlls: Vec<MissingDll>,
    /// Set if PATH is the PATH of the system that runs the program.
    pub path_known: bool,
}

/// A missing DLL and the sub-library that imports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingDll {
    pub part: PathBuf,
    pub dll: String,
}

/// Returns `true` for DLLs of CUDA and cuDNN, and for those that users must install. DLLs of Windows are not checked.
pub fn is_checked(dll: &str) -> bool {
    let name = dll.to_ascii_lowercase();
    let prefixes = [
        "cublas",
        "cudart",
        "cudnn",
        "nvjitlink",
        "nvrtc",
        "zlibwapi",
    ];
    prefixes.iter().any(|start| name.starts_with(start))
}

/// Returns `true` if a cuDNN opens `zlibwapi.dll`.
pub fn opens_zlib(cudnn: &Cudnn) -> bool {
    let version = cudnn.library_version.or(cudnn.header_version);
    version.is_some_and(sub_libraries::opens_zlib)
}

/// A DLL that cuDNN requires and that Windows does not find or cannot load.
pub enum DllFault<'a> {
    /// A missing compression library for this version of cuDNN 8 in this directory.
    MissingZlib(Version, &'a Path),
    /// A compression library for another CPU, with the version of cuDNN 8, the file and its CPU. cuDNN reports error
    /// 193.
    ForeignZlib(Version, &'a Path, &'static str),
    /// Missing DLLs of cuDNN itself.
    MissingPart {
        needs: Vec<&'a MissingDll>,
        library: &'a Path,
        dir: &'a Path,
    },
    /// Missing DLLs of CUDA, with the CUDA major that cuDNN was built for.
    MissingCuda(Vec<&'a MissingDll>, Option<u32>),
}

pub fn findings(cudnn: &Cudnn, dll_dependencies: &DllDependencies) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut add = |fault: DllFault| findings.push(fault.finding(dll_dependencies));
    let dir = dll_dependencies.places.first();
    if let (Some(version), Some(dir), true) =
        (cudnn.version(), dir, dll_dependencies.is_zlib_missing)
    {
        add(DllFault::MissingZlib(version, dir));
    }
    if let (Some(version), Some((path, cpu))) = (cudnn.version(), &dll_dependencies.foreign_zlib) {
        add(DllFault::ForeignZlib(version, path, cpu));
    }
    let needed = missing_parts(cudnn);
    let (mut needs, mut others) = (Vec::new(), Vec::new());
    for missing in &dll_dependencies.missing_dlls {
        if needed.contains(&missing.dll) {
            // Another check reports missing sub-libraries that convolutions need.
        } else if missing.dll.starts_with("cudnn") {
            needs.push(missing);
        } else {
            others.push(missing);
        }
    }
    if let (Some(library), Some(dir), false) = (&cudnn.library, dir, needs.is_empty()) {
        add(DllFault::MissingPart {
            needs,
            library,
            dir,
        });
    }
    if !others.is_empty() {
        add(DllFault::MissingCuda(others, cudnn.cuda_major));
    }
    findings
}
