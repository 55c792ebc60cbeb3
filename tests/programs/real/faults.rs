//! Broken combinations of NVIDIA's own files. CUDNN_GUARD_REAL is the directory of `.ci/wheels.py`. The driver and the
//! convolution are fakes, so that the tests do not need a GPU.

use crate::runtime::guard::farm::{Farm, GPU, library, linked_program, must_be_true};
use crate::runtime::guard::program::run;
use std::os::unix::fs::symlink;
use std::path::Path;

/// The wheel is in an active environment, where the loader does not search. Then the help is followed.
#[test]
#[ignore = "needs real cuDNN files: CUDNN_GUARD_REAL"]
fn a_wheel_in_an_active_environment_is_named() {
    let venv = Farm::empty();
    let python = venv.0.join("lib/python3.12");
    std::fs::create_dir_all(&python).unwrap();
    let site = library("cudnn-cu13-9.28");
    let site = site.ancestors().nth(3).unwrap();
    symlink(site, python.join("site-packages")).unwrap();
    let active = [("VIRTUAL_ENV", venv.text()), ("LD_LIBRARY_PATH", "")];
    let lib = "HERE/lib/python3.12/site-packages/nvidia/cudnn/lib";
    let cause = venv.cause("9.28.0", &active);
    let wanted = format!(
        "\
cannot load `libcudnn.so.9`; `{lib}/libcudnn.so.9` exists, but the loader does not search there  [cudnn-not-loadable]
  = help: run `export LD_LIBRARY_PATH={lib}` before you start the program
  reason      VIRTUAL_ENV is `HERE`, but the loader ignores that variable
"
    );
    assert!(cause.starts_with(&wanted), "{cause}");
    let lib = lib.replace("HERE", venv.text());
    let ran = venv.run("check", "9.28.0", &[active[0], ("LD_LIBRARY_PATH", &lib)]);
    let path = ran.json["loaded"]["path"].as_str().unwrap();
    assert_eq!(path, format!("{lib}/libcudnn.so.9"));
    assert_ne!(ran.json["verdict"], "fail", "{}", ran.text);
}

/// Symlinks were copied without their targets, for the main library or for a sub-library.
#[test]
#[ignore = "needs real cuDNN files: CUDNN_GUARD_REAL"]
fn a_broken_symlink_is_reported_as_such() {
    for (file, begins, id) in [
        (
            "libcudnn.so.9",
            "cannot load `libcudnn.so.9`; ",
            "cudnn-not-loadable",
        ),
        ("libcudnn_cnn.so.9", "", "library-damaged"),
    ] {
        let gone = Farm::of("cudnn-cu13-9.14").with(file, Path::new("gone"));
        let cause = gone.cause("9.14.0", &[]);
        let wanted = format!(
            "\
{begins}`HERE/{file}` is a broken link to `HERE/gone`  [{id}]
  = help: remove that link, and reinstall cuDNN in `HERE`
"
        );
        assert!(cause.starts_with(&wanted), "{cause}");
    }
}

/// The mismatch is also reported on a machine without a GPU.
#[test]
#[ignore = "needs real cuDNN files: CUDNN_GUARD_REAL"]
fn a_cudnn_for_another_cuda_is_reported_even_if_the_verdict_is_unknown() {
    let other = Farm::of("cudnn-cu12-9.10");
    let ran = other.run("startup", "9.10.2", &[("TEST_GPU", "none")]);
    ran.must_end_with(0).must_say(&format!(
        "\
cudnn-guard: unknown: NVIDIA's driver reports no GPU  [no-gpu]
  = help: run on a machine that has a GPU, or ask the scheduler for one
  library     /drv/libcuda.so.1
  also        loaded cuDNN was built for CUDA 12, but this program was built with cuDNN for CUDA 13  [cuda-flavour-mismatch]; \
        help: remove `{0}` from LD_LIBRARY_PATH, or add the directory of the cuDNN for CUDA 13 before it
",
        other.text()
    ));
}

