//! The installer: `uv` or `pip`.

use crate::Finding;
use crate::cli::fetch::directory::temporary;
use crate::cli::fetch::fault;
use crate::cli::fetch::installed::Installed;
use crate::cli::fetch::requirements::{self, Pin};
use crate::cli::fetch::wheels::Wheels;
use crate::model::Invocation;
use crate::system::programs::{die_with_this_process, on_path};
use anstream::ColorChoice;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, io};

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

/// Parts of the names of settings that stay: they are about an index, a network or a cache. With others, pip or uv would
/// install something else, or into another directory.
const KEPT: [&str; 12] = [
    "INDEX", "LINKS", "PROXY", "CERT", "HOST", "TIMEOUT", "KEYRING", "CACHE", "CONFIG", "TLS",
    "OFFLINE", "RETRIES",
];
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
            let mut command = found.command(install, &["--help".into()], found.dir()).0;
            if command
                .stdout(Stdio::null())
                .status()
                .is_ok_and(|status| status.success())
            {
                return Ok(found);
            }
        }
        Err(fault::no_installer())
    }

    /// Returns a directory that the user did not choose: Python before 3.11 imports from the current one.
    fn dir(&self) -> &Path {
        self.program.parent().unwrap_or(&self.program)
    }

    /// Installs wheels into the temporary directory. The installer shows its progress, and the reason if it fails.
    pub fn install(&self, wheels: &Wheels, home: &Path) -> Result<(), Finding> {
        let tmp = temporary(home, "tmp");
        let list = tmp.join("wheels.txt");
        let text = wheels.requirements(&Installed::new(home));
        fs::write(&list, text).map_err(fault::io("write", &list))?;
        // Relative to the directory in which it runs, since not all paths are Unicode.
        let mut args = ["--target", "../new", "-r", "wheels.txt"]
            .map(String::from)
            .to_vec();
        if matches!(wheels, Wheels::Locked(_)) {
            args.extend(["--no-deps", "--require-hashes"].map(String::from));
        }
        let (mut command, call) = self.command(self.install, &args, &tmp);
        command.envs(["TMPDIR", "TEMP", "TMP"].map(|name| (name, &tmp)));
        if ColorChoice::global() == ColorChoice::Never {
            command.env("NO_COLOR", "1");
        }
        let status = command.stdout(io::stderr()).status();
        let status = status.map_err(|error| fault::install_failed(&call, &error))?;
        match status.success() {
            true => Ok(()),
            false => Err(fault::install_failed(&call, &status)),
        }
    }

    /// Returns the wheels of packages and of their dependencies, with the hashes of their archives for all platforms.
    pub fn resolve(&self, packages: &str) -> Result<Vec<Pin>, Finding> {
        if self.install != UV {
            return Err(fault::no_uv());
        }
        let (mut command, call) = self.command(UV_LOCK, &[], self.dir());
        let run = || {
            let mut child = command
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()?;
            if let Some(mut input) = child.stdin.take() {
                input.write_all(packages.as_bytes())?;
            }
            child.wait_with_output()
        };
        let output = { run }().map_err(|error| fault::install_failed(&call, &error))?;
        if !output.status.success() {
            return Err(fault::install_failed(&call, &output.status));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        requirements::parse(&text).ok_or_else(|| fault::unknown_wheels(&call, &text))
    }

    /// Returns a command that runs in a directory and stops when this process exits, and its text for messages.
    fn command(&self, first: &str, last: &[String], dir: &Path) -> (Command, String) {
        let first = first.split(' ').map(String::from);
        let args: Vec<String> = first.chain(last.iter().cloned()).collect();
        let mut command = Command::new(&self.program);
        die_with_this_process(&mut command);
        command.args(&args).stdin(Stdio::null()).current_dir(dir);
        for name in env::vars_os().filter_map(|(name, _)| name.into_string().ok()) {
            let is_setting = name.starts_with("PIP_") || name.starts_with("UV_");
            if is_setting && !KEPT.iter().any(|part| name.contains(part)) {
                command.env_remove(name);
            }
        }
        command.envs(SETTINGS);
        // Without an active environment, uv would run the Python of a `.venv` in a parent directory.
        if env::var_os("VIRTUAL_ENV").is_none_or(|dir| dir.is_empty()) {
            command.env("UV_SYSTEM_PYTHON", "1");
        }
        let (program, env) = (self.program.clone(), Vec::new());
        (command, Invocation { program, args, env }.to_string())
    }
}
