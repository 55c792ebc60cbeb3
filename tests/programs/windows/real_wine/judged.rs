//! A guarded program and how it is started on Windows, the report of its guard, and the report of `inspect`.

use super::V9_28;
use super::farm::real;
use crate::support::{Ran, place, program, project, repository, run, scratch, write_if_new};
use crate::windows::wine::windows::{Windows, built};
use serde_json::Value;
use std::fs;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// The programs, with their requirement. `linked` is linked to cuDNN, the others open it.
const PROGRAMS: [(&str, &str); 3] = [
    ("nine", ">=9.14, <10"),
    ("eight", ">=8.9.5, <10"),
    ("linked", ">=9.14, <10"),
];

/// Returns the Windows that all tests of this file share, one at a time. It has neither cuDNN nor a driver.
pub fn windows() -> MutexGuard<'static, Windows> {
    static ONE: LazyLock<Mutex<Windows>> = LazyLock::new(|| Mutex::new(install()));
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Creates a Windows with the programs and the terminal program.
fn install() -> Windows {
    let windows = Windows::boot("wine-real");
    let app = windows.drive().join("app");
    fs::create_dir_all(&app).unwrap();
    for (name, requirement) in PROGRAMS {
        let link = match name {
            "linked" => installation(),
            _ => ".link(cudnn_guard::Link::Runtime)".to_string(),
        };
        let build = format!(
            "fn main() {{\n    cudnn_guard::build(|| {{\n        \
             let gpu = cudnn_guard::Config::new().cudnn({requirement:?}){link}.probe()?;\n        \
             gpu.link();\n        gpu.guard().write()\n    }});\n}}\n"
        );
        let crate_name = format!("windows-{name}");
        let dir = project(&crate_name, &build, include_str!("program.rs"));
        let program = built(&dir, &[], &crate_name);
        fs::copy(program, app.join(format!("{name}.exe"))).unwrap();
    }
    let terminal = ["--features", "cli", "--bin", "cudnn-guard"];
    let terminal = built(repository(), &terminal, "cudnn-guard");
    fs::copy(terminal, windows.drive().join("cudnn-guard.exe")).unwrap();
    windows
}

/// Creates an installation of CUDA and cuDNN to link with, like that of NVIDIA's installer. Returns the calls that
/// select it in a build script.
fn installation() -> String {
    let root = scratch("wine-installation");
    let wheel = real(V9_28);
    let library = root.join("lib/x64");
    fs::create_dir_all(&library).unwrap();
    write_if_new(
        &library.join("cudnn.def"),
        "LIBRARY cudnn64_9.dll\nEXPORTS\ncudnnGetVersion\n",
    );
    run(program("x86_64-w64-mingw32-dlltool")
        .current_dir(&library)
        .args(["-d", "cudnn.def", "-l", "cudnn.lib"]))
    .exits_with(0);
    place(&wheel, &root.join("bin"));
    place(&wheel.with_file_name("include"), &root.join("include"));
    let cuda = wheel
        .ancestors()
        .nth(4)
        .unwrap()
        .join("cuda-win-cu13/nvidia/cu13");
    format!(".env(\"CUDNN_PATH\", {root:?}).env(\"CUDA_PATH\", {cuda:?})")
}

/// How a program is started.
#[derive(Clone)]
pub struct Start {
    program: String,
    /// The directory of the program.
    pub dir: String,
    path: String,
    acts: Vec<String>,
}

impl Start {
    pub fn of(program: &str) -> Self {
        Self {
            program: program.into(),
            dir: r"C:\app".into(),
            path: String::new(),
            acts: Vec::new(),
        }
    }

    /// Reads how a program is started: `in C:\own, PATH C:\cuDNN, does hold C:\file`.
    pub fn parse(windows: &Windows, program: &str, ways: &str) -> Self {
        let mut start = Self::of(program);
        for way in ways.split(", ").filter(|way| !way.is_empty()) {
            start = match way.split_once(' ').unwrap() {
                ("PATH", path) => start.path(path),
                ("in", dir) => start.within(windows, dir),
                ("does", acts) => start.does(&acts.split(' ').collect::<Vec<_>>()),
                _ => panic!("{way}"),
            };
        }
        start
    }

