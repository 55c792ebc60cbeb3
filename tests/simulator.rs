//! The driver's questions and the convolution, on simulators: every fault is found, and named.
//!
//! What the guard calls may end the process, so it runs in a process of its own: this test binary again, told by
//! `GUARD_TEST_DO` what to do and by `GUARD_TEST_OUT` where to write what came of it.
#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests touch the machine"
)]

#[path = "simulator/graph.rs"]
mod graph;
#[path = "support/guard.rs"]
mod guard;
#[path = "simulator/kinds.rs"]
mod kinds;
#[path = "simulator/no_driver.rs"]
mod no_driver;
#[path = "simulator/numbers.rs"]
mod numbers;
#[path = "support/simulated.rs"]
mod simulated;
#[path = "../src/bin/cudnn-guard/simulator.rs"]
mod simulator;

use guard::driver::{self, Driver, Problem};
use guard::no_gpu::Around;
use guard::outcome::{Extent, Outcome, Scope, Told};
use guard::platform::Library;
use guard::version::Version;
use guard::{convolution, cudnn_status};
use simulated::{simulated, without};
use std::fmt::Write as _;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

const V9_14: (u32, u32, u32) = (9, 14, 0);
const V9_28: (u32, u32, u32) = (9, 28, 0);
const V8_9: (u32, u32, u32) = (8, 9, 7);
const ALL: [(u32, u32, u32); 3] = [V8_9, V9_14, V9_28];

const QUICK: Scope = Scope {
    extent: Extent::Quick,
    graph_only: false,
};
const GRAPH_ONLY: Scope = Scope {
    extent: Extent::Thorough,
    graph_only: true,
};
const THOROUGH: Scope = Scope {
    extent: Extent::Thorough,
    graph_only: false,
};

/// What became of a process.
struct Ended {
    status: ExitStatus,
    /// What it wrote for us.
    report: String,
    /// What it and the libraries printed.
    printed: String,
}

impl Ended {
    #[track_caller]
    fn must_have(&self, words: &str) -> &Self {
        assert!(
            self.report.contains(words),
            "no {words:?} in\n{}\n{}\n{:?}",
            self.report,
            self.printed,
            self.status
        );
        self
    }

    #[track_caller]
    fn must_be(&self, text: &str) {
        assert_eq!(self.report, text, "{}", self.printed);
    }
}

/// Runs `task` in a process that finds libraries in these directories.
#[track_caller]
fn child(task: &str, libraries: &[PathBuf], environment: &[(&str, &str)]) -> Ended {
    child_within(Duration::from_secs(20), task, libraries, environment)
}

/// The same, killed after this time.
#[track_caller]
fn child_within(
    patience: Duration,
    task: &str,
    libraries: &[PathBuf],
    environment: &[(&str, &str)],
) -> Ended {
    let out = tempfile(task);
    let printed = out.with_extension("printed");
    let file = std::fs::File::create(&printed).unwrap();
    let paths = std::env::join_paths(libraries).unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "in_child", "--nocapture"])
        .env_remove("CUDA_VISIBLE_DEVICES")
        .env("LD_LIBRARY_PATH", paths)
        .env("GUARD_TEST_DO", task)
        .env("GUARD_TEST_OUT", &out)
        .envs(environment.iter().copied())
        .stdin(Stdio::null())
        .stdout(file.try_clone().unwrap())
        .stderr(file)
        .spawn()
        .unwrap();
    let deadline = Instant::now() + patience;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > deadline {
            child.kill().unwrap();
            break child.wait().unwrap();
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let ended = Ended {
        status,
        report: std::fs::read_to_string(&out).unwrap_or_default(),
        printed: String::from_utf8_lossy(&std::fs::read(&printed).unwrap()).into_owned(),
    };
    let _ = std::fs::remove_file(&out);
    let _ = std::fs::remove_file(&printed);
    ended
}

