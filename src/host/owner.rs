//! Who put a cuDNN there: the record that changes when another release takes its place, be its files dated older.

use super::files;
use std::path::{Path, PathBuf};

/// The records of the packages that own a cuDNN below this directory.
pub fn records(root: &Path, library: Option<&Path>) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = wheels(root)
        .into_iter()
        .map(|wheel| wheel.join("RECORD"))
        .collect();
    found.extend(matching(&root.join("conda-meta"), "", "cudnn", ".json"));
    if library.is_some_and(|library| library.starts_with("/usr/lib")) {
        found.extend(matching(
            Path::new("/var/lib/dpkg/info"),
            "libcudnn",
            "",
            ".list",
        ));
    }
    found.retain(|path| files::is_file(path));
    found
}

/// The CUDA major in the name of the wheel that owns `…/nvidia/cudnn`: `nvidia_cudnn_cu13-9.14.0.64.dist-info`. Two
/// wheels in one place have overwritten each other: then their names tell nothing.
pub fn wheel_cuda_major(root: &Path) -> Option<u32> {
    let [wheel] = wheels(root).try_into().ok()?;
    let (_, tail) = wheel.file_name()?.to_str()?.rsplit_once("_cu")?;
    tail.split('-').next()?.parse().ok()
}

fn wheels(root: &Path) -> Vec<PathBuf> {
    match (
        root.ends_with("nvidia/cudnn"),
        root.parent().and_then(Path::parent),
    ) {
        (true, Some(site)) => matching(site, "nvidia_cudnn_cu", "", ".dist-info"),
        _ => Vec::new(),
    }
}

fn matching(dir: &Path, start: &str, inside: &str, end: &str) -> Vec<PathBuf> {
    let mut paths = files::list(dir).unwrap_or_default();
    paths.retain(|path| {
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        name.starts_with(start) && name.contains(inside) && name.ends_with(end)
    });
    paths
}
