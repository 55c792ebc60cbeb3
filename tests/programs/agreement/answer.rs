//! The answers of all interfaces about one layout.

use super::layout::{Layout, Objects, TOOLKIT};
use crate::support::{Ran, run};
use cudnn_guard::Config;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The main library and the sub-libraries.
pub const NAMES: [&str; 8] = [
    "cudnn",
    "graph",
    "ops",
    "cnn",
    "adv",
    "heuristic",
    "engines_precompiled",
    "engines_runtime_compiled",
];

/// The answer of one interface. A fault is an id, a headline and the first help.
#[derive(Debug, Default)]
pub struct Answer {
    files: BTreeMap<String, PathBuf>,
    /// For the loader: `true` if cuDNN does not work.
    fails: bool,
    error: Option<[String; 3]>,
    warning: Option<[String; 3]>,
}

impl Answer {
    /// Returns the fault that this interface reports. If something may still change before the program starts, a warning
    /// is enough.
    pub fn fault(&self, truth: &Self) -> Option<&[String; 3]> {
        let warning = self.warning.as_ref().filter(|_| truth.fails);
        self.error.as_ref().or(warning)
    }

    /// Returns the differences from the loader, and from the fault of another interface.
    pub fn differences(&self, truth: &Self, other: Option<(&str, &[String; 3])>) -> Vec<String> {
        let mut differences = Vec::new();
        let mut by_dir = BTreeMap::<_, Vec<&str>>::new();
        // An error may replace the list of files.
        let is_list = !self.files.is_empty() || self.error.is_none();
        for name in NAMES.iter().filter(|_| is_list) {
            let (own, real) = (self.files.get(*name), truth.files.get(*name));
            if own != real {
                by_dir.entry((dir(own), dir(real))).or_default().push(name);
            }
        }
        for ((own, real), names) in by_dir {
            differences.push(format!("{}: {own}, loader: {real}", names.join(" ")));
        }
        let own = self.fault(truth);
        if own.is_some() != truth.fails {
            differences.push(match own {
                Some([id, ..]) => format!("starts, but {id}"),
                None => "does not start, but no fault".into(),
            });
        }
        let Some(([id, headline, help], (other, fault))) = own.zip(other) else {
            return differences;
        };
        if *id != fault[0] {
            differences.push(format!("{id}, {other}: {}", fault[0]));
        } else if *headline != fault[1] {
            differences.push(format!("{id}: not the headline of {other}"));
        } else if *help != fault[2] {
            differences.push(format!("{id}: not the help of {other}"));
        }
        differences
    }
}

fn dir(path: Option<&PathBuf>) -> &str {
    path.and_then(|path| path.parent()?.to_str())
        .unwrap_or("none")
}

impl Layout {
    /// Links the program as the build does, unless the layout has one, and returns all answers, that of the loader first.
    pub fn answers(&mut self, objects: &Objects) -> Vec<(&'static str, Answer)> {
        let at = self.dir.to_str().unwrap().to_string();
        let mut answers = Vec::new();
        if !self.dir.join("app").exists() {
            let config = Config::new().root(&self.dir).cudnn(">=9");
            let config = config
                .env("PATH", "/nowhere")
                .target("x86_64-unknown-linux-gnu");
            // If the build fails, the answers are about the program of an earlier build.
            let mut app = format!("app runpath=/{TOOLKIT}");
            let json = match config.envs(self.variables(&at)).probe() {
                Ok(toolchain) => {
                    let lines = toolchain.directives();
                    let flag = "cargo::rustc-link-arg=-Wl,-rpath,";
                    let dirs = lines.iter().filter_map(|line| line.strip_prefix(flag));
                    let dirs: Vec<String> = dirs.map(|dir| dir.replace(&at, "")).collect();
                    app = format!("app runpath={}", dirs.join(":"));
                    toolchain.report().to_json()
                }
                Err(error) => {
                    let findings = error.findings().iter();
                    let findings: Vec<String> = findings.map(|finding| finding.to_json()).collect();
                    format!("{{\"findings\":[{}]}}", findings.join(","))
                }
            };
            answers.push(("build", self.answer(&serde_json::from_str(&json).unwrap())));
            let app = app.trim_end_matches(" runpath=");
            self.link(&app.split(' ').collect::<Vec<_>>(), objects);
            let doctor = run(&mut self.examine(&["doctor"]));
            answers.push(("doctor", self.answer(&json_of(doctor))));
            let inside = run(self.within("/bin/cudnn-guard").args(["doctor", "--json"]));
            answers.push(("doctor inside", self.answer(&json_of(inside))));
        }
        let app = self.dir.join("app");
        let inspect = run(&mut self.examine(&["inspect", app.to_str().unwrap()]));
        answers.push(("inspect", self.answer(&json_of(inspect))));
        let guard = run(&mut self.within("/app"));
        // A program that is linked with a missing cuDNN never calls its guard.
        if guard.code == Some(0) {
            answers.push(("guard", self.answer(&json_of(guard))));
        } else {
            let refused = "error while loading shared libraries";
            assert!(guard.stderr.contains(refused), "{}", guard.stderr);
        }
        answers.push(("loader", self.truth()));
        answers.reverse();
        answers
    }

    fn truth(&self) -> Answer {
        let ran = run(self.within("/app").args(&NAMES[1..]));
        let mut truth = Answer::default();
        let results: Vec<_> = ran
            .stdout
            .lines()
            .filter_map(|line| line.split_once(" => "))
            .collect();
        truth.fails = self.is_refused || results.len() < NAMES.len();
        // The loader names a main library that it refuses at the start of the program.
        let refused = ran.stderr.split_once("shared libraries: /");
        if let Some((path, _)) = refused.and_then(|(_, text)| text.split_once(": ")) {
            truth.files.insert(NAMES[0].into(), self.inside(path));
        }
        for (name, result) in results {
            let path = result.split(": ").next().unwrap();
            truth.fails |= path != result;
            if path.starts_with('/') {
                truth.files.insert(name.into(), self.inside(path));
            }
        }
        truth
    }

    /// Returns the answer in this report.
    fn answer(&self, json: &Value) -> Answer {
        let mut files = BTreeMap::new();
        let mut add = |name: &str, path: &Value| {
            if let Some(path) = path.as_str() {
                files.insert(name.to_string(), self.inside(path));
            }
        };
        let (main, parts) = match json["loaded"].is_null() {
            true => (&json["cudnn"]["library"], &json["cudnn"]["parts"]),
            false => (&json["loaded"]["path"], &json["loaded"]["parts"]),
        };
        add(NAMES[0], main);
        for part in parts.as_array().into_iter().flatten() {
            let name = part["name"].as_str().unwrap();
            if name != "cudnn" {
                add(name, &part["path"]);
            }
        }
        let findings = json["findings"].as_array().unwrap();
        let first = |severity: &str| {
            let is_it = |one: &&Value| one["severity"] == severity && one["id"] != "driver-missing";
            let finding = findings.iter().find(is_it)?;
            let text = |value: &Value| {
                let text = value.as_str().unwrap_or_default();
                text.replace(self.dir.to_str().unwrap(), "")
            };
            Some([&finding["id"], &finding["summary"], &finding["help"][0]].map(text))
        };
        Answer {
            files,
            fails: false,
            error: first("error"),
            warning: first("warning"),
        }
    }
}

pub fn json_of(ran: Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.text()))
}
