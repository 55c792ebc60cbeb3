//! Small cuDNNs, compiled by the tests: the file names and version symbols of the real ones, without an implementation.

use crate::support::{fresh, scratch};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

/// The sub-libraries of cuDNN 9. The last one was added in 9.21.
pub const PARTS_9: [&str; 8] = [
    "graph",
    "ops",
    "cnn",
    "adv",
    "heuristic",
    "engines_precompiled",
    "engines_runtime_compiled",
    "engines_tensor_ir",
];
pub const PARTS_8: [&str; 3] = ["ops_infer", "cnn_infer", "adv_infer"];

/// A machine with one GPU, of this compute capability.
pub const GPU: (&str, &str) = ("TEST_GPU", "90");

/// Returns a working cuDNN 9.14.0.
pub fn sound() -> Folder {
    Folder::new().with_cudnn("9.14.0")
}

/// A temporary directory of this test, removed when the test ends.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("guard-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        // In the loader's spelling.
        Self(path.canonicalize().unwrap())
    }

    pub fn text(&self) -> &str {
        self.0.to_str().unwrap()
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Copies all files of another cuDNN, keeping links as links.
    pub fn with_cudnn(self, release: &str) -> Self {
        let status = Command::new("cp")
            .arg("-a")
            .arg(built(release).join("."))
            .arg(&self.0)
            .status();
        assert!(status.unwrap().success());
        self
    }

    pub fn without(self, file: &str) -> Self {
        std::fs::remove_file(self.file(file)).unwrap();
        self
    }

    /// Replaces this file by that of another version.
    pub fn with_file_of(self, release: &str, file: &str) -> Self {
        std::fs::copy(built(release).join(file), self.file(file)).unwrap();
        self
    }

    pub fn cut(self, file: &str, length: u64) -> Self {
        let path = self.file(file);
        let file = std::fs::OpenOptions::new().write(true).open(path);
        file.unwrap().set_len(length).unwrap();
        self
    }

    /// Changes one byte of a file.
    pub fn with_byte(self, file: &str, at: usize, byte: u8) -> Self {
        let path = self.file(file);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[at] = byte;
        std::fs::write(path, bytes).unwrap();
        self
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Returns the cuDNN of this version, compiled once for all tests of a process.
fn built(release: &str) -> PathBuf {
    static DONE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
    let mut done = DONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let name = format!("guard-tree-{release}");
    let dir = scratch(&name);
    if done.contains(&dir) {
        return dir;
    }
    fresh(&name);
    let numbers: Vec<u32> = release.split('.').map(|n| n.parse().unwrap()).collect();
    let [major, minor, patch] = numbers[..] else {
        panic!("{release}")
    };
    let unit = if major < 9 { 1000 } else { 10_000 };
    let shim = format!(
        "unsigned long cudnnGetVersion(void) {{ return {}; }}
         unsigned long cudnnGetCudartVersion(void) {{ return 13000; }}",
        major * unit + minor * 100 + patch
    );
    compile(
        &shim,
        &dir.join(format!("libcudnn.so.{major}")),
        &["-Wl,--enable-new-dtags,-rpath,$ORIGIN"],
    );
    let parts: &[&str] = match (major, minor) {
        (8, _) => &PARTS_8,
        (_, 21..) => &PARTS_9,
        _ => &PARTS_9[..7],
    };
    for part in parts {
        let symbol = match *part {
            "graph" => "cudnn_graph_version",
            "ops" | "ops_infer" => "cudnn_ops_infer_version",
            "adv" | "adv_infer" => "cudnn_adv_infer_version",
            "cnn_infer" => "cudnn_cnn_infer_version",
            _ => "none",
        };
        let code = format!("const unsigned char {symbol}[4] = {{ {patch}, {minor}, {major}, 0 }};");
        compile(&code, &dir.join(format!("libcudnn_{part}.so.{major}")), &[]);
    }
    done.push(dir.clone());
    dir
}

/// Compiles this C code to a shared library.
pub fn compile(code: &str, into: &Path, flags: &[&str]) {
    let source = into.with_extension("c");
    std::fs::write(&source, code).unwrap();
    let name = into.file_name().unwrap().to_str().unwrap();
    let status = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-nostdlib"])
        .arg(format!("-Wl,-soname,{name}"))
        .args(flags)
        .arg("-o")
        .arg(into)
        .arg(&source)
        .status();
    assert!(status.unwrap().success(), "cc {code}");
    std::fs::remove_file(source).unwrap();
}
