//! What goes into the guard of one program.

use crate::choice::requirement::Requirement;
use crate::runtime::facts::built::{Loader, Policy};
use crate::runtime::facts::compute_capability::Target;
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::version::Version;
use std::path::Path;

/// Where the guard's modules for Linux are taken, whose structures and signal numbers are those of these processors.
pub const KNOWN: &str = "all(target_os = \"linux\", target_env = \"gnu\", any(target_arch = \"x86_64\", target_arch = \"aarch64\"))";

/// `facts::Built` before it is written; there everything is `'static`.
pub struct Facts<'a> {
    /// Whose guard it is: name and version of the crate.
    pub package: Option<String>,
    pub cudnn: Option<Version>,
    pub cudnn_cuda_major: Option<u32>,
    pub cuda: Option<Version>,
    pub requirement: Option<Requirement>,
    pub policy: Policy,
    pub loader: Loader,
    pub cudarc: Option<Version>,
    pub targets: &'a [Target],
    pub convolution: bool,
    pub require_gpu: bool,
    pub needs: &'a [String],
    pub findings: &'a [Finding],
    /// As it is written.
    pub tables: String,
    pub absent: Option<String>,
}

/// A headline with every absolute path in backticks cut to its last component: what is generated is the same in
/// every folder, and tells nothing of the machine it was built on.
pub fn without_folders(summary: &str) -> String {
    let cut = |piece: &str| {
        let path = Path::new(piece);
        match path.file_name() {
            Some(name) if path.has_root() || piece.contains(":\\") => name
                .to_string_lossy()
                .rsplit('\\')
                .next()
                .unwrap_or_default()
                .to_string(),
            _ => piece.to_string(),
        }
    };
    let pieces: Vec<String> = summary
        .split('`')
        .enumerate()
        .map(|(index, piece)| {
            if index % 2 == 1 {
                cut(piece)
            } else {
                piece.to_string()
            }
        })
        .collect();
    pieces.join("`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_headline_keeps_the_name_and_loses_the_folder() {
        assert_eq!(
            without_folders("cuDNN 8.9.7 at `/home/me/venv/nvidia/cudnn` is older than `9.1`"),
            "cuDNN 8.9.7 at `cudnn` is older than `9.1`"
        );
        assert_eq!(without_folders(r"no `C:\CUDA\include`"), "no `include`");
        assert_eq!(without_folders("an odd ` backtick"), "an odd ` backtick");
    }
}
