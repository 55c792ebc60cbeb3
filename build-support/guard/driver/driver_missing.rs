//! Why the driver's library cannot be opened: where it lies instead, and who has to bring it.

use crate::runtime::binary::defect::Defect;
use crate::runtime::system;
use crate::runtime::system::names::DRIVER;
use std::path::Path;

/// Where NixOS keeps the driver's libraries.
pub const NIXOS: &str = "/run/opengl-driver/lib";
/// The GPU as WSL shows it.
const WSL: &str = "/dev/dxg";
/// Where WSL puts the driver's libraries.
pub const WSL_LIBRARIES: &str = "/usr/lib/wsl/lib";
/// What docker and podman put into their containers.
pub const CONTAINER: [&str; 2] = ["/.dockerenv", "/run/.containerenv"];

/// What shows where a driver should be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissingDriver {
    /// The loader's own words.
    pub words: String,
    /// The defect for which the library was not opened, which the words name.
    pub not_opened: Option<Defect>,
    /// The release of the kernel module, if one is loaded all the same.
    pub module: Option<String>,
    /// Whether the library lies where NixOS keeps it.
    pub nixos: bool,
    /// Whether this is WSL with a GPU.
    pub wsl: bool,
    /// The file that says that this is a container.
    pub container: Option<&'static str>,
}

impl MissingDriver {
    /// Looks below a root, which is `/`.
    pub fn detect(root: &Path, words: String, module: Option<String>) -> Self {
        let there = |path: &str| system::is_there(&root.join(path.trim_start_matches('/')));
        Self {
            words,
            not_opened: None,
            module,
            nixos: there(&format!("{NIXOS}/{DRIVER}")),
            wsl: there(WSL),
            container: CONTAINER.iter().copied().find(|path| there(path)),
        }
    }

    /// Returns `true` if the loader found no such file: an unusable file is another matter.
    pub fn is_absent(&self) -> bool {
        self.words.contains("No such file or directory")
    }
}
