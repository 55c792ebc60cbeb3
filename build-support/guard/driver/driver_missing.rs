//! The reasons why the driver's library cannot be opened.

use crate::runtime::binary::{Defect, Image};
use crate::runtime::driver::container::{Container, variable};
use crate::runtime::system::{self, DRIVER};
use std::path::Path;

/// NixOS's directory of the driver's libraries.
pub const NIXOS: &str = "/run/opengl-driver/lib";
/// The directories of the driver's libraries, also in a container. Only the loader of another system, such as that of an
/// AppImage or of Nix, does not search them.
pub const SYSTEM: [&str; 5] = [
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/lib64",
];
/// WSL's GPU device.
const WSL: &str = "/dev/dxg";
/// WSL's directory of the driver's libraries.
pub const WSL_LIBRARIES: &str = "/usr/lib/wsl/lib";

/// Evidence of why the driver's library is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissingDriver {
    /// The loader's error message.
    pub message: String,
    /// The defect because of which the library was not opened. `message` already names it.
    pub not_opened: Option<Defect>,
    /// The version of the kernel module, if it is loaded anyway.
    pub module: Option<String>,
    /// The directory of the library, if the loader does not search it.
    pub unsearched: Option<&'static str>,
    /// `true` if the program runs from an AppImage.
    pub is_appimage: bool,
    /// `true` if this is WSL with a GPU.
    pub wsl: bool,
    pub container: Option<Container>,
    /// The value of NVIDIA_DRIVER_CAPABILITIES, if it leaves the library out of the container.
    pub left_out_by: Option<String>,
}

impl MissingDriver {
    /// Collects the evidence below a root directory, which is `/` except in tests.
    pub fn detect(root: &Path, message: String, module: Option<String>) -> Self {
        let below = |path: &str| root.join(path.trim_start_matches('/'));
        let container = Container::detect(root);
        // The message can also be about a library that the driver needs.
        let is_valid = |dir: &&&str| {
            message.starts_with(DRIVER) && Image::open(&below(dir).join(DRIVER)).is_ok()
        };
        let exists = |dir: &&&str| system::is_there(&below(dir).join(DRIVER));
        let unsearched = [NIXOS, WSL_LIBRARIES].iter().find(exists);
        Self {
            unsearched: unsearched.or_else(|| SYSTEM.iter().find(is_valid)).copied(),
            message,
            not_opened: None,
            module,
            is_appimage: variable(root, "APPDIR").is_some(),
            wsl: system::is_there(&below(WSL)),
            container,
            left_out_by: container.and_then(|one| one.left_out_by(root)),
        }
    }

    /// Returns `true` if the loader found no file of this name, not even an unusable one.
    pub fn is_absent(&self) -> bool {
        self.message.contains("No such file or directory")
    }
}
