//! A request of NVIDIA's driver that the system refuses.

use crate::runtime::driver::no_gpu::CONTROL;
use crate::runtime::driver::refused_request::*;
use crate::runtime::facts::Finding;

/// The setting of a systemd service that gives it the devices.
const ALLOW: &str = "DeviceAllow=char-nvidia* rw";
/// The setting of a service that starts before the devices exist.
const EARLIER: &str = "ExecStartPre=/usr/bin/nvidia-modprobe -u -c 0";

impl RefusedRequest {
    /// Returns the headline of a finding with this result.
    pub fn headline(&self, result: &str) -> String {
        let what = self.what;
        let is_filtered = self.restrictions.iter().any(|line| line == "Seccomp: 2");
        let by = ["the system", "a seccomp filter"][usize::from(is_filtered)];
        let name = match self.errno {
            EPERM => "EPERM",
            EACCES => "EACCES",
            EROFS => "EROFS",
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
        let process = self.restrictions.join(", ");
        finding
            .with_some("missing", (self.errno == ENOENT).then_some(self.what))
            .with_some("process", Some(process).filter(|text| !text.is_empty()))
            .with_some("unit", self.unit.as_ref())
            .helps(self.helps())
    }

    fn helps(&self) -> Vec<String> {
        let what = self.what;
        let edit = |setting: &str, unit| {
            format!("add `{setting}` to the section `[Service]`: `systemctl edit {unit}`")
        };
        let mut helps = Vec::new();
        let help = match (what, self.errno, &self.unit, self.container) {
            (_, ENOENT, _, Some(container)) => {
                format!("{}, which adds `{what}`", container.help())
            }
            (CONTROL, ENOENT, Some(unit), _) => edit("PrivateDevices=no", unit),
            (CONTROL, ENOENT, ..) => format!("run `sudo nvidia-smi`, which creates `{what}`"),
            (_, ENOENT, unit, _) => {
                helps.extend(unit.as_ref().map(|unit| edit(EARLIER, unit)));
                format!("load the module that creates `{what}`: `sudo nvidia-modprobe -u -c 0`")
            }
            (MEMFD, ..) => {
                "allow `memfd_create` in the seccomp profile of the sandbox, container or service"
                    .to_string()
            }
            (COMM, ..) => "let the sandbox write to `/proc/self/task`".to_string(),
            (_, EPERM, Some(unit), _) => edit(ALLOW, unit),
            (_, EPERM, None, Some(container)) => container.help().to_string(),
            (_, EPERM, None, None) => {
                format!("add `{ALLOW}` to the systemd service that starts the program")
            }
            _ => format!(
                "add this user to the group that `ls -l {what}` shows, or give the container permission to use the GPU"
            ),
        };
        helps.insert(0, help);
        helps
    }
}
