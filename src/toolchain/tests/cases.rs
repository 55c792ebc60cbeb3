//! The cases of `fixtures/cases`, whose form `cases/case.rs` describes: what the search finds in a small file system,
//! chooses and says, to the byte.

mod case;
mod mend;

use crate::config::{Config, Link};
use crate::model::environment::Environment;
use crate::model::platform::Platform;
use crate::runtime::facts::finding::{Finding, Severity};
use crate::runtime::facts::finding_id::FindingId;
use crate::system::Host;
use crate::system::directive::Directive;
use crate::system::probe_cache::ProbeCache;
use crate::toolchain::Toolchain;
use case::Case;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn every_case_is_told_as_expected() {
    let scratch = scratch("cases");
    let mut differing = Vec::new();
    let cases = Case::all();
    for case in &cases {
        let root = scratch.join(case.name());
        let told = told(case, &root);
        fs::remove_dir_all(root).unwrap();
        if std::env::var_os("BLESS").is_some() {
            case.bless(&told);
        } else if case.expected != told {
            differing.push(format!("=== {}\n{told}", case.name()));
        }
    }
    fs::remove_dir_all(&scratch).unwrap();
    assert!(cases.len() > 15, "the cases are there");
    assert!(
        differing.is_empty(),
        "BLESS=1 writes what is told now:\n{}",
        differing.join("\n")
    );
}

/// A folder for many small files, which take long on a disk: in memory, if programs can be run from there.
fn scratch(name: &str) -> PathBuf {
    let name = format!("cudnn-guard-{name}-{}", std::process::id());
    let memory = Path::new("/dev/shm").join(&name);
    let script = r#"mkdir "$0" && cp /bin/true "$0" && "$0/true""#;
    let mut shell = Command::new("sh");
    match shell.args(["-c", script]).arg(&memory).output() {
        Ok(output) if output.status.success() => memory,
        _ => std::env::temp_dir().join(name),
    }
}

/// What a case shows, then the failures of the catalogue that it stands for, if any: `CFG-09 LNK-07`.
#[test]
fn what_a_case_stands_for_is_named_rightly() {
    let mut named = 0;
    for case in Case::all() {
        let (lines, about) = (&case.about, case.name());
        assert!(matches!(lines.len(), 1 | 2), "{about}: {lines:?}");
        for id in lines.get(1).into_iter().flat_map(|ids| ids.split(' ')) {
            let (kind, number) = id.split_once('-').unwrap_or_default();
            let known = kind.len() == 3 && kind.bytes().all(|byte| byte.is_ascii_uppercase());
            let counted = number.len() == 2 && number.bytes().all(|byte| byte.is_ascii_digit());
            assert!(known && counted, "{about}: {id:?}");
            named += 1;
        }
    }
    assert!(named > 40, "{named}");
}

/// Findings that no case can show, since they need more than files: where they are shown.
const SHOWN_ELSEWHERE: &[(&str, &[FindingId])] = &[
    (
        "src/kernels",
        &[FindingId::NvccNotFound, FindingId::NvccFailed],
    ),
    (
        "src/targets/select/tests.rs",
        &[
            FindingId::ArchUnknown,
            FindingId::ArchUnsupportedByNvcc,
            FindingId::GpuNewerThanNvcc,
            FindingId::NoGpu,
        ],
    ),
    (
        "src/system",
        &[FindingId::IoError, FindingId::ProgramTimeout],
    ),
    ("tests/terminal/fetch.rs", &[FindingId::FetchFailed]),
    (
        "the guard's tests",
        &[
            FindingId::KernelsNotCoveringGpu,
            FindingId::GpuNewerThanCudnn,
            FindingId::ArchDroppedByCudnn,
            FindingId::PtxNewerThanDriver,
            FindingId::KnownBadRelease,
            FindingId::DriverMissing,
            FindingId::DriverStub,
            FindingId::DriverTooOld,
            FindingId::DriverError,
            FindingId::DeviceBusy,
            FindingId::DeviceMemoryLow,
            FindingId::NotLoadedYet,
            FindingId::CudnnNotLoadable,
            FindingId::CudnnVersionMismatch,
            FindingId::CudnnAborted,
            FindingId::CudnnCreateFailed,
            FindingId::ConvolutionFailed,
            FindingId::ConvolutionWrong,
            FindingId::ConvolutionTimeout,
            FindingId::ChildNotStarted,
            FindingId::BuiltWithoutCuda,
        ],
    ),
    ("tests/inspect.rs", &[FindingId::LibraryNotFound]),
    (
        "src/kernels/host_compiler_check",
        &[
            FindingId::HostCompilerUnsupported,
            FindingId::HostHeadersIncompatible,
        ],
    ),
];

