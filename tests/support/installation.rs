//! A directory with a cuDNN: complete, without files, with files of other versions, damaged, or as links.
//!
//! The cuDNNs are small and compiled by the tests: the file names and version symbols of the real ones, without an
//! implementation.

use super::{fresh, run, scratch};
use std::fs;
use std::os::unix::fs::symlink;
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
        fs::create_dir_all(&path).unwrap();
        // In the loader's spelling.
        Self(path.canonicalize().unwrap())
    }

    pub fn text(&self) -> &str {
        self.0.to_str().unwrap()
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Like [`file`](Self::file), as the value of a variable. It is never freed.
    pub fn at(&self, name: &str) -> &'static str {
        self.file(name)
            .into_os_string()
            .into_string()
            .unwrap()
            .leak()
    }

    pub fn with_cudnn(self, release: &str) -> Self {
        self.with_cudnn_in("", release)
    }

    /// Adds a cuDNN in this subdirectory.
    pub fn with_cudnn_in(self, dir: &str, release: &str) -> Self {
        copy(&small(release), &self.file(dir));
        self
    }

    /// Adds links to all libraries of a directory.
    pub fn with_links_to(self, dir: &Path) -> Self {
        link_all(dir, &self.0);
        self
    }

    /// Replaces this file by a link.
    pub fn with_link(self, name: &str, target: impl AsRef<Path>) -> Self {
        let _ = fs::remove_file(self.file(name));
        symlink(target, self.file(name)).unwrap();
        self
    }

    pub fn without(self, file: &str) -> Self {
        fs::remove_file(self.file(file)).unwrap();
        self
    }

    /// Replaces this file by that of another version.
    pub fn with_file_of(self, release: &str, file: &str) -> Self {
        fs::copy(small(release).join(file), self.file(file)).unwrap();
        self
    }

    /// Replaces a file, or the target of a link, by a copy of its first bytes.
    pub fn cut(self, file: &str, length: u64) -> Self {
        use std::io::Read;
        let mut bytes = Vec::new();
        let whole = fs::File::open(self.file(file)).unwrap();
        whole.take(length).read_to_end(&mut bytes).unwrap();
        fs::remove_file(self.file(file)).unwrap();
        fs::write(self.file(file), bytes).unwrap();
        self
    }

    /// Changes one byte of a file.
    pub fn with_byte(self, file: &str, at: usize, byte: u8) -> Self {
        let path = self.file(file);
        let mut bytes = fs::read(&path).unwrap();
        bytes[at] = byte;
        fs::write(path, bytes).unwrap();
        self
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns a library path of these directories. It is never freed.
pub fn library_path(folders: &[&Folder]) -> &'static str {
    let folders: Vec<&str> = folders.iter().map(|folder| folder.text()).collect();
    folders.join(":").leak()
}

/// Returns the names of the libraries in a directory.
pub fn libraries(dir: &Path) -> Vec<String> {
    let files = fs::read_dir(dir).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.contains(".so")).collect()
}

/// Creates links to all libraries of a directory.
pub fn link_all(dir: &Path, into: &Path) {
    for name in libraries(dir) {
        symlink(dir.join(&name), into.join(&name)).unwrap();
    }
}

/// Copies a directory. Links stay links.
#[track_caller]
pub fn copy(from: &Path, into: &Path) {
    fs::create_dir_all(into).unwrap();
    run(Command::new("cp").arg("-a").arg(from.join(".")).arg(into)).exits_with(0);
}

/// The function of a main library that opens its sub-libraries by name. The loader searches for the caller.
pub const OPEN: &str = "void *dlopen(const char *, int);
    void *cudnn_open(const char *name, int mode) { void *volatile opened = dlopen(name, mode); return opened; }";

/// Returns the small cuDNN of this version, compiled once for all tests of a process.
pub fn small(release: &str) -> PathBuf {
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
         unsigned long cudnnGetCudartVersion(void) {{ return 13000; }}
         {OPEN}",
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

/// Like [`compile`], for a library that needs another one.
#[track_caller]
pub fn compile_linked(code: &str, into: &Path, needed: &Path) {
    let flags = ["-Wl,--no-as-needed", needed.to_str().unwrap()];
    compile(code, into, &flags);
}

/// The beginning of a library that replaces functions of the C library.
const REPLACING: &str = "#define _GNU_SOURCE
    #include <dlfcn.h>
    #include <errno.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/stat.h>
    #include <sys/syscall.h>
    #include <unistd.h>
    #define NEXT(name) __typeof__(&name) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
    ";

/// Compiles this C code, which replaces functions of the C library, to a library for LD_PRELOAD. `NEXT(f)` is the replaced
/// function in the variable `next`.
#[track_caller]
pub fn compile_replacing(code: &str, into: &Path) {
    compile(&format!("{REPLACING}{code}"), into, &["-lc"]);
}

/// Compiles this C code to a shared library, which does not use the C library unless a flag says so.
#[track_caller]
pub fn compile(code: &str, into: &Path, flags: &[&str]) {
    let source = into.with_extension("c");
    fs::write(&source, code).unwrap();
    let name = into.file_name().unwrap().to_str().unwrap();
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-O1", "-nostdlib"])
        .arg(format!("-Wl,-soname,{name}"))
        .args(flags);
    run(cc.arg("-o").arg(into).arg(&source)).exits_with(0);
    fs::remove_file(source).unwrap();
}