/// Bundlers often copy the main library only.
#[test]
#[ignore = "needs real cuDNN files: CUDNN_GUARD_REAL"]
fn a_main_library_without_its_sub_libraries_is_reported() {
    for (set, built, shim, lacks) in [
        (
            "cudnn-cu12-8.9.7",
            "8.9.7",
            "libcudnn.so.8",
            "libcudnn_ops_infer.so.8`, `libcudnn_cnn_infer.so.8",
        ),
        (
            "cudnn-cu13-9.28",
            "9.28.0",
            "libcudnn.so.9",
            "libcudnn_graph.so.9`, `libcudnn_ops.so.9`, `libcudnn_cnn.so.9`, `libcudnn_heuristic.so.9`, `\
             libcudnn_engines_precompiled.so.9`, `libcudnn_engines_runtime_compiled.so.9`, `\
             libcudnn_engines_tensor_ir.so.9",
        ),
    ] {
        let cause = Farm::of(set).alone(shim).cause(built, &[]);
        let wanted = format!(
            "\
cuDNN {built} at `HERE` is missing `{lacks}`, which convolutions need  [parts-missing]
  = help: reinstall cuDNN {built} in `HERE`: the main library opens the others from there
  loaded      HERE/{shim}
  found via   LD_LIBRARY_PATH, its entry `HERE`
  searched    HERE
              LD_LIBRARY_PATH, its entry `HERE`
"
        );
        assert!(cause.starts_with(&wanted), "{cause}");
    }
}

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

/// An engine library is missing. 9.21 added the last one.
#[test]
#[ignore = "needs real cuDNN files: CUDNN_GUARD_REAL"]
fn every_missing_engine_library_is_reported() {
    for part in ["precompiled", "runtime_compiled", "tensor_ir"] {
        let file = format!("libcudnn_engines_{part}.so.9");
        let cause = Farm::of("cudnn-cu13-9.28")
            .without(&file)
            .cause("9.28.0", &[]);
        let lacks = format!(
            "cuDNN 9.28.0 at `HERE` is missing `{file}`, which convolutions need  [parts-missing]\n"
        );
        assert!(cause.starts_with(&lacks), "{cause}");
    }
    // 9.14 never contained the last one. Without a GPU, the verdict is unknown.
    let ran = run("check", &Farm::of("cudnn-cu13-9.14").0, &[]);
    ran.must_be("unknown", &["driver-missing"]);
}

/// Every version that cuDNN itself reports is that of the sub-libraries.
#[test]
#[ignore = "needs real cuDNN files: CUDNN_GUARD_REAL"]
fn a_main_library_of_another_version_is_found() {
    let farm = Farm::of("cudnn-cu12-9.10").from("cudnn-cu13-9.28", "libcudnn.so.9");
    assert_eq!(
        farm.cause("9.10.2", &[]),
        "\
`libcudnn.so.9` in `HERE` is version 9.28.0, but the rest of cuDNN is 9.10.2  [parts-mixed]
  = help: remove all `libcudnn*` files from `HERE` and reinstall cuDNN
  loaded      HERE/libcudnn.so.9
  found via   LD_LIBRARY_PATH, its entry `HERE`
  sub-libs    9.28.0  HERE/libcudnn.so.9, version from its build-id
              9.10.2  HERE/libcudnn_graph.so.9
              9.10.2  HERE/libcudnn_ops.so.9
              9.10.2  HERE/libcudnn_cnn.so.9, version from its build-id
              9.10.2  HERE/libcudnn_heuristic.so.9, version from its build-id
              9.10.2  HERE/libcudnn_engines_precompiled.so.9, version from its build-id
              9.10.2  HERE/libcudnn_engines_runtime_compiled.so.9, version from its build-id
              9.10.2  HERE/libcudnn_adv.so.9"
    );
}