    /// Sets the directories at the start of PATH.
    pub fn path(mut self, path: &str) -> Self {
        self.path = path.into();
        self
    }

    /// Removes this directory from PATH.
    pub fn without(mut self, dir: &str) -> Self {
        let entries = self.path.split(';').filter(|entry| *entry != dir);
        self.path = entries.collect::<Vec<_>>().join(";");
        self
    }

    /// Removes an act and its argument.
    pub fn does_not(mut self, act: &str) -> Self {
        if let Some(at) = self.acts.iter().position(|one| one == act) {
            self.acts.drain(at..at + 2);
        }
        self
    }

    /// Copies the program to this directory.
    pub fn within(mut self, windows: &Windows, dir: &str) -> Self {
        let file = format!("{}.exe", self.program);
        let app = windows.drive().join("app").join(&file);
        let there = windows.unix(dir).join(file);
        fs::copy(app, there).unwrap();
        self.dir = dir.into();
        self
    }

    /// Adds acts that run before the check.
    pub fn does(mut self, acts: &[&str]) -> Self {
        self.acts.extend(acts.iter().map(ToString::to_string));
        self
    }

    /// Returns `true` if only files and PATH determine what the program loads.
    pub fn is_plain(&self) -> bool {
        self.acts.is_empty()
    }

    fn program(&self) -> String {
        format!("{}\\{}.exe", self.dir, self.program)
    }

    pub fn run(&self, windows: &Windows, acts: &[&str]) -> Ran {
        let before = self.acts.iter().map(String::as_str);
        let acts: Vec<&str> = before.chain(acts.iter().copied()).collect();
        let path = [("WINEPATH", &self.path[..])];
        windows.start(self.program(), &acts, &path)
    }

    /// Calls the guard at the start of the program. Returns its report too.
    pub fn startup(&self, windows: &Windows) -> (Ran, Value) {
        let report = r"C:\report.json";
        let acts = self.acts.iter().map(String::as_str);
        let acts: Vec<&str> = acts.chain(["startup", "went-on"]).collect();
        let env = [("WINEPATH", &self.path[..]), ("CUDNN_GUARD_REPORT", report)];
        let ran = windows.start(self.program(), &acts, &env);
        let report = fs::read_to_string(windows.unix(report)).unwrap();
        (ran, serde_json::from_str(&report).unwrap())
    }

    /// Returns the report of `check` or `version`.
    pub fn json(&self, windows: &Windows, act: &str) -> Value {
        self.clone().does(&[act]).last_json(windows)
    }

    /// Returns the last line of the output as JSON.
    pub fn last_json(&self, windows: &Windows) -> Value {
        let mut ran = self.run(windows, &[]).exits_with(0);
        // Wine sometimes fails to start a process with ERROR_INTERNAL_ERROR, and succeeds the next time.
        if ran.stdout.contains("(os error 1359)") {
            ran = self.run(windows, &[]).exits_with(0);
        }
        let last = ran.stdout.lines().last().unwrap_or_default();
        parse(last, &ran)
    }

    pub fn inspected(&self, windows: &Windows) -> Value {
        let path = [("WINEPATH", &self.path[..])];
        let inspect = ["inspect", "--json", &self.program()];
        let ran = windows.start(r"C:\cudnn-guard.exe", &inspect, &path);
        parse(&ran.stdout, &ran)
    }
}

/// Commands, files and variables of Linux, which no finding on Windows names.
const LINUX: [&str; 14] = [
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "apt ",
    "chmod",
    "dmesg",
    "dnf ",
    "docker ",
    "ldconfig",
    "libcuda.so",
    "libcudnn",
    "modprobe",
    "rpath",
    "setuid",
    "sudo ",
];

/// Parses a report.
fn parse(json: &str, ran: &Ran) -> Value {
    let report: Value =
        serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {}", ran.text()));
    let findings = report["findings"].to_string();
    let word = LINUX.iter().find(|word| findings.contains(**word));
    assert_eq!(word, None, "{findings}");
    report
}

/// Returns the ids of all findings except notes.
pub fn ids(report: &Value) -> Vec<&str> {
    let findings = report["findings"].as_array().unwrap().iter();
    findings
        .filter(|finding| finding["severity"] != "note")
        .map(|finding| finding["id"].as_str().unwrap())
        .collect()
}
