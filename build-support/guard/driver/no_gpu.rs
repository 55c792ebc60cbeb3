//! Why the driver shows no GPU: what hides it, who may not open it, what it was not given to.

use crate::runtime::driver::driver_missing::CONTAINER;
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::system;
use std::path::Path;

/// The variable that chooses among the GPUs.
pub const VISIBLE: &str = "CUDA_VISIBLE_DEVICES";
/// What a program opens to use a GPU: that of a card, then that of a Jetson.
const NODES: [&str; 6] = [
    "/dev/nvidiactl",
    "/dev/nvidia-uvm",
    "/dev/nvidia0",
    "/dev/nvmap",
    "/dev/nvhost-gpu",
    "/dev/nvhost-ctrl-gpu",
];
/// Every Jetson's system has it.
const JETSON: &str = "/etc/nv_tegra_release";

/// Returns the help where the driver is loaded and the module that CUDA needs is not, or was not given to this container.
pub fn without_uvm(root: &Path) -> Option<&'static str> {
    let has = |node: &str| system::is_there(&root.join(node));
    if !has("dev/nvidiactl") || has("dev/nvidia-uvm") {
        return None;
    }
    Some(
        if CONTAINER
            .iter()
            .any(|file| has(file.trim_start_matches('/')))
        {
            "give the container `/dev/nvidia-uvm` too: `--gpus all` (docker), `--device nvidia.com/gpu=all` (podman)"
        } else {
            "load the module that makes `/dev/nvidia-uvm`: `sudo nvidia-modprobe -u -c 0`"
        },
    )
}

/// What shows around a driver that has no GPU to show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GpuVisibility {
    /// The value of `CUDA_VISIBLE_DEVICES`, if it is set.
    pub visible: Option<String>,
    /// A device that is there and that this process may not open.
    pub closed: Option<&'static str>,
    /// The file that says that this is a container, where no GPU was given to it.
    pub container: Option<&'static str>,
    /// Whether this is a Jetson.
    pub is_jetson: bool,
}

impl GpuVisibility {
    /// Looks.
    pub fn detect() -> Self {
        if cfg!(windows) {
            return Self {
                visible: visible(),
                ..Self::default()
            };
        }
        Self::detect_below(Path::new("/"))
    }

    /// [`Self::detect`] below another root directory.
    pub fn detect_below(root: &Path) -> Self {
        let below = |path: &str| root.join(path.trim_start_matches('/'));
        let there = |path: &&str| system::is_there(&below(path));
        let closed = NODES.iter().copied().find(|node| {
            let opened = std::fs::OpenOptions::new()
                .read(true)
                .write(true)
                .open(below(node));
            opened.is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied)
        });
        let given = NODES.iter().any(there);
        Self {
            visible: visible(),
            closed,
            container: CONTAINER.iter().copied().find(there).filter(|_| !given),
            is_jetson: there(&JETSON) || NODES.iter().skip(3).any(there),
        }
    }

    /// What is wrong, and the evidence for it.
    pub fn finding(&self) -> Finding {
        let hidden = self.hiding_variable();
        let headline = match (&hidden, &self.closed, &self.container) {
            (Some(words), ..) => words.clone(),
            (None, Some(node), _) => {
                format!("this process may not open `{node}`, so NVIDIA's driver shows it no GPU")
            }
            (None, None, Some(_)) => "this container was started without a GPU".to_string(),
            (None, None, None) => "NVIDIA's driver shows no GPU".to_string(),
        };
        let finding = Finding::warning(FindingId::NoGpu, headline);
        match self.visible.as_deref() {
            Some("") => finding.with("set", format!("{VISIBLE} is set, and empty")),
            Some(value) => finding.with("set", format!("{VISIBLE}={value}")),
            None => finding,
        }
    }

    /// What to do about it.
    pub fn with_help(&self, finding: Finding) -> Finding {
        let instances = self.visible.as_deref().unwrap_or_default().split(',');
        let instances = instances.filter(|entry| entry.trim().starts_with("MIG-"));
        let finding = match &self.visible {
            Some(_) if instances.count() > 1 => finding.help(format!(
                "set {VISIBLE} to one MIG instance: a process can use no more"
            )),
            Some(_) => finding.help(format!("unset {VISIBLE}")),
            None => finding,
        };
        if self.hiding_variable().is_some() {
            return finding;
        }
        let finding = match &self.closed {
            Some(node) => finding.help(format!(
                "add this user to the group that `ls -l {node}` shows, or give the container the GPU with its rights"
            )),
            None => finding.help("run on a machine that has a GPU, or ask the scheduler for one"),
        };
        if cfg!(windows) {
            return finding.help("see in Windows' device manager whether the GPU is enabled, and its driver NVIDIA's");
        }
        if self.is_jetson {
            return finding.help("start a container with `--runtime nvidia`, as a Jetson needs it");
        }
        finding.help(
            "start a container with `--gpus all` (docker) or `--device nvidia.com/gpu=all` (podman), if `nvidia-smi` \
             lists GPUs outside it",
        )
    }

    /// Every GPU from the first entry on that names none is hidden, so that a first one hides them all.
    fn hiding_variable(&self) -> Option<String> {
        let first = self.visible.as_deref()?.split(',').next()?.trim();
        if first.is_empty() || first.starts_with('-') {
            return Some(format!("{VISIBLE} hides every GPU from this program"));
        }
        let names = first.starts_with("GPU-") || first.starts_with("MIG-");
        let digits = first.bytes().all(|byte| byte.is_ascii_digit());
        (!names && !digits).then(|| {
            format!("`{first}` in {VISIBLE} names no GPU, which hides every GPU from this program")
        })
    }
}

fn visible() -> Option<String> {
    Some(std::env::var_os(VISIBLE)?.to_string_lossy().into_owned())
}
