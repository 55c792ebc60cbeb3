//! Reports from literals, compared byte for byte.

pub mod json;

use crate::model::{
    Candidate, Cudnn, Found, FoundVia, Installer, Library, Obstacle, Owner, Rejection, Toolkit,
    Variable,
};
use crate::report::{Machine, ToolchainReport};
use crate::runtime::binary::Defect;
use crate::runtime::driver::{Device, Driver};
use crate::runtime::facts::{
    Code, ComputeCapability, FindingId, Json, Suffix, Target, Verdict, Version, VersionSource,
    is_unprintable,
};
use crate::runtime::install::{Installed, SubLibraryFile};

fn part(name: &str, version: Option<Version>) -> SubLibraryFile {
    let path = format!("/opt/nv/cudnn/lib/libcudnn_{name}.so.9").into();
    let source = VersionSource::Symbol("cudnn_graph_version");
    SubLibraryFile::new(name, path, version.map(|version| (version, source)), false)
}

fn toolkit() -> Toolkit {
    Toolkit {
        root: "/opt/nv/cu13".into(),
        version: Some(Version::new(13, 0, 0)),
        nvcc: Some("/opt/nv/cu13/bin/nvcc".into()),
        include_dirs: vec!["/opt/nv/cu13/include".into()],
        link_dirs: vec!["/opt/nv/cu13/lib".into()],
        absent: Vec::new(),
        stub_dirs: Vec::new(),
    }
}

fn cudnn() -> Cudnn {
    let release = Some(Version::new(9, 14, 0));
    Cudnn {
        root: "/opt/nv/cudnn".into(),
        header: Some("/opt/nv/cudnn/include/cudnn_version.h".into()),
        include_dir: Some("/opt/nv/cudnn/include".into()),
        header_version: release,
        library: Some("/opt/nv/cudnn/lib/libcudnn.so.9".into()),
        library_version: release,
        link_dir: Some("/opt/nv/cudnn/lib".into()),
        link_library: Some(Library::Verbatim("libcudnn.so.9".to_string())),
        cpu: Some("x86_64"),
        cuda_major: Some(13),
        installed: Installed {
            list: vec![
                part("adv", release),
                part("cnn", None),
                part("engines_precompiled", None),
                part("graph", release),
                part("heuristic", None),
                part("ops", release),
            ],
            ..Installed::default()
        },
        gpu_codes: Target::parse_all("sm_75 sm_80 sm_90a sm_120f sm_121 compute_121"),
        owner: Some(Box::new(Owner {
            installer: Installer::Conda,
            name: "cudnn".to_string(),
            version: "9.14.0.64".to_string(),
            fetched: None,
        })),
        files: Default::default(),
    }
}

/// A compatible toolkit and cuDNN, an older toolkit, and a GPU.
fn complete_report() -> ToolchainReport {
    let mut older = toolkit();
    older.root = "/usr/local/cuda-12.4".into();
    older.version = Some(Version::new(12, 4, 0));
    let capability = ComputeCapability::new(9, 0);
    let target = |code| Target {
        capability,
        suffix: Suffix::None,
        code,
    };
    ToolchainReport {
        unrequired: Vec::new(),
        toolkit: Some(toolkit()),
        cudnn: Some(cudnn()),
        candidates: vec![
            Candidate {
                found: Found::Toolkit(toolkit()),
                via: FoundVia::variable("CUDA_HOME"),
                rejected: None,
                request: None,
            },
            Candidate {
                found: Found::Toolkit(older),
                via: FoundVia::Directory("NVIDIA's versioned directories"),
                rejected: Some(Rejection::CudnnBuiltForCuda(13)),
                request: None,
            },
            Candidate {
                found: Found::Cudnn(cudnn()),
                via: FoundVia::variable("CUDNN_PATH"),
                rejected: None,
                request: None,
            },
        ],
        findings: Vec::new(),
        cudarc: None,
        doubt: None,
        machine: Some(Machine {
            gpu_codes: vec![target(Code::Machine)],
            host_compiler: Some("gcc 14.2.0 at /usr/bin/gcc".to_string()),
            knows_host_compiler: true,
            driver: Some(Driver {
                library: "libcuda.so.1".to_string(),
                version: Some("580.95.05".to_string()),
                cuda: Some(Version::new(13, 0, 0)),
                devices: Vec::new(),
            }),
            gpus: vec![Device {
                name: "NVIDIA H200".to_string(),
                capability,
            }],
            targets: vec![target(Code::Machine), target(Code::Ptx)],
        }),
    }
}

