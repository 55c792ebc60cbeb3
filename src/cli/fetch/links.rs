//! Links that compilers and cuDNN expect but that NVIDIA's wheels do not contain.

use std::path::Path;
use std::{fs, io};

/// Adds `libcudnn.so` for `libcudnn.so.9`, and `lib64` for `lib`, to a directory of wheels. Existing files stay.
pub fn add_developer_links(dir: &Path) -> io::Result<()> {
    let lib = dir.join("lib");
    if !lib.is_dir() {
        return Ok(());
    }
    link(Path::new("lib"), &dir.join("lib64"))?;
    for entry in fs::read_dir(&lib)? {
        let name = entry?.file_name();
        let Some(name) = name.to_str() else { continue };
        if let Some((stem, _)) = name.split_once(".so.") {
            link(Path::new(name), &lib.join(format!("{stem}.so")))?;
        }
    }
    Ok(())
}

/// Directories where some versions of cuDNN search for cuBLAS and NVRTC although no wheel fills them, each with the
/// directory of the libraries. The versions are up to 9.14 for CUDA 13, and up to 9.1 before.
const NEIGHBORS: [(&str, &str); 3] = [
    ("nvidia/cublas", "../cu13/lib"),
    ("nvidia/cuda_nvrtc", "../cu13/lib"),
    ("nvidia/nvrtc", "../cuda_nvrtc/lib"),
];

/// Creates [`NEIGHBORS`] for a CUDA, each with a link.
pub fn add_neighbors(home: &Path, cuda: u32) -> io::Result<()> {
    for (dir, to) in NEIGHBORS {
        if (cuda == 13) == to.contains("cu13") {
            fs::create_dir_all(home.join(dir))?;
            link(Path::new(to), &home.join(dir).join("lib"))?;
        }
    }
    Ok(())
}

pub fn remove_neighbors(home: &Path) -> io::Result<()> {
    let dirs = NEIGHBORS.map(|(dir, _)| home.join(dir));
    let mut neighbors = dirs.iter().filter(|dir| is_neighbor(dir));
    neighbors.try_for_each(fs::remove_dir_all)
}

pub fn is_neighbor(dir: &Path) -> bool {
    let to = fs::read_link(dir.join("lib")).ok();
    NEIGHBORS
        .iter()
        .any(|(name, known)| dir.ends_with(name) && to.as_deref() == Some(Path::new(known)))
}

/// Creates a link unless its name exists. Does nothing on Windows, which links with import libraries.
#[cfg_attr(not(unix), allow(unused_variables))]
fn link(to: &Path, at: &Path) -> io::Result<()> {
    #[cfg(unix)]
    if at.symlink_metadata().is_err() {
        std::os::unix::fs::symlink(to, at)?;
    }
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_linked_where_older_versions_search() {
        let name = format!("cudnn-guard-neighbors-{}", std::process::id());
        let home = std::env::temp_dir().join(name);
        fs::create_dir_all(home.join("nvidia/cu13/lib")).expect("a folder");
        for file in ["libcublasLt.so.13", "libnvrtc.so.13"] {
            fs::write(home.join("nvidia/cu13/lib").join(file), "").expect("a file");
        }
        add_neighbors(&home, 13).expect("links");
        add_neighbors(&home, 13).expect("existing links");
        for file in [
            "cublas/lib/libcublasLt.so.13",
            "cuda_nvrtc/lib/libnvrtc.so.13",
        ] {
            assert!(home.join("nvidia").join(file).is_file(), "{file}");
        }
        fs::remove_dir_all(&home).expect("room again");
    }
}
