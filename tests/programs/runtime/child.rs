//! The child process that tests cuDNN, and the fallbacks without one, in complete programs on the simulator.

pub mod clock;
pub mod gpus;
pub mod in_use;
pub mod large;
pub mod sandbox;
pub mod scarce;
pub mod threads;
use crate::support::circumstances::{circumstances, command, do_all, installed, library};
use crate::support::{Ran, fresh, kill, scratch, wrapped};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn sound(acts: &[&str]) -> Command {
    let tree = installed((9, 14, 0));
    command(acts, &[tree.join("lib64"), tree.join("driver")])
}

fn json(line: &str) -> serde_json::Value {
    crate::support::schema::valid(line)
}

/// Returns the verdict and the ids of the findings.
fn verdict_and_ids(line: &str) -> String {
    let json = json(line);
    let findings = json["findings"].as_array().unwrap();
    let ids: Vec<&str> = findings
        .iter()
        .map(|it| it["id"].as_str().unwrap())
        .collect();
    format!("{} {}", json["verdict"].as_str().unwrap(), ids.join(" "))
}

/// Returns the parent's process id, the calls that reached the driver with their callers, and the program's output.
fn calls(name: &str, acts: &[&str]) -> (u32, Vec<String>, String) {
    let log = fresh(name).join("calls");
    let mut program = sound(acts);
    program.env("SIM_CALLS", &log).stdout(Stdio::piped());
    let child = program.spawn().unwrap();
    let parent = child.id();
    let output = child.wait_with_output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let calls = fs::read_to_string(log).unwrap_or_default();
    (parent, calls.lines().map(String::from).collect(), stdout)
}

#[test]
fn a_program_that_has_not_started_cuda_does_not_start_it() {
    for acts in [["startup", "check"], ["check", "version"]] {
        let (parent, calls, _) = calls("child-calls", &acts);
        let by_parent: Vec<_> = calls
            .iter()
            .filter(|it| it.ends_with(&format!(" {parent}")))
            .collect();
        assert!(
            calls.len() >= 3 && by_parent.is_empty(),
            "{parent}: {calls:?}"
        );
    }
}

#[test]
fn a_program_that_has_started_cuda_keeps_its_state() {
    let acts = ["start-cuda", "context", "check", "context"];
    let (parent, calls, stdout) = calls("child-here", &acts);
    let lines: Vec<&str> = stdout.lines().collect();
    assert_eq!(verdict_and_ids(lines[1]), "pass child-not-started");
    assert_eq!(lines[0], lines[2]);
    assert!(lines[0].starts_with("my context: true, free: "), "{stdout}");
    let by_parent = |call: &str| {
        calls
            .iter()
            .filter(|it| **it == format!("{call} {parent}"))
            .count()
    };
    let taken = by_parent("cuDevicePrimaryCtxRetain");
    assert!(taken >= 2, "{calls:?}");
    // The program's own reference stays.
    assert_eq!(by_parent("cuDevicePrimaryCtxRelease_v2"), taken - 1);
    let pushed = by_parent("cuCtxPushCurrent_v2");
    assert_eq!(by_parent("cuCtxPopCurrent_v2"), pushed - 1);
}

#[test]
fn startup_does_not_call_cudnn_once_cuda_is_started() {
    for fault in ["abort:cudnnGetVersion", "abort:cudnnCreate"] {
        let ran = do_all(
            &["start-cuda", "startup", "went-on"],
            &[("SIM_FAULT", fault)],
        )
        .exits_with(0);
        assert_eq!(ran.stdout, "went on\n");
        assert_eq!(
            ran.stderr,
            "cudnn-guard: unknown: cannot create a child process to test cuDNN safely  \
             [child-not-started]\n  \
             = help: call `startup()` before anything uses CUDA, as the first line of `main`\n  \
             reason      CUDA is already in use in this process, and a child created by `fork` cannot use it\n"
        );
    }
    // The files are still checked.
    let older = installed((9, 10, 2)).join("lib64");
    let mixed = crate::support::circumstances::copy("mixed", &installed((9, 14, 0)).join("lib64"));
    fs::copy(
        older.join("libcudnn_ops.so.9"),
        mixed.join("libcudnn_ops.so.9"),
    )
    .unwrap();
    let driver = installed((9, 14, 0)).join("driver");
    let mut program = command(&["start-cuda", "startup"], &[mixed, driver]);
    crate::support::run(&mut program)
        .exits_with(78)
        .says("[parts-mixed]");
}

#[test]
fn without_a_child_check_continues_and_reports_it() {
    let ran = do_all(&["no-child", "check"], &[]).exits_with(0);
    assert_eq!(verdict_and_ids(ran.stdout.trim()), "pass child-not-started");
    ran.says("fork: Resource temporarily unavailable");
    let ran = do_all(&["no-child", "check"], &[("SIM_FAULT", "wrong")]).exits_with(0);
    let summary = verdict_and_ids(ran.stdout.trim());
    assert!(summary.starts_with("fail convolution-wrong "), "{summary}");
    assert!(summary.ends_with(" child-not-started"), "{summary}");
}

