//! GPUs that the driver shuts down between two processes, and GPUs in confidential computing mode.

use crate::runtime::quiet::setup::environment_of;
use crate::support::circumstances::{command, installed, library};
use crate::support::{fresh, run};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Compiles an NVML that returns these values for persistence mode and confidential computing, and the driver next to
/// it.
fn nvml(name: &str, persistence: u32, confidential: u32) -> Vec<PathBuf> {
    let tree = installed((9, 14, 0));
    let folder = fresh(&format!("nvml-{name}"));
    let code = format!(
        "int nvmlInit_v2(void) {{ return 0; }} int nvmlShutdown(void) {{ return 0; }}
         int nvmlDeviceGetCount_v2(unsigned *count) {{ *count = 1; return 0; }}
         int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **device) {{ *device = 0; return i; }}
         int nvmlDeviceGetPersistenceMode(void *device, int *mode) {{ *mode = {persistence}; return device != 0; }}
         int nvmlSystemGetConfComputeState(unsigned *state) {{ state[1] = {confidential}; return 0; }}"
    );
    library(&code, &folder.join("libnvidia-ml.so.1"));
    vec![folder, tree.join("lib64"), tree.join("driver")]
}

/// Returns the processes that have this environment variable.
fn with_variable(variable: &str) -> Vec<u32> {
    let mut found = Vec::new();
    for process in std::fs::read_dir("/proc").unwrap().flatten() {
        let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
        let number: Option<u32> = process
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        if environment
            .split(|byte| *byte == 0)
            .any(|one| one == variable.as_bytes())
        {
            found.extend(number);
        }
    }
    found
}

/// Without persistence mode, the driver would shut the GPU down after the child exits and start it again for the
/// program, which takes seconds each time.
#[test]
fn without_persistence_mode_the_gpu_stays_open_until_the_program_uses_it() {
    for (name, persistence, stays) in [("off", 0, 1), ("on", 1, 0)] {
        let marker = format!("{name}-{}", std::process::id());
        let mut program = command(&["startup", "went-on", "stay"], &nvml(name, persistence, 0));
        program.env("NVML_TEST", &marker).stdout(Stdio::piped());
        let mut program = program.spawn().unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(program.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        assert_eq!(line, "went on\n");
        let marked = || with_variable(&format!("NVML_TEST={marker}"));
        let mut others = marked();
        others.retain(|process| *process != program.id());
        assert_eq!(others.len(), stays, "{name}");
        // The helper process does not keep the program's output open: a reader of that output would wait for it.
        for other in &others {
            let is_open = || {
                std::fs::read_dir(format!("/proc/{other}/fd"))
                    .unwrap()
                    .count()
                    > 0
            };
            let clock = std::time::Instant::now();
            while is_open() {
                assert!(clock.elapsed().as_secs() < 1, "{other} has files open");
            }
        }
        assert!(program.wait().unwrap().success());
        let clock = std::time::Instant::now();
        while !marked().is_empty() {
            assert!(clock.elapsed().as_secs() < 5, "{:?} stay", marked());
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

/// Starts a program with this variable, and returns after the program was checked.
fn checked(program: &mut Command, marker: &str) -> Child {
    program.env("NVML_TEST", marker).stdout(Stdio::piped());
    let mut started = program.spawn().unwrap();
    let mut line = String::new();
    let mut stdout = BufReader::new(started.stdout.take().unwrap());
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "went on\n");
    started
}

/// Returns how many other processes have the program's variable.
fn others(program: &Child, marker: &str) -> usize {
    let marked = with_variable(&format!("NVML_TEST={marker}"));
    marked.iter().filter(|one| **one != program.id()).count()
}

/// Once the program has opened the GPU, no other process keeps it open.
#[test]
#[ignore = "needs the right to mount"]
fn the_gpu_is_released_once_the_program_uses_it() {
    let script = "mount -t tmpfs none /dev && : >/dev/null && : >/dev/nvidia0 && : >/dev/nvidiactl && \
                  exec \"$@\" 9<\"/dev/$OPENED\"";
    for (opened, stay) in [("nvidia0", 0), ("nvidiactl", 1)] {
        let marker = format!("{opened}-{}", std::process::id());
        let program = command(&["startup", "went-on", "stay"], &nvml(opened, 0, 0));
        let mut shell = Command::new("unshare");
        shell.args(["-rm", "sh", "-c", script, "sh"]);
        shell.arg(program.get_program()).args(program.get_args());
        environment_of(&program, &mut shell);
        let mut program = checked(shell.env("OPENED", opened), &marker);
        let clock = Instant::now();
        std::thread::sleep(Duration::from_millis(500));
        while others(&program, &marker) != stay {
            assert!(clock.elapsed().as_millis() < 1500, "{opened}");
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(program.wait().unwrap().success());
    }
}

/// A program may never open the GPU, and may have blocked all signals.
#[test]
#[ignore = "takes half a minute"]
fn the_gpu_is_released_after_half_a_minute() {
    let marker = format!("long-{}", std::process::id());
    let mut acts = vec!["block-signals", "startup", "went-on"];
    acts.extend(["stay"; 18]);
    let mut program = checked(&mut command(&acts, &nvml("long", 0, 0)), &marker);
    std::thread::sleep(Duration::from_secs(25));
    assert_eq!(others(&program, &marker), 1);
    std::thread::sleep(Duration::from_secs(8));
    assert_eq!(others(&program, &marker), 0);
    program.kill().unwrap();
    program.wait().unwrap();
}

/// Once the program has opened a GPU device, no other process has to keep it open.
#[test]
fn a_device_of_the_driver_is_distinguished_from_others() {
    let is_gpu = |path: &str| cudnn_guard::internals::child::stay::is_gpu(path.as_ref());
    for path in ["/dev/nvidia0", "/dev/nvidia15"] {
        assert!(is_gpu(path), "{path}");
    }
    for path in ["/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/null", "pipe:[1]"] {
        assert!(!is_gpu(path), "{path}");
    }
}

/// A GPU in confidential computing mode may not start again, so it is not tested by default.
#[test]
fn confidential_gpus_are_tested_only_on_request() {
    let calls = fresh("nvml-calls").join("calls");
    let tried = |variables: &[(&str, &str)]| {
        let mut program = command(&["startup", "went-on"], &nvml("confidential", 1, 1));
        run(program
            .env("SIM_CALLS", &calls)
            .envs(variables.iter().copied()))
        .exits_with(0)
    };
    let required = ("CUDNN_GUARD_REQUIRE_GPU", "1");
    assert_eq!(
        tried(&[required]).stderr,
        "cudnn-guard: unknown: the GPU is in confidential computing mode and may not start again after a test, so it was not tested  [device-busy]
  = help: set CUDNN_GUARD_DEVICES=0 to test it anyway
"
    );
    assert!(!calls.exists());
    assert_eq!(tried(&[("CUDNN_GUARD_DEVICES", "0")]).stderr, "");
    assert!(calls.exists());
}
