//! The reasons why the driver's library cannot be opened.

use crate::runtime::binary::defect::Defect;
use crate::runtime::driver::container::Container;
use crate::runtime::system;
use crate::runtime::system::names::DRIVER;
use std::path::Path;

/// NixOS's directory of the driver's libraries.
pub const NIXOS: &str = "/run/opengl-driver/lib";
/// WSL's GPU device.
const WSL: &str = "/dev/dxg";
/// WSL's directory of the driver's libraries.
pub const WSL_LIBRARIES: &str = "/usr/lib/wsl/lib";

/// Evidence of why the driver's library is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissingDriver {
    /// The loader's error message.
    pub message: String,
    /// The defect because of which the library was not opened; `message` names it.
    pub not_opened: Option<Defect>,
    /// The version of the kernel module, if it is loaded anyway.
    pub module: Option<String>,
    /// The directory of the library, if it is that of NixOS or WSL, which the loader may not search.
    pub unsearched: Option<&'static str>,
    /// `true` if this is WSL with a GPU.
    pub wsl: bool,
    /// The container in which this process runs.
    pub container: Option<Container>,
    /// The value of NVIDIA_DRIVER_CAPABILITIES, if it leaves the library out of the container.
    pub left_out_by: Option<String>,
}

impl MissingDriver {
    /// Collects the evidence below a root directory, which is `/` except in tests.
    pub fn detect(root: &Path, message: String, module: Option<String>) -> Self {
        let exists = |path: &str| system::is_there(&root.join(path.trim_start_matches('/')));
        let container = Container::detect(root);
        Self {
            message,
            not_opened: None,
            module,
            unsearched: [NIXOS, WSL_LIBRARIES]
                .into_iter()
                .find(|dir| exists(&format!("{dir}/{DRIVER}"))),
            wsl: exists(WSL),
            container,
            left_out_by: container.and_then(|one| one.left_out_by(root)),
        }
    }

    /// Returns `true` if the loader found no file of this name, not even an unusable one.
    pub fn is_absent(&self) -> bool {
        self.message.contains("No such file or directory")
    }
}
