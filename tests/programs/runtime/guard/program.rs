//! A program with a guard: this test binary, started again with a task in its environment.

#[path = "../../../../src/toolchain/tests/cases/truth.rs"]
#[allow(
    clippy::duplicate_mod,
    reason = "a test program may use both vocabularies"
)]
mod truth;

use crate::support::installation::Folder;
use cudnn_guard::internals::child::task::Functions;
use cudnn_guard::internals::convolution::case_result::Extent;
use cudnn_guard::internals::facts::tables::BUILD_ID_DIGITS;
use cudnn_guard::internals::facts::{
    Built, BuiltFinding, CudnnTargets, KnownBad, Loader, Severity, Tables, Target, Version,
};
use cudnn_guard::internals::system::platform::Library;
use cudnn_guard::internals::{check, startup};
use std::path::Path;
use std::process::{Command, Stdio};

// The strings that a cudarc leaves in a program if it looks up all functions of the driver. The guard searches for them.
#[used]
static PANIC: [u8; 26] = *b"Expected symbol in library";
#[used]
static NAME: [u8; 15] = *b"\0cuLogsCurrent\0";

/// A fake driver and convolution. The test sets their answers in the environment.
pub const FAKES: Functions = Functions {
    driver: super::driver::ask,
    convolve: super::convolution::run,
};

/// The output of a run.
pub struct Ran {
    pub code: Option<i32>,
    pub stderr: String,
    /// `Display` of the report or failure.
    pub text: String,
    pub json: serde_json::Value,
}

/// A machine with one GPU, of this compute capability.
pub const GPU: (&str, &str) = ("TEST_GPU", "90");

impl Ran {
    /// The guard stopped the program, with a message that begins like this.
    #[track_caller]
    pub fn must_stop(&self, text: &str) -> &Self {
        self.must_end_with(78).must_begin(text)
    }

    /// The program continued, and the guard printed this.
    #[track_caller]
    pub fn must_continue(&self, text: &str) -> &Self {
        self.must_end_with(0).must_say(text)
    }

    /// Like [`must_continue`](Self::must_continue), with a message about something unknown.
    #[track_caller]
    pub fn must_be_unknown(&self, text: &str) -> &Self {
        self.must_continue(&format!("cudnn-guard: unknown: {text}"))
    }

    #[track_caller]
    pub fn must_be_silent(&self) -> &Self {
        self.must_continue("")
    }

    /// Returns this evidence of the first finding.
    pub fn evidence(&self, label: &str) -> &serde_json::Value {
        &self.json["findings"][0]["evidence"][label]
    }

    /// Returns the path of this sub-library.
    #[track_caller]
    pub fn part(&self, number: usize) -> &str {
        let path = &self.json["loaded"]["parts"][number]["path"];
        path.as_str().expect(&self.text)
    }

    #[track_caller]
    pub fn must_end_with(&self, code: i32) -> &Self {
        assert_eq!(self.code, Some(code), "stderr:\n{}", self.stderr);
        self
    }

    #[track_caller]
    pub fn must_say(&self, text: &str) -> &Self {
        assert_eq!(self.stderr, text);
        self
    }

    #[track_caller]
    pub fn must_begin(&self, text: &str) -> &Self {
        assert!(
            self.stderr.starts_with(text),
            "found:\n{}\nwanted:\n{text}",
            self.stderr
        );
        self
    }

    #[track_caller]
    pub fn must_be(&self, verdict: &str, ids: &[&str]) -> &Self {
        let findings = self.json["findings"].as_array().expect(&self.stderr);
        let found: Vec<&str> = findings
            .iter()
            .filter_map(|finding| finding["id"].as_str())
            .collect();
        assert_eq!(
            (self.json["verdict"].as_str(), &found[..]),
            (Some(verdict), ids),
            "{}",
            self.text
        );
        self
    }
}

/// Runs `check`, `version` or `startup` in a program built with cuDNN 9.14.0, with these environment variables.
#[track_caller]
pub fn run(task: &str, folder: &Path, variables: &[(&str, &str)]) -> Ran {
    run_in(Path::new("/"), task, folder, variables)
}

#[track_caller]
pub fn check(cudnn: &Folder, variables: &[(&str, &str)]) -> Ran {
    run("check", &cudnn.0, variables)
}

#[track_caller]
pub fn version(cudnn: &Folder, variables: &[(&str, &str)]) -> Ran {
    run("version", &cudnn.0, variables)
}

