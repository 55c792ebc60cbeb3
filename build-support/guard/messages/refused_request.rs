//! A request of NVIDIA's driver that the system refuses, and a device that is missing.

use crate::runtime::driver::no_gpu::{CONTROL, MissingDevice};
use crate::runtime::driver::refused_request::{COMM, EIO, RefusedRequest, Request};
use crate::runtime::facts::Finding;

const EPERM: i32 = 1;
const EACCES: i32 = 13;
/// The help that gives a systemd service the devices.
const ALLOW: &str = "DeviceAllow=char-nvidia* rw";

fn error_name(errno: i32) -> String {
    let name = match errno {
        EPERM => "EPERM",
        EIO => "EIO",
        EACCES => "EACCES",
        30 => "EROFS",
        38 => "ENOSYS",
        _ => return format!("error {errno}"),
    };
    name.to_string()
}

impl RefusedRequest {
    /// Describes the refusal, as the beginning of a headline.
    pub fn words(&self) -> String {
        let name = error_name(self.errno);
        match (self.request, self.errno) {
            (Request::MemoryFile, _) if self.is_filtered() => format!(
                "a seccomp filter refuses `memfd_create` to this process ({name}), which NVIDIA's driver needs"
            ),
            (Request::MemoryFile, _) => format!(
                "the system refuses `memfd_create` to this process ({name}), which NVIDIA's driver needs"
            ),
            (Request::ThreadName, _) => format!(
                "this process cannot open `{COMM}` for writing ({name}), as NVIDIA's driver does"
            ),
            (Request::Device(node), EPERM) => {
                format!("a device cgroup refuses `{node}` to this process")
            }
            (Request::Device(node), EACCES) => {
                format!("this process has no permission to open `{node}`")
            }
            (Request::Device(node), _) => format!("`{node}` cannot be opened ({name})"),
        }
    }

    /// Returns `true` if a container with access to the GPU may not have the problem.
    pub fn may_be_container(&self) -> bool {
        matches!(self.request, Request::Device(_)) && self.errno == EACCES
    }

    /// Adds the evidence and the help.
    pub fn add_to(&self, finding: Finding) -> Finding {
        let name = error_name(self.errno);
        let refused = match self.request {
            Request::MemoryFile => format!("memfd_create: {name}"),
            Request::ThreadName => format!("open {COMM}: {name}"),
            Request::Device(node) => format!("open {node}: {name}"),
        };
        let restrictions = self.restrictions.join(", ");
        let finding = finding
            .with("refused", refused)
            .with_some(
                "process",
                Some(restrictions).filter(|words| !words.is_empty()),
            )
            .with_some("unit", self.unit.as_ref());
        match self.request {
            // The system setting `vm.memfd_noexec=2` refuses with this error.
            Request::MemoryFile if self.errno == EACCES => {
                finding.help("allow such files again: `sudo sysctl vm.memfd_noexec=1`")
            }
            Request::MemoryFile => finding.help(
                "allow `memfd_create` in the seccomp profile of the sandbox, container or systemd service (SystemCallFilter=)",
            ),
            Request::ThreadName => finding.help(
                "let the sandbox write to `/proc/self/task`: NVIDIA's driver names its threads",
            ),
            Request::Device(_) if self.errno == EPERM => match (&self.unit, self.container) {
                (Some(unit), _) => finding.help(format!(
                    "add `{ALLOW}` to the section `[Service]`: `systemctl edit {unit}`"
                )),
                (None, Some(container)) => finding.help(container.help()),
                (None, None) => finding
                    .help(format!("add `{ALLOW}` to the systemd service of the program"))
                    .help("give the container access to the GPU: `--gpus all` (docker)"),
            },
            Request::Device(node) if self.errno == EACCES && self.is_permitted => {
                finding.help(format!(
                    "allow `{node}` in AppArmor, SELinux or Landlock, or mount its directory without `nodev`: its permissions are sufficient"
                ))
            }
            Request::Device(node) if self.errno == EACCES => finding.help(format!(
                "add this user to the group that `ls -l {node}` shows, or give the container permission to use the GPU"
            )),
            Request::Device(_) => {
                finding.help("run `sudo nvidia-smi`, and check `dmesg` for lines with NVRM or Xid")
            }
        }
    }
}

impl MissingDevice {
    /// Adds the evidence and the help.
    pub fn add_to(&self, finding: Finding) -> Finding {
        let node = self.node;
        let finding = finding
            .with("missing", node)
            .with_some("unit", self.unit.as_ref());
        match (self.container, &self.unit) {
            (Some(runtime), _) => finding.help(format!("{}, which adds `{node}`", runtime.help())),
            (None, Some(unit)) if node == CONTROL => finding.help(format!(
                "add `PrivateDevices=no` and `{ALLOW}` to the section `[Service]`: `systemctl edit {unit}`"
            )),
            (None, None) if node == CONTROL => {
                finding.help(format!("run `sudo nvidia-smi`, which creates `{node}`"))
            }
            (None, unit) => {
                let finding = finding.help(format!(
                    "load the module that creates `{node}`: `sudo nvidia-modprobe -u -c 0`"
                ));
                match unit {
                    Some(unit) => finding.help(format!(
                        "add `ExecStartPre=/usr/bin/nvidia-modprobe -u -c 0` to `{unit}` if it starts before the device exists"
                    )),
                    None => finding,
                }
            }
        }
    }
}
