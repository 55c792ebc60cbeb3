//! The memory that is available to this process.

use crate::system::files;
use std::path::Path;

/// Returns the available memory in bytes: the lowest amount that the machine and the control groups of this process
/// leave. `None` if it is unknown, as on Windows.
pub fn available() -> Option<u64> {
    available_by(&|path| files::read(Path::new(path)).ok())
}

/// The directory of the control groups, the limit, the usage, and the prefix in `memory.stat`.
type Layout = [&'static str; 4];
const V1: Layout = [
    "/sys/fs/cgroup/memory",
    "memory.limit_in_bytes",
    "memory.usage_in_bytes",
    "total_",
];
const V2: Layout = ["/sys/fs/cgroup", "memory.max", "memory.current", ""];

fn available_by(read: &dyn Fn(&str) -> Option<String>) -> Option<u64> {
    let kibibytes = read("/proc/meminfo").and_then(|text| value(&text, "MemAvailable:"));
    let mut least = kibibytes.map(|number| number.saturating_mul(1024));
    for line in read("/proc/self/cgroup").unwrap_or_default().lines() {
        // `0::/user.slice` in version 2, `4:memory:/docker/1f2e` in version 1.
        let controllers = line
            .split_once(':')
            .and_then(|(_, rest)| rest.split_once(':'));
        let ([dir, limit, usage, prefix], group) = match controllers {
            Some(("", group)) => (V2, group),
            Some(("memory", group)) => (V1, group),
            _ => continue,
        };
        // The limits of all parent groups apply. In a container, only these may be visible.
        for group in Path::new(group).ancestors() {
            let group = group.display().to_string();
            let file = |name: &str| read(&format!("{dir}{}/{name}", group.trim_end_matches('/')));
            let number = |name: &str| file(name)?.trim().parse::<u64>().ok();
            if let (Some(limit), Some(used)) = (number(limit), number(usage)) {
                let stat = file("memory.stat").unwrap_or_default();
                // The kernel frees the file cache on demand.
                let cached = |name| value(&stat, &format!("{prefix}{name}_file")).unwrap_or(0);
                let used = used.saturating_sub(cached("active").saturating_add(cached("inactive")));
                let left = limit.saturating_sub(used);
                least = Some(least.map_or(left, |least| least.min(left)));
            }
        }
    }
    least
}

/// Returns the number after a name at the start of a line.
fn value(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().map(str::split_whitespace);
    let mut words = lines.find_map(|mut words| (words.next()? == name).then_some(words))?;
    words.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn available(files: &[(&str, &str)]) -> Option<u64> {
        let read = |path: &str| {
            let file = files.iter().find(|(name, _)| *name == path)?;
            Some(file.1.to_string())
        };
        available_by(&read).map(|bytes| bytes / MIB)
    }

    const MACHINE: (&str, &str) = (
        "/proc/meminfo",
        "MemTotal:       24683112 kB\nMemFree:         1000000 kB\nMemAvailable:   16777216 kB\n",
    );

    #[test]
    fn without_a_limit_the_machine_decides() {
        assert_eq!(available(&[]), None);
        assert_eq!(available(&[MACHINE]), Some(16384));
        let cgroup = ("/proc/self/cgroup", "0::/user.slice/a\n");
        let max = ("/sys/fs/cgroup/user.slice/memory.max", "max\n");
        let used = ("/sys/fs/cgroup/user.slice/memory.current", "1000\n");
        assert_eq!(available(&[MACHINE, cgroup, max, used]), Some(16384));
        // Version 1 writes a huge number instead of `max`.
        let cgroup = ("/proc/self/cgroup", "4:memory:/\n3:cpu:/\nbroken\n");
        let max = (
            "/sys/fs/cgroup/memory/memory.limit_in_bytes",
            "9223372036854771712\n",
        );
        let used = ("/sys/fs/cgroup/memory/memory.usage_in_bytes", "1000\n");
        assert_eq!(available(&[MACHINE, cgroup, max, used]), Some(16384));
        assert_eq!(
            available(&[("/proc/meminfo", "MemAvailable: many kB\n")]),
            None
        );
    }

    #[test]
    fn every_group_above_is_a_limit() {
        let cgroup = ("/proc/self/cgroup", "0::/a.slice/job\n");
        let own = ("/sys/fs/cgroup/a.slice/job/memory.max", "8589934592\n");
        let own_used = ("/sys/fs/cgroup/a.slice/job/memory.current", "1048576\n");
        let above = ("/sys/fs/cgroup/a.slice/memory.max", "4294967296\n");
        let above_used = ("/sys/fs/cgroup/a.slice/memory.current", "3221225472\n");
        let files = [MACHINE, cgroup, own, own_used, above, above_used];
        assert_eq!(available(&files), Some(1024));
        assert_eq!(available(&files[..4]), Some(8191));
        // The file cache counts as available.
        let stat = (
            "/sys/fs/cgroup/a.slice/memory.stat",
            "anon 1073741824\nfile 2147483648\nactive_file 1073741824\ninactive_file 1073741824\n",
        );
        let files = [MACHINE, cgroup, above, above_used, stat];
        assert_eq!(available(&files), Some(3072));
    }

    #[test]
    fn a_container_has_its_limit_at_the_top() {
        let cgroup = (
            "/proc/self/cgroup",
            "7:cpuset:/docker/1\n4:memory:/docker/1\n0::/\n",
        );
        let limit = (
            "/sys/fs/cgroup/memory/memory.limit_in_bytes",
            "2147483648\n",
        );
        let used = (
            "/sys/fs/cgroup/memory/memory.usage_in_bytes",
            "1610612736\n",
        );
        let stat = (
            "/sys/fs/cgroup/memory/memory.stat",
            "active_file 1\ntotal_inactive_file 536870912\ntotal_active_file 0\n",
        );
        assert_eq!(available(&[MACHINE, cgroup, limit, used, stat]), Some(1024));
        // More memory is used than the limit, which was lowered.
        let limit = ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "1000\n");
        assert_eq!(available(&[MACHINE, cgroup, limit, used]), Some(0));
    }
}
