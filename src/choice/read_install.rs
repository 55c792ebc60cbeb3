//! Reads what is installed in a directory.

use crate::model::candidate::Found;
use crate::search::search_step::{Kind, Tree};
use crate::system::Host;
use crate::system::sysroot::Sysroot;
use crate::{cudnn, toolkit};
use std::path::{Path, PathBuf};

/// What is in a directory, and the files that were read.
pub(super) fn read_install(
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
