//! The vocabulary of the tests that build and run whole programs.
#![allow(dead_code, unused_imports, reason = "each test file uses some of it")]

#[cfg(unix)]
pub mod builds;
#[cfg(unix)]
pub mod circumstances;
pub mod consumer;
#[cfg(unix)]
pub mod installation;
mod ld_so_cache;
pub mod schema;
#[cfg(unix)]
pub mod simulated;
#[cfg(unix)]
pub mod simulated_windows;
#[cfg(unix)]
pub mod simulator;

pub use ld_so_cache::cache_of;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// Returns the rows of a table, in which ` | ` separates the columns.
#[track_caller]
pub fn rows<const N: usize>(table: &'static str) -> Vec<[&'static str; N]> {
    let cells = |line: &'static str| line.split(" | ").collect::<Vec<_>>();
    let row = |line| cells(line).try_into().expect(line);
    table.lines().map(row).collect()
}

/// A finished program: its exit status and its output.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    pub fn new(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            code: output.status.code(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }

    #[track_caller]
    pub fn exits_with(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}", self.text());
        self
    }

    #[track_caller]
    pub fn says(self, words: &str) -> Self {
        assert!(
            self.text().contains(words),
            "no {words:?} in\n{}",
            self.text()
        );
        self
    }

    /// Like [`says`](Self::says), but ignores line breaks.
    #[track_caller]
    pub fn says_in_words(self, words: &str) -> Self {
        let text = self.text();
        let words_only = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words_only.contains(words), "no {words:?} in\n{text}");
        self
    }

    #[track_caller]
    pub fn does_not_say(self, words: &str) -> Self {
        assert!(
            !self.text().contains(words),
            "{words:?} in\n{}",
            self.text()
        );
        self
    }

    pub fn text(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }
}

/// Programs that are missing on some machines, and the Debian package of each.
const PACKAGES: &[(&str, &str)] = &[
    ("aarch64-linux-gnu-g++", "g++-aarch64-linux-gnu"),
    ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
    ("ar", "binutils"),
    ("cc", "gcc"),
    ("fakechroot", "fakechroot"),
    ("g++", "g++"),
    ("gcc", "gcc"),
    ("nm", "binutils"),
    ("objcopy", "binutils"),
    ("pkg-config", "pkg-config"),
    ("proot", "proot"),
    ("python3", "python3"),
    ("qemu-aarch64", "qemu-user"),
    ("readelf", "binutils"),
    ("script", "bsdutils"),
    ("unshare", "util-linux"),
    ("valgrind", "valgrind"),
    ("wine64", "wine64"),
    ("x86_64-w64-mingw32-gcc", "gcc-mingw-w64-x86-64-win32"),
];

/// Returns the reason why a program did not start. If it is not installed, the reason names its package.
fn failure(command: &Command, error: &std::io::Error) -> String {
    let path = Path::new(command.get_program());
    let package =
        |(name, package): &(&str, &str)| path.ends_with(name).then(|| package.to_string());
    match PACKAGES.iter().find_map(package) {
        // A missing working directory is reported in the same way.
        Some(package)
            if error.kind() == ErrorKind::NotFound
                && command.get_current_dir().is_none_or(Path::is_dir) =>
        {
            format!(
                "{} is not installed: run `apt install {package}`",
                path.display()
            )
        }
        _ => format!("{command:?}: {error}"),
    }
}

/// Runs a program to its end.
#[track_caller]
pub fn run(command: &mut Command) -> Ran {
    let output = command.output();
    let output = output.unwrap_or_else(|error| panic!("{}", failure(command, &error)));
    Ran::new(&output)
}

/// Returns a command that runs another one, whose program and arguments follow these words. It has only the variables that
/// the other one sets.
pub fn wrapped(words: &[&str], command: &Command) -> Command {
    let mut outer = Command::new(words[0]);
    outer.args(&words[1..]).arg(command.get_program());
    outer.args(command.get_args()).env_clear();
    let set = command.get_envs();
    outer.envs(set.filter_map(|(name, value)| Some((name, value?))));
    outer
}

/// Sends this signal to a process, or to its group if a `-` precedes the number. The shell has its own `kill`; the program
/// is in a package that not every system has.
#[cfg(unix)]
pub fn kill(signal: &str, process: &str) {
    let line = format!("kill -s {signal} -- {process}");
    run(Command::new("sh").args(["-c", &line])).exits_with(0);
}

pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the directory that tests write to: `target/tmp`, or one in `/var/tmp` if `target/tmp` [cannot be used by every
/// tool](is_plain). The product itself is tested in directories of all kinds, whatever the path of the clone.
pub fn temporary() -> &'static Path {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    DIRECTORY.get_or_init(|| {
        let own = Path::new(env!("CARGO_TARGET_TMPDIR"));
        if is_plain(own) {
            return own.into();
        }
        let mut hasher = DefaultHasher::new();
        own.hash(&mut hasher);
        let dir = Path::new("/var/tmp").join(format!("guard-tests-{:x}", hasher.finish()));
        fs::create_dir_all(&dir).unwrap();
        dir
    })
}

/// Returns `true` if `LD_PRELOAD` and a linker's flags can name this directory (no blank or colon), a message does not
/// depend on its length, other users may enter it, and no test mounts anything over it.
fn is_plain(dir: &Path) -> bool {
    let path = dir.to_str().unwrap_or("\0");
    let is_open = |dir: &Path| {
        #[cfg(unix)]
        return fs::metadata(dir).is_ok_and(|dir| {
            std::os::unix::fs::PermissionsExt::mode(&dir.permissions()) & 0o001 != 0
        });
        #[cfg(not(unix))]
        return dir.is_dir();
    };
    let is_named = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte);
    cfg!(not(unix))
        || path.len() <= 80
            && path.bytes().all(is_named)
            && !dir.starts_with("/tmp")
            && dir.ancestors().all(is_open)
}

