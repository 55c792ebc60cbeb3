//! NVIDIA's own files in new combinations. CUDNN_GUARD_REAL is the directory of `.ci/wheels.py`.

pub use super::program::{GPU, must_be_true};
use super::program::{Ran, run};
pub use crate::support::installation::Folder as Farm;
use std::path::{Path, PathBuf};

/// Returns the library directory of a set.
pub fn library(set: &str) -> PathBuf {
    let root = std::env::var_os("CUDNN_GUARD_REAL")
        .expect("set CUDNN_GUARD_REAL to the directory of .ci/wheels.py");
    PathBuf::from(root).join(set).join("nvidia/cudnn/lib")
}

impl Farm {
    /// Returns a directory of links to the libraries of a set.
    pub fn of(set: &str) -> Self {
        Self::new().with_links_to(&library(set))
    }

    pub fn empty() -> Self {
        Self::new()
    }

    /// Keeps only these sub-libraries.
    pub fn only(self, parts: &[&str]) -> Self {
        for name in std::fs::read_dir(&self.0).unwrap() {
            let name = name.unwrap();
            let file = name.file_name().into_string().unwrap();
            if !parts
                .iter()
                .any(|part| file.starts_with(&format!("libcudnn_{part}.so")))
            {
                std::fs::remove_file(name.path()).unwrap();
            }
        }
        self
    }

    pub fn with(self, name: &str, target: &Path) -> Self {
        self.with_link(name, target)
    }

    pub fn from(self, set: &str, file: &str) -> Self {
        self.with(file, &library(set).join(file))
    }

    /// Runs a program that was built with this version.
    pub fn run(&self, task: &str, built: &str, variables: &[(&str, &str)]) -> Ran {
        let mut all = vec![("TEST_BUILT", built), GPU];
        all.extend(variables);
        run(task, &self.0, &all)
    }

    /// Returns what `startup` prints before the report, without the name of this directory.
    pub fn cause(&self, built: &str, variables: &[(&str, &str)]) -> String {
        let ran = self.run("startup", built, variables);
        ran.must_end_with(78);
        let cause = ran.stderr.split("\n\n").next().unwrap();
        let (cause, end) = cause
            .split_once("\n  see         cudnn-guard explain ")
            .unwrap();
        let hint = "\n  = help: set CUDNN_GUARD=warn to start the program anyway";
        assert!(end.ends_with(hint), "{end}");
        cause.replace(self.text(), "HERE")
    }
}

/// Builds a program in `dir` that is linked to the cuDNN in `lib`, with a RUNPATH to it.
pub fn linked_program(dir: &Path, lib: &Path) -> PathBuf {
    let (source, program) = (dir.join("app.c"), dir.join("app"));
    let code =
        "unsigned long cudnnGetVersion(void); int main(void) { return cudnnGetVersion() == 0; }";
    std::fs::write(&source, code).unwrap();
    let mut cc = std::process::Command::new("cc");
    cc.arg(&source).arg(lib.join("libcudnn.so.9"));
    cc.arg(format!("-Wl,--enable-new-dtags,-rpath,{}", lib.display()));
    assert!(cc.arg("-o").arg(&program).status().unwrap().success());
    program
}
