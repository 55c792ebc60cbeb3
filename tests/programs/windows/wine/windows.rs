//! Programs for Windows, built with mingw and started under Wine. `.ci/foreign` installs the requirements.
#![allow(dead_code, reason = "each test program uses some of it")]

use crate::support::{Ran, cargo, fresh, program, run, scratch, target, write_if_new};
use cudnn_guard::internals::facts::CudaLibrary;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;

pub const WINDOWS: &str = "x86_64-pc-windows-gnu";

/// Text that no message on Windows may contain: commands, variables, directories and file names of Linux, and paths in
/// the form of `canonicalize`.
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

/// A Windows in a separate directory.
pub struct Windows {
    folder: PathBuf,
    /// A process that waits until the tests end. Without it, each program would start the Windows services again, which
    /// keep the program's output open until they exit seconds later.
    _session: Child,
}

impl Windows {
    /// Creates the Windows, unless it exists, and starts it.
    pub fn boot(name: &str) -> Self {
        let folder = scratch(name);
        if !folder.join("drive_c").exists() {
            let mut copy = program("cp");
            run(copy.arg("-alT").args([template(), &*folder])).exits_with(0);
            // Wine writes into a registry file that has two links.
            for registry in ["system.reg", "user.reg", "userdef.reg"] {
                fs::remove_file(folder.join(registry)).unwrap();
                fs::copy(template().join(registry), folder.join(registry)).unwrap();
            }
        }
        let mut session = wine(&folder)
            .args(["cmd", "/q"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        writeln!(session.stdin.as_mut().unwrap(), "echo ready").unwrap();
        let output = BufReader::new(session.stdout.as_mut().unwrap());
        assert!(output.lines().any(|line| line.unwrap() == "ready"));
        let this = Self {
            folder,
            _session: session,
        };
        // Rust's standard library gets its random numbers from this DLL, which Wine 8 does not include.
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

    /// Compiles this C code to a DLL in the Windows system directory.
    pub fn dll(&self, name: &str, source: &str) {
        let dll = self.system(&format!("{name}.dll"));
        self.compile(name, source, &dll, &["-shared", "-ladvapi32"]);
    }

    /// Adds the CUDA DLLs that cuDNN opens, as stubs for the Windows loader, unless they exist.
    pub fn with_cuda(&self) {
        let stub = self.drive().join("nothing.dll");
        self.compile("nothing", "int nothing;\n", &stub, &["-shared"]);
        for cuda in [11, 12, 13] {
            let opened = [
                CudaLibrary::Cublas,
                CudaLibrary::CublasLt,
                CudaLibrary::Cudart,
                CudaLibrary::Nvrtc,
            ];
            let names = opened.iter().filter_map(|one| one.file_name(cuda, true));
            for name in names.chain([format!("nvrtc-builtins64_{cuda}0.dll")]) {
                if !self.system(&name).exists() {
                    fs::copy(&stub, self.system(&name)).unwrap();
                }
            }
        }
    }

    /// Compiles this C code for Windows.
    pub fn compile(&self, name: &str, source: &str, into: &Path, arguments: &[&str]) {
        let file = scratch("wine-sources").join(format!("{name}.c"));
        write_if_new(&file, source);
        fs::create_dir_all(into.parent().unwrap()).unwrap();
        let mut gcc = program("x86_64-w64-mingw32-gcc");
        gcc.arg("-o").arg(into).arg(file).args(arguments);
        run(&mut gcc).exits_with(0);
    }

    /// Returns the file that has this path on Windows.
    pub fn unix(&self, path: &str) -> PathBuf {
        let path = path.strip_prefix(r"C:\").unwrap().replace('\\', "/");
        self.drive().join(path)
    }

    /// Starts a program in `C:\`. About once in a thousand starts, Wine itself exits with 1 and prints nothing, or
    /// refuses to start the child of a program with ERROR_INTERNAL_ERROR. No program here does that, so it is started
    /// again.
    pub fn start(&self, what: impl AsRef<OsStr>, arguments: &[&str], env: &[(&str, &str)]) -> Ran {
        let again = || {
            run(self
                .command(&what)
                .args(arguments)
                .envs(env.iter().copied()))
        };
        let mut ran = again();
        let is_silent = ran.stdout.is_empty() && ran.stderr.is_empty();
        if ran.code == Some(1) && is_silent || ran.text().contains("(os error 1359)") {
            ran = again();
        }
        // A page of `explain` contains the commands of both systems.
        if arguments.first() != Some(&"explain") {
            let text = ran.text();
            // cudarc's own messages are not checked.
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

/// Returns a Windows that is only copied. Wine takes ten seconds to create one.
fn template() -> &'static Path {
    static TEMPLATE: LazyLock<PathBuf> = LazyLock::new(|| {
        let template = scratch("wine-template").join("complete");
        if !template.exists() {
            let new = fresh("wine-template").join("new");
            run(wine(&new).args(["cmd", "/c", "exit"])).exits_with(0);
            let mut server = program("/usr/lib/wine/wineserver64");
            run(server.arg("-w").env("WINEPREFIX", &new)).exits_with(0);
            fs::rename(new, &template).unwrap();
        }
        template
    });
    &TEMPLATE
}

fn wine(folder: &Path) -> Command {
    let mut command = program("/usr/lib/wine/wine64");
    command
        .env("WINEPREFIX", folder)
        .env("WINEDEBUG", "-all")
        // Names with letters outside ASCII.
        .env("LC_ALL", "C.UTF-8")
        .env_remove("CUDNN_GUARD_REAL");
    command
}

/// Returns a path of this machine as programs under Wine see it.
pub fn path(path: &Path) -> String {
    format!("Z:{}", path.to_str().unwrap().replace('/', r"\"))
}

/// Builds a program for Windows.
pub fn built(dir: &Path, arguments: &[&str], name: &str) -> PathBuf {
    let arguments = [&["build", "--target", WINDOWS], arguments].concat();
    run(&mut cargo(dir, &arguments)).exits_with(0);
    let target = target().join(WINDOWS);
    target.join("debug").join(format!("{name}.exe"))
}
