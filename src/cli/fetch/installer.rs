//! The installer: `uv` or `pip`.

use crate::cli::fetch::component::Component;
use crate::cli::fetch::fault::{FetchFault, failed};
use crate::cli::fetch::release::Release;
use crate::cli::fetch::requirements::{self, Pin};
use crate::cli::terminal::{harmless, harmless_lines, show};
use crate::model::invocation::Invocation;
use crate::system::programs::{die_with_this_process, on_path};
use crate::toolkit::package_names::CUTLASS;
use anstream::ColorChoice;
use serde_json::Value;
use std::io::{self, BufRead, BufReader, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::{env, fs};

/// The number of lines to keep of the installer's output, which ends with the reason.
const LAST_LINES: usize = 12;

/// A program that installs wheels into a directory: uv, or a Python with pip.
pub struct Installer {
    program: PathBuf,
    is_uv: bool,
}

/// The arguments of uv and of pip, without the packages that follow.
const INSTALL: [&str; 2] = [
    "pip install --only-binary :all:",
    "-m pip install --disable-pip-version-check --no-input --no-compile --only-binary :all:",
];
/// uv cannot list versions, so it runs pip for that.
const LIST_VERSIONS: [&str; 2] = ["tool run pip index versions", "-m pip index versions"];
/// uv reads the wheels from standard input.
const PRINT_HASHES: [&str; 2] = [
    "pip compile --quiet --generate-hashes --no-deps --no-header --no-annotate --only-binary :all: -",
    "-m pip install --quiet --disable-pip-version-check --no-input --dry-run --ignore-installed --no-deps \
     --only-binary :all: --report -",
];

impl Installer {
    /// Finds `uv`, else a Python that has pip.
    pub fn find() -> Result<Self, FetchFault> {
        if let Some(program) = find_program("uv") {
            let is_uv = true;
            return Ok(Self { program, is_uv });
        }
        let mut without_pip = Vec::new();
        for program in ["python3", "python"].into_iter().filter_map(find_program) {
            let mut pip = Command::new(&program);
            let pip = pip.args(["-m", "pip", "--version"]).stdin(Stdio::null());
            if pip.output().is_ok_and(|output| output.status.success()) {
                let is_uv = false;
                return Ok(Self { program, is_uv });
            }
            without_pip.push(program);
        }
        Err(FetchFault::NoInstaller(without_pip))
    }

    /// Returns the arguments for this installer.
    fn args(&self, [uv, pip]: [&str; 2]) -> Vec<String> {
        let args = if self.is_uv { uv } else { pip };
        args.split(' ').map(String::from).collect()
    }

    /// Returns the versions of a project for this machine; empty if the installer cannot list them.
    pub fn available_versions(&self, project: &str) -> Vec<Release> {
        let output = Command::new(&self.program)
            .args(self.args(LIST_VERSIONS))
            .args(["--disable-pip-version-check", "--no-input"])
            .args(["--only-binary", ":all:", project])
            .stdin(Stdio::null())
            .output();
        let output = output.map(|output| output.stdout).unwrap_or_default();
        let output = String::from_utf8_lossy(&output);
        let mut lines = output.lines();
        let releases = lines.find_map(|line| line.strip_prefix("Available versions: "));
        let releases = releases.into_iter().flat_map(|list| list.split(", "));
        releases.map(Release::from_wheel).collect()
    }

    /// Returns the hashes of wheels, `nvidia-cublas==13.1.0.3`: for all platforms with uv, for this one with pip.
    pub fn hashes(&self, wheels: &[String]) -> Result<Vec<Pin>, FetchFault> {
        let mut args = self.args(PRINT_HASHES);
        if !self.is_uv {
            args.extend_from_slice(wheels);
        }
        let (mut command, call) = self.command(args);
        let fault = |output: String| FetchFault::NoHashes(call.clone(), output);
        let mut run = || {
            let mut child = command
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()?;
            if let Some(mut stdin) = child.stdin.take() {
                // pip does not read standard input.
                let _ = stdin.write_all(wheels.join("\n").as_bytes());
            }
            child.wait_with_output()
        };
        let output = run().map_err(|error| fault(error.to_string()))?;
        let printed = String::from_utf8_lossy(&output.stdout);
        let pins = if self.is_uv {
            requirements::parse(&printed)
        } else {
            parse_report(&printed)
        };
        if output.status.success() && pins.len() == wheels.len() {
            return Ok(pins);
        }
        let words = String::from_utf8_lossy(&output.stderr);
        Err(fault(harmless_lines(&words)))
    }

    pub fn install(
        &self,
        component: &Component,
        target: &Path,
        is_repair: bool,
    ) -> Result<(), FetchFault> {
        if !component.pins.is_empty() {
            let list = target.with_extension("txt");
            let text = requirements::text(&component.pins);
            fs::write(&list, text).map_err(failed("write", &list))?;
            let list = list.display().to_string();
            let args = ["--no-deps", "--require-hashes", "-r", &list];
            return self.install_args(&args, None, target, is_repair);
        }
        let requirement = component.requirement();
        let mut args = vec![&*requirement];
        if !component.has_dependencies() {
            args.insert(0, "--no-deps");
        }
        self.install_args(&args, Some(component.project()), target, is_repair)?;
        if component.libraries.contains(&CUTLASS) {
            // It depends on Python packages that no kernel needs.
            let wheel = component.package_of(CUTLASS);
            self.install_args(&["--no-deps", &wheel], Some(&wheel), target, is_repair)?;
        }
        Ok(())
    }

    /// Runs the installer with more arguments. On a terminal the installer draws its progress bars, elsewhere the names
    /// of its downloads are shown. The installer is stopped when this process exits.
    fn install_args(
        &self,
        last: &[&str],
        project: Option<&str>,
        target: &Path,
        is_repair: bool,
    ) -> Result<(), FetchFault> {
        let mut args = self.args(INSTALL);
        // uv's files may be hard links into its cache, which is then damaged too.
        if is_repair && self.is_uv {
            args.push("--no-cache".to_string());
        }
        args.extend(["--target".to_string(), target.display().to_string()]);
        args.extend(last.iter().map(|arg| arg.to_string()));
        let (mut command, call) = self.command(args);
        let fault = |output: String, is_shown: bool| FetchFault::InstallFailed {
            command: call.clone(),
            output,
            is_shown,
            project: project.map(String::from),
        };
        let unfinished = |error: io::Error| fault(error.to_string(), false);
        if ColorChoice::global() == ColorChoice::Never {
            command.env("NO_COLOR", "1");
        }
        let on_terminal = io::stderr().is_terminal();
        let stream = || match on_terminal {
            true => io::stderr().into(),
            false => Stdio::piped(),
        };
        let mut child = command
            // User settings that are incompatible with --target.
            .env("PIP_USER", "0")
            .env("PIP_REQUIRE_VIRTUALENV", "0")
            // The warning does not apply with --target.
            .env("PIP_ROOT_USER_ACTION", "ignore")
            .stdin(Stdio::null())
            .stdout(stream())
            .stderr(stream())
            .spawn()
            .map_err(unfinished)?;
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let words = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            scope.spawn(|| read_output(out, &words));
            scope.spawn(|| read_output(err, &words));
        });
        let words = words.into_inner().unwrap_or_default().join("\n");
        let status = child.wait().map_err(unfinished)?;
        if status.success() {
            Ok(())
        } else if on_terminal || words.is_empty() {
            Err(fault(status.to_string(), on_terminal))
        } else {
            Err(fault(words, false))
        }
    }

    /// Returns a command that stops when this process exits, and its text for messages.
    fn command(&self, args: Vec<String>) -> (Command, String) {
        let mut command = Command::new(&self.program);
        die_with_this_process(&mut command);
        command.args(&args);
        let (program, env) = (self.program.clone(), Vec::new());
        (command, Invocation { program, args, env }.to_string())
    }
}

