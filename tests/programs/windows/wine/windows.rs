//! Programs for Windows: built for it by mingw, and started under Wine. `.ci/foreign` makes ready what that needs.
#![allow(dead_code, reason = "each test program uses some of it")]

use crate::support::{Ran, cargo, program, run, scratch, target, write_if_new};
use cudnn_guard::runtime::facts::sub_libraries::CudaLibrary;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

pub const WINDOWS: &str = "x86_64-pc-windows-gnu";

/// What no text on Windows contains: commands, variables, directories and names of files of Linux, and paths in the form
/// of `canonicalize`.
const FOREIGN: [&str; 20] = [
    "sudo ",
    "ldconfig",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "apt ",
    "dnf ",
    "`/usr/",
    "`/etc/",
    "/dev/nvidia",
    "chmod",
    "`ls ",
    "ulimit",
    "dmesg",
    "docker",
    "libcudnn",
    "libcuda",
    "libcublas",
    "libnvrtc",
    r"\\?\",
    r"\\\\?\\",
];

const RANDOM: &str = "\
#include <stddef.h>
int __stdcall SystemFunction036(void *, unsigned long);
__declspec(dllexport) int __stdcall ProcessPrng(void *into, size_t size) {
    return SystemFunction036(into, (unsigned long)size);
}
";

/// A Windows, in a folder of its own.
pub struct Windows {
    folder: PathBuf,
    /// It waits for us to end. Without it each program would start Windows' services anew, and they keep what a program
    /// prints into open until they end, seconds later.
    _session: Child,
}

impl Windows {
    /// Makes it, if it was not made before, and starts it.
    pub fn boot(name: &str) -> Self {
        let folder = scratch(name);
        let mut session = wine(&folder)
            .args(["cmd", "/q"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        writeln!(session.stdin.as_mut().unwrap(), "echo ready").unwrap();
        let said = BufReader::new(session.stdout.as_mut().unwrap());
        assert!(said.lines().any(|line| line.unwrap() == "ready"));
        let this = Self {
            folder,
            _session: session,
        };
        // Rust's standard library takes its random numbers from there, and Wine 8 has none.
        this.dll("bcryptprimitives", RANDOM);
        this.with_cuda();
        this
    }

    pub fn drive(&self) -> PathBuf {
        self.folder.join("drive_c")
    }

    pub fn system(&self, file: &str) -> PathBuf {
        self.drive().join("windows/system32").join(file)
    }

    /// A DLL of this C code in Windows' own directory.
    pub fn dll(&self, name: &str, source: &str) {
        let dll = self.system(&format!("{name}.dll"));
        self.compile(name, source, &dll, &["-shared", "-ladvapi32"]);
    }

    /// The DLLs of CUDA that cuDNN opens, as far as Windows' loader asks them. Not if they are there.
    pub fn with_cuda(&self) {
        for cuda in [11, 12, 13] {
            let opened = [
                CudaLibrary::Cublas,
                CudaLibrary::CublasLt,
                CudaLibrary::Cudart,
                CudaLibrary::Nvrtc,
            ];
            let mut names: Vec<String> = opened
                .iter()
                .filter_map(|one| one.file_name(cuda, true))
                .collect();
            names.push(format!("nvrtc-builtins64_{cuda}0.dll"));
            for name in names {
                if !self.system(&name).exists() {
                    self.dll(name.trim_end_matches(".dll"), "int nothing;\n");
                }
            }
        }
    }

    /// What this C code is, there.
    pub fn compile(&self, name: &str, source: &str, into: &Path, arguments: &[&str]) {
        let file = scratch("wine-sources").join(format!("{name}.c"));
        write_if_new(&file, source);
        fs::create_dir_all(into.parent().unwrap()).unwrap();
        let mut gcc = program("x86_64-w64-mingw32-gcc");
        gcc.arg("-o").arg(into).arg(file).args(arguments);
        run(&mut gcc).exits_with(0);
    }

    /// The file that Windows calls so.
    pub fn unix(&self, path: &str) -> PathBuf {
        let path = path.strip_prefix(r"C:\").unwrap().replace('\\', "/");
        self.drive().join(path)
    }

    /// Starts it in `C:\`. Wine itself, once in some thousand starts, ends with 1 and not a word; no program here does
    /// that, so it is started again.
    pub fn start(&self, what: impl AsRef<OsStr>, arguments: &[&str], env: &[(&str, &str)]) -> Ran {
        let again = || {
            run(self
                .command(&what)
                .args(arguments)
                .envs(env.iter().copied()))
        };
        let mut ran = again();
        if ran.code == Some(1) && ran.stdout.is_empty() && ran.stderr.is_empty() {
            ran = again();
        }
        // A page of `explain` has the commands of both systems.
        if arguments.first() != Some(&"explain") {
            let text = ran.text();
            // The words of cudarc are not ours.
            let mut lines = text
                .lines()
                .filter(|line| !line.contains("Ensure that `LD_LIBRARY_PATH`"));
            let foreign = lines.find(|line| FOREIGN.iter().any(|word| line.contains(word)));
            assert_eq!(foreign, None, "on Windows: {text}");
        }
        ran
    }

    pub fn command(&self, what: impl AsRef<OsStr>) -> Command {
        let mut command = wine(&self.folder);
        command.arg(what).current_dir(self.drive());
        command
    }
}

fn wine(folder: &Path) -> Command {
    let mut command = program("/usr/lib/wine/wine64");
    command
        .env("WINEPREFIX", folder)
        .env("WINEDEBUG", "-all")
        // Names with other letters than those of English.
        .env("LC_ALL", "C.UTF-8")
        .env_remove("CUDNN_GUARD_REAL");
    command
}

/// A path of this machine, as programs under Wine call it.
pub fn path(path: &Path) -> String {
    format!("Z:{}", path.to_str().unwrap().replace('/', r"\"))
}

/// A program for Windows.
pub fn built(dir: &Path, arguments: &[&str], name: &str) -> PathBuf {
    let arguments = [&["build", "--target", WINDOWS], arguments].concat();
    run(&mut cargo(dir, &arguments)).exits_with(0);
    let target = target().join(WINDOWS);
    target.join("debug").join(format!("{name}.exe"))
}
