//! The first request of NVIDIA's driver that the system refuses, found by making the same requests.

use crate::runtime::driver::container::{Container, ContainerRuntime};
use crate::runtime::driver::no_gpu::{CONTROL, FIRST, JETSON, NODES, UVM};
use crate::runtime::system::{self, platform, proc};
use std::path::Path;

pub const MEMFD: &str = "memfd_create";
/// The file through which a process names its threads.
pub const COMM: &str = "/proc/thread-self/comm";
/// The number of GPUs that are tried: more than any machine has.
const MOST_GPUS: u32 = 32;
const MODULE: &str = "/proc/driver/nvidia/version";

pub const EPERM: i32 = 1;
pub const ENOENT: i32 = 2;
pub const EACCES: i32 = 13;

/// A request that the system refuses to this process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RefusedRequest {
    /// [`MEMFD`], or the file that cannot be opened for writing.
    pub what: &'static str,
    /// The system's error number. [`ENOENT`] for a device that should exist.
    pub errno: i32,
    /// `true` for a file that its permissions allow this process to open: a sandbox refuses it.
    pub is_permitted: bool,
    /// The restrictions of this process in `/proc/self/status`: `Seccomp: 2, NoNewPrivs: 1`.
    pub restrictions: String,
    /// The systemd service of this process.
    pub unit: Option<String>,
    /// The container of this process, if devices were added to it.
    pub container: Option<ContainerRuntime>,
}

impl RefusedRequest {
    /// Opens the files that the driver opens, on the machine below this root directory.
    pub fn detect(root: &Path) -> Option<Self> {
        let below = |path: &str| root.join(path.trim_start_matches('/'));
        let has = |path: &str| system::is_there(&below(path));
        let named = (root == Path::new("/") && !cfg!(windows)).then_some(COMM);
        let open = |file: &str| {
            let mut options = std::fs::OpenOptions::new();
            options.read(true).write(true).open(below(file))
        };
        for file in NODES.into_iter().chain(named) {
            // A scheduler may give this process another GPU.
            let is_other = |number: u32| open(&format!("/dev/nvidia{number}")).is_ok();
            if file == FIRST && (1..MOST_GPUS).any(is_other) {
                continue;
            }
            let errno = open(file).err().and_then(|error| error.raw_os_error());
            if let Some(errno @ (EPERM | EACCES)) = errno {
                return Some(Self::new(file, errno, root));
            }
        }
        // A Jetson has other devices. A module that is no longer loaded may leave its device, which cannot be opened.
        let is_jetson = has(JETSON) || NODES.iter().skip(3).any(|node| has(node));
        let missing = match std::fs::File::open(below(CONTROL)) {
            Ok(_) if !has(UVM) => UVM,
            Err(_) if !has(CONTROL) && has(MODULE) && Container::detect(root).is_none() => CONTROL,
            _ => return None,
        };
        (!is_jetson).then(|| Self::new(missing, ENOENT, root))
    }

    /// Calls `memfd_create`. A sandbox may end the process for this.
    pub fn detect_memory_file() -> Option<Self> {
        let errno = platform::create_memory_file().err()?.raw_os_error()?;
        Some(Self::new(MEMFD, errno, Path::new("/")))
    }

    fn new(what: &'static str, errno: i32, root: &Path) -> Self {
        let status = proc::text("self/status").unwrap_or_default();
        let lines = ["Seccomp:\t2", "NoNewPrivs:\t1"].into_iter();
        let lines: Vec<&str> = lines.filter(|line| status.contains(line)).collect();
        let container = Container::detect(root).filter(|one| one.has_device);
        Self {
            what,
            errno,
            is_permitted: errno == EACCES
                && platform::has_permission(&root.join(what.trim_start_matches('/'))),
            restrictions: lines.join(", ").replace('\t', " "),
            unit: proc::text("self/cgroup").and_then(|text| service(&text)),
            container: container.map(|one| one.runtime),
        }
    }
}

/// Returns the systemd service in the text of `/proc/self/cgroup`, as an argument of `systemctl`. A session or a
/// container has a scope instead.
pub fn service(cgroup: &str) -> Option<String> {
    let is_plain = |line: &&str| line.ends_with(".service") && !line.contains('\\');
    let line = cgroup.lines().find(is_plain)?;
    let manager = ["", "--user "][usize::from(line.contains("/user@"))];
    Some(format!("{manager}{}", line.rsplit('/').next()?))
}
