//! The dependencies of cuDNN's DLLs on other DLLs. Error 126 on Windows names the importing DLL, never the missing one.

use crate::Finding;
use crate::model::Cudnn;
use std::path::PathBuf;

/// The search for the dependencies of a cuDNN.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DllDependencies {
    /// The searched directories, without PATH and the toolkit.
    pub places: Vec<PathBuf>,
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
    let prefixes = ["cublas", "cudart", "cudnn", "nvjitlink", "nvrtc"];
    prefixes.iter().any(|start| name.starts_with(start))
}

pub fn findings(cudnn: &Cudnn, dll_dependencies: &DllDependencies) -> Vec<Finding> {
    let mut findings = Vec::new();
    let dir = dll_dependencies.places.first();
    let needed = &cudnn.installed.missing;
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
        findings.push(dll_dependencies.missing_sub_libraries(&needs, library, dir));
    }
    if !others.is_empty() {
        findings.push(dll_dependencies.missing_cuda(&others, cudnn.cuda_major));
    }
    findings
}
