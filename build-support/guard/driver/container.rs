//! The container in which this process runs.

use crate::runtime::binary::BoundedFile;
use crate::runtime::system;
use std::path::Path;

/// The variable that Kubernetes sets in every pod.
const POD: &str = "KUBERNETES_SERVICE_HOST";
/// The variable that selects the parts of the driver that NVIDIA's container toolkit adds.
pub const CAPABILITIES: &str = "NVIDIA_DRIVER_CAPABILITIES";
const PODMAN: &str = "/run/.containerenv";
/// The number of bytes to read from it. Podman writes a few lines.
const LONGEST: u64 = 4096;

/// The program that starts a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContainerRuntime {
    /// Apptainer, or Singularity. The host's devices are in its containers without `--nv` too.
    Apptainer,
    Kubernetes,
    Podman,
    Docker,
}

use ContainerRuntime::{Apptainer, Docker, Kubernetes, Podman};

/// The marks of containers. A container in a pod can have the mark of docker or podman too.
const MARKS: [(ContainerRuntime, &str); 4] = [
    (Apptainer, "/.singularity.d"),
    (Kubernetes, "/var/run/secrets/kubernetes.io"),
    (Docker, "/.dockerenv"),
    (Podman, PODMAN),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Container {
    pub runtime: ContainerRuntime,
    /// The file, directory or variable that marks it.
    pub mark: &'static str,
    /// `true` if the container contains a GPU's device, which its runtime added.
    pub has_device: bool,
}

impl Container {
    /// Returns the container below a root directory, which is `/` except in tests.
    pub fn detect(root: &Path) -> Option<Self> {
        let below = |path: &str| root.join(path.trim_start_matches('/'));
        let exists = |path: &str| system::is_there(&below(path));
        let mut found = MARKS.iter().find(|(_, path)| exists(path)).copied();
        match found {
            Some((Apptainer, _)) => {}
            _ if variable(root, POD).is_some() => found = Some((Kubernetes, POD)),
            // An image from `docker export` contains docker's mark.
            Some((Docker, _)) => {
                let file = BoundedFile::open(&below(PODMAN)).ok();
                let text = file.and_then(|file| file.read(0, file.length().min(LONGEST)));
                if String::from_utf8_lossy(&text.unwrap_or_default()).contains("engine=\"podman-") {
                    found = Some((Podman, PODMAN));
                }
            }
            _ => {}
        }
        let (runtime, mark) = found?;
        Some(Self {
            runtime,
            mark,
            has_device: runtime != Apptainer && exists("/dev/nvidiactl"),
        })
    }

    /// Returns the value of NVIDIA_DRIVER_CAPABILITIES if it leaves the driver's library out of this container.
    ///
    /// Podman's `--device nvidia.com/gpu=all` ignores the variable.
    pub fn left_out_by(self, root: &Path) -> Option<String> {
        let is_read = self.has_device && matches!(self.runtime, Docker | Kubernetes);
        variable(root, CAPABILITIES).filter(|value| is_read && is_without_compute(value))
    }
}

/// Returns `true` if this value of NVIDIA_DRIVER_CAPABILITIES excludes `libcuda.so.1`. An empty value stands for the
/// default, which includes it.
pub fn is_without_compute(value: &str) -> bool {
    let mut names = value.split(',');
    !value.trim().is_empty() && !names.any(|name| matches!(name.trim(), "compute" | "all"))
}

/// Returns a variable of this process if the root directory is its own.
pub fn variable(root: &Path, name: &str) -> Option<String> {
    let value = std::env::var_os(name).filter(|_| root == Path::new("/"))?;
    Some(value.to_string_lossy().into_owned())
}
