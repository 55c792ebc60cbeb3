//! A working setup in which the system refuses a system call, as the filters of containers and of sandboxed programs
//! do. cuDNN is not at fault, and no program exits or hangs because of it.

use crate::support::circumstances::{circumstances, command, do_all, end_of, installed};
use crate::support::{Ran, fresh};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{fs, thread};

const EPERM: u32 = 1;
const ENOSYS: u32 = 38;
/// Less than the deadline, since no run may wait until the deadline.
const MOST: Duration = Duration::from_secs(15);

/// The ids that are reported in all runs without a call.
enum Reported {
    Exactly(&'static [&'static str]),
    /// The ids depend on which thread comes first.
    AtMost(&'static [&'static str]),
}
use Reported::{AtMost, Exactly};

const NOTHING: Reported = Exactly(&[]);
const NO_CHILD: Reported = Exactly(&["child-not-started"]);
const UNREAD: Reported = Exactly(&["io-error", "unknown-newer-version"]);
const NOT_OPENED: Reported = Exactly(&["cudnn-not-loadable", "driver-missing"]);

/// System calls by their x86_64 numbers. The calls of a group are refused together: nothing makes them here, but
/// another C library might.
///
/// Left out are `brk` (glibc uses the error as an address, and `malloc` writes there), `close` (Rust's `read_dir`
/// panics on the error), `exit` and `exit_group`.
const CALLS: &[(&str, &[u32], Reported)] = &[
    (
        "read",
        &[0],
        Exactly(&[
            "child-not-started",
            "cudnn-not-loadable",
            "io-error",
            "unknown-newer-version",
        ]),
    ),
    ("write", &[1], NOTHING),
    ("poll", &[7], NO_CHILD),
    ("lseek", &[8], UNREAD),
    ("mmap", &[9], NOT_OPENED),
    ("mprotect", &[10], NOT_OPENED),
    ("munmap", &[11], NOTHING),
    ("rt_sigaction", &[13], NOTHING),
    ("rt_sigprocmask", &[14], NOTHING),
    ("pread64", &[17], NOTHING),
    ("access", &[21], NOTHING),
    ("madvise", &[28], NOTHING),
    ("dup2", &[33], NOTHING),
    ("getpid", &[39], NOTHING),
    ("clone", &[56], NO_CHILD),
    ("execve", &[59], NOTHING),
    ("wait4", &[61], NOTHING),
    ("kill", &[62], NOTHING),
    ("fcntl", &[72], NO_CHILD),
    ("getcwd", &[79], NOTHING),
    ("rename", &[82], Exactly(&["io-error"])),
    ("unlink", &[87], NOTHING),
    ("readlink", &[89], NOTHING),
    ("fchmod", &[91], NOTHING),
    ("getppid", &[110], NOTHING),
    ("sigaltstack", &[131], NOTHING),
    ("prctl", &[157], NOTHING),
    ("arch_prctl", &[158], NOTHING),
    ("gettid", &[186], NOTHING),
    ("futex", &[202], AtMost(&["child-not-started"])),
    ("sched_getaffinity", &[204], NOTHING),
    ("getdents64", &[217], NOTHING),
    ("set_tid_address", &[218], NOTHING),
    ("restart_syscall", &[219], NOTHING),
    ("clock_nanosleep", &[230], NOTHING),
    (
        "openat",
        &[257],
        Exactly(&[
            "cudnn-not-loadable",
            "driver-missing",
            "io-error",
            "unknown-newer-version",
        ]),
    ),
    ("newfstatat", &[262], NOT_OPENED),
    ("set_robust_list", &[273], NOTHING),
    ("pipe2", &[293], NO_CHILD),
    ("prlimit64", &[302], NOTHING),
    ("getrandom", &[318], NOTHING),
    ("statx", &[332], UNREAD),
    ("rseq", &[334], NOTHING),
    ("clone3", &[435], NOTHING),
    // open, stat, fstat, lstat, fork, vfork, getdents, getrlimit, setrlimit, readlinkat, faccessat, openat2, faccessat2
    (
        "other calls for files and processes",
        &[2, 4, 5, 6, 57, 58, 78, 97, 160, 267, 269, 437, 439],
        NOTHING,
    ),
    // ioctl, pipe, select, sched_yield, mremap, dup, nanosleep, socket, uname, flock, gettimeofday, sysinfo, getuid,
    // getgid, geteuid, getegid, statfs, tkill, sched_setaffinity, clock_gettime, tgkill, waitid, ppoll, eventfd2, dup3,
    // renameat2, memfd_create, membarrier, close_range
    (
        "calls for much else",
        &[
            16, 22, 23, 24, 25, 32, 35, 41, 63, 73, 96, 99, 102, 104, 107, 108, 137, 200, 203, 228,
            234, 247, 271, 290, 292, 316, 319, 324, 436,
        ],
        NOTHING,
    ),
];

