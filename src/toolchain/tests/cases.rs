//! The cases in `fixtures/cases`, compared byte for byte: the installations that are found and chosen in a small file
//! system, and the findings. `cases/case.rs` describes their format, and `cases/installed.rs` the installations.

mod case;
mod fix;
mod installed;
mod places;
mod truth;

use crate::config::{Config, Link};
use crate::model::{Candidate, Environment, Platform};
use crate::runtime::facts::{Finding, Severity, printable};
use crate::runtime::system::path_cache::asked;
use crate::system::files::opened;
use crate::system::{Host, ProbeCache};
use crate::toolchain::Toolchain;
use case::{Case, scratch};
use std::fs;
use std::path::{Path, PathBuf};
use truth::World;

#[test]
fn every_case_is_reported_as_expected() {
    let scratch = scratch("cases");
    let mut differing = Vec::new();
    let cases = Case::all();
    for case in &cases {
        let report = report_of(case, &scratch.join(case.name()));
        let report = places::shorten(&report, case.name(), &cases);
        if std::env::var_os("BLESS").is_some() {
            case.bless(&report);
        } else if case.expected != report {
            differing.push(format!("=== {}\n{report}", case.name()));
        }
    }
    fs::remove_dir_all(&scratch).unwrap();
    assert!(cases.len() > 15, "only {} cases", cases.len());
    assert!(
        differing.is_empty(),
        "BLESS=1 records these reports:\n{}",
        differing.join("\n")
    );
}

/// `doctor --link runtime` finds a cuDNN for Windows that cannot be linked.
#[cfg(feature = "cli")]
#[test]
fn a_program_that_opens_cudnn_needs_no_import_library() {
    let scratch = scratch("no-import-library");
    for (name, via) in [
        (
            "cudnn-not-found/windows-system",
            "Windows' system directory",
        ),
        (
            "cudnn-not-found/windows-wheels-9",
            "active virtual environment",
        ),
    ] {
        let mut cases = Case::all();
        cases.retain(|case| case.name() == name);
        let root = scratch.join(name);
        cases[0].unpack(&root, "x86_64");
        let (config, host) = machine(&cases[0], &root);
        let report = config.link(Link::Runtime).survey_on(host).listing();
        assert!(report.contains(&format!("+ {via}: cuDNN ")), "{report}");
        assert!(!report.contains("[cudnn-not-found]"), "{report}");
    }
    fs::remove_dir_all(&scratch).unwrap();
}

/// Files that a finding names exist, and those that it calls absent do not. Its versions are in the files.
#[test]
fn findings_are_true() {
    let scratch = scratch("truth");
    let mut wrong = Vec::new();
    for case in &Case::all() {
        let root = scratch.join(case.name());
        let (toolchain, targets) = search_case(case, &root);
        let kinds = case.files.iter().filter_map(|line| line.split_once(" ("));
        let kinds = kinds.map(|(path, kind)| (root.join(path), kind.into()));
        let input = [&case.config[..], &case.env, &case.files].concat();
        let world = World::read(&root, input.join("\n"), kinds.collect());
        for finding in toolchain.findings.iter().chain(&targets) {
            let of_case = |falsehood| format!("{}: {falsehood}", case.name());
            wrong.extend(
                world
                    .falsehoods(&finding.to_string())
                    .into_iter()
                    .map(of_case),
            );
        }
    }
    fs::remove_dir_all(&scratch).unwrap();
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}

/// Commands, variables, directories and libraries of Linux.
const LINUX: [&str; 14] = [
    "sudo ",
    "ldconfig",
    "LD_LIBRARY_PATH",
    "rpath",
    "apt ",
    "dnf ",
    "`/usr/",
    "`/etc/",
    "chmod",
    "libcudnn",
    "libcuda",
    "libcublas",
    "libnvrtc",
    "docker",
];

#[test]
fn findings_about_a_build_for_windows_name_nothing_of_linux() {
    let scratch = scratch("windows-texts");
    let mut count = 0;
    for case in &Case::all() {
        if !case.is_for_windows() {
            continue;
        }
        let (toolchain, targets) = search_case(case, &scratch.join(case.name()));
        for finding in toolchain.findings.iter().chain(&targets) {
            let text = finding.to_string();
            let word = LINUX.iter().find(|word| text.contains(**word));
            assert_eq!(word, None, "{}: {text}", case.name());
            count += 1;
        }
    }
    fs::remove_dir_all(&scratch).unwrap();
    assert!(count >= 20, "only {count} findings");
}