#[test]
fn every_finding_of_the_search_has_a_case() {
    let cases = Case::all();
    let elsewhere: Vec<FindingId> = SHOWN_ELSEWHERE
        .iter()
        .flat_map(|(_, ids)| ids.iter().copied())
        .collect();
    for id in FindingId::ALL
        .iter()
        .filter(|known| !elsewhere.contains(known))
    {
        let shown = format!("[{id}]");
        assert!(
            cases.iter().any(|case| case.expected.contains(&shown)),
            "{id}"
        );
    }
}

#[test]
fn cargo_watches_what_was_asked_and_nothing_that_changes_by_itself() {
    let names = |env: &[(&str, &str)]| -> Vec<String> {
        let pairs = env
            .iter()
            .map(|(name, value)| (name.to_string(), value.into()));
        let platform = Platform::from_triple("x86_64-unknown-linux-gnu");
        let host = Host {
            env: Environment::new(pairs),
            platform,
            root: Some("/var/empty".into()),
            answers: ProbeCache::default(),
        };
        let config = Config::new().cuda(">=1").cudnn(">=1");
        let needs = config.needs();
        let directives = Toolchain::find(config, host, needs).reruns();
        let names = directives
            .into_iter()
            .filter_map(|directive| match directive {
                Directive::RerunIfEnvChanged(name) => Some(name),
                _ => None,
            });
        names.collect()
    };
    let watched = names(&[
        ("LD_LIBRARY_PATH", "/a"),
        ("PATH", "/bin"),
        ("HOME", "/root"),
    ]);
    for name in [
        "CUDA_HOME",
        "CUDNN_PATH",
        "CUDNN_GUARD_HOME",
        "CUDNN_GUARD_ALLOW",
        "VIRTUAL_ENV",
        "CONDA_PREFIX",
        "EBROOTCUDNN",
        "NVHPC_ROOT",
        "TF_CUDA_PATHS",
    ] {
        assert!(
            watched.iter().any(|watched| watched == name),
            "{name}: {watched:?}"
        );
    }
    let by_name = names(&[("NVCC", "ccache nvcc"), ("PATH", "/bin")]);
    assert!(
        by_name.iter().any(|watched| watched == "PATH"),
        "{by_name:?}"
    );
    for name in ["PATH", "LD_LIBRARY_PATH", "HOME"] {
        assert!(
            !watched.iter().any(|watched| watched == name),
            "{name}: {watched:?}"
        );
    }
}

/// Findings whose first help no test carries out yet, by the names of their cases. Another one has to have a `[mend]`.
const NOT_TRIED: &[(FindingId, &[&str])] = &[
    // DLLs of one release, which say it: each case has its own.
    (
        FindingId::PartsMissing,
        &["windows-imports-missing", "windows-parts-missing"],
    ),
    (
        FindingId::PartsMixed,
        &["windows-parts-mixed", "windows-parts-mixed-silent"],
    ),
    (FindingId::CudnnNotLoadable, &["windows-imports-missing"]),
    (FindingId::ConfigInvalid, &["static-windows-cudnn"]),
];