/// The deadline for a child's first answer begins when the child exists, so a slow fork does not use it up.
#[test]
fn a_slow_fork_does_not_cause_more_children() {
    let folder = fresh("child-slow-fork");
    let (slow, log) = (folder.join("slow.so"), folder.join("forks"));
    let code = r#"
        #include <fcntl.h>
        #include <pthread.h>
        #include <stdlib.h>
        #include <unistd.h>
        static void before(void) {
            int log = open(getenv("ODD_FORKS"), O_WRONLY | O_CREAT | O_APPEND, 0600);
            if (write(log, "x", 1) != 1) _exit(1);
            close(log);
            sleep(1);
        }
        __attribute__((constructor)) static void start(void) { pthread_atfork(before, 0, 0); }
    "#;
    library(code, &slow);
    let mut program = sound(&["startup", "went-on"]);
    program.env("LD_PRELOAD", &slow).env("ODD_FORKS", &log);
    let ran = crate::support::run(&mut program).exits_with(0);
    assert_eq!(ran.text(), "went on\n");
    // On a busy machine the first children may still be too slow.
    let forks = fs::read(log).unwrap().len();
    assert!((1..=3).contains(&forks), "{forks}");
}

/// A loaded cuDNN no longer needs its files.
#[test]
fn a_cudnn_whose_files_are_deleted_is_not_a_duplicate() {
    let own = crate::support::circumstances::copy("deleted", &installed((9, 14, 0)).join("lib64"));
    let driver = installed((9, 14, 0)).join("driver");
    let acts = ["startup", "delete-cudnn", "check", "version"];
    let mut program = command(&acts, &[own.clone(), driver]);
    let ran = crate::support::run(program.env("ODD_FOLDER", &own)).exits_with(0);
    let lines: Vec<String> = ran.stdout.lines().map(verdict_and_ids).collect();
    assert_eq!(lines[0], "pass ", "{}", ran.stdout);
    assert!(lines[1].starts_with("unknown "), "{lines:?}");
}

#[test]
fn children_of_the_program_that_keep_the_pipes_open_do_not_block_checks() {
    let began = Instant::now();
    let ran = do_all(&["forks-that-stay", "four-checks", "check"], &[]).exits_with(0);
    let verdicts: Vec<String> = ran.stdout.lines().map(verdict_and_ids).collect();
    assert_eq!(verdicts, ["pass "; 5]);
    assert!(
        began.elapsed() < Duration::from_secs(30),
        "{:?}",
        began.elapsed()
    );
}

