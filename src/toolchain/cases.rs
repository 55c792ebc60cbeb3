//! A folder is a case. `fixtures/cases/<name>` holds
//!
//! ```text
//! root/          a small file system; an empty library stands for one that tells nothing, a DLL whose first line is
//!                `made:` for one that says the rest of the lines: `version 9.1.0`, `imports cublas64_11.dll`
//! links          links to make in it, `usr/local/cuda -> /usr/local/cuda-12.10` (a package cannot carry them)
//! env            the environment, NAME=value
//! config         the build script, one call to a line: `cudnn >=9.1`, `link runtime`, `optional`;
//!                with `directives` what cargo is told is shown too, with `targets` what the compiler is asked for them
//! about          what it shows; on the second line, the numbers of the failures on real machines that it stands for
//! expected.txt   what is found, what is chosen, what is said; written anew with BLESS=1
//! ```
//!
//! `$ROOT` stands for the file system, in all of them.

use crate::config::{Config, Link};
use crate::model::environment::Environment;
use crate::model::finding::Severity;
use crate::model::finding_id;
use crate::model::platform::Platform;
use crate::system::Host;
use crate::system::directive::Directive;
use crate::system::library_file::pe::made::Made;
use crate::system::probe_cache::ProbeCache;
use crate::toolchain::Toolchain;
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn every_case_is_told_as_expected() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/cases");
    let scratch = std::env::temp_dir().join(format!("cudnn-guard-cases-{}", std::process::id()));
    let mut differing = Vec::new();
    let mut names: Vec<PathBuf> = fs::read_dir(&cases)
        .unwrap()
        .map(|case| case.unwrap().path())
        .collect();
    names.sort();
    for case in &names {
        let name = case.file_name().unwrap().to_str().unwrap();
        let told = told(case, &scratch.join(name));
        let expected = case.join("expected.txt");
        if std::env::var_os("BLESS").is_some() {
            fs::write(&expected, &told).unwrap();
        } else if fs::read_to_string(&expected).unwrap_or_default() != told {
            differing.push(format!("=== {name}\n{told}"));
        }
    }
    fs::remove_dir_all(&scratch).unwrap();
    assert!(names.len() > 15, "the cases are there");
    assert!(
        differing.is_empty(),
        "BLESS=1 writes what is told now:\n{}",
        differing.join("\n")
    );
}

/// `about` of a case: what it shows, then the failures of the catalogue that it stands for, if any: `CFG-09 LNK-07`.
#[test]
fn what_a_case_stands_for_is_named_rightly() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/cases");
    let mut named = 0;
    for case in fs::read_dir(cases).unwrap() {
        let file = case.unwrap().path().join("about");
        let text = fs::read_to_string(&file).unwrap_or_default();
        let about = file.display();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.len() < 3 && text.len() != 1, "{about}");
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
const SHOWN_ELSEWHERE: &[(&str, &[&str])] = &[
    ("src/kernels", &["nvcc-not-found", "nvcc-failed"]),
    (
        "src/targets/select/tests.rs",
        &[
            "arch-unknown",
            "arch-unsupported-by-nvcc",
            "gpu-newer-than-nvcc",
            "no-gpu",
        ],
    ),
    ("src/system", &["io-error", "program-timeout"]),
    ("tests/terminal/fetch.rs", &["fetch-failed"]),
    (
        "the guard's tests",
        &[
            "kernels-not-covering-gpu",
            "gpu-newer-than-cudnn",
            "arch-dropped-by-cudnn",
            "ptx-newer-than-driver",
            "known-bad-release",
            "driver-missing",
            "driver-stub",
            "driver-too-old",
            "driver-error",
            "device-busy",
            "device-memory-low",
            "not-loaded-yet",
            "cudnn-not-loadable",
            "cudnn-version-mismatch",
            "cudnn-aborted",
            "cudnn-create-failed",
            "convolution-failed",
            "convolution-wrong",
            "convolution-timeout",
            "child-not-started",
            "built-without-cuda",
        ],
    ),
    ("tests/inspect.rs", &["library-not-found"]),
    (
        "src/kernels/fit",
        &["host-compiler-unsupported", "host-headers-incompatible"],
    ),
];

