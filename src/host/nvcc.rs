//! Stand-in until the compiler's own file is merged.
use crate::model::finding::Finding;
use crate::model::version::Version;
use std::path::{Path, PathBuf};

pub struct Layout {
    pub top: PathBuf,
    pub include_dirs: Vec<PathBuf>,
    pub link_dirs: Vec<PathBuf>,
}

pub fn layout(nvcc: &Path) -> Result<Layout, Finding> {
    let top = nvcc
        .parent()
        .and_then(Path::parent)
        .unwrap_or(nvcc)
        .to_path_buf();
    let (include_dirs, link_dirs) = (vec![top.join("include")], vec![top.join("lib64")]);
    Ok(Layout {
        top,
        include_dirs,
        link_dirs,
    })
}

pub fn version(nvcc: &Path) -> Result<Version, Finding> {
    Err(Finding::error("nvcc-failed", nvcc.display().to_string()))
}