/// Each error and each warning of each case has a help, the case says how that is done, and it is done: then the finding
/// is gone, and no other one has come.
#[test]
fn a_help_that_is_done_mends_what_it_stands_under() {
    let scratch = scratch("mends");
    let (mut wrong, mut tried, mut left_out) = (Vec::new(), 0, 0_usize);
    for case in &Case::all() {
        let name = case.name();
        let root = scratch.join(name);
        let before = counting(look(case, &root));
        fs::remove_dir_all(&root).unwrap();
        let mut ids: Vec<&str> = before.iter().map(|finding| finding.id.as_str()).collect();
        ids.dedup();
        for (id, _) in case.mends.iter().filter(|(id, _)| !ids.contains(&&**id)) {
            wrong.push(format!("{name}: there is no {id} to be mended"));
        }
        let mut seen = Vec::new();
        for finding in &before {
            let id = finding.id;
            let help = finding.help.first().map_or("", |help| help.trim());
            if help.is_empty() {
                wrong.push(format!("{name}: {id} has no help"));
                continue;
            }
            let left = NOT_TRIED.iter().find(|(known, _)| *known == id);
            let is_left = left.is_some_and(|(_, names)| names.contains(&name));
            let mend = case.mends.iter().find(|(known, _)| known == id.as_str());
            let lines = match mend {
                Some((_, lines)) if !is_left && !lines.is_empty() => lines,
                None if is_left => {
                    left_out += 1;
                    continue;
                }
                _ => {
                    wrong.push(format!("{name}: how is this done for {id}? {help}"));
                    continue;
                }
            };
            if mend::reason(lines).is_some_and(|reason| !reason.is_empty()) {
                continue;
            }
            if seen.contains(&id) {
                continue;
            }
            seen.push(id);
            let same = before.iter().filter(|other| other.id == id);
            let mut helps = same.filter_map(|other| other.help.first());
            if !helps.any(|help| mend::is_asked(lines, help, root.to_str().unwrap())) {
                wrong.push(format!(
                    "{name}: {lines:?} is not what is asked for: {help}"
                ));
            }
            let again = scratch.join(format!("{name}-{id}"));
            let after = mended(case, lines, &again);
            fs::remove_dir_all(again).unwrap();
            let is_new = |one: &&Finding| one.id == id || !ids.contains(&one.id.as_str());
            if let Some(left) = after.iter().find(is_new) {
                wrong.push(format!("{name}: done: {help}\nand then: {left}"));
            }
            tried += 1;
        }
    }
    fs::remove_dir_all(&scratch).unwrap();
    let named = NOT_TRIED.iter().map(|(_, names)| names.len());
    assert!(left_out >= named.sum(), "what is not tried is there");
    assert!(tried > 100, "{tried}");
    assert!(
        wrong.is_empty(),
        "{} of {tried}\n{}",
        wrong.len(),
        wrong.join("\n\n")
    );
}

/// What is found when these lines of the case are carried out.
fn mended(case: &Case, lines: &[String], root: &Path) -> Vec<Finding> {
    let triple = configured_at(case, root).target;
    let cpu = triple.map_or("x86_64".into(), |triple| Platform::from_triple(&triple).cpu);
    case.unpack(root, &cpu);
    let case = mend::done(case, lines, root, &cpu);
    counting(look_at(&case, root))
}

/// Errors and warnings, those of the targets among them if the case asks for these.
fn counting((toolchain, mut findings): (Toolchain, Vec<Finding>)) -> Vec<Finding> {
    findings.splice(0..0, toolchain.findings);
    findings.retain(|finding| finding.severity != Severity::Note);
    findings
}

fn told(case: &Case, root: &Path) -> String {
    let (toolchain, selection) = look(case, root);
    let mut out = toolchain.listing();
    for path in &toolchain.read {
        assert!(
            path.is_file(),
            "cargo would take {} for changed, every time",
            path.display()
        );
    }
    let settled = toolchain.settle();
    if let (Ok(toolchain), true) = (&settled, asks(case, "directives")) {
        out.push_str(&format!("{}\n", toolchain.directives().join("\n")));
    }
    let mut compiles = true;
    if let Ok(Toolchain { absent: None, .. }) = settled {
        for finding in selection {
            out.push_str(&format!("{}: {finding}\n", finding.severity));
            compiles &= finding.severity != Severity::Error;
        }
    }
    out.push_str(match settled {
        Ok(_) if !compiles => "No kernel is compiled.\n",
        Ok(Toolchain {
            absent: Some(_), ..
        }) => "The build goes on without CUDA.\n",
        Ok(_) => "The build goes on.\n",
        Err(_) => "The build stops.\n",
    });
    out.replace(root.to_str().unwrap(), "$ROOT")
}

fn asks(case: &Case, what: &str) -> bool {
    case.config.iter().any(|line| line == what)
}

/// What is found in the file system of a case, and what is said of the targets if it asks for them.
fn look(case: &Case, root: &Path) -> (Toolchain, Vec<Finding>) {
    let triple = configured_at(case, root).target;
    let cpu = triple.map_or("x86_64".into(), |triple| Platform::from_triple(&triple).cpu);
    case.unpack(root, &cpu);
    look_at(case, root)
}

fn look_at(case: &Case, root: &Path) -> (Toolchain, Vec<Finding>) {
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
    let needs = config.needs();
    case.denied(root, || {
        let toolchain = Toolchain::find(config, host, needs);
        let findings = match asks(case, "targets") {
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
        // What is shown besides.
        ("directives" | "targets", "") => config,
        ("optional", "") => config.optional(),
        ("allow", id) => config.allow(id),
        ("target", triple) => config.target(triple),
        ("env", pair) => config.env([pair.split_once('=').unwrap()]),
        _ => panic!("{line:?} is no call that a case can make"),
    }
}