/// Reads the installer's output, shows the downloads, and keeps the last lines.
fn read_output(pipe: Option<impl Read>, words: &Mutex<Vec<String>>) {
    let Some(pipe) = pipe else { return };
    for line in BufReader::new(pipe).split(b'\n').map_while(Result::ok) {
        let line = harmless(&String::from_utf8_lossy(&line));
        let text = line.trim();
        if let Some(file) = parse_download(text) {
            show(format!("    {file}\n"));
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

/// Parses pip's report of an installation.
fn parse_report(report: &str) -> Vec<Pin> {
    let report: Value = serde_json::from_str(report).unwrap_or_default();
    let installs = report["install"].as_array().into_iter().flatten();
    let pin = |one: &Value| {
        let text = |value: &Value| value.as_str().map(str::to_string);
        let hash = text(&one["download_info"]["archive_info"]["hashes"]["sha256"])?;
        Some(Pin {
            package: text(&one["metadata"]["name"])?,
            version: text(&one["metadata"]["version"])?,
            hashes: vec![format!("sha256:{hash}")],
        })
    };
    installs.filter_map(pin).collect()
}

/// Returns the name of the wheel in a line, without its platforms: `nvidia_nvvm-13.5.37 (75.1 MB)`.
fn parse_download(line: &str) -> Option<String> {
    let file = line.strip_prefix("Downloading ");
    let file = file.or_else(|| line.strip_prefix("Using cached "))?;
    match (file.split_once("-py"), file.split_once(' ')) {
        (Some((wheel, _)), Some((_, size))) => Some(format!("{wheel} {size}")),
        _ => Some(file.to_string()),
    }
}

fn find_program(name: &str) -> Option<PathBuf> {
    let name = format!("{name}{}", env::consts::EXE_SUFFIX);
    on_path(&name, &env::var_os("PATH")?)
}

#[cfg(test)]
mod tests {
    use super::parse_download;

    #[test]
    fn a_download_has_a_short_name() {
        assert_eq!(
            parse_download(
                "Downloading nvidia_nvvm-13.5.37-py3-none-manylinux2010_x86_64.whl (75.1 MB)"
            )
            .as_deref(),
            Some("nvidia_nvvm-13.5.37 (75.1 MB)")
        );
        assert_eq!(
            parse_download("Downloading nvidia-nvvm (71.6MiB)").as_deref(),
            Some("nvidia-nvvm (71.6MiB)")
        );
        assert_eq!(parse_download("Collecting nvidia-nvvm"), None);
    }
}
