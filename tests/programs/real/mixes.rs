//! NVIDIA's own files, with sub-libraries that do not come from the directory of the library that opens them.
//! CUDNN_GUARD_REAL is the directory of `.ci/wheels.py`. The findings match the behavior of the loader for a program
//! without a guard.

use crate::runtime::guard::farm::{Farm, library, linked_program, must_be_true};
use crate::runtime::guard::program::{Ran, run};
use std::path::Path;

/// Returns the cause and its evidence, with the directories replaced by these names.
fn cause(ran: &Ran, names: &[(&Farm, &str)]) -> String {
    let text = ran.text.split("\n\n").next().unwrap();
    let mut text = text.split("\n  see  ").next().unwrap().to_string();
    for (farm, name) in names {
        text = text.replace(farm.text(), name);
    }
    text
}

fn opened(shim: &Path) -> (&str, &str) {
    ("TEST_OPEN", shim.to_str().unwrap())
}

/// Up to 9.21, the main library has a RUNPATH, which LD_LIBRARY_PATH overrides. Since 9.22, it has an RPATH.
#[test]
#[ignore = "needs real cuDNN files: CUDNN_GUARD_REAL"]
fn two_sub_libraries_from_the_library_path_are_named_until_they_are_pinned() {
    let stale = Farm::of("cudnn-cu12-9.10").only(&["ops", "cnn"]);
    let good = Farm::of("cudnn-cu13-9.14");
    let shim = good.0.join("libcudnn.so.9");
    let names = [(&stale, "STALE"), (&good, "GOOD")];
    let wanted = "\
cuDNN 9.14.0 at `GOOD` loads `libcudnn_ops.so.9` and `libcudnn_cnn.so.9` (version 9.10.2) from `STALE`  [parts-mixed]
  = help: remove `STALE` from LD_LIBRARY_PATH, or add `GOOD` before it
  loaded      GOOD/libcudnn.so.9
  found via   something in this process that opened it by its path
  origin      LD_LIBRARY_PATH, its entry `STALE`
  sub-libs    9.14.0  GOOD/libcudnn.so.9, version from its build-id
              9.14.0  GOOD/libcudnn_graph.so.9
              9.10.2  STALE/libcudnn_ops.so.9
              9.10.2  STALE/libcudnn_cnn.so.9, version from its build-id
              9.14.0  GOOD/libcudnn_heuristic.so.9, version from its build-id
              9.14.0  GOOD/libcudnn_engines_precompiled.so.9, version from its build-id
              9.14.0  GOOD/libcudnn_engines_runtime_compiled.so.9, version from its build-id
              9.14.0  GOOD/libcudnn_adv.so.9";
    // Nothing is pinned by `check_version`, or if there is no GPU to confirm that cuDNN works.
    let ran = stale.run("version", "9.14.0", &[opened(&shim)]);
    assert_eq!(cause(&ran, &names), wanted);
    let ran = run("check", &stale.0, &[opened(&shim)]);
    ran.must_be("fail", &["parts-mixed", "driver-missing"]);
    assert_eq!(cause(&ran, &names), wanted);
    assert_eq!(ran.json["loaded"]["version"], "9.14.0");
    // Follow the help.
    for path in ["", &format!("{}:{}", good.text(), stale.text())] {
        let path = ("LD_LIBRARY_PATH", path);
        let ran = stale.run("version", "9.14.0", &[opened(&shim), path]);
        ran.must_be("pass", &[]);
    }
    // The guard opens the sub-libraries beside the main library, and the program then uses those.
    let ran = stale.run("check", "9.14.0", &[opened(&shim)]);
    ran.must_be("pass", &["parts-mixed"]);
    let finding = &ran.json["findings"][0];
    assert_eq!(finding["severity"], "warning");
    let summary = finding["summary"].as_str().unwrap();
    assert!(
        summary.starts_with("without this guard, cuDNN 9.14.0 at"),
        "{summary}"
    );
    let shim = library("cudnn-cu13-9.28").join("libcudnn.so.9");
    let ran = stale.run("version", "9.28.0", &[opened(&shim)]);
    ran.must_be("pass", &[]);
}

/// Compiles a third-party library that is linked to its own cuDNN.
fn plugin(farm: &Farm, files: &[&str]) -> String {
    let (source, plugin) = (farm.0.join("plugin.c"), farm.0.join("libplugin.so"));
    std::fs::write(&source, "int plugin;").unwrap();
    let mut cc = std::process::Command::new("cc");
    cc.args(["-shared", "-fPIC", "-Wl,--no-as-needed", "-o"]);
    cc.arg(&plugin).arg(&source);
    cc.args(files.iter().map(|file| farm.0.join(file)));
    cc.arg(format!("-Wl,-rpath,{}", farm.text()));
    assert!(cc.status().unwrap().success());
    plugin.to_str().unwrap().to_string()
}

