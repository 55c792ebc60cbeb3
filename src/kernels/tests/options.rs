//! What a build script says of its kernels.

use crate::kernels::Kernels;
use crate::kernels::sources::Patterns;
use crate::kernels::tests::package::Package;
use std::path::PathBuf;

#[test]
fn lists_patterns_and_exclusions_name_the_files() {
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
    // What is named by itself is meant.
    let both = toolchain.kernels().file(package.path("src/a.cu"));
    assert_eq!(named(both.exclude("a.cu")), ["./src/a.cu"]);
    let none = all().exclude("*").sources(&mut Vec::new()).unwrap_err();
    assert_eq!(
        none.to_string(),
        "no kernel is left to compile: `exclude` leaves out every file that `files` names  [config-invalid]\n  \
         = help: correct the patterns of `exclude` in build.rs"
    );
}

#[test]
fn what_is_watched_makes_all_anew() {
    let package = Package::new(&[
        ("src/a.cu", ""),
        ("tables/sin.inc", "1"),
        ("tables/more/cos.inc", "1"),
    ]);
    let compile = |watched: Patterns| {
        let toolchain = package.toolchain();
        let kernels = toolchain.kernels().files(package.pattern()).watch(watched);
        let mut lines = Vec::new();
        let result = kernels.library("k", &mut lines);
        let shown = lines.iter().map(|line| package.shown(&line.to_string()));
        (
            result.map_err(|error| error.to_string()),
            shown.collect::<Vec<_>>(),
            package.calls().len(),
        )
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
        package.shown(&missing),
        "`./tables/none.inc` is not there, which build.rs watches  [config-invalid]\n  \
         = help: correct the path in build.rs: it is relative to the package\n  \
         see         cudnn-guard explain config-invalid"
    );
}

#[test]
fn a_group_of_kernels_has_targets_of_its_own() {
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
    // Its own list counts where nobody wishes for another one.
    package.env = vec![("CUDNN_GUARD_ARCHS", String::new())];
    assert_eq!(codes(&package, &["90a"]), (vec!["sm_90a".to_string()], 1));
}