/// Mixes of similar versions, most of which cuDNN itself does not detect.
#[test]
#[ignore = "needs real cuDNN files: CUDNN_GUARD_REAL"]
fn a_sub_library_of_a_similar_version_is_found() {
    for part in [
        "ops",
        "cnn",
        "heuristic",
        "engines_precompiled",
        "engines_runtime_compiled",
    ] {
        let file = format!("libcudnn_{part}.so.9");
        let farm = Farm::of("cudnn-cu13-9.14").from("cudnn-cu12-9.10", &file);
        let cause = farm.cause("9.14.0", &[]);
        assert!(
            cause.contains(&format!("\n              9.10.2  HERE/{file}")),
            "{cause}"
        );
        let headline = format!(
            "`{file}` in `HERE` is version 9.10.2, but the rest of cuDNN is 9.14.0  [parts-mixed]\n"
        );
        assert!(cause.starts_with(&headline), "{cause}");
    }
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

/// A symlink that users create from one major to the other.
#[test]
#[ignore = "needs real cuDNN files: CUDNN_GUARD_REAL"]
fn cudnn_8_under_the_name_of_9_is_recognized() {
    let shim = library("cudnn-cu12-8.9.7").join("libcudnn.so.8");
    let farm = Farm::empty().with("libcudnn.so.9", &shim);
    assert_eq!(
        farm.cause("9.14.0", &[]),
        "\
loaded cuDNN 8.9.7 has a different major version than 9.14.0, which this program was built with  [cudnn-version-mismatch]
  = help: remove `HERE` from LD_LIBRARY_PATH, or add the directory of cuDNN 9.14 or later 9.x before it
  loaded      HERE/libcudnn.so.9
  own name    libcudnn.so.8
  found via   LD_LIBRARY_PATH, its entry `HERE`
  built with  9.14.0 (compatible: 9.14 or later 9.x)"
    );
}

/// The entire process uses the cuDNN that is loaded first, regardless of the library path.
#[test]
#[ignore = "needs real cuDNN files: CUDNN_GUARD_REAL"]
fn a_cudnn_that_is_already_loaded_is_checked() {
    let first = library("cudnn-cu12-9.1.0");
    let shim = first.join("libcudnn.so.9");
    let open = ("TEST_OPEN", shim.to_str().unwrap());
    let first = first.display();
    assert_eq!(
        Farm::of("cudnn-cu13-9.28").cause("9.28.0", &[open]),
        format!(
            "\
loaded cuDNN 9.1.0 is older than 9.28.0, which this program was built with  [cudnn-version-mismatch]
  = help: make the code that opened the cuDNN in `{first}` use cuDNN 9.28.0: the whole process uses the first cuDNN that is loaded
  loaded      {first}/libcudnn.so.9
  found via   something in this process that opened it by its path
  built with  9.28.0 (compatible: 9.28 or later 9.x)"
        )
    );
}

/// 8.5 is linked to a cuBLAS that is not in its directory.
#[test]
#[ignore = "needs real cuDNN files: CUDNN_GUARD_REAL"]
fn a_missing_dependency_of_a_sub_library_is_named() {
    assert_eq!(
        Farm::of("cudnn-cu11-8.5").cause("8.5.0", &[]),
        "\
`HERE/libcudnn_ops_infer.so.8` needs libcublas.so.11, which the loader cannot find  [cudnn-not-loadable]
  = help: install libcublas.so.11, or add its directory to LD_LIBRARY_PATH
  loader      libcublas.so.11: cannot open shared object file: No such file or directory"
    );
}

/// cuDNN itself reports the CUDA version that it was built for.
#[test]
#[ignore = "needs real cuDNN files: CUDNN_GUARD_REAL"]
fn a_build_for_another_cuda_is_a_warning() {
    let ran = Farm::of("cudnn-cu12-9.10").run("check", "9.10.2", &[]);
    ran.must_be("pass", &["cuda-flavour-mismatch"]);
    assert_eq!(ran.json["loaded"]["cuda_major"], 12);
    assert_eq!(
        ran.json["findings"][0]["summary"],
        "loaded cuDNN was built for CUDA 12, but this program was built with cuDNN for CUDA 13"
    );
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

/// A cuDNN that is shipped for graphs only is complete.
#[test]
#[ignore = "needs real cuDNN files: CUDNN_GUARD_REAL"]
fn a_cudnn_for_graphs_only_is_complete() {
    let set = "cudnn-cu13-9.14";
    let mut farm = Farm::of(set).alone("libcudnn.so.9");
    for part in ["graph", "engines_runtime_compiled"] {
        farm = farm.from(set, &format!("libcudnn_{part}.so.9"));
    }
    farm.run("version", "9.14.0", &[]).must_be("pass", &[]);
    let farm = farm.without("libcudnn_graph.so.9");
    farm.run("version", "9.14.0", &[])
        .must_be("fail", &["parts-missing"]);
}
