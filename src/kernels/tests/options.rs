//! The options of kernels.

use crate::kernels::job::JobOutput;
use crate::kernels::options::DefaultStream;
use crate::kernels::tests::package::Package;
use crate::kernels::{Kernels, Patterns, list_durations, outdated, warn_once};
use crate::runtime::facts::ComputeCapability;
use crate::system::Directive;
use crate::system::freshness::build_stamp;
use crate::toolkit::Product;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

#[test]
fn lists_patterns_and_exclusions_select_files() {
    let package = Package::new(&[
        ("src/a.cu", ""),
        ("src/a_test.cu", ""),
        ("src/moe/b.cu", ""),
        ("src/moe/old/c.cu", ""),
        ("other/d.cu", ""),
    ]);
    let toolchain = package.toolchain();
    let named = |kernels: Kernels| -> Vec<String> {
        let sources = kernels.sources(&mut Vec::new()).unwrap();
        let shown = |path: &PathBuf| package.shown(path.to_str().unwrap());
        sources.iter().map(shown).collect()
    };
    let path = |path: &str| package.path(path).to_str().unwrap().to_string();
    let all = || toolchain.kernels().files(package.pattern());
    let of = |patterns: Patterns| toolchain.kernels().files(patterns);
    assert_eq!(
        named(of([path("other/d.cu"), path("src/moe/*.cu")].into())),
        ["./other/d.cu", "./src/moe/b.cu"]
    );
    assert_eq!(
        named(of(vec![package.path("src/a.cu")].into())),
        ["./src/a.cu"]
    );
    assert_eq!(named(of(package.path("src/a.cu").into())), ["./src/a.cu"]);
    assert_eq!(
        named(all().exclude(["*_test.cu", "c.cu"])),
        ["./src/a.cu", "./src/moe/b.cu"]
    );
    assert_eq!(
        named(all().exclude("src/moe/*.cu")),
        ["./src/a.cu", "./src/a_test.cu", "./src/moe/old/c.cu"]
    );
    assert_eq!(
        named(all().exclude(path("src/moe/**"))),
        ["./src/a.cu", "./src/a_test.cu"]
    );
    // An explicitly named file is never excluded.
    let both = toolchain.kernels().file(package.path("src/a.cu"));
    assert_eq!(named(both.exclude("a.cu")), ["./src/a.cu"]);
    let none = all().exclude("*").sources(&mut Vec::new()).unwrap_err();
    assert_eq!(
        none.to_string(),
        "no kernels are left to compile: `exclude` matches every file that `files` selects  [config-invalid]\n  \
         = help: correct the patterns of `exclude` in build.rs"
    );
}

#[test]
fn a_watched_file_rebuilds_everything() {
    let package = Package::new(&[
        ("src/a.cu", ""),
        ("tables/sin.inc", "1"),
        ("tables/more/cos.inc", "1"),
    ]);
    let compile = |watched: Patterns| {
        let (result, lines) = package.run(&package.toolchain(), |kernels| kernels.watch(watched));
        (result, lines, package.calls().len())
    };
    let tables = || vec![package.path("tables")].into();
    let (result, lines, calls) = compile(tables());
    result.unwrap();
    assert_eq!(calls, 1);
    for line in ["./tables", "./tables/sin.inc", "./tables/more/cos.inc"] {
        assert!(
            lines.contains(&format!("cargo::rerun-if-changed={line}")),
            "{lines:?}"
        );
    }
    assert_eq!(compile(tables()).2, 0);
    package.write("tables/more/cos.inc", "22");
    assert_eq!(compile(tables()).2, 1);
    package.write("tables/tan.inc", "1");
    assert_eq!(compile(tables()).2, 1);
    assert_eq!(compile(tables()).2, 0);
    let missing = compile(vec![package.path("tables/none.inc")].into())
        .0
        .unwrap_err();
    assert_eq!(
        missing,
        "watched path `./tables/none.inc` does not exist  [config-invalid]\n  \
         = help: correct the path in build.rs: it is relative to the package\n  \
         see         cudnn-guard explain config-invalid"
    );
}

#[test]
fn kernels_can_have_their_own_targets() {
    let mut package = Package::new(&[("src/a.cu", "")]);
    let codes = |package: &Package, archs: &[&str]| {
        let toolchain = package.toolchain();
        let kernels = toolchain
            .kernels()
            .files(package.pattern())
            .archs(archs.iter().copied());
        kernels.fatbin().unwrap();
        let guarded = toolchain.guard.borrow().targets.len();
        let calls = package.calls();
        let codes = calls.iter().flat_map(|call| call.split(",code=").skip(1));
        let codes = codes.map(|rest| rest.split(' ').next().unwrap().to_string());
        (codes.collect::<Vec<_>>(), guarded)
    };
    assert_eq!(
        codes(&package, &["90a"]),
        (vec!["sm_80".to_string(), "sm_90".to_string()], 2)
    );
    // The list of the kernels overrides that of the configuration.
    package.env = vec![("CUDNN_GUARD_ARCHS", String::new())];
    assert_eq!(codes(&package, &["90a"]), (vec!["sm_90a".to_string()], 1));
}