/// Returns the directory of this name below [`temporary`].
pub fn scratch(name: &str) -> PathBuf {
    let dir = temporary().join(name);
    fs::create_dir_all(&dir).unwrap();
    dir
}

/// Like [`scratch`], but the directory is empty.
pub fn fresh(name: &str) -> PathBuf {
    let dir = scratch(name);
    fs::remove_dir_all(&dir).unwrap();
    scratch(name)
}

/// Returns a command whose environment contains nothing about CUDA, and that does not use kernels of earlier runs.
pub fn program(path: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(path);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy().into_owned();
        let of_cuda = [
            "CUDA", "CUDNN", "NVCC", "NVIDIA", "TORCH_", "TF_", "SIM_", "CARGO_", "DEP_",
        ];
        let kept = ["CARGO_HOME", "CARGO_NET_OFFLINE"].contains(&text.as_str());
        if !kept && of_cuda.iter().any(|prefix| text.starts_with(prefix)) {
            command.env_remove(&name);
        }
    }
    for name in [
        "VIRTUAL_ENV",
        "CONDA_PREFIX",
        "LD_LIBRARY_PATH",
        "DOCS_RS",
        "RUSTFLAGS",
    ] {
        command.env_remove(name);
    }
    command.env("XDG_DATA_HOME", "/nonexistent");
    command.env("CUDNN_GUARD_CACHE", "off");
    command
}

/// Returns `cargo …` in this directory, offline, with [`target`] and the profile of this crate's own tests.
pub fn cargo(dir: &Path, args: &[&str]) -> Command {
    let mut command = program(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .current_dir(dir)
        .args(args)
        .arg("--offline")
        .env("CARGO_TARGET_DIR", target())
        .env("CARGO_TERM_COLOR", "never")
        // These programs are not debugged or built incrementally. This halves the build time.
        .env("CARGO_INCREMENTAL", "0")
        .env("CARGO_PROFILE_DEV_DEBUG", "false")
        .env("CARGO_PROFILE_DEV_BUILD_OVERRIDE_DEBUG", "false")
        .env("CARGO_PROFILE_DEV_CODEGEN_UNITS", "16")
        .env("CARGO_PROFILE_DEV_BUILD_OVERRIDE_CODEGEN_UNITS", "16");
    command
}

/// Returns the OUT_DIR of this package, as cargo reports it with `--message-format=json`.
pub fn out_dir(ran: &Ran, package: &str) -> PathBuf {
    let messages = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let of_package = |message: &serde_json::Value| {
        let id = message["package_id"].as_str().unwrap_or_default();
        message["reason"] == "build-script-executed" && id.contains(&format!("/{package}#"))
    };
    let message = messages
        .into_iter()
        .find(of_package)
        .expect("its build script was run");
    message["out_dir"].as_str().unwrap().into()
}

/// Returns the path of a consumer's program, once it is built.
pub fn built(name: &str) -> PathBuf {
    target().join("debug").join(name)
}

/// Returns the target directory of all consumers: that of the tests themselves, in which the dependencies of the build
/// scripts are already compiled.
pub fn target() -> PathBuf {
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    temporary.parent().unwrap().into()
}

/// Returns the consumers, staged once per test program: those of `fixtures/consumers` and those of `fixtures/programs`.
pub fn consumers() -> &'static Path {
    static STAGED: OnceLock<PathBuf> = OnceLock::new();
    STAGED.get_or_init(|| {
        let dir = scratch("consumers");
        consumer::stage(repository(), &dir).unwrap();
        for text in fs::read_dir(repository().join("fixtures/programs")).unwrap() {
            let text = fs::read_to_string(text.unwrap().path()).unwrap();
            unpack(&text, &dir);
        }
        dir
    })
}

/// Writes the files in a text. Each follows a line `---- PATH`.
fn unpack(text: &str, into: &Path) {
    let files = text.strip_prefix("---- ").expect("a file's path");
    for file in files.split("\n---- ") {
        let (path, text) = file.split_once('\n').unwrap();
        let text = text.replace("@CUDNN_GUARD@", repository().to_str().unwrap());
        let file = into.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        write_if_new(&file, &format!("{}\n", text.trim_end()));
    }
}

/// Creates a crate with a build script and a main file, for what no consumer tests.
pub fn project(name: &str, build_rs: &str, main_rs: &str) -> PathBuf {
    let dir = scratch(name);
    fs::create_dir_all(dir.join("src")).unwrap();
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [dependencies]\ncudnn-guard = {{ path = {0:?}, default-features = false, features = [\"runtime\"] }}\n\n\
         [build-dependencies]\ncudnn-guard = {{ path = {0:?} }}\n\n[workspace]\n",
        repository()
    );
    write_if_new(&dir.join("Cargo.toml"), &manifest);
    write_if_new(&dir.join("build.rs"), build_rs);
    write_if_new(&dir.join("src/main.rs"), main_rs);
    let lock = dir.join("Cargo.lock");
    if !lock.exists() {
        fs::copy(repository().join("Cargo.lock"), lock).unwrap();
    }
    dir
}

pub fn write_if_new(path: &Path, text: &str) {
    if fs::read_to_string(path).ok().as_deref() != Some(text) {
        fs::write(path, text).unwrap();
    }
}

/// Links or copies the files of a directory, without a second copy if possible.
pub fn place(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (from, name) = (entry.as_ref().unwrap().path(), entry.unwrap().file_name());
        let to = to.join(name);
        if from.is_dir() {
            place(&from, &to);
        } else if !to.exists() && fs::hard_link(&from, &to).is_err() {
            fs::copy(&from, &to).unwrap();
        }
    }
}
