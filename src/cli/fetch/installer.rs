//! The installer: `uv` or `pip`.

use crate::Finding;
use crate::cli::fetch::fault;
use crate::cli::fetch::home::Temporary;
use crate::cli::fetch::installed::Wheel;
use crate::cli::fetch::requirements::{self, Pin};
use crate::cli::fetch::wheels::Wheels;
use crate::cli::terminal::{harmless, show, show_on_stderr};
use crate::model::invocation::Invocation;
use crate::system::files;
use crate::system::programs::{die_with_this_process, on_path};
use anstream::ColorChoice;
use serde_json::Value;
use std::io::{self, BufRead, BufReader, IsTerminal, Read};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::{env, fs};

/// The number of lines to keep of the installer's output, which ends with the reason.
const LAST_LINES: usize = 12;

/// A program that installs wheels into a directory: uv, or a Python with pip.
pub struct Installer {
    program: PathBuf,
    is_uv: bool,
}

/// The arguments of uv and of pip, without the packages that follow. uv copies, since a link would share its file with
/// uv's cache.
const INSTALL: [&str; 2] = [
    "pip install --link-mode copy --only-binary :all:",
    "-m pip install --disable-pip-version-check --no-input --no-compile --only-binary :all:",
];
const PRINT_HASHES: [&str; 2] = [
    "pip compile --quiet --generate-hashes --no-deps --no-header --no-annotate --only-binary :all:",
    "-m pip install --quiet --disable-pip-version-check --no-input --dry-run --ignore-installed --no-deps \
     --only-binary :all: -r",
];
/// Settings of the user that `fetch` replaces, since with them pip or uv would not install into the directory. A proxy,
/// an index and a cache stay. Neither a module nor a configuration file in the user's directory has an effect: it may
/// belong to a repository that was just cloned.
const SETTINGS: [(&str, &str); 9] = [
    ("PIP_USER", "0"),
    ("PIP_NO_DEPS", "0"),
    ("PIP_DRY_RUN", "0"),
    ("PIP_REQUIRE_HASHES", "0"),
    ("PIP_REQUIRE_VIRTUALENV", "0"),
    // The warning does not apply with --target.
    ("PIP_ROOT_USER_ACTION", "ignore"),
    ("UV_REQUIRE_HASHES", "0"),
    ("UV_NO_CONFIG", "1"),
    ("PYTHONSAFEPATH", "1"),
];
const NO_SETTINGS: [&str; 10] = [
    "PIP_ROOT",
    "PIP_PREFIX",
    "PIP_TARGET",
    "PIP_REQUIREMENT",
    "PIP_EDITABLE",
    "PIP_REPORT",
    "PIP_QUIET",
    "PIP_VERBOSE",
    "PIP_LOG",
    "PIP_GROUP",
];

impl Installer {
    /// Finds `uv`, else a Python that has pip.
    pub fn find() -> Result<Self, Finding> {
        if let Some(program) = find_program("uv") {
            let is_uv = true;
            return Ok(Self { program, is_uv });
        }
        let mut tried = None;
        for program in ["python3", "python"].into_iter().filter_map(find_program) {
            let is_uv = false;
            let python = Self { program, is_uv };
            let (mut pip, call) = python.command(["", "-m pip --version"], &[], None);
            match last_words(pip.output()) {
                Ok(_) => return Ok(python),
                Err(words) => _ = tried.get_or_insert((call, words)),
            }
        }
        Err(fault::no_installer(
            tried,
            env::var_os("PYTHONHOME").is_some(),
        ))
    }

    /// Returns these wheels with their hashes in the index: for all platforms with uv, for this one with pip.
    pub fn lock(&self, wheels: &[&Wheel], temporary: &Temporary) -> Result<Vec<Pin>, Finding> {
        let (list, report) = (temporary.dir("wheels.txt"), temporary.dir("report.json"));
        let line = |wheel: &&Wheel| format!("{}=={}\n", wheel.name, wheel.version);
        let lines: String = wheels.iter().map(line).collect();
        fs::write(&list, lines).map_err(fault::io("write", &list))?;
        let mut args = vec![list.display().to_string()];
        if !self.is_uv {
            args.extend(["--report".into(), report.display().to_string()]);
        }
        let (mut command, call) = self.command(PRINT_HASHES, &args, Some(temporary));
        let printed = last_words(command.output());
        let printed = printed.map_err(|words| fault::no_hashes(&call, &words))?;
        let text = match self.is_uv {
            true => printed,
            false => parse_report(&files::read(&report)?),
        };
        let pins = requirements::parse(&text).unwrap_or_default();
        let pin = |wheel: &&Wheel| {
            let is_it = |pin: &&Pin| pin.name == wheel.name && pin.version == wheel.version;
            let why = || format!("no hash of {} {}", wheel.name, wheel.version);
            let pin = pins.iter().find(is_it).cloned();
            pin.ok_or_else(|| fault::no_hashes(&call, &why()))
        };
        wheels.iter().map(pin).collect()
    }

    /// Installs wheels into the temporary directory.
    pub fn install(&self, wheels: &Wheels, temporary: &Temporary) -> Result<(), Finding> {
        let target = [
            "--target".to_string(),
            temporary.dir("new").display().to_string(),
        ];
        let mut installations = wheels.installations.clone();
        if !wheels.pins.is_empty() {
            let list = temporary.dir("wheels.txt");
            fs::write(&list, requirements::text(&wheels.pins))
                .map_err(fault::io("write", &list))?;
            let list = list.display().to_string();
            let args = ["--no-deps", "--require-hashes", "-r", &list];
            installations.push(args.map(String::from).to_vec());
        }
        let mut installations = installations.iter();
        installations
            .try_for_each(|packages| self.install_args(&[&target, &**packages].concat(), temporary))
    }

