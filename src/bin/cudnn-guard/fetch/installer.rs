//! `uv` or `pip`, whichever is here.

use crate::fetch::component::Component;
use crate::fetch::installed::failed;
use crate::fetch::release::Release;
use crate::fetch::requirements::{self, Pin};
use crate::invocation::Invocation;
use crate::terminal::{harmless, harmless_lines, show};
use anstream::ColorChoice;
use cudnn_guard::{Finding, FindingId, end_with_this_process, on_path};
use serde_json::Value;
use std::io::{self, BufRead, BufReader, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::{env, fs};

/// How many lines of its words are kept: the reason stands at the end.
const LAST_LINES: usize = 12;

/// A program that installs wheels into a folder.
pub struct Installer {
    program: PathBuf,
    /// What comes before the packages.
    arguments: &'static [&'static str],
    /// What keeps it from what it unpacked before: files of uv's may be hard links into its cache, damaged with them.
    anew: &'static [&'static str],
    /// What comes before a package whose releases are asked for.
    index: &'static [&'static str],
    /// Whether it is uv, else pip.
    is_uv: bool,
}

/// uv cannot tell them, and runs the pip that can.
const UV_INDEX: &[&str] = &["tool", "run", "pip", "index", "versions"];
const PIP_INDEX: &[&str] = &["-m", "pip", "index", "versions"];

const UV_HASHES: &[&str] = &[
    "pip",
    "compile",
    "--quiet",
    "--generate-hashes",
    "--no-deps",
    "--no-header",
    "--no-annotate",
    "--only-binary",
    ":all:",
    "-",
];
const PIP_HASHES: &[&str] = &[
    "-m",
    "pip",
    "install",
    "--quiet",
    "--disable-pip-version-check",
    "--no-input",
    "--dry-run",
    "--ignore-installed",
    "--no-deps",
    "--only-binary",
    ":all:",
    "--report",
    "-",
];

const UV: &[&str] = &["pip", "install", "--only-binary", ":all:"];
const PIP: &[&str] = &[
    "-m",
    "pip",
    "install",
    "--disable-pip-version-check",
    "--no-input",
    "--no-compile",
    "--only-binary",
    ":all:",
];

impl Installer {
    /// `uv`, else a Python that has pip.
    pub fn find() -> Result<Self, Finding> {
        if let Some(program) = installed("uv") {
            return Ok(Self {
                program,
                arguments: UV,
                anew: &["--no-cache"],
                index: UV_INDEX,
                is_uv: true,
            });
        }
        let mut without_pip = Vec::new();
        for name in ["python3", "python"] {
            let Some(program) = installed(name) else {
                continue;
            };
            let has_pip = Command::new(&program)
                .args(["-m", "pip", "--version"])
                .stdin(Stdio::null())
                .output()
                .is_ok_and(|output| output.status.success());
            if has_pip {
                return Ok(Self {
                    program,
                    arguments: PIP,
                    anew: &[],
                    index: PIP_INDEX,
                    is_uv: false,
                });
            }
            without_pip.push(program.display().to_string());
        }
        let finding = Finding::error(
            FindingId::FetchFailed,
            "neither uv nor a Python with pip is on PATH",
        );
        let finding = if without_pip.is_empty() {
            finding
        } else {
            finding.with("no pip in", without_pip.join("\n"))
        };
        Err(finding
            .help("install uv (https://docs.astral.sh/uv/), which needs no root")
            .help("or install Python 3 with pip: `apt install python3-pip`, `dnf install python3-pip`"))
    }

    /// The releases of a project that there are for this machine; none where that cannot be told.
    pub fn offered(&self, project: &str) -> Vec<Release> {
        let output = Command::new(&self.program)
            .args(self.index)
            .args(["--disable-pip-version-check", "--no-input"])
            .args(["--only-binary", ":all:", project])
            .stdin(Stdio::null())
            .output();
        let said = output.map(|output| output.stdout).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        let mut lines = said.lines();
        let releases = lines.find_map(|line| line.strip_prefix("Available versions: "));
        let releases = releases.into_iter().flat_map(|list| list.split(", "));
        releases.map(Release::of_wheel).collect()
    }

    /// The hashes of wheels, `nvidia-cublas==13.1.0.3`: with uv those for all systems, with pip those for this one.
    pub fn hashes(&self, wheels: &[String]) -> Result<Vec<Pin>, Finding> {
        let (arguments, listed): (&[&str], &[String]) = match self.is_uv {
            true => (UV_HASHES, &[]),
            false => (PIP_HASHES, wheels),
        };
        let arguments = arguments.iter().map(ToString::to_string);
        let invocation = Invocation {
            program: self.program.clone(),
            args: arguments.chain(listed.iter().cloned()).collect(),
            ..Invocation::default()
        };
        let finding = |words: String| {
            let summary = "the hashes of the wheels cannot be told";
            Finding::error(FindingId::FetchFailed, summary)
                .with("command", &invocation)
                .with("it said", words)
                .help("run this again where the index of the wheels is reached")
        };
        let mut command = Command::new(&invocation.program);
        end_with_this_process(&mut command);
        let mut child = command
            .args(&invocation.args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| finding(error.to_string()))?;
        if let Some(mut stdin) = child.stdin.take() {
            // pip reads none.
            let _ = stdin.write_all(wheels.join("\n").as_bytes());
        }
        let output = child
            .wait_with_output()
            .map_err(|error| finding(error.to_string()))?;
        let said = String::from_utf8_lossy(&output.stdout);
        let pins = match self.is_uv {
            true => requirements::parse(&said),
            false => reported(&said),
        };
        match output.status.success() && pins.len() == wheels.len() {
            true => Ok(pins),
            false => Err(finding(harmless_lines(&String::from_utf8_lossy(
                &output.stderr,
            )))),
        }
    }

