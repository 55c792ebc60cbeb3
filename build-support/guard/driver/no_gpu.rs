//! The reasons why the driver shows no GPU: a variable hides it, its device is missing or cannot be opened, or the
//! container has no access to it.

use crate::runtime::driver::container::{Container, variable};
use crate::runtime::driver::{ENOENT, RefusedRequest};
use crate::runtime::facts::is_number;
use crate::runtime::system::{self, by_system};
use std::path::Path;

/// The variable that chooses among the GPUs.
pub const VISIBLE: &str = "CUDA_VISIBLE_DEVICES";
/// The device files that a program opens to use a GPU: three for a card, then three for a Jetson.
pub const NODES: [&str; 6] = [
    CONTROL,
    FIRST,
    UVM,
    "/dev/nvmap",
    "/dev/nvhost-gpu",
    "/dev/nvhost-ctrl-gpu",
];
pub const FIRST: &str = "/dev/nvidia0";
pub const CONTROL: &str = "/dev/nvidiactl";
pub const UVM: &str = "/dev/nvidia-uvm";
/// A file that exists on every Jetson.
pub const JETSON: &str = "/etc/nv_tegra_release";

/// Evidence of why a driver shows no GPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GpuVisibility {
    /// The value of `CUDA_VISIBLE_DEVICES`, if it is set.
    pub visible: Option<String>,
    /// A request that the system refuses.
    pub refused: Option<RefusedRequest>,
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
            refused: RefusedRequest::detect(root).filter(|it| has_node || it.errno == ENOENT),
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