#[test]
fn compatible_items_have_a_tick() {
    let mut report = complete_report();
    let all = "adv cnn engines_precompiled engines_runtime_compiled graph heuristic ops";
    let parts = all
        .split(' ')
        .map(|name| part(name, Some(Version::new(9, 14, 0))));
    report.cudnn.as_mut().unwrap().installed.list = parts.collect();
    assert_eq!(
        report.to_string(),
        "  ✓ toolkit   CUDA 13.0 at /opt/nv/cu13
              found via CUDA_HOME
  ✓ nvcc      /opt/nv/cu13/bin/nvcc
  ✓ host code gcc 14.2.0 at /usr/bin/gcc
  ✓ cuDNN     9.14.0 for CUDA 13 at /opt/nv/cudnn
              found via CUDNN_PATH
  ✓ header    9.14.0 in /opt/nv/cudnn/include/cudnn_version.h
  ✓ library   9.14.0 in /opt/nv/cudnn/lib/libcudnn.so.9
  ✓ owner     conda package cudnn 9.14.0.64
  ✓ sub-libs  adv 9.14.0, cnn 9.14.0, engines_precompiled 9.14.0,
              engines_runtime_compiled 9.14.0, graph 9.14.0, heuristic 9.14.0,
              ops 9.14.0
  ✓ GPU code  7.5 8.0 9.0a 12.0f 12.1, PTX 12.1, read from its sub-libraries
  ✓ driver    580.95.05, supports CUDA 13.0, libcuda.so.1
  ✓ GPUs      NVIDIA H200, compute capability 9.0
  ✓ targets   sm_90 compute_90

also found
  CUDA 12.4 at /usr/local/cuda-12.4
    found via NVIDIA's versioned directories
    not chosen: cuDNN was built for CUDA 13

verdict: pass (all versions are compatible)
"
    );
}

#[test]
fn a_long_origin_continues_on_the_next_line() {
    let mut report = complete_report();
    let names = [
        Variable::CudnnIncludeDir,
        Variable::CudnnLibraryPath,
        Variable::CudnnInstallPath,
        Variable::CudnnRootDir,
    ];
    for candidate in &mut report.candidates {
        candidate.via = FoundVia::variables(&names);
    }
    let text = report.to_string();
    let expected = "  ✓ cuDNN     9.14.0 for CUDA 13 at /opt/nv/cudnn
              found via CUDNN_INCLUDE_DIR and CUDNN_LIBRARY_PATH and
              CUDNN_INSTALL_PATH and CUDNN_ROOT_DIR
  ✓ header ";
    assert!(text.contains(expected), "{text}");
    let expected = "also found
  CUDA 12.4 at /usr/local/cuda-12.4
    found via CUDNN_INCLUDE_DIR and CUDNN_LIBRARY_PATH and CUDNN_INSTALL_PATH
    and CUDNN_ROOT_DIR
    not chosen: ";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn unknown_items_have_no_tick() {
    let mut report = complete_report();
    report.machine.as_mut().unwrap().gpus.clear();
    assert_eq!(report.verdict(), Verdict::Unknown);
    report.toolkit.as_mut().unwrap().version = None;
    let cudnn = report.cudnn.as_mut().unwrap();
    (cudnn.header_version, cudnn.library_version) = (None, None);
    let machine = report.machine.as_mut().unwrap();
    machine.driver = None;
    let silent = "the NVIDIA driver did not respond within 5 s";
    let silent = FindingId::DriverError.warning(silent);
    report.findings.push(silent);
    let text = report.to_string();
    for row in [
        "  ? toolkit   CUDA of unknown version at /opt/nv/cu13",
        "  ? cuDNN     of unknown version at /opt/nv/cudnn",
        "  ? library   /opt/nv/cudnn/lib/libcudnn.so.9, version unknown",
        "  ! driver    no answer  (warning)",
        "  ? GPUs      no answer",
        "verdict: unknown (1 warning; library version unknown; no driver)",
    ] {
        assert!(text.lines().any(|line| line == row), "{row}: {text}");
    }
}