#[test]
fn every_finding_of_the_search_has_a_case() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/cases");
    let texts: Vec<String> = fs::read_dir(cases)
        .unwrap()
        .map(|case| fs::read_to_string(case.unwrap().path().join("expected.txt")).unwrap())
        .collect();
    let elsewhere: Vec<&str> = SHOWN_ELSEWHERE
        .iter()
        .flat_map(|(_, ids)| ids.iter().copied())
        .collect();
    for known in &elsewhere {
        assert!(finding_id::ALL.contains(known), "{known} is no finding");
    }
    for id in finding_id::ALL
        .iter()
        .filter(|known| !elsewhere.contains(known))
    {
        let shown = format!("[{id}]");
        assert!(texts.iter().any(|text| text.contains(&shown)), "{id}");
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

/// CFG-18: nothing else tells that another package has taken its place.
#[test]
fn cargo_watches_the_file_that_led_to_a_package() {
    let case = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/cases/pkg-config");
    let root = std::env::temp_dir().join(format!("cudnn-guard-led-{}", std::process::id()));
    let platform = Platform::from_triple("x86_64-unknown-linux-gnu");
    copy(&case.join("root"), &root, &platform);
    let host = Host {
        env: Environment::default(),
        platform,
        root: Some(root.clone()),
        answers: ProbeCache::default(),
    };
    let config = Config::new().cuda(">=12").cudnn(">=9");
    let needs = config.needs();
    let directives = Toolchain::find(config, host, needs).reruns();
    fs::remove_dir_all(&root).unwrap();
    for (name, led) in [
        ("usr/lib/x86_64-linux-gnu/pkgconfig/cudnn.pc", true),
        ("usr/share/pkgconfig/cudart-12.10.pc", true),
        ("usr/share/pkgconfig/cublas-12.10.pc", false),
    ] {
        let watched = directives.contains(&Directive::RerunIfChanged(root.join(name)));
        assert_eq!(watched, led, "{name}");
    }
}

fn told(case: &Path, root: &Path) -> String {
    let config = case.join("config");
    let config = fs::read_to_string(config).unwrap_or_default();
    let target = config.lines().find_map(|line| line.strip_prefix("target "));
    let platform = Platform::from_triple(target.unwrap_or("x86_64-"));
    copy(&case.join("root"), root, &platform);
    let root_text = root.to_str().unwrap();
    let read = |name: &str| -> Vec<String> {
        let text = fs::read_to_string(case.join(name))
            .unwrap_or_default()
            .replace("$ROOT", root_text);
        text.lines()
            .map(String::from)
            .filter(|line| !line.is_empty())
            .collect()
    };
    for line in read("links") {
        let (link, target) = line.split_once(" -> ").unwrap();
        link_to(target, &root.join(link));
    }
    let pairs: Vec<(String, String)> = read("env")
        .iter()
        .map(|line| line.split_once('=').unwrap())
        .map(|(name, value)| (name.to_string(), value.to_string()))
        .collect();
    let config = read("config")
        .iter()
        .fold(Config::new().root(root), configured);
    let triple = config
        .target
        .clone()
        .unwrap_or_else(|| "x86_64-unknown-linux-gnu".into());
    let env = Environment::new(pairs.into_iter().map(|(name, value)| (name, value.into())));
    let host = Host {
        env: env.with_pairs(&config.env).for_target(&triple),
        platform: Platform::from_triple(&triple),
        root: config.root.clone(),
        answers: ProbeCache::default(),
    };
    let needs = config.needs();
    let toolchain = Toolchain::find(config, host, needs);
    let mut out = toolchain.listing();
    for path in &toolchain.read {
        assert!(
            path.is_file(),
            "cargo would take {} for changed, every time",
            path.display()
        );
    }
    let settled = toolchain.settle();
    let asks = |what| read("config").iter().any(|line| line == what);
    if let (Ok(toolchain), true) = (&settled, asks("directives")) {
        out.push_str(&format!("{}\n", toolchain.directives().join("\n")));
    }
    let mut compiles = true;
    if let (Ok(toolchain), true) = (&settled, asks("targets")) {
        let told = match toolchain.selection() {
            Ok(selection) => selection.findings,
            Err(error) => error.findings().to_vec(),
        };
        for finding in told {
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
    out.replace(root_text, "$ROOT")
}

fn configured(config: Config, line: &String) -> Config {
    match line.split_once(' ').unwrap_or((line, "")) {
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

fn copy(from: &Path, to: &Path, platform: &Platform) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).into_iter().flatten() {
        let (from, to) = (
            entry.as_ref().unwrap().path(),
            to.join(entry.as_ref().unwrap().file_name()),
        );
        let name = from.file_name().unwrap().to_str().unwrap();
        if from.is_dir() {
            copy(&from, &to, platform);
        } else if name.contains(".so") && fs::read(&from).unwrap().is_empty() {
            fs::write(to, bare_elf(platform)).unwrap();
        } else if let Some(lines) = dll_lines(name, &from) {
            fs::write(to, Made::from_lines(&lines, &platform.cpu)).unwrap();
        } else if is_program(&from) {
            // By another program: were it written here, a test that starts a program at the same time could hold it
            // open, and a file that is open for writing cannot be started.
            let copied = std::process::Command::new("cp")
                .arg(&from)
                .arg(&to)
                .status();
            assert!(copied.unwrap().success());
        } else {
            fs::copy(&from, &to).unwrap();
        }
    }
}

/// What a DLL that is to be made will say.
fn dll_lines(name: &str, path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let lines = if text.is_empty() {
        ""
    } else {
        text.strip_prefix("made:\n")?
    };
    name.ends_with(".dll").then(|| lines.to_string())
}

#[cfg(unix)]
fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(file).unwrap().permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_program(_: &Path) -> bool {
    false
}

/// The shortest file that is a library, with nothing in it.
fn bare_elf(platform: &Platform) -> [u8; 64] {
    let mut bytes = [0; 64];
    bytes[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    bytes[16] = 3;
    bytes[18] = if platform.cpu == "aarch64" { 183 } else { 62 };
    bytes
}

#[cfg(unix)]
fn link_to(target: &str, link: &Path) {
    fs::create_dir_all(link.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(target, link).unwrap();
}

#[cfg(not(unix))]
fn link_to(_: &str, _: &Path) {
    panic!("cases with links run on Unix");
}
