//! The first request of NVIDIA's driver that the system refuses, found by making the same requests.

use crate::runtime::driver::container::{Container, ContainerRuntime};
use crate::runtime::driver::no_gpu::NODES;
use crate::runtime::system::{platform, proc};
use std::fs::OpenOptions;
use std::io::{Error, ErrorKind};
use std::path::Path;

/// The file through which a process names its threads, as NVIDIA's driver does.
pub const COMM: &str = "/proc/thread-self/comm";

/// The error of a device whose GPU does not respond.
pub const EIO: i32 = 5;
const EROFS: i32 = 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// `memfd_create`
    MemoryFile,
    /// Opening [`COMM`] for writing.
    ThreadName,
    /// Opening this device.
    Device(&'static str),
}

/// A request that the system refuses to this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedRequest {
    pub request: Request,
    /// The system's error number.
    pub errno: i32,
    /// `true` if the file's permissions allow the request to every user.
    pub is_permitted: bool,
    /// The lines of `/proc/self/status` about restrictions of this process, such as `Seccomp: 2`.
    pub restrictions: Vec<String>,
    /// The systemd service of this process.
    pub unit: Option<String>,
    pub container: Option<ContainerRuntime>,
}

impl RefusedRequest {
    /// Opens the files that the driver opens, on the machine below this root directory.
    pub fn detect(root: &Path) -> Option<Self> {
        let is_here = root == Path::new("/") && !cfg!(windows);
        let devices = NODES.iter().map(|node| (Request::Device(node), *node));
        let named = is_here.then_some((Request::ThreadName, COMM));
        for (request, file) in devices.chain(named) {
            let path = root.join(file.trim_start_matches('/'));
            let opened = OpenOptions::new().read(true).write(true).open(&path);
            // A device without a driver is not refused.
            let is_refused = |error: &Error| {
                error.kind() == ErrorKind::PermissionDenied
                    || matches!(error.raw_os_error(), Some(EIO | EROFS))
            };
            if let Some(error) = opened.err().filter(is_refused) {
                let is_permitted = platform::is_writable_by_all(&path);
                return Some(Self {
                    is_permitted,
                    ..Self::new(request, &error, root)
                });
            }
        }
        None
    }

    /// Calls `memfd_create`. A sandbox may end the process for this.
    pub fn detect_memory_file() -> Option<Self> {
        let error = platform::create_memory_file().err()?;
        Some(Self::new(Request::MemoryFile, &error, Path::new("/")))
    }

    fn new(request: Request, error: &Error, root: &Path) -> Self {
        let status = proc::text("self/status").unwrap_or_default();
        let mut restrictions = Vec::new();
        for line in status.lines() {
            if let Some((name @ ("Seccomp" | "NoNewPrivs"), value)) = line.split_once(':') {
                if value.trim() != "0" {
                    restrictions.push(format!("{name}: {}", value.trim()));
                }
            }
        }
        Self {
            request,
            errno: error.raw_os_error().unwrap_or_default(),
            is_permitted: false,
            restrictions,
            unit: proc::text("self/cgroup").and_then(|text| service(&text)),
            container: Container::detect(root).map(|it| it.runtime),
        }
    }

    /// Returns `true` if a seccomp filter applies to this process.
    pub fn is_filtered(&self) -> bool {
        self.restrictions.iter().any(|line| line == "Seccomp: 2")
    }
}

/// Returns the systemd service in the text of `/proc/self/cgroup`. A session or a container has a scope instead.
pub fn service(cgroup: &str) -> Option<String> {
    let mut names = cgroup.lines().filter_map(|line| line.rsplit('/').next());
    let unit = names.find(|name| name.ends_with(".service"))?;
    Some(unit.to_string())
}
