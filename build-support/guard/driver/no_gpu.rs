//! The reasons why the driver shows no GPU: a variable hides it, its device cannot be opened, or the container has no
//! access to it.

use crate::runtime::driver::container::{Container, ContainerRuntime, variable};
use crate::runtime::facts::is_number;
use crate::runtime::system::{self, by_system};
use std::path::Path;

/// The variable that chooses among the GPUs.
pub const VISIBLE: &str = "CUDA_VISIBLE_DEVICES";
/// The device files that a program opens to use a GPU: three for a card, then three for a Jetson.
const NODES: [&str; 6] = [
    "/dev/nvidiactl",
    "/dev/nvidia-uvm",
    "/dev/nvidia0",
    "/dev/nvmap",
    "/dev/nvhost-gpu",
    "/dev/nvhost-ctrl-gpu",
];
/// A file that exists on every Jetson.
const JETSON: &str = "/etc/nv_tegra_release";

/// The reason why `/dev/nvidia-uvm` is missing although the driver is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingUvm {
    /// This container was not given the device.
    NotGiven(ContainerRuntime),
    /// The module that creates the device is not loaded.
    NotLoaded,
}

impl MissingUvm {
    /// Returns the reason on the machine below this root directory, if the device is missing there.
    pub fn detect(root: &Path) -> Option<Self> {
        let has = |node: &str| system::is_there(&root.join(node));
        if !has("dev/nvidiactl") || has("dev/nvidia-uvm") {
            return None;
        }
        let container = Container::detect(root).filter(|one| one.has_device);
        Some(container.map_or(MissingUvm::NotLoaded, |one| {
            MissingUvm::NotGiven(one.runtime)
        }))
    }
}

/// Evidence of why a driver shows no GPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GpuVisibility {
    /// The value of `CUDA_VISIBLE_DEVICES`, if it is set.
    pub visible: Option<String>,
    /// A device that exists but that this process may not open.
    pub closed: Option<&'static str>,
    /// The container in which this process runs, if it has no access to a GPU.
    pub container: Option<Container>,
    pub is_jetson: bool,
}

impl GpuVisibility {
    /// Collects the evidence on this machine.
    pub fn detect() -> Self {
        let root = Path::new("/");
        let visible = variable(root, VISIBLE);
        by_system!(
            Self::detect_below(root),
            Self {
                visible,
                ..Self::default()
            }
        )
    }

    /// Like [`Self::detect`], but below another root directory.
    pub fn detect_below(root: &Path) -> Self {
        let below = |path: &str| root.join(path.trim_start_matches('/'));
        let exists = |path: &&str| system::is_there(&below(path));
        let closed = NODES.iter().copied().find(|node| {
            let opened = std::fs::OpenOptions::new()
                .read(true)
                .write(true)
                .open(below(node));
            opened.is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied)
        });
        let has_node = NODES.iter().any(exists);
        Self {
            visible: variable(root, VISIBLE),
            closed,
            container: Container::detect(root).filter(|_| !has_node),
            is_jetson: exists(&JETSON) || NODES.iter().skip(3).any(exists),
        }
    }

    /// Returns the first entry of `CUDA_VISIBLE_DEVICES` if it names no GPU: every GPU from such an entry on is hidden.
    pub fn hiding_entry(&self) -> Option<&str> {
        let first = self.visible.as_deref()?.split(',').next()?.trim();
        let is_name = first.starts_with("GPU-") || first.starts_with("MIG-");
        if is_name || is_number(first) {
            return None;
        }
        Some(first)
    }
}