fn tempfile(task: &str) -> PathBuf {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("simulator-children");
    std::fs::create_dir_all(&folder).unwrap();
    let word = task.split(' ').next().unwrap();
    let path = folder.join(format!("{}-{number}-{word}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    path
}

fn libraries(tree: &Path) -> [PathBuf; 2] {
    [tree.join("lib64"), tree.join("driver")]
}

#[track_caller]
fn convolve(version: (u32, u32, u32), environment: &[(&str, &str)]) -> Ended {
    convolve_in(&simulated(version), version, environment)
}

#[track_caller]
fn convolve_in(tree: &Path, version: (u32, u32, u32), environment: &[(&str, &str)]) -> Ended {
    let (major, minor, patch) = version;
    let task = format!("convolution {major} {minor} {patch}");
    child(&task, &libraries(tree), environment)
}

#[track_caller]
fn fault(version: (u32, u32, u32), fault: &str) -> Ended {
    convolve(version, &[("SIM_FAULT", fault)])
}

#[track_caller]
fn ask(environment: &[(&str, &str)]) -> Ended {
    child("driver", &libraries(&simulated(V9_14)), environment)
}

/// Not a test of its own: what the other tests run in a child.
#[test]
fn in_child() {
    let Some(task) = std::env::var_os("GUARD_TEST_DO") else {
        return;
    };
    let task = task.into_string().unwrap();
    let words: Vec<&str> = task.split(' ').collect();
    let number = |at: usize| words[at].parse::<u32>().unwrap();
    let report = match words[0] {
        "convolution" | "context" | "quick" | "graph" | "thorough" | "some" => {
            let version = Version::new(number(1), number(2), number(3));
            let shim = Library::open(&format!("libcudnn.so.{}", version.major)).unwrap();
            match words[0] {
                "context" => context(shim, version),
                "quick" => all(|tell| convolution::run(shim, version, 0, QUICK, tell)),
                "graph" => all(|tell| convolution::run(shim, version, 0, GRAPH_ONLY, tell)),
                "thorough" => all(|tell| convolution::run(shim, version, 0, THOROUGH, tell)),
                "some" => all(|tell| {
                    let kinds = kinds::some(words[4], words[5]);
                    convolution::run_kinds(shim, version, 0, &kinds, &[], tell);
                }),
                _ => first(shim, version),
            }
        }
        "driver" => match driver::ask() {
            Ok(driver) => told(&driver),
            Err(problem) => format!(
                "{}\nknown: {}\n",
                problem.finding(),
                problem.driver().map_or_else(String::new, told)
            ),
        },
        "fork" => fork(),
        "release" => {
            let shim = Library::open("libcudnn.so.9").unwrap();
            // SAFETY: cudnn.h declares it as `size_t (void)`.
            let ask: extern "C" fn() -> usize =
                unsafe { driver::function(shim, words[1].to_string().leak()).unwrap() };
            ask().to_string()
        }
        other => panic!("{other}"),
    };
    std::fs::write(std::env::var_os("GUARD_TEST_OUT").unwrap(), report).unwrap();
}

/// All that was told, and what was about to be done.
fn collect(run: impl FnOnce(&mut dyn FnMut(Told))) -> (Vec<Outcome>, Vec<String>) {
    let (mut outcomes, mut stages) = (Vec::new(), Vec::new());
    run(&mut |told| match told {
        Told::Next(words) => stages.push(words),
        Told::Done(outcome) => outcomes.push(*outcome),
    });
    (outcomes, stages)
}

/// The first outcome: what is refused or wrong there is so in the others too, and they have tests of their own.
fn first(shim: Library, version: Version) -> String {
    let (outcomes, _) = collect(|tell| convolution::run(shim, version, 0, QUICK, tell));
    let outcome = &outcomes[0];
    assert!(outcome.milliseconds > 0.0);
    assert_eq!(
        (outcome.operation, outcome.data_type, outcome.layout),
        ("convolution forward", "f32", "NCHW")
    );
    let error = outcome.largest_error;
    let mut text = format!("{:?} {} {error:?}\n", outcome.device, outcome.verdict);
    if let Some(finding) = &outcome.finding {
        writeln!(text, "{}: {finding}", finding.severity).unwrap();
    }
    text
}

/// Every outcome, one line each and its finding, and every stage.
fn all(run: impl FnOnce(&mut dyn FnMut(Told))) -> String {
    let (outcomes, stages) = collect(run);
    let mut text = String::new();
    for it in &outcomes {
        let (what, by) = (it.operation, &it.algorithm);
        let what = format!("{what}{}", it.api.through());
        write!(text, "{what}, {}, {}, {by}: ", it.data_type, it.layout).unwrap();
        match &it.left_out {
            Some(reason) => writeln!(text, "left out, {reason}").unwrap(),
            None => writeln!(text, "{}, tf32 {:?}", it.verdict, it.tf32).unwrap(),
        }
        if let Some(finding) = &it.finding {
            writeln!(text, "{}: {finding}", finding.severity).unwrap();
        }
    }
    for stage in stages {
        writeln!(text, "then {stage}").unwrap();
    }
    text
}

fn told(driver: &Driver) -> String {
    let name = driver.library.rsplit('/').next().unwrap();
    let cuda = driver
        .cuda
        .map_or_else(|| "none".to_string(), Version::short);
    let mut text = format!("{name} for CUDA {cuda}");
    for device in &driver.devices {
        write!(text, ", {} of {}", device.name, device.capability).unwrap();
    }
    text
}

/// A program may have its own context current: it must be so afterwards.
fn context(shim: Library, version: Version) -> String {
    type Context = *mut std::ffi::c_void;
    let cuda = driver::open().unwrap();
    driver::ask().unwrap();
    let mine = [0u8; 64].as_mut_ptr().cast();
    let mut found: Context = std::ptr::null_mut();
    // SAFETY: the simulator takes any pointer for a context.
    unsafe {
        let push: unsafe extern "C" fn(Context) -> i32 =
            driver::function(cuda, "cuCtxPushCurrent_v2").unwrap();
        let get: unsafe extern "C" fn(*mut Context) -> i32 =
            driver::function(cuda, "cuCtxGetCurrent").unwrap();
        assert_eq!(push(mine), 0);
        let text = first(shim, version);
        assert_eq!(get(&mut found), 0);
        format!("{text}same context: {}\n", found == mine)
    }
}

/// What a child sees that was forked after CUDA was started.
fn fork() -> String {
    unsafe extern "C" {
        fn fork() -> i32;
        fn waitpid(pid: i32, status: *mut i32, options: i32) -> i32;
        fn _exit(code: i32) -> !;
    }
    driver::ask().unwrap();
    // SAFETY: the child only asks the driver and ends.
    unsafe {
        let pid = fork();
        if pid == 0 {
            let code = match driver::ask() {
                Err(Problem::Failed { code, .. }) => code,
                _ => 0,
            };
            _exit(code);
        }
        let mut status = 0;
        waitpid(pid, &mut status, 0);
        format!("the child was answered {}\n", status >> 8)
    }
}

#[test]
fn parts_are_left_out_when_asked() {
    let tree = Path::new(env!("CARGO_TARGET_TMPDIR")).join("simulator-without-ops");
    let _ = std::fs::remove_dir_all(&tree);
    simulated::build(V9_14, &["ops"], &tree);
    assert!(tree.join("lib64/libcudnn_cnn.so.9").is_file());
    assert!(!tree.join("lib64/libcudnn_ops.so.9").exists());
    assert!(
        tree.join("lib64/libcudnn_ops.so")
            .symlink_metadata()
            .is_err()
    );
}

#[test]
fn a_sound_cudnn_passes() {
    for version in ALL {
        let ended = convolve(version, &[]);
        ended.must_have("\"Simulated GPU\" pass Some(");
        let error = ended.report.split(['(', ')']).nth(1).unwrap();
        let error: f64 = error.parse().unwrap();
        assert!(error > 0.0 && error < 1e-4, "{version:?}: {error}");
        assert_eq!(ended.report.lines().count(), 1, "{}", ended.report);
    }
}

#[test]
fn one_wrong_number_is_found() {
    fault(V9_14, "wrong").must_be(
        "\"Simulated GPU\" fail Some(0.25000001220845935)
error: cuDNN 9.14.0 computed a wrong forward convolution in f32 on Simulated GPU: off by 2.5e-1, where 1.2e-4 is allowed  [convolution-wrong]
  operation   convolution forward, f32, NCHW, IMPLICIT_PRECOMP_GEMM
  shape       x 2x8x14x14, w 8x8x3x3, padding 1, stride 1
  where       y[1][0][0][0] is 0.43657643, and 0.1865764 is right
  wrong       1 of 3136 numbers
  = help: install cuDNN, CUDA and driver releases that belong together: `cudnn-guard doctor` shows what is here
  = help: run the same on another GPU, if all of that fits: `nvidia-smi -q -d ECC` shows errors of this one's memory
",
    );
    fault(V8_9, "wrong").must_have("cuDNN 8.9.7 computed a wrong forward convolution in f32");
}

#[test]
fn a_result_that_is_no_number_is_found() {
    for version in ALL {
        fault(version, "nan")
            .must_have("fail Some(inf)")
            .must_have("on Simulated GPU: a result is not a number  [convolution-wrong]")
            .must_have("where       y[1][0][0][0] is NaN")
            .must_have("wrong       1 of 3136 numbers");
    }
}

#[test]
fn a_result_that_was_never_written_is_found() {
    for version in ALL {
        fault(version, "unwritten")
            .must_have(": nothing was written  [convolution-wrong]")
            .must_have("wrong       3136 of 3136 numbers");
    }
}

/// NUM-04
#[test]
fn zeros_are_found() {
    fault(V9_14, "zero").must_have(": every number is 0  [convolution-wrong]");
}

#[test]
fn writing_past_the_end_is_found_though_the_numbers_are_right() {
    for version in ALL {
        fault(version, "overrun").must_have("wrote past the end of its output buffer");
    }
    fault(V9_14, "overrun").must_be(
        "\"Simulated GPU\" fail None
error: cuDNN 9.14.0 wrote past the end of its output buffer in a forward convolution in f32 on Simulated GPU  [convolution-wrong]
  operation   convolution forward, f32, NCHW, IMPLICIT_PRECOMP_GEMM
  shape       x 2x8x14x14, w 8x8x3x3, padding 1, stride 1
  = help: install cuDNN, CUDA and driver releases that belong together: `cudnn-guard doctor` shows what is here
",
    );
}

#[test]
fn a_refusal_is_named_as_its_release_names_it() {
    fault(V9_14, "status:cudnnConvolutionForward:3007").must_be(
        "\"Simulated GPU\" fail None
error: `cudnnConvolutionForward` of cuDNN 9.14.0 answered CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH (3007) on Simulated GPU  [convolution-failed]
  operation   convolution forward, f32, NCHW, IMPLICIT_PRECOMP_GEMM
  shape       x 2x8x14x14, w 8x8x3x3, padding 1, stride 1
  last error  simulated: the convolution was told to fail
  = help: install a cuDNN release that serves this GPU
",
    );
    fault(V8_9, "status:cudnnConvolutionForward:8").must_have(
        "answered CUDNN_STATUS_EXECUTION_FAILED (8) on Simulated GPU  [convolution-failed]",
    );
    fault(V9_28, "status:cudnnConvolutionForward:5000")
        .must_have("answered CUDNN_STATUS_EXECUTION_FAILED (5000)");
    fault(V9_28, "status:cudnnConvolutionForward:7777").must_have("answered status 7777");
    fault(V9_28, "status:cudnnSetTensor4dDescriptor:2000")
        .must_have("CUDNN_STATUS_BAD_PARAM (2000)");
}

#[test]
fn a_handle_that_is_refused_is_told_from_a_convolution() {
    fault(V9_14, "status:cudnnCreate:1001").must_be(
        "\"Simulated GPU\" fail None
error: `cudnnCreate` of cuDNN 9.14.0 answered CUDNN_STATUS_NOT_INITIALIZED (1001) on Simulated GPU  [cudnn-create-failed]
  = help: set CUDNN_LOGLEVEL_DBG=3 and CUDNN_LOGDEST_DBG=stderr to see what cuDNN itself has to say
",
    );
    fault(V8_9, "status:cudnnCreate:1").must_have("CUDNN_STATUS_NOT_INITIALIZED (1)");
}

#[test]
fn an_algorithm_that_is_not_offered_is_no_fault() {
    // Both algorithms ask for it; the simulator refuses both, so the second one's refusal is told.
    fault(V9_14, "status:cudnnGetConvolutionForwardWorkspaceSize:3000")
        .must_have("CUDNN_STATUS_NOT_SUPPORTED (3000)")
        .must_have("NCHW, IMPLICIT_GEMM");
    fault(V9_14, "status:cudnnGetConvolutionForwardWorkspaceSize:2000")
        .must_have("NCHW, IMPLICIT_PRECOMP_GEMM");
}

/// DRV-15
#[test]
fn a_full_gpu_is_unknown() {
    // cuDNN is not asked where there is nothing left: it would have ended the process.
    for version in ALL {
        let full = [
            ("SIM_MEMORY", "2097151"),
            ("SIM_FAULT", "abort:cudnnCreate"),
        ];
        convolve(version, &full).must_be(
            "\"Simulated GPU\" unknown None
warning: Simulated GPU has too little free memory to try a convolution: 1 MiB  [device-memory-low]
  cuDNN       it was not asked: CUDA takes memory by pieces of 2 MiB
  = help: free memory on the GPU: `nvidia-smi` shows who holds it
",
        );
    }
    // One that says nothing of its memory has none the less for that.
    fault(V9_14, "status:cuMemGetInfo_v2:1").must_have("pass");
    convolve(V9_14, &[("SIM_MEMORY", "2097152")]).must_have("pass");
    fault(V9_14, "status:cuMemAlloc_v2:2").must_be(
        "\"Simulated GPU\" unknown None
warning: Simulated GPU has too little free memory to try a convolution  [device-memory-low]
  driver      `cuMemAlloc` answered CUDA_ERROR_OUT_OF_MEMORY (2)
  = help: free memory on the GPU: `nvidia-smi` shows who holds it
",
    );
    // cuDNN's refusal does not say that it is for lack of memory.
    let low = [
        ("SIM_MEMORY", "104857600"),
        ("SIM_FAULT", "status:cudnnCreate:4000"),
    ];
    convolve(V9_14, &low).must_be(
        "\"Simulated GPU\" unknown None
warning: Simulated GPU has too little free memory to try a convolution: 100 MiB  [device-memory-low]
  cuDNN       `cudnnCreate` answered CUDNN_STATUS_INTERNAL_ERROR (4000)
  = help: free memory on the GPU: `nvidia-smi` shows who holds it
",
    );
    fault(V9_14, "status:cudnnConvolutionForward:4004").must_have("unknown None");
    fault(V8_9, "status:cudnnCreate:2").must_have("[device-memory-low]");
    // And little memory alone is no obstacle.
    convolve(V9_14, &[("SIM_MEMORY", "104857600")]).must_have("pass");
}

#[test]
fn a_busy_gpu_is_unknown() {
    fault(V9_14, "status:cuDevicePrimaryCtxRetain:46").must_be(
        "\"Simulated GPU\" unknown None
warning: Simulated GPU could not be used for a convolution: the GPU is in exclusive use or unavailable  [device-busy]
  driver      `cuDevicePrimaryCtxRetain` answered CUDA_ERROR_DEVICE_UNAVAILABLE (46)
  = help: wait for the other program, or see `nvidia-smi -q -d COMPUTE` for the compute mode
",
    );
    fault(V9_14, "status:cuCtxSynchronize:999").must_have("[device-busy]");
}

#[test]
fn a_crash_on_the_gpu_is_cudnns() {
    fault(V9_14, "status:cuCtxSynchronize:700")
        .must_have("error: a forward convolution in f32 of cuDNN 9.14.0 on Simulated GPU ended with CUDA_ERROR_ILLEGAL_ADDRESS (700)  [convolution-failed]")
        .must_have("meaning     code on the GPU touched memory that it may not touch");
}

#[test]
fn crashes_and_hangs_end_the_child_alone() {
    for version in ALL {
        let ended = fault(version, "abort:cudnnConvolutionForward");
        assert_eq!(ended.status.signal(), Some(6), "{}", ended.printed);
        assert!(
            ended
                .printed
                .contains("giving up in cudnnConvolutionForward")
        );
        assert_eq!(ended.report, "");
    }
    for call in ["cudnnGetVersion", "cudnnGetCudartVersion"] {
        let tree = libraries(&simulated(V9_14));
        let abort = format!("abort:{call}");
        let ended = child(&format!("release {call}"), &tree, &[("SIM_FAULT", &abort)]);
        assert_eq!(ended.status.signal(), Some(6), "{}", ended.report);
    }
    let ended = fault(V9_14, "segv:cudnnCreate");
    assert_eq!(ended.status.signal(), Some(11));
    let tree = libraries(&simulated(V9_14));
    let hang = [("SIM_FAULT", "hang:cuInit")];
    let ended = child_within(Duration::from_millis(500), "driver", &tree, &hang);
    assert_eq!(ended.status.signal(), Some(9), "{}", ended.report);
}

#[test]
fn a_flood_is_as_loud_as_it_says() {
    let ended = fault(V9_14, "flood");
    ended.must_have("pass");
    assert!(ended.printed.len() >= 16 << 20);
}

/// SUB-05
#[test]
fn a_missing_part_ends_the_process_or_is_refused() {
    for part in ["graph", "ops", "cnn", "heuristic", "engines_precompiled"] {
        let ended = convolve_in(&without(V9_14, &[part]), V9_14, &[]);
        assert_eq!(ended.status.signal(), Some(6), "{part}: {}", ended.report);
        assert!(
            ended.printed.contains(&format!("libcudnn_{part}")),
            "{}",
            ended.printed
        );
    }
    for part in ["cnn", "heuristic", "engines_precompiled"] {
        convolve_in(&without(V9_28, &[part]), V9_28, &[])
            .must_have("CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE (3009)")
            .must_have("= help: put every part of that cuDNN release beside its `libcudnn.so`");
    }
    let ended = convolve_in(&without(V8_9, &["cnn_infer"]), V8_9, &[]);
    assert_eq!(ended.status.signal(), Some(6), "{}", ended.report);
    // A part that no convolution needs.
    convolve_in(&without(V9_14, &["adv"]), V9_14, &[]).must_have("pass");
}

/// SUB-06, VER-10
#[test]
fn a_foreign_engine_shows_in_the_convolution_alone() {
    let tree = without(V9_14, &["heuristic", "adv"]);
    let other = simulated((9, 10, 2)).join("lib64/libcudnn_heuristic.so.9");
    std::fs::copy(other, tree.join("lib64/libcudnn_heuristic.so.9")).unwrap();
    let ended = convolve_in(&tree, V9_14, &[]);
    ended
        .must_have("CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH (1002)")
        .must_have("last error  simulated: an engine part is of another release");
}

#[test]
fn the_programs_own_context_is_current_again() {
    let tree = libraries(&simulated(V9_14));
    child("context 9 14 0", &tree, &[])
        .must_have("pass")
        .must_have("same context: true");
    let wrong = [("SIM_FAULT", "status:cudnnConvolutionForward:4000")];
    child("context 9 14 0", &tree, &wrong)
        .must_have("fail")
        .must_have("same context: true");
}

#[test]
fn the_driver_tells_its_gpus() {
    ask(&[]).must_be("libcuda.so.1 for CUDA 13.0, Simulated GPU of 9.0");
    let two = [
        ("SIM_DEVICES", "2"),
        ("SIM_CAPABILITY", "12.0"),
        ("SIM_CUDA", "12090"),
    ];
    ask(&two).must_be("libcuda.so.1 for CUDA 12.9, Simulated GPU of 12.0, Simulated GPU of 12.0");
}

#[test]
fn cuda_is_started_once_and_a_forked_child_is_told() {
    let calls = tempfile("calls");
    let log = [("SIM_CALLS", calls.to_str().unwrap())];
    child("fork", &libraries(&simulated(V9_14)), &log).must_be("the child was answered 3\n");
    let called = std::fs::read_to_string(&calls).unwrap();
    std::fs::remove_file(&calls).unwrap();
    assert_eq!(called.lines().count(), 2, "{called}");
}

/// LOD-07, DRV-04, DRV-05, DRV-07, DRV-09, DRV-14: cuDNN says the same of all of them, so that the driver is asked first.
#[test]
fn what_the_driver_answers_is_explained() {
    for (code, id, words) in [
        (
            "3",
            "driver-error",
            "CUDA cannot be used in this process: `cuInit` answered CUDA_ERROR_NOT_INITIALIZED (3)",
        ),
        (
            "34",
            "driver-stub",
            "is the toolkit's stub, not NVIDIA's driver, so no GPU can be used",
        ),
        // What it says beside the id is of this machine, which may be a container.
        ("100", "no-gpu", ""),
        (
            "802",
            "driver-error",
            "the system is not ready for CUDA yet: `cuInit` answered CUDA_ERROR_SYSTEM_NOT_READY (802)",
        ),
        (
            "803",
            "driver-error",
            "the driver's library and its kernel module are of different releases: `cuInit`",
        ),
        (
            "804",
            "driver-error",
            "the forward-compatibility library does not serve this GPU: `cuInit`",
        ),
        (
            "999",
            "driver-error",
            "NVIDIA's driver cannot start, and does not know why: `cuInit` answered CUDA_ERROR_UNKNOWN (999)",
        ),
        (
            "4711",
            "driver-error",
            "NVIDIA's driver failed: `cuInit` answered CUDA error 4711",
        ),
    ] {
        let ended = ask(&[("SIM_CUINIT", code)]);
        ended.must_have(words).must_have(&format!("  [{id}]\n"));
        // The driver's release is told all the same, as NVIDIA's does; the stub tells nothing.
        let cuda = if code == "34" { "none" } else { "13.0" };
        ended.must_have(&format!("known: libcuda.so.1 for CUDA {cuda}"));
    }
    ask(&[("SIM_FAULT", "status:cuDeviceGetName:101")])
        .must_have("`cuDeviceGetName` answered CUDA_ERROR_INVALID_DEVICE (101)");
}

/// DRV-10
#[test]
fn what_hides_the_gpus_is_named() {
    ask(&[("CUDA_VISIBLE_DEVICES", "")])
        .must_have("CUDA_VISIBLE_DEVICES hides every GPU from this program  [no-gpu]\n")
        .must_have("  set         CUDA_VISIBLE_DEVICES is set, and empty\n")
        .must_have("  = help: unset CUDA_VISIBLE_DEVICES");
    ask(&[("CUDA_VISIBLE_DEVICES", "-1")]).must_have("  set         CUDA_VISIBLE_DEVICES=-1\n");
    convolve(V9_14, &[("CUDA_VISIBLE_DEVICES", "")])
        .must_have("\"\" unknown None\nwarning: CUDA_VISIBLE_DEVICES hides every GPU");
}

/// DRV-09, DRV-10, DRV-11, DRV-12, DRV-13: why there is no GPU to be seen.
#[test]
fn what_hides_or_closes_the_gpus_is_told_apart() {
    let told = |around: &Around| around.helped(around.finding()).to_string();
    let visible = |value: &str| {
        told(&Around {
            visible: Some(value.into()),
            ..Around::default()
        })
    };
    assert_eq!(
        visible("$0,1"),
        "`$0` in CUDA_VISIBLE_DEVICES names no GPU, which hides every GPU from this program  [no-gpu]
  set         CUDA_VISIBLE_DEVICES=$0,1
  = help: unset CUDA_VISIBLE_DEVICES"
    );
    for hiding in ["", " ", "-1", "-1,0", ",0"] {
        assert!(
            visible(hiding)
                .starts_with("CUDA_VISIBLE_DEVICES hides every GPU from this program  [no-gpu]"),
            "{hiding:?}"
        );
    }
    for other in ["7", "0,x", "GPU-8932f937", "MIG-1"] {
        let told = visible(other);
        assert!(
            told.starts_with("NVIDIA's driver shows no GPU  [no-gpu]"),
            "{told}"
        );
        assert!(
            told.contains("  = help: unset CUDA_VISIBLE_DEVICES\n"),
            "{told}"
        );
    }
    assert!(visible("MIG-1,MIG-2").contains(
        "  = help: set CUDA_VISIBLE_DEVICES to one MIG instance: a process can use no more\n"
    ));
    let closed = Around {
        closed: Some("/dev/nvidia0"),
        ..Around::default()
    };
    assert_eq!(
        told(&closed),
        "this process may not open `/dev/nvidia0`, so NVIDIA's driver shows it no GPU  [no-gpu]
  = help: add this user to the group that `ls -l /dev/nvidia0` shows, or give the container the GPU with its rights
  = help: start a container with `--gpus all` (docker) or `--device nvidia.com/gpu=all` (podman), if `nvidia-smi` lists GPUs outside it"
    );
    let container = Around {
        container: Some("/.dockerenv"),
        ..Around::default()
    };
    assert!(told(&container).starts_with("this container was started without a GPU  [no-gpu]\n"));
}

/// DRV-04, DRV-13
#[test]
fn every_problem_is_worded() {
    let driver = || Driver {
        library: "/usr/lib/libcuda.so.535.183.01".to_string(),
        version: Some("535.183.01".to_string()),
        cuda: Some(Version::new(12, 2, 0)),
        devices: Vec::new(),
    };
    let none = Problem::NoDevice {
        driver: driver(),
        around: Box::default(),
    };
    assert_eq!(
        none.finding().to_string(),
        "NVIDIA's driver shows no GPU  [no-gpu]
  library     /usr/lib/libcuda.so.535.183.01
  driver      535.183.01, for CUDA up to 12.2
  = help: run on a machine that has a GPU, or ask the scheduler for one
  = help: start a container with `--gpus all` (docker) or `--device nvidia.com/gpu=all` (podman), if `nvidia-smi` lists GPUs outside it"
    );
    assert_eq!(
        Problem::Stub(driver()).finding().to_string(),
        "`/usr/lib/libcuda.so.535.183.01` is the toolkit's stub, not NVIDIA's driver, so no GPU can be used  [driver-stub]
  = help: remove the `stubs` directory from LD_LIBRARY_PATH and from the rpath: it is for linking alone
  = help: install NVIDIA's driver, if `nvidia-smi` does not run either"
    );
    let failed = Problem::Failed {
        driver: driver(),
        call: "cuInit",
        code: 803,
    };
    assert_eq!(
        failed.finding().to_string(),
        "the driver's library and its kernel module are of different releases: `cuInit` answered CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)  [driver-error]
  library     /usr/lib/libcuda.so.535.183.01
  driver      535.183.01, for CUDA up to 12.2
  = help: reboot, so that the new kernel module is loaded; in a container, give it the host's libraries"
    );
    let updated = Problem::Failed {
        driver: Driver {
            version: Some("550.120".to_string()),
            ..driver()
        },
        call: "cuInit",
        code: 803,
    };
    assert!(
        updated
            .finding()
            .to_string()
            .contains("\n  releases    the module is 550.120, the library 535.183.01\n")
    );
    let other = Problem::NotADriver {
        driver: driver(),
        function: "cuInit",
    };
    assert_eq!(
        other.finding().to_string(),
        "`/usr/lib/libcuda.so.535.183.01` has no `cuInit`, so it is not NVIDIA's driver  [driver-error]
  = help: remove that file from the library path, or install NVIDIA's driver again"
    );
}

#[test]
fn the_release_of_the_kernel_module_is_read() {
    let closed = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024\nGCC version:  gcc version 12.2.0\n";
    assert_eq!(driver::parse_release(closed).as_deref(), Some("535.183.01"));
    let open = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  (root@host)  \n";
    assert_eq!(driver::parse_release(open).as_deref(), Some("580.65.06"));
    assert_eq!(driver::parse_release("GCC 12\nversion 1.2.3"), None);
    assert_eq!(driver::parse_release(""), None);
}

/// VER-05
#[test]
fn statuses_have_the_names_of_their_release() {
    assert_eq!(cudnn_status::named(6, 8), "CUDNN_STATUS_ARCH_MISMATCH (6)");
    assert_eq!(cudnn_status::named(6, 9), "status 6");
    assert_eq!(
        cudnn_status::named(4000, 9),
        "CUDNN_STATUS_INTERNAL_ERROR (4000)"
    );
    assert_eq!(cudnn_status::named(4000, 8), "status 4000");
}