/// Files with other targets or flags are compiled by a second call.
#[test]
fn a_second_call_compiles_other_files_with_other_options() {
    let files = [("src/a.cu", ""), ("src/fp8_a.cu", "")];
    let mut package = Package::new(&files);
    package.archs = "80 90 120";
    let compile = |more: Option<&str>| {
        let toolchain = package.toolchain();
        let kernels = || toolchain.kernels().files(package.pattern());
        let first = kernels().exclude("fp8_*.cu");
        let first = first.flags(more.map(|name| format!("-D{name}")));
        first.compile("kernels").unwrap();
        let second = kernels().exclude("a.cu").define("FP8", "1");
        let second = second.at_least(ComputeCapability::new(8, 9));
        second.compile("libfp8.a").unwrap();
    };
    compile(None);
    let calls = package.calls();
    let of = |name: &str| calls.iter().find(|call| call.contains(name)).unwrap();
    let codes = |name: &str| of(name).matches("-gencode").count();
    assert_eq!((codes("src/a.cu"), codes("fp8_a.cu")), (3, 2));
    assert!(of("fp8_a.cu").contains(" -DFP8=1"), "{calls:?}");
    assert!(!of("src/a.cu").contains("-DFP8"), "{calls:?}");
    // Nothing is compiled again, and a change of the first call's options compiles its file.
    compile(None);
    assert_eq!(package.calls().len(), 0);
    compile(Some("A"));
    assert_eq!(package.calls().len(), 1);
}

#[test]
fn embedded_ptx_is_optional_and_has_no_letter() {
    let codes = |archs: &'static str| {
        let mut package = Package::new(&[("src/a.cu", "")]);
        package.archs = archs;
        let mut toolchain = package.toolchain();
        toolchain.config = toolchain.config.embed_ptx(true);
        toolchain.target_list().unwrap().to_string()
    };
    assert_eq!(codes("80"), "sm_80 compute_80");
    assert_eq!(codes("80 90"), "sm_80 sm_90 compute_90");
    assert_eq!(codes("80 90a"), "sm_80 compute_80 sm_90a");
    assert_eq!(codes("90a"), "sm_90a");
    assert_eq!(codes("8.0+PTX 90"), "sm_80 compute_80 sm_90");
    let mut package = Package::new(&[]);
    package.archs = "90 120";
    let list = package.toolchain().target_list().unwrap();
    assert!(list.all_at_least(ComputeCapability::new(9, 0)));
    assert!(!list.all_at_least(ComputeCapability::new(10, 0)));
}

#[test]
fn a_release_build_without_ptx_gets_a_note() {
    let notes = |archs: &'static str, profile: &str| {
        let mut package = Package::new(&[("src/a.cu", "")]);
        package.archs = archs;
        package.env = vec![("PROFILE", profile.to_string())];
        let findings = package.toolchain().selection().unwrap().findings;
        findings.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(
        notes("80 90a", "release"),
        [
            "this release build embeds no PTX, so its kernels do not run on newer GPU generations  \
             [kernels-not-covering-gpu]\n  \
             = help: call `.embed_ptx(true)` on the `Config` in build.rs, or add PTX to the list: `8.0+PTX`\n  \
             compiled    sm_80 sm_90a"
        ]
    );
    assert_eq!(notes("80 90+PTX", "release"), [""; 0]);
    assert_eq!(notes("80", "debug"), [""; 0]);
}

#[test]
fn the_default_stream_is_a_flag_of_nvcc() {
    let package = Package::new(&[("src/a.cu", "")]);
    for (stream, flag) in [
        (DefaultStream::PerThread, "--default-stream=per-thread"),
        (DefaultStream::Legacy, "--default-stream=legacy"),
    ] {
        let toolchain = package.toolchain();
        let kernels = toolchain.kernels().files(package.pattern());
        kernels.default_stream(stream).fatbin().unwrap();
        let calls = package.calls();
        assert!(calls[0].contains(flag), "{calls:?}");
    }
}

#[test]
fn the_slowest_file_of_the_last_build_starts_first() {
    let package = Package::new(&[("src/a.cu", ""), ("src/b.cu", ""), ("src/c.cu", "")]);
    let toolchain = package.toolchain();
    let sources = ["src/a.cu", "src/b.cu", "src/c.cu"].map(|path| package.path(path));
    let kernels = toolchain.kernels();
    let jobs = kernels.jobs(Product::Object, "k", &sources, &[]);
    let jobs = jobs.unwrap();
    let order = || outdated(&jobs, &vec![None; 3]);
    let took = |source: &str, text: &str| {
        let hash = package.hash(&format!("src/{source}.cu"));
        let stamp = format!("out/cudnn-guard/libk/{source}-{hash:016x}.stamp");
        package.write(&stamp, text);
    };
    assert_eq!(order(), [0, 1, 2]);
    took("a", "took 1200\nhow x\n");
    took("c", "took 34000\nhow x\n");
    // An unknown duration may be longer.
    assert_eq!(order(), [1, 2, 0]);
    took("b", "took 5\nhow x\n");
    assert_eq!(order(), [2, 0, 1]);
    for invalid in ["", "took 5", "took -1\n", "how x\ntook 5\n"] {
        took("b", invalid);
        assert_eq!(order(), [1, 2, 0], "{invalid:?}");
    }
    // A compilation records its duration.
    package.compile().0.unwrap();
    assert!(
        jobs.iter()
            .all(|job| build_stamp::duration(&job.stamp).is_some())
    );
}

