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
    ("cublas", "cu13"),
    ("cuda_nvrtc", "cu13"),
    ("nvrtc", "cuda_nvrtc"),
];

/// Creates [`NEIGHBORS`] in the directory of the wheels, each with a link to existing libraries.
pub fn add_neighbors(nvidia: &Path) -> io::Result<()> {
    for (dir, to) in NEIGHBORS {
        // A link that was created before does not count.
        if nvidia.join(to).join("lib64").is_symlink() {
            fs::create_dir_all(nvidia.join(dir))?;
            link(
                &Path::new("..").join(to).join("lib"),
                &nvidia.join(dir).join("lib"),
            )?;
        }
    }
    Ok(())
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
        let nvidia = std::env::temp_dir().join(name);
        fs::create_dir_all(nvidia.join("cu13/lib")).expect("a folder");
        for file in ["libcublasLt.so.13", "libnvrtc.so.13"] {
            fs::write(nvidia.join("cu13/lib").join(file), "").expect("a file");
        }
        add_developer_links(&nvidia.join("cu13")).expect("links");
        add_neighbors(&nvidia).expect("links");
        for file in [
            "cu13/lib64/libnvrtc.so",
            "cublas/lib/libcublasLt.so.13",
            "cuda_nvrtc/lib/libnvrtc.so.13",
        ] {
            assert!(nvidia.join(file).is_file(), "{file}");
        }
        assert!(!nvidia.join("nvrtc").exists());
        fs::remove_dir_all(&nvidia).expect("room again");
    }
}
