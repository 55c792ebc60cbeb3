//! Why the driver's library cannot be opened: where it lies instead, and who has to bring it.

use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::system;
use crate::runtime::system::by_system;
use crate::runtime::system::names::DRIVER;
use std::path::Path;

/// Where NixOS keeps the driver's libraries.
const NIXOS: &str = "/run/opengl-driver/lib";
/// The GPU as WSL shows it.
const WSL: &str = "/dev/dxg";
/// Where WSL puts the driver's libraries.
const WSL_LIBRARIES: &str = "/usr/lib/wsl/lib";
/// What docker and podman put into their containers.
pub const CONTAINER: [&str; 2] = ["/.dockerenv", "/run/.containerenv"];

/// What shows where a driver should be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissingDriver {
    /// The loader's own words.
    pub words: String,
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
            module,
            nixos: there(&format!("{NIXOS}/{DRIVER}")),
            wsl: there(WSL),
            container: CONTAINER.iter().copied().find(|path| there(path)),
        }
    }

    /// Returns the finding that says so.
    pub fn finding(&self) -> Finding {
        // What is there and refused is another matter than what is not found.
        let absent = self.words.contains("No such file or directory");
        let (headline, [first, second]) = match (self.container, &self.module) {
            _ if absent && self.nixos => self.on_nixos(),
            _ if absent && self.wsl => self.on_wsl(),
            (Some(_), module) if absent => self.in_container(module.is_some()),
            (None, Some(_)) if absent => (
                format!("NVIDIA's kernel module is loaded, and `{DRIVER}`, the driver's library, is not found"),
                [
                    "install the libraries of that very release: `libnvidia-compute` (Ubuntu), `libcuda1` (Debian), \
                     `nvidia-utils` (Arch), `xorg-x11-drv-nvidia-cuda-libs` (Fedora)"
                        .to_string(),
                    "run `sudo ldconfig`, if they are installed".to_string(),
                ],
            ),
            _ => (
                format!(
                    "`{DRIVER}`, the library of NVIDIA's driver, cannot be opened, so no GPU can be used"
                ),
                [
                    "install NVIDIA's driver, or run on a machine that has a GPU".to_string(),
                    by_system!(
                        "start a container with NVIDIA's container toolkit (`--gpus all`), which brings the driver's \
                         libraries in",
                        "restart Windows, if it was installed just now"
                    )
                    .to_string(),
                ],
            ),
        };
        let mut finding =
            Finding::warning(FindingId::DriverMissing, headline).with("loader", &self.words);
        if let Some(release) = &self.module {
            finding = finding.with(
                "module",
                format!("{release} is loaded (/proc/driver/nvidia/version)"),
            );
        }
        if let (Some(file), true) = (self.container, absent) {
            finding = finding.with("container", file);
        }
        finding.help(first).help(second)
    }

    fn on_nixos(&self) -> (String, [String; 2]) {
        (
            format!(
                "`{DRIVER}`, the library of NVIDIA's driver, is in `{NIXOS}`, where this program does not look"
            ),
            [
                format!("put `{NIXOS}` into LD_LIBRARY_PATH where the program runs"),
                "or build it with `addDriverRunpath`, if it is a package of Nix".to_string(),
            ],
        )
    }

    fn on_wsl(&self) -> (String, [String; 2]) {
        (
            format!(
                "WSL shows a GPU, and `{DRIVER}`, the library of NVIDIA's driver, is not found"
            ),
            [
                "install NVIDIA's driver in Windows, and none inside WSL; then run `wsl --shutdown` in Windows".to_string(),
                format!(
                    "put `{WSL_LIBRARIES}` into LD_LIBRARY_PATH, if `{DRIVER}` is in there"
                ),
            ],
        )
    }

    fn in_container(&self, module: bool) -> (String, [String; 2]) {
        let host = if module {
            ", and its host has the driver"
        } else {
            ""
        };
        (
            format!(
                "this container has no `{DRIVER}`, the library of NVIDIA's driver{host}"
            ),
            [
                "start the container with `--gpus all` (docker) or `--device nvidia.com/gpu=all` (podman)".to_string(),
                "install NVIDIA's container toolkit on the host, if that is refused; an image never brings the driver"
                    .to_string(),
            ],
        )
    }
}
