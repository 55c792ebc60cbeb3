//! The queries of the driver and the convolutions, on simulators: every fault is found and named.
//!
//! The code under test may end the process, so it runs in its own process: this test binary again, with the task in
//! `GUARD_TEST_DO` and the file for the result in `GUARD_TEST_OUT`.
#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests touch the machine"
)]

mod simulator {
    pub mod faults;
    pub mod gpus;
    pub mod gpus_on_linux;
    pub mod graph;
    pub mod kinds;
    pub mod no_driver;
    pub mod numbers;
    pub mod refusals;
}
mod support;

use cudnn_guard::internals::convolution::case_result::{CaseResult, Extent, Scope, SuiteEvent};
use cudnn_guard::internals::convolution::suite;
use cudnn_guard::internals::cudnn::data_type::DataType;
use cudnn_guard::internals::cudnn::operation::Operation;
use cudnn_guard::internals::cudnn::shape::Layout;
use cudnn_guard::internals::driver::query::{self, Driver};
use cudnn_guard::internals::facts::{ComputeCapability, Version};
use cudnn_guard::internals::loader::file_name;
use cudnn_guard::internals::system::platform::{self, Library};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use support::simulated::{simulated, without};

const V9_14: (u32, u32, u32) = (9, 14, 0);
const V9_28: (u32, u32, u32) = (9, 28, 0);
const V8_9: (u32, u32, u32) = (8, 9, 7);
const ALL: [(u32, u32, u32); 3] = [V8_9, V9_14, V9_28];

const QUICK: Scope = Scope {
    extent: Extent::Quick,
    graph_only: false,
    in_program: false,
    is_explicit: false,
    newest_gpu: None,
};
const GRAPH_ONLY: Scope = Scope {
    extent: Extent::Thorough,
    graph_only: true,
    in_program: false,
    is_explicit: false,
    newest_gpu: None,
};
/// Versions that are newer than the tables.
const NEW: Scope = Scope {
    newest_gpu: Some(ComputeCapability::new(8, 9)),
    ..QUICK
};
const THOROUGH: Scope = Scope {
    extent: Extent::Thorough,
    graph_only: false,
    in_program: false,
    is_explicit: false,
    newest_gpu: None,
};

/// The result of a process.
struct Ended {
    /// The way it ended, in one word, if a library crashed it.
    by: Option<&'static str>,
    /// The result that it wrote.
    report: String,
    /// The output of the process and its libraries.
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
            self.by
        );
        self
    }

    #[track_caller]
    fn must_be(&self, text: &str) {
        assert_eq!(self.report, text, "{}", self.printed);
    }

    #[track_caller]
    fn must_end_by(&self, by: &str) -> &Self {
        let text = format!("{}{}", self.report, self.printed);
        assert_eq!(self.by, Some(by), "{text}");
        self
    }
}

fn ending(status: std::process::ExitStatus) -> Option<&'static str> {
    match std::os::unix::process::ExitStatusExt::signal(&status)? {
        6 => Some("abort"),
        9 => Some("kill"),
        11 => Some("segv"),
        _ => None,
    }
}

/// Runs `task` in a child process that finds libraries in these directories. A child that hangs is killed.
#[track_caller]
fn child(task: &str, libraries: &[PathBuf], environment: &[(&str, &str)]) -> Ended {
    let out = tempfile(task);
    let printed = out.with_extension("printed");
    let file = std::fs::File::create(&printed).unwrap();
    let paths = std::env::join_paths(libraries).unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "in_child", "--nocapture"])
        .env_remove("CUDA_VISIBLE_DEVICES")
        .env(platform::LIBRARY_PATH, paths)
        .env("GUARD_TEST_DO", task)
        .env("GUARD_TEST_OUT", &out)
        .envs(environment.iter().copied())
        .stdin(Stdio::null())
        .stdout(file.try_clone().unwrap())
        .stderr(file);
    let mut child = command.spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
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
        by: ending(status),
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
    [in_tree(tree, ""), tree.join("driver")]
}