/// The entire process uses the cuDNN that is loaded first. The finding names the library that loaded it.
#[test]
#[ignore = "needs real cuDNN files: CUDNN_GUARD_REAL"]
fn the_library_that_loaded_another_cudnn_first_is_named() {
    let own = Farm::of("cudnn-cu12-9.10");
    let plugin = plugin(&own, &["libcudnn.so.9"]);
    let here = Farm::empty();
    let none = ("LD_LIBRARY_PATH", "");
    let main = own.0.join("libcudnn.so.9");
    for (how, file, help, way) in [
        (
            "TEST_OPEN",
            main.to_str().unwrap(),
            "make the code that opened the cuDNN in `OWN` use cuDNN 9.14 or later 9.x: the whole process uses the first cuDNN that is loaded",
            "something in this process that opened it by its path",
        ),
        (
            "LD_PRELOAD",
            &plugin,
            "remove `OWN/libplugin.so` from LD_PRELOAD, or make it use cuDNN 9.14 or later 9.x: the whole process uses the first cuDNN that is loaded",
            "LD_PRELOAD: `OWN/libplugin.so`, which loads it",
        ),
        (
            "TEST_OPEN",
            &plugin,
            "install cuDNN 9.14 or later 9.x in `OWN`, which `OWN/libplugin.so` searches: the whole process uses the first cuDNN that is loaded",
            "`OWN/libplugin.so`, a library in this process that searches there",
        ),
    ] {
        let ran = here.run("check", "9.14.0", &[none, (how, file)]);
        ran.must_be("fail", &["cudnn-version-mismatch"]);
        assert_eq!(
            cause(&ran, &[(&own, "OWN")]),
            format!(
                "\
loaded cuDNN 9.10.2 is older than 9.14.0, which this program was built with  [cudnn-version-mismatch]
  = help: {help}
  loaded      OWN/libcudnn.so.9
  found via   {way}
  built with  9.14.0 (compatible: 9.14 or later 9.x)"
            )
        );
    }
    // If both search the same directory first, there is only one cuDNN.
    let good = Farm::of("cudnn-cu13-9.14");
    let ran = good.run("check", "9.14.0", &[("LD_PRELOAD", &plugin)]);
    ran.must_be("pass", &[]);
    // A compatible cuDNN is accepted, no matter what loaded it.
    let ran = here.run("check", "9.10.2", &[none, ("LD_PRELOAD", &plugin)]);
    ran.must_be("pass", &["cuda-flavour-mismatch"]);
}

/// A valid cuDNN, but sub-libraries of another one are already loaded.
#[test]
#[ignore = "needs real cuDNN files: CUDNN_GUARD_REAL"]
fn preloaded_sub_libraries_are_not_confused_with_those_of_the_directory() {
    let own = Farm::of("cudnn-cu12-9.10");
    let plugin = plugin(&own, &["libcudnn_ops.so.9", "libcudnn_graph.so.9"]);
    let good = Farm::of("cudnn-cu13-9.14");
    let shim = good.0.join("libcudnn.so.9");
    let variables = [opened(&shim), ("LD_LIBRARY_PATH", "")];
    for task in ["version", "check"] {
        let with = [&variables[..], &[("LD_PRELOAD", &plugin)]].concat();
        let ran = good.run(task, "9.14.0", &with);
        ran.must_be("fail", &["parts-mixed"]);
        let text = cause(&ran, &[(&own, "OWN"), (&good, "GOOD")]);
        let wanted = "\
cuDNN 9.14.0 at `GOOD` loads `libcudnn_graph.so.9` and `libcudnn_ops.so.9` (version 9.10.2) from `OWN`  [parts-mixed]
  = help: remove `OWN/libplugin.so` from LD_PRELOAD, or make it use cuDNN 9.14.0: the whole process uses the first cuDNN that is loaded
  loaded      GOOD/libcudnn.so.9
";
        assert!(text.starts_with(wanted), "{text}");
        assert_eq!(ran.json["loaded"]["version"], "9.14.0");
    }
    // Follow the help.
    good.run("check", "9.14.0", &variables).must_be("pass", &[]);
}

