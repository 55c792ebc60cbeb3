//! Broken combinations of NVIDIA's own files. CUDNN_GUARD_REAL is the directory of `.ci/wheels.py`. The driver and the
//! convolution are fakes, so that the tests do not need a GPU.

use crate::runtime::guard::farm::{Farm, GPU, library, linked_program, must_be_true};
use crate::runtime::guard::program::run;
use std::os::unix::fs::symlink;
use std::path::Path;

/// A file is missing from an installed wheel: the guard, `inspect` and `doctor` suggest to reinstall it with pip.
#[test]
#[ignore = "needs real cuDNN files: CUDNN_GUARD_REAL"]
fn a_sub_library_that_is_missing_from_a_wheel_is_restored_by_pip() {
    let venv = Farm::empty();
    let site = venv.0.join("lib/python3.12/site-packages");
    let (lib, real) = (site.join("nvidia/cudnn/lib"), library("cudnn-cu13-9.28"));
    std::fs::create_dir_all(&lib).unwrap();
    let link = |from: &Path, to: &Path| symlink(from, to.join(from.file_name().unwrap())).unwrap();
    for file in std::fs::read_dir(&real).unwrap() {
        link(&file.unwrap().path(), &lib);
    }
    link(&real.with_file_name("include"), lib.parent().unwrap());
    let record = "nvidia_cudnn_cu13-9.28.0.42.dist-info";
    link(&real.ancestors().nth(3).unwrap().join(record), &site);
    let (file, part) = ("libcudnn_ops.so.9", lib.join("libcudnn_ops.so.9"));
    let program = linked_program(&venv.0, &lib);
    let reports = || -> [Vec<serde_json::Value>; 3] {
        let ran = run("check", &lib, &[("TEST_BUILT", "9.28.0"), GPU]);
        must_be_true(&ran.text);
        let by = |arguments: &[&str]| {
            let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
            command
                .args(arguments)
                .env_clear()
                .env("VIRTUAL_ENV", venv.text());
            let output = command.output().unwrap().stdout;
            serde_json::from_slice::<serde_json::Value>(&output).unwrap()
        };
        let inspected = by(&["inspect", "--json", program.to_str().unwrap()]);
        [ran.json, inspected, by(&["doctor", "--json"])].map(|report| {
            let findings = report["findings"].as_array().unwrap().iter();
            findings
                .filter(|one| one["id"] == "parts-missing")
                .cloned()
                .collect()
        })
    };
    std::fs::remove_file(&part).unwrap();
    for found in reports() {
        let [finding] = &found[..] else {
            panic!("{found:?}")
        };
        let help = "reinstall the package: `pip install --force-reinstall --no-deps nvidia-cudnn-cu13==9.28.0.42`";
        assert_eq!(finding["help"][0], help);
        must_be_true(finding["summary"].as_str().unwrap());
    }
    link(&real.join(file), &lib);
    assert_eq!(reports(), [const { Vec::<serde_json::Value>::new() }; 3]);
}

/// Mixes of similar versions, which cuDNN itself does not detect.
#[test]
#[ignore = "needs real cuDNN files: CUDNN_GUARD_REAL"]
fn a_sub_library_of_a_similar_version_is_found() {
    let farm = Farm::of("cudnn-cu12-8.9.7").from("cudnn-cu11-8.5", "libcudnn_cnn_infer.so.8");
    let cause = farm.cause("8.9.7", &[]);
    assert!(
        cause.contains("\n              8.5.0  HERE/libcudnn_cnn_infer.so.8\n"),
        "{cause}"
    );
    // A forward convolution does not open the training libraries, so this is a warning.
    let farm = Farm::of("cudnn-cu12-8.9.7").from("cudnn-cu11-8.5", "libcudnn_cnn_train.so.8");
    let ran = farm.run("version", "8.9.7", &[]);
    ran.must_be("pass", &["parts-mixed"]);
    // The version of a copy that is not in any wheel's record is known from its build id.
    let file = "libcudnn_heuristic.so.9";
    let odd = Farm::empty()
        .with(file, &library("cudnn-cu12-9.1.0").join(file))
        .cut(file, u64::MAX);
    let farm = Farm::of("cudnn-cu12-9.10").with(file, &odd.0.join(file));
    let cause = farm.cause("9.10.2", &[]);
    let headline = "`libcudnn_heuristic.so.9` in `HERE` is version 9.1.0, but the rest of cuDNN is 9.10.2  [parts-mixed]\n";
    assert!(cause.starts_with(headline), "{cause}");
}

/// A file was truncated by a full disk, or is for another CPU. Opening a truncated file crashes the process
/// with SIGBUS.
#[test]
#[ignore = "needs real cuDNN files: CUDNN_GUARD_REAL"]
fn files_that_cannot_be_opened_are_named() {
    let check_cause =
        |farm: Farm, built: &str, wanted: &str| assert_eq!(farm.cause(built, &[]), wanted);
    check_cause(
        Farm::of("cudnn-cu13-9.14").cut("libcudnn_ops.so.9", 1_000_000),
        "9.14.0",
        "\
`HERE/libcudnn_ops.so.9` is truncated: its size is 1000000 bytes, but its segments extend to byte 37758664  [library-damaged]
  = help: reinstall that cuDNN in `HERE`, and check that the disk is not full
  loaded      HERE/libcudnn.so.9
  found via   LD_LIBRARY_PATH, its entry `HERE`",
    );
    check_cause(
        Farm::of("cudnn-cu13-9.14").cut("libcudnn.so.9", 50_000),
        "9.14.0",
        "\
`HERE/libcudnn.so.9` is truncated: its size is 50000 bytes, but its segments extend to byte 123032  [library-damaged]
  = help: reinstall that cuDNN in `HERE`, and check that the disk is not full
  found via   LD_LIBRARY_PATH, its entry `HERE`",
    );
    check_cause(
        Farm::of("cudnn-cu13-9.28").from("cudnn-cu13-9.28-aarch64", "libcudnn_cnn.so.9"),
        "9.28.0",
        "\
`HERE/libcudnn_cnn.so.9` is for aarch64, but this program is for x86_64  [wrong-architecture]
  = help: install the cuDNN for x86_64 in `HERE`
  loaded      HERE/libcudnn.so.9
  found via   LD_LIBRARY_PATH, its entry `HERE`",
    );
    let cause = Farm::of("cudnn-cu13-9.28-aarch64").cause("9.28.0", &[]);
    let wanted = "cannot load `libcudnn.so.9`; `HERE/libcudnn.so.9` is for aarch64, but this program is for x86_64  \
                  [cudnn-not-loadable]\n";
    assert!(cause.starts_with(wanted), "{cause}");
}

/// Since 9.28, a sub-library is linked to the driver.
#[test]
#[ignore = "needs real cuDNN files: CUDNN_GUARD_REAL"]
fn a_sub_library_that_needs_the_driver_is_not_a_fault() {
    let farm = Farm::of("cudnn-cu13-9.28");
    let ran = run("check", &farm.0, &[("TEST_BUILT", "9.28.0")]);
    ran.must_be("unknown", &["driver-missing"]);
    let line = "\n  not tested  libcudnn_engines_runtime_compiled.so.9: requires libcuda.so.1\n";
    assert!(ran.text.contains(line), "{}", ran.text);
}
