//! `startup()`, `check_version()` and `check()` in one program: their verdicts, messages and record.

use crate::support::circumstances::installed;
use crate::support::{built, cargo, fresh, program, project, run};
use serde_json::Value;
use std::path::{Path, PathBuf};

const MAIN: &str = r#"mod gpu { include!(concat!(env!("OUT_DIR"), "/cudnn_guard.rs")); }
fn main() {
    gpu::startup();
    for result in [gpu::check_version(), gpu::check()] {
        println!("{}", match result { Ok(report) => report.to_json(), Err(failure) => failure.to_json() });
    }
}
"#;

/// The result of a run: exit code, standard error, and the two reports.
type Output = (Option<i32>, String, Vec<Value>);

/// Builds the program against this installation. `config` is appended to `Config::new()`.
fn build(name: &str, config: &str, installation: Option<&Path>) -> PathBuf {
    let script = format!(
        "fn main() {{ cudnn_guard::build(|| {{\n    \
         let gpu = cudnn_guard::Config::new(){config}.probe()?;\n    gpu.link();\n    gpu.guard().write()\n}}); }}\n"
    );
    let dir = project(name, &script, MAIN);
    let mut build = cargo(&dir, &["build"]);
    if let Some(installation) = installation {
        build
            .env("CUDA_HOME", installation)
            .env("CUDNN_PATH", installation);
    }
    run(&mut build).exits_with(0);
    built(name)
}

/// Runs the program with these library directories.
fn output(path: &Path, folders: &[PathBuf], variables: &[(&str, &str)]) -> Output {
    let paths = std::env::join_paths(folders).unwrap();
    let mut program = program(path);
    program.env("LD_LIBRARY_PATH", paths);
    let ran = run(program.envs(variables.iter().copied()));
    let reports = ran.stdout.lines().map(serde_json::from_str);
    let reports = reports.map(Result::unwrap).collect();
    (ran.code, ran.stderr, reports)
}

fn ids(report: &Value) -> Vec<&str> {
    let findings = report["findings"].as_array().unwrap().iter();
    findings.map(|one| one["id"].as_str().unwrap()).collect()
}

#[test]
fn a_program_that_opens_cudnn() {
    let (sound, old) = (installed((9, 14, 0)), installed((9, 10, 2)));
    let config = ".cudnn(\">=9.12, <10\").link(cudnn_guard::Link::Runtime)";
    let program = build("verdicts-opened", config, Some(&sound));
    let (lib, driver) = (sound.join("lib64"), sound.join("driver"));

    let (code, stderr, reports) = output(&program, &[lib.clone(), driver.clone()], &[]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    let verdicts: Vec<&Value> = reports.iter().map(|report| &report["verdict"]).collect();
    assert_eq!(verdicts, ["pass", "pass"]);
    assert_eq!(reports[1]["loaded"]["version"], "9.14.0");
    assert_eq!(reports[1]["built"]["requirement"], ">=9.12, <10");

    let (code, stderr, _) = output(&program, &[old.join("lib64"), driver.clone()], &[]);
    assert_eq!(code, Some(78));
    let first = "loaded cuDNN 9.10.2 does not meet the requirement `>=9.12, <10` of this program  [cudnn-version-mismatch]\n";
    assert!(stderr.starts_with(first), "{stderr}");

    let wrong = [("SIM_FAULT", "wrong"), ("CUDNN_GUARD", "warn")];
    let (code, _, reports) = output(&program, &[lib.clone(), driver], &wrong);
    assert_eq!(code, Some(0));
    assert!(ids(&reports[1]).contains(&"convolution-wrong"));

    let (code, stderr, _) = output(&program, &[lib], &[]);
    assert_eq!(code, Some(0));
    let headline = stderr.lines().next().unwrap_or_default();
    assert!(headline.ends_with("[driver-missing]"), "{stderr}");
    assert!(stderr.lines().count() <= 4, "{stderr}");
    inspected(&program);
}

#[test]
fn a_program_that_is_linked_with_cudnn() {
    let (sound, old) = (installed((9, 14, 0)), installed((9, 10, 2)));
    let program = build(
        "verdicts-linked",
        ".cuda(\">=11\").cudnn(\">=9.1\")",
        Some(&sound),
    );
    let driver = sound.join("driver");

    let (code, stderr, reports) = output(&program, std::slice::from_ref(&driver), &[]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert_eq!(reports[1]["verdict"], "pass");
    assert_eq!(reports[1]["built"]["cudnn"], "9.14.0");

    let (code, stderr, _) = output(&program, &[old.join("lib64"), driver], &[]);
    assert_eq!(code, Some(78));
    let first = "loaded cuDNN 9.10.2 is older than 9.14.0, which this program was built with  [cudnn-version-mismatch]\n";
    assert!(stderr.starts_with(first), "{stderr}");
    inspected(&program);
}

#[test]
fn a_program_that_is_built_without_cuda() {
    let nothing = fresh("verdicts-nothing");
    let config = format!(".cudnn(\">=9\").root({nothing:?}).optional(true)");
    let program = build("verdicts-absent", &config, None);
    let (code, stderr, reports) = output(&program, &[], &[]);
    assert_eq!(code, Some(0));
    let expected =
        "cudnn-guard: unknown: this program was built without CUDA  [built-without-cuda]\n";
    assert_eq!(stderr, expected);
    assert_eq!(ids(&reports[0]), ["built-without-cuda"]);
    let reason = &reports[0]["findings"][0]["evidence"]["reason"];
    assert!(
        reason.as_str().unwrap().contains("no cuDNN was found"),
        "{reason}"
    );
}

/// Checks that `inspect` reads the record.
#[track_caller]
fn inspected(path: &Path) {
    let mut inspect = program(env!("CARGO_BIN_EXE_cudnn-guard"));
    let ran = run(inspect.arg("inspect").arg("--json").arg(path));
    let json: Value = serde_json::from_str(&ran.stdout).unwrap();
    let guards = json["program"]["guards"].as_array().unwrap();
    assert_eq!(guards.len(), 1);
    let name = path.file_name().unwrap().to_str().unwrap();
    assert_eq!(guards[0]["crate"], format!("{name} 0.1.0"));
}
