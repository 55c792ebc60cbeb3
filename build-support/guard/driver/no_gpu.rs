//! The reasons why the driver shows no GPU: a variable hides it, its device is missing or cannot be opened, or the
//! container has no access to it.

use crate::runtime::driver::container::{Container, ContainerRuntime, variable};
use crate::runtime::driver::refused_request::{RefusedRequest, service};
use crate::runtime::facts::is_number;
use crate::runtime::system::{self, by_system, proc};
use std::path::Path;

/// The variable that chooses among the GPUs.
pub const VISIBLE: &str = "CUDA_VISIBLE_DEVICES";
/// The device files that a program opens to use a GPU: three for a card, then three for a Jetson.
pub const NODES: [&str; 6] = [
    CONTROL,
    "/dev/nvidia0",
    UVM,
    "/dev/nvmap",
    "/dev/nvhost-gpu",
    "/dev/nvhost-ctrl-gpu",
];
pub const CONTROL: &str = "/dev/nvidiactl";
pub const UVM: &str = "/dev/nvidia-uvm";
/// The file with the version of the kernel module.
const MODULE: &str = "/proc/driver/nvidia/version";
/// A file that exists on every Jetson.
const JETSON: &str = "/etc/nv_tegra_release";

/// A device that is missing although the driver is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingDevice {
    pub node: &'static str,
    /// The container that was given other devices of the driver.
    pub container: Option<ContainerRuntime>,
    /// The systemd service of this process.
    pub unit: Option<String>,
}

impl MissingDevice {
    /// Returns the device that every program on a GPU opens but that is missing below this root directory.
    pub fn detect(root: &Path) -> Option<Self> {
        let has = |path: &str| system::is_there(&root.join(path.trim_start_matches('/')));
        if has(JETSON) || NODES.iter().skip(3).any(|node| has(node)) {
            return None;
        }
        let container = Container::detect(root);
        let node = match std::fs::File::open(root.join(CONTROL.trim_start_matches('/'))) {
            Ok(_) if !has(UVM) => UVM,
            // A container without any device was started without a GPU.
            Err(_) if !has(CONTROL) && has(MODULE) && container.is_none() => CONTROL,
            _ => return None,
        };
        let container = container.filter(|one| one.has_device);
        Some(Self {
            node,
            container: container.map(|one| one.runtime),
            unit: proc::text("self/cgroup").and_then(|text| service(&text)),
        })
    }
}

/// Evidence of why a driver shows no GPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GpuVisibility {
    /// The value of `CUDA_VISIBLE_DEVICES`, if it is set.
    pub visible: Option<String>,
    /// `true` if a device of the driver exists.
    pub has_device: bool,
    /// A request that the system refuses, if a device exists.
    pub refused: Option<RefusedRequest>,
    pub missing: Option<MissingDevice>,
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
        let has_node = NODES.iter().any(exists);
        Self {
            visible: variable(root, VISIBLE),
            has_device: has_node,
            refused: RefusedRequest::detect(root).filter(|_| has_node),
            missing: MissingDevice::detect(root),
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