/// Checks that `findings_are_true` can fail.
#[test]
fn false_findings_are_detected() {
    let scratch = scratch("false");
    let lib = scratch.join("usr/local/cuda/lib64");
    let cases = Case::all();
    let case = cases
        .iter()
        .find(|case| case.name() == "parts-missing/only-main-library");
    case.unwrap().unpack(&scratch, "x86_64");
    let world = World::read(&scratch, String::new(), Vec::new());
    for (text, expected) in [
        (
            "cuDNN 9.14.0 at `LIB` is missing `libcudnn_ops.so.9`, which convolutions need",
            "",
        ),
        (
            "cuDNN 9.15.0 at `LIB` is missing 6 libraries",
            "9.15.0 is not of LIB",
        ),
        (
            "cuDNN 9.15.0 is missing 6 libraries",
            "9.15.0 is in no file",
        ),
        (
            "cuDNN 9.14.0 at `LIB` is missing `libcudnn.so.9`, which convolutions need",
            "not missing in LIB",
        ),
        (
            "cuDNN 9.14.0 at `LIB` is missing 4 libraries, which convolutions need\n  missing     libcudnn.so.9",
            "not missing in LIB",
        ),
        ("cuDNN 9.14.0 at `LIB/cudnn`", "LIB/cudnn does not exist"),
        (
            "x\n  found via   CUDNN_PATH: LIB/cudnn.h",
            "LIB/cudnn.h does not exist",
        ),
        ("x\n  searched    LIB/cudnn.h\n              LIB/*.h", ""),
        (
            "x\n  expected    LIB/cudnn.h\n              LIB/lib*.so",
            "",
        ),
        (
            "x\n  expected    LIB/cudnn.h\n              LIB/lib*.so.9",
            "not absent",
        ),
        ("`LIB/cudnn.h`, which does not exist", ""),
        (
            "`LIB/libcudnn.so.9`, which does not exist",
            "LIB/libcudnn.so.9 exists",
        ),
        ("x\n  = help: upgrade to cuDNN 9.15.0 or later", ""),
        (
            "x\n  = help: upgrade to cuDNN 9.13.9 or later",
            "9.13.9 is in no table",
        ),
        ("x\n  = help: copy them into `LIB/new`", ""),
        (
            "x\n  = help: copy them into `LIB/new/deep`",
            "LIB/new/deep does not exist",
        ),
    ] {
        let found = world.falsehoods(&text.replace("LIB", lib.to_str().unwrap()));
        let found = found.join("\n").replace(lib.to_str().unwrap(), "LIB");
        let is_found = match expected {
            "" => found.is_empty(),
            expected => found.starts_with(expected),
        };
        assert!(is_found, "{text}: {found}");
    }
    fs::remove_dir_all(&scratch).unwrap();
}

/// Each stage of a probe uses the result of the previous one. Only sub-libraries without a version are opened again,
/// for their imported symbols, and headers that another header includes.
#[test]
fn no_library_is_opened_twice() {
    let scratch = scratch("opened");
    let cases = Case::all();
    for name in [
        "found/archive-in-home",
        "found/jit-wheel",
        "found/sbsa",
        "cudnn-requirement-unmet/allowed",
    ] {
        let case = cases.iter().find(|case| case.name() == name).unwrap();
        opened::take();
        asked::take();
        let (toolchain, _) = search_case(case, &scratch.join(name));
        let mut opened = opened::take();
        let libraries = asked::take().into_iter();
        let libraries = libraries.filter(|(query, _)| *query == "open");
        opened.extend(libraries.map(|(_, path)| PathBuf::from(path)));
        opened.retain(|path| !path.to_string_lossy().contains("/cudnn_version"));
        // A link has another path. Other files do not exist.
        let real = opened.iter().filter_map(|path| fs::canonicalize(path).ok());
        let opened: Vec<PathBuf> = real.collect();
        let cudnns = toolchain.candidates.iter().filter_map(Candidate::cudnn);
        let parts = cudnns
            .map(|cudnn| cudnn.installed.files().len())
            .sum::<usize>();
        assert!(parts > 0 && opened.len() >= parts, "{name}: {opened:?}");
        for (index, path) in opened.iter().enumerate() {
            assert!(
                !opened[..index].contains(path),
                "{name}: {}",
                path.display()
            );
        }
    }
    fs::remove_dir_all(&scratch).unwrap();
}