/// The rest of a long list is at the end, where it does not hide anything else.
#[test]
fn long_evidence_comes_last() {
    let places = ["/a", "/b", "/c", "/d", "/e"];
    let report = ToolchainReport {
        findings: vec![
            FindingId::CudaNotFound
                .error("no CUDA toolkit was found")
                .with_lines("searched", places)
                .with_lines("also found", &places[..4])
                .help(
                    "let `/a path with blanks/that is not broken/at the end of the line` go first",
                ),
        ],
        ..ToolchainReport::default()
    };
    assert_eq!(
        report.to_string(),
        "  ✗ error: no CUDA toolkit was found  [cuda-not-found]
      = help: let
              `/a path with blanks/that is not broken/at the end of the line` go
              first
      searched    5 lines, at the end
      also found  /a
                  /b
                  /c
                  /d

  ✗ toolkit   not found  (error)
  – cuDNN     not found
  ? driver    not queried
  ? GPUs      not queried

searched, for cuda-not-found
  /a
  /b
  /c
  /d
  /e

verdict: fail (1 error)
"
    );
}

#[test]
fn the_short_form_shows_only_the_chosen_stack() {
    let text = format!("{:#}", complete_report());
    assert!(text.starts_with("  ✓ toolkit "));
    assert!(
        text.ends_with("heuristic,\n              ops 9.14.0\n"),
        "{text}"
    );
}

/// The characters that change the direction of text (Unicode's Bidi_Control), and some without a width.
const HIDDEN: [char; 16] = [
    '\u{61c}',
    '\u{200e}',
    '\u{200f}',
    '\u{202a}',
    '\u{202b}',
    '\u{202c}',
    '\u{202d}',
    '\u{202e}',
    '\u{2066}',
    '\u{2067}',
    '\u{2068}',
    '\u{2069}',
    '\u{ad}',
    '\u{200b}',
    '\u{feff}',
    '\u{e0001}',
];

#[test]
fn nothing_read_from_a_machine_reaches_the_terminal_unescaped() {
    let mut report = complete_report();
    let evil = "a\u{1b}[2Jb\u{7f}\u{9b}\n  ✓ c".to_string() + &String::from_iter(HIDDEN);
    let evil = &*evil;
    if let Some(toolkit) = &mut report.toolkit {
        toolkit.root = evil.into();
        toolkit.nvcc = Some(evil.into());
    }
    if let Some(cudnn) = &mut report.cudnn {
        cudnn.root = evil.into();
        cudnn.header = Some(evil.into());
        cudnn.library = Some(evil.into());
        for part in &mut cudnn.installed.list {
            part.name = evil.to_string();
        }
        if let Some(owner) = &mut cudnn.owner {
            owner.version = evil.to_string();
        }
    }
    report.cudarc = Some(evil.to_string());
    for candidate in &mut report.candidates {
        candidate.via = FoundVia::variable(evil);
        candidate.rejected = Some(Rejection::Obstructed(Obstacle {
            path: evil.into(),
            defect: Defect::SymlinkLoop,
        }));
    }
    if let Some(machine) = &mut report.machine {
        machine.gpus[0].name = evil.to_string();
        machine.host_compiler = Some(evil.to_string());
        if let Some(driver) = &mut machine.driver {
            driver.library = evil.to_string();
            driver.version = Some(evil.to_string());
        }
    }
    report.findings = vec![
        FindingId::IoError
            .error(evil)
            .with("found", format!("x\u{7}{evil}"))
            .help(evil),
    ];
    let text = report.to_string();
    assert!(!text.contains(['\u{1b}', '\u{7}']), "{text}");
    assert!(!text.contains(HIDDEN), "{text:?}");
    assert!(!text.lines().any(|line| line == "  ✓ c"), "{text}");
    let json = report.to_json();
    assert!(!json.contains(is_unprintable));
    assert!(!json.contains(HIDDEN));
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["findings"][0]["summary"], evil);
    // The runtime escapes them too.
    assert!(!report.findings[0].to_string().contains(HIDDEN));
    assert!(!Json::text(&evil).to_string().contains(HIDDEN));
}