#[test]
fn the_slowest_command_is_listed_first() {
    let output = |command: &str, milliseconds| {
        Ok(JobOutput {
            files: Vec::new(),
            warnings: String::new(),
            command: command.to_string(),
            time: Duration::from_millis(milliseconds),
            size: 2048,
        })
    };
    let mut lines = Vec::new();
    let results = [output("nvcc -c 0.cu", 1200), output("nvcc -c 2.cu", 34_000)];
    list_durations(&results, &mut lines);
    assert_eq!(
        lines.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [
            "cudnn-guard: 34.0 s, 2 KiB: nvcc -c 2.cu",
            "cudnn-guard: 1.2 s, 2 KiB: nvcc -c 0.cu"
        ]
    );
}

#[test]
fn each_file_that_is_compiled_has_a_line() {
    let package = Package::new(&[("src/a.cu", ""), ("src/b.cu", "")]);
    let texts = || {
        let mut lines = Vec::new();
        let toolchain = package.toolchain();
        let kernels = toolchain.kernels().files(package.pattern());
        kernels.library("k", &mut lines).unwrap();
        let texts = lines
            .iter()
            .filter(|line| matches!(line, Directive::Text(_)));
        texts
            .map(|line| package.shown(&line.to_string()))
            .collect::<Vec<_>>()
    };
    let all = texts();
    assert_eq!(all.len(), 2);
    assert!(
        all.iter().all(|line| line.starts_with("cudnn-guard: ")
            && line.contains(" s, ")
            && line.contains(" KiB: ./cuda/bin/nvcc -c ./src/")),
        "{all:?}"
    );
    assert_eq!(texts(), [""; 0]);
    package.write("src/b.cu", "x");
    assert_eq!(texts().len(), 1);
}

#[test]
fn a_warning_of_nvcc_is_printed_once() {
    let text =
        |file: &str| format!("{file}(1): warning #177-D: x\n  int x;\n      ^\n\nRemark: y\n\n");
    let mut printed = BTreeSet::new();
    let one = text("a.h") + &text("a.h");
    let mut warnings = |text: &str| {
        let mut lines = Vec::new();
        warn_once(text, &mut printed, &mut lines);
        lines
    };
    let lines = warnings(&one);
    assert_eq!(
        lines.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [
            "cargo::warning=a.h(1): warning #177-D: x",
            "cargo::warning=  int x;",
            "cargo::warning=      ^",
            "cargo::warning=Remark: y"
        ]
    );
    assert_eq!(warnings(&text("a.h")), []);
    assert_eq!(warnings(&text("b.h")).len(), 3);
}

/// Up to three files are compiled as one.
#[test]
fn several_files_as_one() {
    let names = ["src/a.cu", "src/b.cu", "src/c.cu", "src/d.cu"];
    let package = Package::new(&names.map(|name| (name, name)));
    let compile = || {
        let toolchain = package.toolchain();
        let (result, lines) = package.run(&toolchain, |kernels| kernels.unity(3));
        result.unwrap();
        (package.calls(), lines)
    };
    let (calls, lines) = compile();
    assert_eq!(calls.len(), 2, "{calls:?}");
    for name in names {
        let line = format!("cargo::rerun-if-changed=./{name}");
        assert!(lines.contains(&line), "{name}: {lines:?}");
    }
    let mut texts = Vec::new();
    for unit in std::fs::read_dir(package.path("out/cudnn-guard/unity")).unwrap() {
        let text = std::fs::read_to_string(unit.unwrap().path()).unwrap();
        texts.push(package.shown(&text));
    }
    texts.sort();
    let first = "#include \"./src/a.cu\"\n#include \"./src/b.cu\"\n#include \"./src/c.cu\"\n";
    assert_eq!(texts, [first, "#include \"./src/d.cu\"\n"]);
    assert_eq!(compile().0, [""; 0], "nothing has changed");
    package.write("src/b.cu", "changed");
    let calls = compile().0;
    assert_eq!(calls.len(), 1, "{calls:?}");
    // Files that a program loads are compiled alone.
    let toolchain = package.toolchain();
    let kernels = toolchain.kernels().files(package.pattern()).unity(3);
    assert_eq!(kernels.ptx().unwrap().len(), 4);
}