    /// Installs a component into a folder. The installer draws its own bars on a terminal; elsewhere what it downloads
    /// is shown. It ends when this process does.
    pub fn install(&self, component: &Component, target: &Path, anew: bool) -> Result<(), Finding> {
        let mut args: Vec<String> = self.arguments.iter().map(ToString::to_string).collect();
        if !component.dependencies || !component.pins.is_empty() {
            args.push("--no-deps".to_string());
        }
        if anew {
            args.extend(self.anew.iter().map(ToString::to_string));
        }
        args.push("--target".to_string());
        args.push(target.display().to_string());
        if component.pins.is_empty() {
            args.extend(component.asked.iter().cloned());
        } else {
            let list = target.with_extension("txt");
            fs::write(&list, requirements::text(&component.pins))
                .map_err(|error| failed("write", &list, &error))?;
            args.extend(["--require-hashes".to_string(), "-r".to_string()]);
            args.push(list.display().to_string());
        }
        let invocation = Invocation {
            program: self.program.clone(),
            args,
            ..Invocation::default()
        };
        let finding = |words: String| {
            let finding = Finding::error(
                FindingId::FetchFailed,
                "NVIDIA's wheels could not be fetched",
            )
            .with("command", &invocation)
            .with("it said", words);
            if !component.pins.is_empty() {
                return finding.help(
                    "where a hash differs, the index has another file than the one that was locked: ask who runs it",
                );
            }
            finding
                .help("run that command to see all it says")
                .help(format!(
                    "look up which releases there are at https://pypi.org/project/{}/#history",
                    component.project()
                ))
        };
        let mut command = Command::new(&invocation.program);
        end_with_this_process(&mut command);
        if ColorChoice::global() == ColorChoice::Never {
            command.env("NO_COLOR", "1");
        }
        let on_terminal = io::stderr().is_terminal();
        let stream = || match on_terminal {
            true => io::stderr().into(),
            false => Stdio::piped(),
        };
        let mut child = command
            .args(&invocation.args)
            // Settings of the user's that cannot go together with --target.
            .env("PIP_USER", "0")
            .env("PIP_REQUIRE_VIRTUALENV", "0")
            // Its warning is about packages of the system's.
            .env("PIP_ROOT_USER_ACTION", "ignore")
            .stdin(Stdio::null())
            .stdout(stream())
            .stderr(stream())
            .spawn()
            .map_err(|error| finding(error.to_string()))?;
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let words = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            scope.spawn(|| listen(out, &words));
            scope.spawn(|| listen(err, &words));
        });
        let words = words.into_inner().unwrap_or_default().join("\n");
        match child.wait() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) if on_terminal => Err(finding(format!("what stands above; {status}"))),
            Ok(status) if words.is_empty() => Err(finding(status.to_string())),
            Ok(_) => Err(finding(words)),
            Err(error) => Err(finding(error.to_string())),
        }
    }
}

/// Reads what the installer says to its end, shows which files it downloads and keeps the last lines.
fn listen(pipe: Option<impl Read>, words: &Mutex<Vec<String>>) {
    let Some(pipe) = pipe else { return };
    for line in BufReader::new(pipe).split(b'\n') {
        let Ok(line) = line else { return };
        let line = harmless(&String::from_utf8_lossy(&line));
        let text = line.trim();
        if let Some(file) = downloaded(text) {
            show(format!("    {file}\n"));
        }
        // Bars are drawn with the box characters of U+2500.
        let is_bar = text.starts_with(|c: char| ('\u{2500}'..='\u{257f}').contains(&c));
        if let (false, false, Ok(mut words)) = (text.is_empty(), is_bar, words.lock()) {
            if words.len() == LAST_LINES {
                words.remove(0);
            }
            words.push(text.to_string());
        }
    }
}

/// What pip's report says it would install.
fn reported(report: &str) -> Vec<Pin> {
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

/// The wheel that a line is about, without the systems that it is for: `nvidia_nvvm-13.5.37 (75.1 MB)`.
fn downloaded(line: &str) -> Option<String> {
    let file = ["Downloading ", "Using cached "]
        .iter()
        .find_map(|verb| line.strip_prefix(verb))?;
    match (file.split_once("-py"), file.split_once(' ')) {
        (Some((wheel, _)), Some((_, size))) => Some(format!("{wheel} {size}")),
        _ => Some(file.to_string()),
    }
}

fn installed(name: &str) -> Option<PathBuf> {
    on_path(
        &format!("{name}{}", env::consts::EXE_SUFFIX),
        env::var_os("PATH")?,
    )
}

#[cfg(test)]
mod tests {
    use super::downloaded;

    #[test]
    fn a_download_is_named_shortly() {
        assert_eq!(
            downloaded(
                "Downloading nvidia_nvvm-13.5.37-py3-none-manylinux2010_x86_64.whl (75.1 MB)"
            )
            .as_deref(),
            Some("nvidia_nvvm-13.5.37 (75.1 MB)")
        );
        assert_eq!(
            downloaded("Downloading nvidia-nvvm (71.6MiB)").as_deref(),
            Some("nvidia-nvvm (71.6MiB)")
        );
        assert_eq!(downloaded("Collecting nvidia-nvvm"), None);
    }
}
