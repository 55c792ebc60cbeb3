//! A request of NVIDIA's driver that the system refuses.

use crate::runtime::driver::no_gpu::CONTROL;
use crate::runtime::driver::refused_request::*;
use crate::runtime::facts::Finding;

impl RefusedRequest {
    /// Returns the headline of a finding with this result.
    pub fn headline(&self, result: &str) -> String {
        let what = self.what;
        let is_filtered = self.restrictions.contains("Seccomp: 2");
        let by = ["the system", "a seccomp filter"][usize::from(is_filtered)];
        let name = match self.errno {
            EPERM => "EPERM",
            EACCES => "EACCES",
            38 => "ENOSYS",
            _ => "another error",
        };
        let reason = match (what, self.errno) {
            (_, ENOENT) => format!("`{what}` is missing"),
            (MEMFD, _) => format!("{by} refuses `{what}` to this process ({name})"),
            (COMM, _) => format!("this process cannot write to `{what}` ({name})"),
            (_, EPERM) => format!("a device cgroup refuses `{what}` to this process ({name})"),
            _ if self.is_permitted => format!(
                "a sandbox refuses `{what}` to this process, although its permissions allow it"
            ),
            _ => format!("this process has no permission to open `{what}`"),
        };
        format!("{reason}, so NVIDIA's driver {result}")
    }

    /// Adds the evidence and the help.
    pub fn add_to(&self, finding: Finding) -> Finding {
        let process = Some(&self.restrictions).filter(|it| !it.is_empty());
        finding
            .with_some("missing", (self.errno == ENOENT).then_some(self.what))
            .with_some("process", process)
            .with_some("unit", self.unit.as_ref())
            .helps(self.helps())
    }

    fn helps(&self) -> Vec<String> {
        let node = self.what;
        let help = match (node, self.errno, self.container) {
            (_, ENOENT, Some(by)) => format!("{}, which adds `{node}`", by.help()),
            (CONTROL, ENOENT, _) => format!("run `sudo nvidia-smi`, which creates `{node}`"),
            (_, ENOENT, _) => {
                format!("load the module that creates `{node}`: `sudo nvidia-modprobe -u -c 0`")
            }
            (MEMFD, ..) => {
                format!(
                    "allow `{node}` in the seccomp profile of the sandbox, container or service"
                )
            }
            (COMM, ..) => "let the sandbox write to `/proc/self/task`".to_string(),
            (_, EPERM, Some(by)) => by.help().to_string(),
            (_, EPERM, None) => format!("allow `{node}` in the device cgroup of the sandbox"),
            _ if self.is_permitted => format!(
                "allow `{node}` in the sandbox, such as Landlock, AppArmor or a mount with `nodev`; which one refuses it could not be determined"
            ),
            _ => format!(
                "add this user to the group that `ls -l {node}` shows, or give the container permission to use the GPU"
            ),
        };
        let setting = match (node, self.errno) {
            (CONTROL, ENOENT) => "PrivateDevices=no",
            (_, ENOENT) => "ExecStartPre=/usr/bin/nvidia-modprobe -u -c 0",
            (MEMFD | COMM, _) | (_, EACCES) => return vec![help],
            _ => "DeviceAllow=char-nvidia* rw",
        };
        let unit = self.unit.iter();
        let edit = unit.map(|unit| format!("add `{setting}` with `systemctl edit {unit}`"));
        edit.chain([help]).collect()
    }
}
