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
            ENOSYS => "ENOSYS",
            _ => "another error",
        };
        let reason = match (what, self.errno) {
            (_, ENOENT) => format!("`{what}` is missing"),
            (MEMFD, _) => format!("{by} refuses `{what}` to this process ({name})"),
            (COMM, _) => format!("this process cannot write to `{what}` ({name})"),
            (_, EPERM) => format!("a device cgroup refuses `{what}` to this process ({name})"),
            _ => format!("this process has no permission to open `{what}`"),
        };
        format!("{reason}, so NVIDIA's driver {result}")
    }

    /// Adds the evidence and the help.
    pub fn add_to(&self, finding: Finding) -> Finding {
        let process = Some(&self.restrictions);
        finding
            .with_some("missing", (self.errno == ENOENT).then_some(self.what))
            .with_some("process", process.filter(|it| !it.is_empty()))
            .with_some("unit", self.unit.as_ref())
            .helps(self.helps())
    }

    fn helps(&self) -> Vec<String> {
        let what = self.what;
        // The help, and the setting of a systemd service.
        let (help, setting) = match (what, self.errno, self.container) {
            (_, ENOENT, Some(by)) => (format!("{}, which adds `{what}`", by.help()), ""),
            (CONTROL, ENOENT, _) => (
                format!("run `sudo nvidia-smi`, which creates `{what}`"),
                "PrivateDevices=no",
            ),
            (_, ENOENT, _) => (
                format!("load the module that creates `{what}`: `sudo nvidia-modprobe -u -c 0`"),
                "ExecStartPre=/usr/bin/nvidia-modprobe -u -c 0",
            ),
            (MEMFD, ..) => {
                let of = "the seccomp profile of the sandbox, container or service";
                (format!("allow `{what}` in {of}"), "")
            }
            (COMM, ..) => ("let the sandbox write to `/proc/self/task`".into(), ""),
            (_, EPERM, Some(by)) => (by.help().into(), "DeviceAllow=char-nvidia* rw"),
            (_, EPERM, None) => (
                format!("allow `{what}` in the device cgroup of the sandbox or service"),
                "DeviceAllow=char-nvidia* rw",
            ),
            _ => {
                let group = format!("add this user to the group that `ls -l {what}` shows");
                (
                    format!("{group}, or give the container permission to use the GPU"),
                    "",
                )
            }
        };
        let unit = self.unit.as_ref().filter(|_| !setting.is_empty());
        let edit = unit.map(|unit| format!("add `{setting}` with `systemctl edit {unit}`"));
        edit.into_iter().chain([help]).collect()
    }
}