/// Without these calls the loader or Rust's standard library cannot start a program, so they are refused only once it
/// runs.
const STARTING: &[&str] = &[
    "read",
    "poll",
    "mmap",
    "mprotect",
    "rt_sigaction",
    "pread64",
    "execve",
    "arch_prctl",
    "openat",
    "newfstatat",
];

/// The acts of the programs. The first two run without the call from the start.
const ACTS: &[&[&str]] = &[
    &["refuse", "exec", "startup", "check"],
    &["refuse", "exec", "version", "check"],
    // Here cuDNN is already open, and Rust's standard library has detected which calls are available.
    &["startup", "refuse", "check", "version"],
];

#[test]
fn no_refused_call_makes_a_valid_cudnn_fail() {
    let reports = fresh("denied");
    let mut rows = Vec::new();
    for number in 0..CALLS.len() {
        for errno in [EPERM, ENOSYS] {
            rows.extend(ACTS.iter().map(|acts| (number, errno, *acts)));
        }
    }
    let (next, finished) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((call, errno, acts)) = rows.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    let row = (*call, row(&CALLS[*call], *errno, acts, &reports));
                    finished.lock().unwrap().push(row);
                }
            });
        }
    });
    let finished = finished.into_inner().unwrap();
    let mut wrong: Vec<String> = finished
        .iter()
        .filter_map(|(_, row)| row.clone().err())
        .collect();
    for (number, (name, _, expected)) in CALLS.iter().enumerate() {
        let rows = finished.iter().filter(|row| row.0 == number);
        let ids: BTreeSet<&str> = rows
            .flat_map(|row| row.1.iter().flatten().map(String::as_str))
            .collect();
        let (as_wanted, list) = match expected {
            Exactly(list) => (ids.iter().copied().eq(list.iter().copied()), list),
            AtMost(list) => (ids.iter().all(|id| list.contains(id)), list),
        };
        if !as_wanted {
            wrong.push(format!("{name}: reported {ids:?} instead of {list:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the ids that are reported without these calls, or an error that describes what is wrong.
fn row(
    call: &(&str, &[u32], Reported),
    errno: u32,
    acts: &[&str],
    reports: &Path,
) -> Result<Vec<String>, String> {
    let (name, numbers, _) = call;
    let mut acts = acts.to_vec();
    if STARTING.contains(name) {
        acts.retain(|act| *act != "exec");
    }
    if *name == "write" {
        // The program itself fails when it prints.
        acts.retain(|act| !["check", "version"].contains(act));
    } else {
        acts.push("went-on");
    }
    let report = reports.join(format!("{name}-{errno}-{}", acts.join("-")));
    let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
    let variables = [
        ("ODD_REFUSE", format!("{} {errno}", numbers.join(","))),
        ("CUDNN_GUARD_REPORT", report.display().to_string()),
        ("CUDNN_GUARD_DEADLINE", "30".to_string()),
        ("RUST_BACKTRACE", "0".to_string()),
    ];
    let (ran, took) = ends(&acts, &variables);
    let mut ids = Vec::new();
    let mut is_sound = ran.code == Some(0) && took < MOST;
    is_sound &= *name == "write" || ran.stdout.ends_with("went on\n");
    for line in ran.stderr.lines() {
        is_sound &= line.starts_with("cudnn-guard: ") || line.starts_with("  ");
        if let Some((_, id)) = line
            .strip_suffix(']')
            .and_then(|line| line.rsplit_once("  ["))
        {
            ids.push(id.to_string());
        }
    }
    let written = fs::read_to_string(&report).unwrap_or_default();
    for line in ran
        .stdout
        .lines()
        .chain(written.lines())
        .filter(|line| *line != "went on")
    {
        let json: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
        is_sound &= ["pass", "unknown"]
            .iter()
            .any(|verdict| json["verdict"] == *verdict);
        let findings = json["findings"].as_array().into_iter().flatten();
        ids.extend(findings.filter_map(|finding| Some(finding["id"].as_str()?.to_string())));
    }
    let acts = acts.join(" ");
    let errno = if errno == EPERM { "EPERM" } else { "ENOSYS" };
    match is_sound {
        true => Ok(ids),
        false => Err(format!(
            "{name}, {errno}, `{acts}`, in {took:?}: {:?}\n{}",
            ran.code,
            ran.text()
        )),
    }
}

/// Runs the program with these acts until it exits or its time is over.
fn ends(acts: &[&str], variables: &[(&str, String)]) -> (Ran, Duration) {
    let tree = installed((9, 14, 0));
    let mut program = command(acts, &[tree.join("lib64"), tree.join("driver")]);
    program.envs(variables.iter().map(|(name, value)| (name, value)));
    program.stdout(Stdio::piped()).stderr(Stdio::piped());
    end_of(program.spawn().unwrap(), MOST)
}

/// Returns the verdict and the first id of a report.
fn verdict(line: &str) -> String {
    let json: serde_json::Value =
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    let id = json["findings"][0]["id"].as_str().unwrap_or_default();
    format!("{} {id}", json["verdict"].as_str().unwrap())
}

/// `clock_nanosleep`: Rust's own sleep panics without it. The guard sleeps while another thread is inside the guard,
/// and when no child can be created.
#[test]
fn a_refused_sleep_does_not_stop_a_program() {
    for (refused, act, expected) in [
        ("230 1", "four-checks", "pass "),
        ("56,230 38", "check", "pass child-not-started"),
    ] {
        let ran = do_all(&["refuse", act], &[("ODD_REFUSE", refused)]).exits_with(0);
        assert!(
            !ran.stdout.is_empty() && ran.stdout.lines().all(|line| verdict(line) == expected),
            "{}",
            ran.text()
        );
    }
}

/// `wait4`: if the system does not report whether a child has exited, the child may still be running.
#[test]
fn a_child_whose_exit_cannot_be_queried_gets_its_full_time() {
    let variables = [
        ("ODD_REFUSE", "61 1"),
        ("SIM_FAULT", "hang:cudnnCreate"),
        ("CUDNN_GUARD_DEADLINE", "1.5"),
    ];
    circumstances();
    let began = Instant::now();
    let ran = do_all(&["refuse", "check"], &variables).exits_with(0);
    assert_eq!(verdict(&ran.stdout), "unknown convolution-timeout");
    assert!(
        began.elapsed() < Duration::from_secs(10),
        "{:?}",
        began.elapsed()
    );
}

/// The number of `memfd_create`.
const MEMORY_FILE: &str = if cfg!(target_arch = "aarch64") {
    "279"
} else {
    "319"
};

/// NVIDIA's driver reports only that the operating system refused something.
#[test]
fn the_request_that_a_seccomp_filter_refuses_to_the_driver_is_named() {
    for (errno, name) in [("1", "EPERM"), ("38", "ENOSYS")] {
        let refused = format!("{MEMORY_FILE} {errno}");
        let variables = [
            ("ODD_REFUSE", &*refused),
            ("SIM_CUINIT", "304"),
            ("SIM_PRINTS", "the driver's own words"),
        ];
        let ran = do_all(&["refuse", "startup", "check"], &variables).exits_with(0);
        let ran = ran.says(&format!(
            "cudnn-guard: unknown: a seccomp filter refuses `memfd_create` to this process ({name}), so NVIDIA's driver cannot start: `cuInit` returned CUDA_ERROR_OPERATING_SYSTEM (304)  [driver-error]\n  \
             = help: allow `memfd_create` in the seccomp profile of the sandbox, container or service\n"
        ));
        let json: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        let evidence = &json["findings"][0]["evidence"];
        assert_eq!(evidence["process"], "Seccomp: 2, NoNewPrivs: 1", "{json}");
        assert_eq!(evidence["output"], "the driver's own words", "{json}");
    }
    // Without the filter, and for a driver that works with it.
    let ran = do_all(&["startup", "went-on"], &[("SIM_CUINIT", "304")]).exits_with(0);
    let ran = ran.says("the system refused a request of NVIDIA's driver: `cuInit` returned CUDA_ERROR_OPERATING_SYSTEM (304)");
    assert!(!ran.text().contains("refused     "), "{}", ran.text());
    let refused = format!("{MEMORY_FILE} 1");
    let ran = do_all(
        &["refuse", "startup", "went-on"],
        &[("ODD_REFUSE", &refused)],
    );
    assert_eq!(ran.exits_with(0).text(), "went on\n");
}
