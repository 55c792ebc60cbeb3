//! `uv` or `pip`, whichever is here.

use crate::fetch::component::{Component, Release};
use crate::invocation::Invocation;
use crate::terminal::{harmless, show};
use cudnn_guard::{Finding, FindingId, end_with_this_process, on_path};
use std::env;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

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
}

/// uv cannot tell them, and runs the pip that can.
const UV_INDEX: &[&str] = &["tool", "run", "pip", "index", "versions"];
const PIP_INDEX: &[&str] = &["-m", "pip", "index", "versions"];

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

    /// Installs a component into a folder, showing what is downloaded. It ends when this process does.
    pub fn install(&self, component: &Component, target: &Path, anew: bool) -> Result<(), Finding> {
        let mut args: Vec<String> = self.arguments.iter().map(ToString::to_string).collect();
        if !component.dependencies {
            args.push("--no-deps".to_string());
        }
        if anew {
            args.extend(self.anew.iter().map(ToString::to_string));
        }
        args.push("--target".to_string());
        args.push(target.display().to_string());
        args.extend(component.asked.iter().cloned());
        let invocation = Invocation {
            program: self.program.clone(),
            args,
            ..Invocation::default()
        };
        let finding = |words: String| {
            Finding::error(
                FindingId::FetchFailed,
                "NVIDIA's wheels could not be fetched",
            )
            .with("command", &invocation)
            .with("it said", words)
            .help("run that command to see all it says")
            .help(format!(
                "look up which releases there are at https://pypi.org/project/{}/#history",
                component.project()
            ))
        };
        let mut command = Command::new(&invocation.program);
        end_with_this_process(&mut command);
        let mut child = command
            .args(&invocation.args)
            // Settings of the user's that cannot go together with --target.
            .env("PIP_USER", "0")
            .env("PIP_REQUIRE_VIRTUALENV", "0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
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
