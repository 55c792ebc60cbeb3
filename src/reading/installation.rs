//! The installation in a directory.

use crate::model::{Found, Kind};
use crate::search::{Tree, install_layout};
use crate::system::{Host, Sysroot, files};
use crate::{cudnn, toolkit};
use std::path::{Path, PathBuf};

/// Reads the installation in a directory. Returns it with the files that were read.
pub fn read_install(
    kind: Kind,
    top: &Path,
    tree: &Tree,
    sysroot: Sysroot,
    host: &Host,
) -> Option<(Found, Vec<PathBuf>)> {
    match kind {
        Kind::Toolkit => {
            let (toolkit, read) = toolkit::read_install(top, tree, sysroot, host)?;
            Some((Found::Toolkit(toolkit), read))
        }
        Kind::Cudnn => {
            let (cudnn, read) = cudnn::read_install(top, tree, sysroot, &host.platform)?;
            Some((Found::Cudnn(cudnn), read))
        }
    }
}

/// Returns the tree of a directory, or a tree for each CUDA version for which the directory contains a cuDNN, the
/// newest first.
pub fn cuda_trees(top: &Path, tree: &Tree, sysroot: Sysroot) -> Vec<Tree> {
    if !install_layout::has_cuda_dirs(tree) {
        return vec![tree.clone()];
    }
    let mut trees = Vec::new();
    for dir in ["lib", "bin", "include"] {
        for dir in sysroot.expand(&top.join(dir), "#") {
            let name = dir.file_name().unwrap_or_default().to_string_lossy();
            files::push_new(&mut trees, install_layout::for_cuda(tree, &name));
        }
    }
    trees
}

/// Returns the identity of an installation, which consists of real paths and does not depend on how it was found.
pub fn key(found: &Found, sysroot: Sysroot) -> Vec<PathBuf> {
    match found {
        Found::Toolkit(toolkit) => vec![sysroot.canonical(&toolkit.root)],
        Found::Cudnn(cudnn) => {
            let library = cudnn.library.as_ref().or(cudnn.link_dir.as_ref());
            let real = |place: Option<&PathBuf>| {
                place.map_or_else(PathBuf::new, |place| sysroot.canonical(place))
            };
            vec![real(cudnn.header.as_ref()), real(library)]
        }
    }
}
