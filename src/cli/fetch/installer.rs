//! The installer: `uv` or `pip`.

use crate::Finding;
use crate::cli::fetch::fault::{failed, io};
use crate::cli::fetch::lock;
use crate::model::Invocation;
use crate::system::child_processes::die_with_this_process;
use crate::system::on_path;
use anstream::ColorChoice;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

/// A program that installs wheels into a directory: uv, or a Python with pip.
pub struct Installer {
    program: PathBuf,
    install: &'static str,
}

/// uv copies, since a link would share its file with uv's cache.
const UV: &str = "pip install --link-mode copy --only-binary :all:";
const PIP: &str =
    "-m pip install --disable-pip-version-check --no-input --no-compile --only-binary :all:";
const UV_LOCK: &str =
    "pip compile --quiet --generate-hashes --no-header --no-annotate --only-binary :all: -";
const INSTALL_UV: &str = "install uv (https://docs.astral.sh/uv/), which needs no root";

/// Parts of the names of settings that stay: they are about an index, a network, a cache or uv's Pythons. With others,
/// pip or uv would install something else, or into another directory.
const KEPT: &str = "INDEX LINKS PROXY CERT HOST TIMEOUT KEYRING CACHE CONFIG TLS OFFLINE RETRIES PYTHON_INSTALL_DIR";
/// Settings that also replace those in pip's configuration files. Neither a module nor a configuration file in the
/// current directory has an effect: it may belong to a repository that was just cloned.
const SETTINGS: [(&str, &str); 6] = [
    ("PIP_USER", "0"),
    ("PIP_NO_DEPS", "0"),
    ("PIP_REQUIRE_VIRTUALENV", "0"),
    // The warning does not apply with --target.
    ("PIP_ROOT_USER_ACTION", "ignore"),
    ("UV_NO_CONFIG", "1"),
    ("PYTHONSAFEPATH", "1"),
];

impl Installer {
    /// Finds a program that works. If one does not, it shows the reason.
    pub fn find() -> Result<Self, Finding> {
        let path = env::var_os("PATH").unwrap_or_default();
        for (name, install) in [("uv", UV), ("python3", PIP), ("python", PIP)] {
            let name = format!("{name}{}", env::consts::EXE_SUFFIX);
            let Some(program) = on_path(&name, &path) else {
                continue;
            };
            let found = Self { program, install };
            let mut help = found.command(&format!("{install} --help"));
            let status = help.stdout(Stdio::null()).status();
            if status.is_ok_and(|status| status.success()) {
                return Ok(found);
            }
        }
        let pip = "install Python 3 with pip: `apt install python3-pip`, `dnf install python3-pip`, \
            `winget install Python.Python.3.13`";
        let finding = failed("neither uv nor a Python with pip is on PATH");
        Err(finding.help(INSTALL_UV).help(pip))
    }

    /// Installs wheels into the directory `new` beside that of temporary files. The installer shows its progress, and the reason if it fails.
    pub fn install(&self, requirements: &str, tmp: &Path) -> Result<(), Finding> {
        fs::write(tmp.join("wheels.txt"), requirements).map_err(io("write to", tmp))?;
        // Relative to the directory in which it runs, since not all paths are Unicode.
        let mut args = format!("{} --target ../new -r wheels.txt", self.install);
        if requirements.contains("--hash=") {
            args += " --no-deps --require-hashes";
        }
        let mut command = self.command(&args);
        command.envs(["TMPDIR", "TEMP", "TMP"].map(|name| (name, tmp)));
        if ColorChoice::global() == ColorChoice::Never {
            command.env("NO_COLOR", "1");
        }
        command.current_dir(tmp).stdout(std::io::stderr());
        self.output(&args, command, "").map(drop)
    }

    /// Returns the wheels of packages and of their dependencies, with the hashes of their archives for all platforms.
    pub fn resolve(&self, packages: &str) -> Result<String, Finding> {
        if self.install != UV {
            let finding = failed("only uv can create a lock file, and no working uv is on PATH");
            return Err(finding.help(INSTALL_UV));
        }
        let mut command = self.command(UV_LOCK);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let text = self.output(UV_LOCK, command, packages)?;
        lock::parse(&text).ok_or_else(|| {
            failed("uv selected a wheel that this cudnn-guard does not know")
                .help("run `cudnn-guard fetch` without `--lock`")
                .with("output", text)
        })
    }

    /// Returns a command that stops when this process exits. It runs in a directory that the user did not choose: Python
    /// before 3.11 imports from the current one.
    fn command(&self, args: &str) -> Command {
        let mut command = Command::new(&self.program);
        die_with_this_process(&mut command);
        for name in env::vars_os().filter_map(|(name, _)| name.into_string().ok()) {
            let is_setting = name.starts_with("PIP_") || name.starts_with("UV_");
            if is_setting && !KEPT.split(' ').any(|part| name.contains(part)) {
                command.env_remove(name);
            }
        }
        command.envs(SETTINGS).args(args.split(' '));
        command.stdin(Stdio::null());
        command.current_dir(self.program.parent().unwrap_or(&self.program));
        // Without an active environment, uv would run the Python of a `.venv` in a parent directory.
        if env::var_os("VIRTUAL_ENV").is_none_or(|dir| dir.is_empty()) {
            command.env("UV_SYSTEM_PYTHON", "1");
        }
        command
    }

    /// Runs a command with an input. Returns its output unless it fails.
    fn output(&self, args: &str, mut command: Command, input: &str) -> Result<String, Finding> {
        let mut child = command.spawn().map_err(io("run", &self.program))?;
        if let Some(mut stdin) = child.stdin.take() {
            // Without all input, the program fails and shows why.
            let _ = stdin.write_all(input.as_bytes());
        }
        let output = child.wait_with_output().map_err(io("run", &self.program))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into());
        }
        let args: Vec<&str> = args.split(' ').collect();
        let verb = ["install", "select"][usize::from(!input.is_empty())];
        Err(failed(format!("failed to {verb} NVIDIA's wheels"))
            .help("run `cudnn-guard explain fetch-failed` for a list of causes")
            .with("command", Invocation::new(&self.program, &args))
            .with("output", format!("see above; {}", output.status)))
    }
}