/// A case without fixes has no errors or warnings, and a case with fixes has some.
#[test]
fn only_broken_stacks_have_findings() {
    let scratch = scratch("sound");
    let cases = Case::all();
    let (sound, broken): (Vec<_>, Vec<_>) = cases.iter().partition(|case| case.fixes.is_empty());
    assert!(broken.len() >= 60, "{} broken", broken.len());
    assert!(sound.len() >= 40, "{} sound", sound.len());
    for case in &sound {
        let found = search_case(case, &scratch.join(case.name()));
        let report = found.0.report();
        assert_eq!(errors_and_warnings(found), [], "{}", case.name());
        let text = report.to_string();
        assert!(!text.contains('✗'), "{}: {text}", case.name());
        #[cfg(feature = "cli")]
        for severity in ["error", "warning"] {
            let json = report.to_json();
            let member = format!("\"severity\":\"{severity}\"");
            assert!(!json.contains(&member), "{}: {json}", case.name());
        }
    }
    for case in &broken {
        let findings = errors_and_warnings(search_case(case, &scratch.join(case.name())));
        assert!(!findings.is_empty(), "{}", case.name());
    }
    fs::remove_dir_all(&scratch).unwrap();
}

/// `cudnn-guard doctor` reports the same as a build: each headline of a case, with its id.
#[cfg(feature = "cli")]
#[test]
fn doctor_reports_what_a_build_reports() {
    let scratch = scratch("doctor");
    let cases = Case::all();
    let mut compared = 0;
    for case in cases.iter().filter(|case| !has_option(case, "targets")) {
        let root = scratch.join(case.name());
        let report = search_case(case, &root).0.report().to_json();
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        let text = |finding: &serde_json::Value, key| finding[key].as_str().unwrap().to_string();
        let findings = report["findings"].as_array().unwrap().iter();
        let headlines: Vec<String> = findings
            .map(|one| {
                let summary = text(one, "summary").replace(root.to_str().unwrap(), "$ROOT");
                let (severity, id) = (text(one, "severity"), text(one, "id"));
                format!("{severity}: {}  [{id}]", printable(&summary))
            })
            .collect();
        let is_headline = |line: &&str| line.ends_with(']') && line.contains("  [");
        let expected: Vec<&str> = case.expected.lines().filter(is_headline).collect();
        assert_eq!(headlines, expected, "{}", case.name());
        compared += headlines.len();
    }
    fs::remove_dir_all(&scratch).unwrap();
    assert!(compared > 100, "{compared}");
}

/// The directory of a case is a finding that it expects, or `found`.
#[test]
fn every_case_has_a_title_and_is_in_the_directory_of_its_finding() {
    for case in Case::all() {
        let name = case.name();
        assert_eq!(case.about.len(), 1, "{name}: {:?}", case.about);
        let (finding, _) = name.split_once('/').unwrap();
        let is_expected = case.expected.contains(&format!("  [{finding}]\n"));
        assert!(finding == "found" || is_expected, "{name}");
    }
}

/// Returns errors and warnings, including those about targets if the case requests these.
fn errors_and_warnings((toolchain, mut findings): (Toolchain, Vec<Finding>)) -> Vec<Finding> {
    findings.splice(0..0, toolchain.findings);
    findings.retain(|finding| finding.severity != Severity::Note);
    findings
}

const CONTINUES: &str = "The build continues.\n";
const STOPS: &str = "The build stops.\n";

/// The first lines for cargo of every build.
const CHECK_CFG: &str = "cargo::rustc-check-cfg=cfg(has_cuda)
cargo::rustc-check-cfg=cfg(has_cudnn)
cargo::rustc-check-cfg=cfg(cudnn_major, values(any()))
cargo::rustc-check-cfg=cfg(cuda_major, values(any()))
";

