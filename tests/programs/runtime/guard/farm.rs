//! NVIDIA's own files in new combinations. CUDNN_GUARD_REAL is the directory of `.ci/wheels.py`.

pub use super::program::must_be_true;
use super::program::{Ran, run};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A machine with one GPU, of this compute capability.
pub const GPU: (&str, &str) = ("TEST_GPU", "90");

/// Returns the library directory of a set.
pub fn library(set: &str) -> PathBuf {
    let root = std::env::var_os("CUDNN_GUARD_REAL")
        .expect("set CUDNN_GUARD_REAL to the directory of .ci/wheels.py");
    PathBuf::from(root).join(set).join("nvidia/cudnn/lib")
}

/// Links to the libraries of a set, in a temporary directory.
pub struct Farm(pub PathBuf);

impl Farm {
    pub fn of(set: &str) -> Self {
        let farm = Self::empty();
        for file in std::fs::read_dir(library(set)).unwrap() {
            let file = file.unwrap().path();
            let name = file.file_name().unwrap().to_str().unwrap();
            if name.starts_with("libcudnn") {
                symlink(&file, farm.0.join(name)).unwrap();
            }
        }
        farm
    }

    pub fn empty() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("real-faults-{}-{number}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Self(path.canonicalize().unwrap())
    }

    pub fn text(&self) -> &str {
        self.0.to_str().unwrap()
    }

    pub fn without(self, file: &str) -> Self {
        std::fs::remove_file(self.0.join(file)).unwrap();
        self
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
        let _ = std::fs::remove_file(self.0.join(name));
        symlink(target, self.0.join(name)).unwrap();
        self
    }

    pub fn from(self, set: &str, file: &str) -> Self {
        self.with(file, &library(set).join(file))
    }

    /// Replaces a file by a copy of its first bytes.
    pub fn cut(self, file: &str, length: u64) -> Self {
        use std::io::Read;
        let whole = std::fs::File::open(self.0.join(file)).unwrap();
        let mut bytes = Vec::new();
        whole.take(length).read_to_end(&mut bytes).unwrap();
        std::fs::remove_file(self.0.join(file)).unwrap();
        std::fs::write(self.0.join(file), bytes).unwrap();
        self
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

impl Drop for Farm {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