/// Returns the findings of `inspect` about the sub-libraries of a program with a RUNPATH to this cuDNN.
fn inspected(good: &Farm, variables: &[(&str, &str)]) -> (Option<i32>, String) {
    let program = linked_program(&good.0, &good.0);
    let mut inspect = std::process::Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
    inspect
        .args(["inspect", "--json"])
        .arg(&program)
        .env_clear();
    inspect.envs(variables.iter().copied());
    let output = inspect.output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = report["findings"].as_array().unwrap();
    for finding in findings {
        must_be_true(finding["summary"].as_str().unwrap());
        for help in finding["help"].as_array().unwrap() {
            must_be_true(help.as_str().unwrap());
        }
    }
    let mixed = findings
        .iter()
        .find(|finding| finding["id"] == "parts-mixed");
    let text = mixed.map_or_else(String::new, |finding| {
        let part = |key: &str| finding[key].as_str().unwrap().to_string();
        format!(
            "{}\n{}",
            part("summary"),
            finding["help"][0].as_str().unwrap()
        )
    });
    (output.status.code(), text)
}

/// `inspect` reports the same mixes before the program is started.
#[test]
#[ignore = "needs real cuDNN files: CUDNN_GUARD_REAL"]
fn inspect_names_the_origin_of_foreign_sub_libraries() {
    let good = Farm::of("cudnn-cu13-9.14");
    let old = Farm::of("cudnn-cu12-9.1.0").without("libcudnn.so.9");
    let stale = Farm::of("cudnn-cu12-9.10").only(&["ops", "cnn"]);
    let own = Farm::of("cudnn-cu12-9.10");
    let plugin = plugin(&own, &["libcudnn_ops.so.9", "libcudnn_graph.so.9"]);
    let names = [
        (&good, "GOOD"),
        (&old, "OLD"),
        (&stale, "STALE"),
        (&own, "OWN"),
    ];
    for (variable, value, wanted) in [
        (
            "LD_LIBRARY_PATH",
            stale.text(),
            "cuDNN 9.14.0 at `GOOD` loads `libcudnn_ops.so.9` and `libcudnn_cnn.so.9` (version 9.10.2) from `STALE`\n\
             remove `STALE` from LD_LIBRARY_PATH, or add `GOOD` before it",
        ),
        (
            "LD_LIBRARY_PATH",
            old.text(),
            "cuDNN 9.14.0 at `GOOD` loads 7 libraries (version 9.1.0) from `OLD`\n\
             remove `OLD` from LD_LIBRARY_PATH, or add `GOOD` before it",
        ),
        (
            "LD_PRELOAD",
            &plugin,
            "cuDNN 9.14.0 at `GOOD` loads `libcudnn_graph.so.9` and `libcudnn_ops.so.9` (version 9.10.2) from `OWN`\n\
             remove `OWN/libplugin.so` from LD_PRELOAD, or make it use cuDNN 9.14.0: the whole process uses the first cuDNN that is loaded",
        ),
    ] {
        let (code, mut text) = inspected(&good, &[(variable, value)]);
        for (farm, name) in names {
            text = text.replace(farm.text(), name);
        }
        assert_eq!((code, &*text), (Some(1), wanted));
    }
    let both = format!("{}:{}", good.text(), stale.text());
    for path in ["", &both] {
        let (_, text) = inspected(&good, &[("LD_LIBRARY_PATH", path)]);
        assert_eq!(text, "");
    }
}

/// A build that is not in any table, copied without its name and record. Only cuDNN's own check detects the mismatch.
#[test]
#[ignore = "needs real cuDNN files: CUDNN_GUARD_REAL"]
fn a_sub_library_of_an_unknown_build_is_named_if_cudnn_rejects_it() {
    let file = "libcudnn_cnn.so.9";
    let farm = Farm::of("cudnn-cu13-9.14").from("cudnn-cu12-9.10", file);
    let farm = farm.cut(file, u64::MAX);
    let path = farm.0.join(file);
    let mut bytes = std::fs::read(&path).unwrap();
    let id = b"GNU\0\x4d\x8c\x00\x41\x5c\x2e";
    let at = bytes.windows(id.len()).position(|words| words == id);
    bytes[at.unwrap() + 4] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let cause = farm.cause("9.14.0", &[]);
    assert_eq!(
        cause,
        "\
the sub-libraries of cuDNN at `HERE` do not match each other  [parts-mixed]
  = help: remove all `libcudnn*` files from `HERE` and reinstall cuDNN
  loaded      HERE/libcudnn.so.9
  found via   LD_LIBRARY_PATH, its entry `HERE`
  mismatch    cudnnCnnVersionCheck
  no version  HERE/libcudnn_cnn.so.9"
    );
}