/// Waits until a process has a child and returns the child's id.
fn child_of(parent: &Child) -> u32 {
    let list = PathBuf::from(format!("/proc/{0}/task/{0}/children", parent.id()));
    let until = Instant::now() + Duration::from_secs(20);
    while Instant::now() < until {
        let text = fs::read_to_string(&list).unwrap_or_default();
        if let Some(child) = text.split(' ').find_map(|pid| pid.parse().ok()) {
            return child;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("no child of {}", parent.id());
}

/// Starts a program whose child hangs in a cuDNN call.
fn hanging(name: &str, deadline: &str) -> (Child, u32) {
    hanging_after(name, &["startup", "went-on"], deadline)
}

fn hanging_after(name: &str, acts: &[&str], deadline: &str) -> (Child, u32) {
    let log = scratch(name).join("stderr");
    let mut program = sound(acts);
    program
        .env("SIM_FAULT", "hang:cudnnCreate")
        .env("CUDNN_GUARD_DEADLINE", deadline)
        .stdout(Stdio::null())
        .stderr(fs::File::create(log).unwrap());
    let parent = program.spawn().unwrap();
    let child = child_of(&parent);
    // The child forks, then opens libraries: give it time to reach the call.
    std::thread::sleep(Duration::from_millis(400));
    (parent, child)
}

fn is_there(pid: u32) -> bool {
    let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !state.is_empty() && !state.contains(") Z ")
}

fn read_stderr(name: &str) -> String {
    fs::read_to_string(scratch(name).join("stderr")).unwrap()
}

#[test]
fn a_killed_or_stopped_child_proves_nothing() {
    let (mut parent, child) = hanging("child-killed", "20");
    kill("KILL", &child.to_string());
    assert!(parent.wait().unwrap().success());
    let text = read_stderr("child-killed");
    assert!(
        text.starts_with("cudnn-guard: unknown: the test process was killed by signal 9 while "),
        "{text}"
    );
    let (mut parent, child) = hanging("child-stopped", "2");
    kill("STOP", &child.to_string());
    assert!(parent.wait().unwrap().success());
    let text = read_stderr("child-stopped");
    assert!(
        text.contains("the test process timed out while ")
            && text.contains("  [convolution-timeout]\n"),
        "{text}"
    );
    assert!(!is_there(child));
}

/// A process keeps the GPU until it has exited, which may be long after it has sent its last answer.
#[test]
fn the_child_has_ended_when_the_program_continues() {
    let gone = fresh("child-lingers").join("gone");
    let variables = [
        ("SIM_FAULT", "linger:cudnnDestroy"),
        ("SIM_LINGERED", gone.to_str().unwrap()),
    ];
    // No child is left behind: it dies with the program.
    do_all(&["startup", "went-on"], &variables).exits_with(0);
    assert!(gone.is_file());
    // The guard waits until the deadline, and no longer.
    fs::remove_file(&gone).unwrap();
    let short = [variables[0], variables[1], ("CUDNN_GUARD_DEADLINE", "0.9")];
    do_all(&["startup", "went-on"], &short).exits_with(0);
    assert!(!gone.exists());
}

#[test]
fn a_child_dies_with_its_parent() {
    let (mut parent, child) = hanging("child-orphan", "60");
    assert!(is_there(child));
    parent.kill().unwrap();
    parent.wait().unwrap();
    let until = Instant::now() + Duration::from_secs(10);
    while is_there(child) {
        assert!(Instant::now() < until, "{child} is still there");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Runs the program, owned by root and setuid, as another user with this argument and these variables.
fn started_by_another_user(argument: &str, variables: &[(&str, &str)]) -> Ran {
    // The copy is in a directory that other users can read.
    let name = format!("cudnn-guard-setuid-{}-{argument}", std::process::id());
    let own = std::env::temp_dir().join(name);
    // A separate process writes the copy: a file that this process has open for writing would also be open in a child
    // that another test forks at that moment.
    let mut copy = Command::new("install");
    crate::support::run(
        copy.args(["-m", "4755"])
            .args([circumstances(), own.clone()]),
    )
    .exits_with(0);
    let mut program = Command::new(&own);
    program.arg(argument).envs(variables.iter().copied());
    let ran = crate::support::run(program.current_dir("/").uid(65534));
    fs::remove_file(&own).unwrap();
    ran
}

/// Users of root's setuid program cannot write files as root or switch the guard off.
#[test]
#[ignore = "needs root: starts a setuid program as another user"]
fn a_setuid_program_ignores_the_variables() {
    let own = fresh("setuid-report").join("report.json");
    fs::write(&own, "what root keeps here").unwrap();
    let variables = [
        ("CUDNN_GUARD", "off"),
        ("CUDNN_GUARD_REPORT", own.to_str().unwrap()),
    ];
    let ran = started_by_another_user("startup", &variables).exits_with(0);
    assert_eq!(
        ran.stderr.lines().next(),
        Some(
            "cudnn-guard: ignoring CUDNN_GUARD, CUDNN_GUARD_REPORT: this program runs with elevated privileges (setuid, capabilities)"
        )
    );
    ran.says("cudnn-guard: unknown: ");
    assert_eq!(fs::read_to_string(own).unwrap(), "what root keeps here");
}

/// The loader ignores LD_LIBRARY_PATH in a setuid program, so no help recommends it.
#[test]
#[ignore = "needs root: starts a setuid program as another user"]
fn a_setuid_program_is_not_advised_to_set_ld_library_path() {
    let path = ("LD_LIBRARY_PATH", "/lib:/lib64:/usr/lib:/usr/lib64");
    let ran = started_by_another_user("check", &[path]).exits_with(0);
    let json = json(&ran.stdout);
    let finding = &json["findings"][0];
    assert_eq!(finding["id"], "cudnn-not-loadable");
    let looked_at = finding["evidence"]["searched"].as_str().unwrap();
    assert!(!looked_at.contains("LD_LIBRARY_PATH"), "{looked_at}");
    assert_eq!(
        finding["help"][0],
        "install cuDNN 9, or add its directory to /etc/ld.so.conf and run `ldconfig`"
    );
    assert_eq!(
        finding["evidence"]["setuid"],
        "this program runs with elevated privileges (setuid, capabilities): the loader ignores LD_LIBRARY_PATH, LD_PRELOAD and `$ORIGIN` in its rpath"
    );
}

#[test]
#[ignore = "needs the right to mount"]
fn a_cudnn_on_a_noexec_file_system_is_reported() {
    let (tree, mounted) = (installed((9, 14, 0)), fresh("child-noexec"));
    let script =
        "mount -t tmpfs -o noexec none \"$1\" && cp -a \"$2\"/. \"$1\" && shift 2 && exec \"$@\"";
    let program = command(&["startup"], &[mounted.clone(), tree.join("driver")]);
    let (path, lib64) = (mounted.display().to_string(), tree.join("lib64"));
    let lib64 = lib64.to_str().unwrap();
    let words = ["unshare", "-rm", "sh", "-c", script, "sh", &path, lib64];
    crate::support::run(&mut wrapped(&words, &program))
        .exits_with(78)
        .says(&format!(
            "\
`{path}/libcudnn.so.9` is on a file system that does not allow execution  [cudnn-not-loadable]
  = help: install it on another file system, or mount `{path}` without `noexec`
  loader      libcudnn.so.9: failed to map segment from shared object
  mounted     `{path}`, with `noexec`
"
        ));
}