fn report_of(case: &Case, root: &Path) -> String {
    let (toolchain, selection) = search_case(case, root);
    let mut out = toolchain.listing();
    for path in &toolchain.read {
        assert!(
            path.is_file(),
            "cargo would consider {} changed in every build",
            path.display()
        );
    }
    let settled = toolchain.settle();
    if let (Ok(toolchain), true) = (&settled, has_option(case, "directives")) {
        let lines = toolchain.directives().join("\n");
        let rest = lines.strip_prefix(CHECK_CFG).expect("the allowed cfgs");
        out.push_str(&format!("{rest}\n"));
    }
    let mut compiles = true;
    if let Ok(Toolchain { absent: None, .. }) = settled {
        for finding in selection {
            out.push_str(&format!("{}: {finding}\n", finding.severity));
            compiles &= finding.severity != Severity::Error;
        }
    }
    let outcome = match settled {
        Ok(_) if !compiles => "No kernel is compiled.\n",
        Ok(Toolchain {
            absent: Some(_), ..
        }) => "The build continues without CUDA.\n",
        Ok(_) => CONTINUES,
        Err(_) => STOPS,
    };
    let has_error = out.lines().any(|line| line.starts_with("error: "));
    if outcome != if has_error { STOPS } else { CONTINUES } {
        out.push_str(outcome);
    }
    out.replace(root.to_str().unwrap(), "$ROOT")
}

fn has_option(case: &Case, what: &str) -> bool {
    case.config.iter().any(|line| line == what)
}

/// Returns the result of a search in the file system of a case, and the selection of targets if the case requests it.
fn search_case(case: &Case, root: &Path) -> (Toolchain, Vec<Finding>) {
    let triple = configured_at(case, root).target;
    let cpu = triple.map_or("x86_64".into(), |triple| Platform::from_triple(&triple).cpu);
    case.unpack(root, &cpu);
    search_in(case, root)
}

/// Returns the configuration of a case, and its machine.
fn machine(case: &Case, root: &Path) -> (Config, Host) {
    let config = configured_at(case, root);
    let triple = config
        .target
        .clone()
        .unwrap_or_else(|| "x86_64-unknown-linux-gnu".into());
    let pairs = case.env.iter().map(|line| {
        let line = line.replace("$ROOT", root.to_str().unwrap());
        let (name, value) = line.split_once('=').unwrap();
        (name.to_string(), value.into())
    });
    let host = Host {
        env: Environment::new(pairs)
            .with_pairs(&config.env)
            .for_target(&triple),
        platform: Platform::from_triple(&triple),
        root: config.root.clone(),
        answers: ProbeCache::default(),
    };
    (config, host)
}

fn search_in(case: &Case, root: &Path) -> (Toolchain, Vec<Finding>) {
    let (config, host) = machine(case, root);
    let needs = config.needs();
    case.denied(root, || {
        let toolchain = Toolchain::find(config, host, needs);
        let findings = match has_option(case, "targets") {
            false => Vec::new(),
            true => match toolchain.selection() {
                Ok(selection) => selection.findings,
                Err(error) => error.findings().to_vec(),
            },
        };
        (toolchain, findings)
    })
}

fn configured_at(case: &Case, root: &Path) -> Config {
    let lines = case.config.iter();
    let lines = lines.map(|line| line.replace("$ROOT", root.to_str().unwrap()));
    lines.fold(Config::new().root(root), configured)
}

fn configured(config: Config, line: String) -> Config {
    match line.split_once(' ').unwrap_or((&line, "")) {
        ("cuda", text) => config.cuda(text),
        ("cudnn", text) => config.cudnn(text),
        ("link", "runtime") => config.link(Link::Runtime),
        ("link", "static") => config.link(Link::Static),
        ("libs", names) => config.libs(names.split(' ')),
        ("archs", text) => config.archs([text]),
        // These do not affect the configuration.
        ("directives" | "targets", "") => config,
        ("optional", "") => config.optional(true),
        ("allow", id) => config.allow(id),
        ("target", triple) => config.target(triple),
        ("env", pair) => config.envs([pair.split_once('=').unwrap()]),
        _ => panic!("{line:?} is no call that a case can make"),
    }
}