#[track_caller]
pub fn startup(cudnn: &Folder, variables: &[(&str, &str)]) -> Ran {
    run("startup", &cudnn.0, variables)
}

/// Like [`run`], but starts the program in the directory `from`.
#[track_caller]
pub fn run_in(from: &Path, task: &str, folder: &Path, variables: &[(&str, &str)]) -> Ran {
    let report = folder.join("report.json");
    let text = folder.join("text");
    let mut command = command(task, folder);
    command.current_dir(from);
    command.env("TEST_TEXT", &text).env("TEST_JSON", &report);
    for (name, value) in variables {
        command.env(name, value);
    }
    let output = command.output().unwrap();
    let json = std::fs::read_to_string(&report).unwrap_or_default();
    let ran = Ran {
        code: output.status.code(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        text: std::fs::read_to_string(&text).unwrap_or_default(),
        // Some tests keep the program from writing it.
        json: match json.starts_with('{') {
            true => crate::support::schema::valid(&json),
            false => serde_json::Value::Null,
        },
    };
    must_be_true(&ran.text);
    must_be_true(&ran.stderr);
    ran
}

/// Checks that each path in a text exists, and that each version is that of the file beside it.
#[track_caller]
pub fn must_be_true(text: &str) {
    // The path of the fake driver.
    let text = text.replace("/drv/libcuda.so.1", "libcuda.so.1");
    // Removes the quoting for a shell.
    let text = text.replace(r"'\''", "'");
    let wrong = truth::World::real().falsehoods(&text);
    assert!(wrong.is_empty(), "{}\n\n{text}", wrong.join("\n"));
}

/// Returns the command without running it.
pub fn command(task: &str, folder: &Path) -> Command {
    command_of(&std::env::current_exe().unwrap(), task, folder)
}

/// Like [`command`], but runs a copy of the program.
pub fn command_of(program: &Path, task: &str, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .args([
            "runtime::guard::program::is_run",
            "--exact",
            "--ignored",
            "--nocapture",
            "--quiet",
        ])
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("LD_LIBRARY_PATH", folder)
        .env("TEST_TASK", task)
        .stdin(Stdio::null());
    command
}

#[test]
#[ignore = "this is the program that the other tests run"]
fn is_run() {
    let Ok(task) = std::env::var("TEST_TASK") else {
        return;
    };
    if std::env::var_os("TEST_IGNORE_CHILDREN").is_some() {
        unsafe extern "C" {
            fn signal(signal: i32, handler: usize) -> usize;
        }
        // SAFETY: SIG_IGN for SIGCHLD, in a separate process of this test.
        unsafe { signal(17, 1) };
    }
    if let Ok(most) = std::env::var("TEST_MEBIBYTES") {
        let most = most.parse::<u64>().unwrap() << 20;
        // RLIMIT_AS
        limit(9, [most, most]);
    }
    let open = std::env::var("TEST_OPEN").unwrap_or_default();
    for path in open.split(':').filter(|path| !path.is_empty()) {
        Library::open(path).unwrap();
    }
    if let Some(folder) = std::env::var_os("TEST_MOVE") {
        std::env::set_current_dir(folder).unwrap();
    }
    let built = built();
    if let Ok(most) = std::env::var("TEST_FILES") {
        may_open(most.parse().unwrap());
    }
    let result = match task.as_str() {
        "startup" => return startup::startup_with(&built, FAKES),
        "load" => return super::rights::load_without_guard(),
        "twice" => {
            check::check_with(&built, FAKES, Extent::Quick).unwrap();
            super::rights::give_up();
            startup::startup_with(&built, FAKES);
            check::check_with(&built, FAKES, Extent::Quick)
        }
        "version" => check::check_version(&built),
        "thorough" => check::check_with(&built, FAKES, Extent::Thorough),
        _ => check::check_with(&built, FAKES, Extent::Quick),
    };
    may_open(MOST_FILES);
    let (text, json) = match result {
        Ok(report) => (report.to_string(), report.to_json()),
        Err(failure) => (failure.to_string(), failure.to_json()),
    };
    std::fs::write(std::env::var_os("TEST_TEXT").unwrap(), text).unwrap();
    std::fs::write(std::env::var_os("TEST_JSON").unwrap(), json).unwrap();
}

/// The usual limit of a process without restrictions.
const MOST_FILES: u64 = 1024;

/// Limits the number of open files of this process.
fn may_open(files: u64) {
    // RLIMIT_NOFILE
    limit(7, [files, MOST_FILES]);
}

fn limit(resource: i32, limits: [u64; 2]) {
    unsafe extern "C" {
        fn setrlimit(resource: i32, limits: *const [u64; 2]) -> i32;
    }
    // SAFETY: a limit is two numbers.
    assert_eq!(unsafe { setrlimit(resource, &limits) }, 0);
}

/// Returns a few table rows in the form that the build writes.
pub fn tables() -> Tables {
    let gpus = |first, last, code| CudnnTargets {
        first,
        last,
        cuda: 13,
        code: Target::parse_all(code),
    };
    let of_9 = |minor, patch| Version::new(9, minor, patch);
    Tables {
        gpus: vec![
            gpus(
                of_9(10, 0),
                of_9(10, 2),
                "sm_50 sm_61 sm_70 sm_80 compute_80",
            ),
            gpus(
                of_9(14, 0),
                of_9(14, 0),
                "sm_75 sm_80 sm_90a sm_100f compute_100f",
            ),
            gpus(
                of_9(28, 0),
                of_9(28, 0),
                "sm_75 sm_80 sm_90a sm_100f sm_120f compute_120f",
            ),
        ],
        known_bad: vec![KnownBad {
            from: of_9(14, 0),
            below: of_9(14, 1),
            good: Some(of_9(15, 0)),
            several_gpus: false,
            cublas: None,
            good_cublas: None,
            operation: None,
            partial: false,
            first_gpu: 0,
            last_gpu: u32::MAX,
            what: "add up wrongly".into(),
        }],
        drivers: vec![(12, "525.60.13".into()), (13, "580.65.06".into())],
        ptx: Some(Version::new(13, 0, 0)),
        ..Tables::default()
    }
}

/// Returns the build ids of NVIDIA's libraries with their versions, in the form that a program contains.
fn build_ids() -> Vec<(Version, String)> {
    let rows = include_str!("../../../../build-support/compat/build-ids.txt").lines();
    let row = |row: &str| {
        let [id, _, release] = row.split(' ').collect::<Vec<_>>()[..] else {
            return None;
        };
        Some((Version::parse(release)?, id[..BUILD_ID_DIGITS].into()))
    };
    rows.filter(|row| !row.starts_with('#'))
        .filter_map(row)
        .collect()
}

/// Returns the record of a build with cuDNN 9.14.0 and CUDA 13.0, unless variables say otherwise.
pub fn built() -> Built {
    let set = |name: &str| std::env::var_os(name).is_some();
    let version = |name: &str, otherwise: &str| {
        let text = std::env::var(name).unwrap_or(otherwise.to_string());
        Version::parse(&text).unwrap()
    };
    let toolkit = version("TEST_TOOLKIT", "13.0");
    let uses_cudnn = !set("TEST_NO_CUDNN");
    Built {
        cudnn: uses_cudnn.then(|| version("TEST_BUILT", "9.14.0")),
        cudnn_cuda_major: uses_cudnn.then_some(13),
        cuda: Some(toolkit),
        loader: if !uses_cudnn {
            Loader::None
        } else if set("TEST_LINKED") {
            Loader::Linked
        } else if set("TEST_CUDARC") {
            Loader::Cudarc
        } else {
            Loader::Dlopen
        },
        cudarc: std::env::var("TEST_CUDARC")
            .ok()
            .and_then(|text| Version::parse(&text)),
        targets: Target::parse_all(&std::env::var("TEST_TARGETS").unwrap_or_default()),
        needs: if set("TEST_NEEDS") {
            vec!["adv".into(), "conv3d-bf16".into()]
        } else {
            Vec::new()
        },
        findings: if set("TEST_FINDINGS") {
            vec![BuiltFinding {
                id: "nvcc-header-skew".into(),
                severity: Severity::Warning,
                summary: "nvcc and cuda.h differ".into(),
            }]
        } else {
            Vec::new()
        },
        tables: Tables {
            build_ids: build_ids(),
            ptx: Some(toolkit),
            ..if set("TEST_TABLES") {
                tables()
            } else if set("TEST_CUBLAS_BUG") {
                let mut tables = tables();
                let bug = &mut tables.known_bad[0];
                bug.cublas = Some(Version::new(13, 5, 0));
                bug.good_cublas = Some(Version::new(13, 6, 1));
                bug.operation = Some("conv".into());
                (bug.partial, bug.first_gpu) = (true, 80);
                tables
            } else {
                Tables::default()
            }
        },
        absent: set("TEST_ABSENT").then(|| "no CUDA\nfor aarch64".into()),
        ..Built::default()
    }
}