/// Returns a file in the directory of the libraries.
fn in_tree(tree: &Path, file: &str) -> PathBuf {
    tree.join("lib64").join(file)
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

/// Not a test itself: the code that the other tests run in a child.
#[test]
fn in_child() {
    let Some(task) = std::env::var_os("GUARD_TEST_DO") else {
        return;
    };
    let task = task.into_string().unwrap();
    let words: Vec<&str> = task.split(' ').collect();
    let number = |at: usize| words[at].parse::<u32>().unwrap();
    let report = match words[0] {
        "convolution" | "quick" | "new" | "graph" | "thorough" | "some" => {
            let version = Version::new(number(1), number(2), number(3));
            let shim = Library::open(&file_name::of_main(version.major)).unwrap();
            match words[0] {
                "quick" => all(|tell| suite::run(shim, version, 0, QUICK, tell)),
                "new" => all(|tell| suite::run(shim, version, 0, NEW, tell)),
                "graph" => all(|tell| suite::run(shim, version, 0, GRAPH_ONLY, tell)),
                "thorough" => all(|tell| suite::run(shim, version, 0, THOROUGH, tell)),
                "some" => all(|tell| {
                    let kinds = simulator::kinds::some(words[4], words[5]);
                    suite::run_kinds(shim, version, 0, QUICK, &kinds, tell);
                }),
                _ => first(shim, version),
            }
        }
        "driver" => match query::driver() {
            Ok(driver) => describe(&driver),
            Err(problem) => format!(
                "{}\nknown: {}\n",
                problem.finding(),
                problem.driver().map_or_else(String::new, describe)
            ),
        },
        other => panic!("{other}"),
    };
    std::fs::write(std::env::var_os("GUARD_TEST_OUT").unwrap(), report).unwrap();
}

/// Returns all results, and the steps that were announced.
fn collect(run: impl FnOnce(&mut dyn FnMut(SuiteEvent))) -> (Vec<CaseResult>, Vec<String>) {
    let (mut outcomes, mut stages) = (Vec::new(), Vec::new());
    run(&mut |event| match event {
        SuiteEvent::Next(stage) => stages.push(stage.to_string()),
        SuiteEvent::Done(outcome) => outcomes.push(*outcome),
    });
    (outcomes, stages)
}

/// Returns the first outcome. The other outcomes have their own tests.
fn first(shim: Library, version: Version) -> String {
    let (outcomes, _) = collect(|tell| suite::run(shim, version, 0, QUICK, tell));
    let outcome = &outcomes[0];
    assert!(outcome.milliseconds > 0.0);
    assert_eq!(
        (outcome.operation, outcome.data_type, outcome.layout),
        (Operation::Forward, DataType::F32, Layout::Nchw)
    );
    let error = outcome.largest_error;
    let mut text = format!("{:?} {} {error:?}\n", outcome.device, outcome.verdict);
    if let Some(finding) = &outcome.finding {
        writeln!(text, "{}: {finding}", finding.severity).unwrap();
    }
    text
}

/// Returns every outcome, one line each with its finding, and every stage.
fn all(run: impl FnOnce(&mut dyn FnMut(SuiteEvent))) -> String {
    let (outcomes, stages) = collect(run);
    let mut text = String::new();
    for it in &outcomes {
        let (what, by) = (it.operation.name(), &it.algorithm);
        let what = format!("{what}{}", it.api.api_words());
        let (data_type, layout) = (it.data_type.name(), it.layout.name());
        write!(text, "{what}, {data_type}, {layout}, {by}: ").unwrap();
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

fn describe(driver: &Driver) -> String {
    let name = driver.library.rsplit(['/', '\\']).next().unwrap();
    let cuda = driver
        .cuda
        .map_or_else(|| "none".to_string(), Version::short);
    let mut text = format!("{name} for CUDA {cuda}");
    for device in &driver.devices {
        write!(text, ", {} of {}", device.name, device.capability).unwrap();
    }
    text
}