    /// Runs the installer with more arguments. On a terminal the installer draws its progress bars, elsewhere the names
    /// of its downloads are shown. pip draws on standard output, so its errors can be read. The installer is stopped when
    /// this process exits.
    fn install_args(&self, args: &[String], temporary: &Temporary) -> Result<(), Finding> {
        let (mut command, call) = self.command(INSTALL, args, Some(temporary));
        if ColorChoice::global() == ColorChoice::Never {
            command.env("NO_COLOR", "1");
        }
        let on_terminal = io::stderr().is_terminal();
        let stream = |draws: bool| match on_terminal && draws {
            true => io::stderr().into(),
            false => Stdio::piped(),
        };
        let unfinished =
            |error: io::Error| fault::install_failed(&call, &error.to_string(), None, false);
        let mut child = command
            .stdout(stream(true))
            .stderr(stream(self.is_uv))
            .spawn()
            .map_err(unfinished)?;
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let words = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            scope.spawn(|| read_output(out, &words, false));
            scope.spawn(|| read_output(err, &words, on_terminal));
        });
        let words = words.into_inner().unwrap_or_default().join("\n");
        let status = child.wait().map_err(unfinished)?;
        if status.success() {
            return Ok(());
        }
        let status = Some(status);
        Err(fault::install_failed(&call, &words, status, on_terminal))
    }

    /// Returns a command that stops when this process exits, and its text for messages. It runs in the temporary
    /// directory, else in its program's, since Python versions before 3.11 import from the current directory.
    fn command(
        &self,
        [uv, pip]: [&str; 2],
        last: &[String],
        temporary: Option<&Temporary>,
    ) -> (Command, String) {
        let first = if self.is_uv { uv } else { pip };
        let first = first.split(' ').map(String::from);
        let args: Vec<String> = first.chain(last.iter().cloned()).collect();
        let mut command = Command::new(&self.program);
        die_with_this_process(&mut command);
        command.args(&args).envs(SETTINGS).stdin(Stdio::null());
        // Without an active environment, uv would run the Python of a `.venv` in a parent directory.
        if env::var_os("VIRTUAL_ENV").is_none_or(|dir| dir.is_empty()) {
            command.env("UV_SYSTEM_PYTHON", "1");
        }
        if let Some(temporary) = temporary {
            let tmp = temporary.dir("tmp");
            command.envs(["TMPDIR", "TEMP", "TMP"].map(|name| (name, &tmp)));
            command.current_dir(tmp);
        } else if let Some(dir) = self.program.parent() {
            command.current_dir(dir);
        }
        for name in NO_SETTINGS {
            command.env_remove(name);
        }
        let (program, env) = (self.program.clone(), Vec::new());
        (command, Invocation { program, args, env }.to_string())
    }
}

/// Returns what a program printed. The error is its last lines on standard error.
fn last_words(output: io::Result<Output>) -> Result<String, String> {
    let output = output.map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let words = Mutex::default();
    read_output(Some(&*output.stderr), &words, false);
    Err(words.into_inner().unwrap_or_default().join("\n"))
}

/// Reads the installer's output, shows all of it or only the downloads, and keeps the last lines.
fn read_output(pipe: Option<impl Read>, words: &Mutex<Vec<String>>, shows_all: bool) {
    let Some(pipe) = pipe else { return };
    for line in BufReader::new(pipe).split(b'\n').map_while(Result::ok) {
        let line = harmless(&String::from_utf8_lossy(&line));
        let text = line.trim();
        if shows_all {
            show_on_stderr(format!("{text}\n"));
        } else if text.starts_with("Downloading ") || text.starts_with("Using cached ") {
            show(format!("    {text}\n"));
        }
        // Progress bars consist of box characters from U+2500.
        let is_bar = text.starts_with(|c: char| ('\u{2500}'..='\u{257f}').contains(&c));
        if let (false, false, Ok(mut words)) = (text.is_empty(), is_bar, words.lock()) {
            if words.len() == LAST_LINES {
                words.remove(0);
            }
            words.push(text.to_string());
        }
    }
}

/// Converts pip's report of an installation to the format of a lock file.
fn parse_report(report: &str) -> String {
    let report: Value = serde_json::from_str(report).unwrap_or_default();
    let installs = report["install"].as_array().into_iter().flatten();
    let line = |one: &Value| {
        let name = one["metadata"]["name"].as_str()?;
        let version = one["metadata"]["version"].as_str()?;
        let archive = &one["download_info"]["archive_info"];
        // pip before 23.0 reports only `hash`.
        let old = || archive["hash"].as_str()?.strip_prefix("sha256=");
        let hash = archive["hashes"]["sha256"].as_str().or_else(old)?;
        Some(format!("{name}=={version} --hash=sha256:{hash}\n"))
    };
    installs.filter_map(line).collect()
}

fn find_program(name: &str) -> Option<PathBuf> {
    let name = format!("{name}{}", env::consts::EXE_SUFFIX);
    let program = on_path(&name, &env::var_os("PATH")?)?;
    std::path::absolute(program).ok()
}
