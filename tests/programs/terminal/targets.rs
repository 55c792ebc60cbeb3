//! The output of `cudnn-guard targets`.

use super::{cudnn_guard, ids, must_exit, text};
#[cfg(target_os = "linux")]
use super::{file, folder};
#[cfg(target_os = "linux")]
use crate::support::circumstances::installed;
use serde_json::Value;
#[cfg(target_os = "linux")]
use std::path::Path;
#[cfg(target_os = "linux")]
use std::process::{Command, Output};

#[test]
fn targets_work_without_cuda() {
    let output = cudnn_guard(&["targets", "9.0+PTX", "RTX 4090", "90a", "--cuda", "12.4"]);
    must_exit(&output, 0);
    assert_eq!(
        text(&output),
        "targets    sm_89 sm_90 compute_90 sm_90a\n\
         chosen by  the command line\n\
         nvcc       what CUDA 12.4 is known to do\n\
         flags      -gencode=arch=compute_89,code=sm_89\n           \
         -gencode=arch=compute_90,code=sm_90\n           \
         -gencode=arch=compute_90,code=compute_90\n           \
         -gencode=arch=compute_90a,code=sm_90a\n"
    );
    for (cuda, nvcc) in [
        (
            "99.0",
            "CUDA 99.0 is not known: what CUDA 13.5 is known to do",
        ),
        ("2.0", "nothing is known of CUDA 2.0"),
    ] {
        let shown = text(&cudnn_guard(&["targets", "80", "--cuda", cuda]));
        assert!(shown.contains(&format!("nvcc       {nvcc}\n")), "{shown}");
    }
    let json = "{\"schema\":1,\"kind\":\"targets\",\"verdict\":\"pass\",\"targets\":[\"sm_86\"],\"flags\":[\"-gencode=arch=compute_80,code=sm_86\"],\"findings\":[]}\n";
    for list in ["8.6(8.0)", "-gencode=arch=compute_80,code=sm_86"] {
        let output = cudnn_guard(&["targets", "--json", "--", list]);
        must_exit(&output, 0);
        assert_eq!(text(&output), json);
    }
}

/// `.archs(["RTX", "4090"])` is such a list too.
#[test]
fn the_help_about_a_name_with_a_comma_shows_how_to_write_it() {
    let output = cudnn_guard(&["targets", "RTX,4090", "--cuda", "12.4"]);
    must_exit(&output, 1);
    assert_eq!(
        text(&output),
        "error: `RTX` in the command line is not a GPU target  [arch-unknown]\n  \
         = help: write targets as `80`, `8.6`, `90a`, `sm_86`, `compute_90`, `86-real`, `8.6+PTX`, `native`, `all` or \
         `all-major`, with spaces, commas or semicolons between them\n  \
         = help: use GPU names, with spaces but no commas in a name: `Ampere`, `H100`, `RTX 4090`; \
         `nvidia-smi --query-gpu=compute_cap --format=csv` prints the numbers of this machine\n  \
         found       the command line: \"RTX,4090\"\n"
    );
}

/// Without a GPU, a build for cuDNN also leaves out the architectures that cuDNN does not support.
#[cfg(unix)]
#[test]
fn the_default_is_all_major_on_a_machine_without_a_gpu() {
    let no_driver = folder("no-driver-and-no-gpu");
    file(&no_driver, "libcuda.so.1", "");
    let shown = |list: &[&str], env: &[(&str, &str)]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
        let command = command
            .arg("targets")
            .args(list)
            .args(["--cuda", "13.5", "--json"]);
        let command = command.env_clear().env("LD_LIBRARY_PATH", &no_driver);
        let output = command.envs(env.iter().copied()).output();
        let json: Value = serde_json::from_str(&text(&output.expect("runs"))).expect("JSON");
        json["targets"].clone()
    };
    let all_major = shown(&["all-major"], &[]);
    assert_eq!(shown(&[], &[]), all_major);
    assert!(all_major.to_string().contains("sm_110"), "{all_major}");
    for variable in ["CUDNN_GUARD_ARCHS", "CUDAARCHS"] {
        let chosen = shown(&[], &[(variable, "90-real")]);
        assert_eq!(chosen, serde_json::json!(["sm_90"]), "{variable}");
    }
    let help = text(&cudnn_guard(&["targets", "--help"]));
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    let default = "[default: CUDNN_GUARD_ARCHS or another variable, else this machine's GPUs, else `all-major`]";
    assert!(help.contains(default), "{help}");
}

/// Targets that an nvcc does not know yet, and the CUDA version that added them.
#[test]
fn unsupported_targets_are_reported_with_the_first_cuda_that_supports_them() {
    let output = cudnn_guard(&["targets", "120", "--cuda", "12.4"]);
    must_exit(&output, 1);
    assert_eq!(
        text(&output),
        "error: CUDA 12.4 does not support sm_120, which the command line requests  [arch-unsupported-by-nvcc]\n  \
         = help: use targets that this nvcc supports, or select another CUDA toolkit with CUDA_HOME\n  \
         found       the command line: \"120\"\n  \
         supported   sm_50 sm_52 sm_53 sm_60 sm_61 sm_62 sm_70 sm_72 sm_75 sm_80 sm_86 sm_87 sm_89 sm_90 sm_90a\n  \
         toolkits    sm_120: CUDA 12.8 and newer\n"
    );
    let output = cudnn_guard(&["targets", "70", "--cuda", "13.0", "--json"]);
    must_exit(&output, 1);
    let json: Value = serde_json::from_str(&text(&output)).expect("JSON");
    assert_eq!(ids(&json), ["arch-unsupported-by-nvcc"]);
    assert_eq!(json["flags"], serde_json::json!([]));
    must_exit(&cudnn_guard(&["targets", "80", "--cuda", "new"]), 2);
}

/// Runs with the driver in this directory, independent of this machine.
#[cfg(target_os = "linux")]
fn with_driver(driver: &Path, list: &str, env: &[(&str, &str)]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cudnn-guard"))
        .args(["targets", list, "--cuda", "12.9", "--json"])
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("LD_LIBRARY_PATH", driver)
        .envs(env.iter().copied())
        .output()
        .expect("cudnn-guard runs")
}

/// All visible GPUs are targets, and a release build reports the GPUs that are not covered.
#[cfg(target_os = "linux")]
#[test]
fn every_gpu_of_this_machine_is_a_target() {
    let driver = installed((9, 14, 0)).join("driver");
    let targets = |output: &Output| {
        let json: Value = serde_json::from_str(&text(output)).expect("JSON");
        let ids: Vec<Value> = json["findings"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|finding| finding["id"].clone())
            .collect();
        (json["targets"].clone(), Value::from(ids))
    };
    let json = |list: &[&str]| serde_json::json!(list);
    type Case<'a> = (
        &'a str,
        &'a [(&'a str, &'a str)],
        &'a [&'a str],
        &'a [&'a str],
    );
    let cases: [Case; 5] = [
        (
            "auto",
            &[],
            &["sm_61", "compute_61", "sm_86", "compute_86"],
            &[],
        ),
        (
            "auto",
            &[("PROFILE", "release")],
            &["sm_61", "compute_61", "sm_86", "compute_86"],
            &["kernels-not-covering-gpu"],
        ),
        (
            "80",
            &[("PROFILE", "release")],
            &["sm_80"],
            &["kernels-not-covering-gpu"],
        ),
        ("native", &[("SIM_CAPABILITY", "8.6")], &["sm_86"], &[]),
        ("native", &[("CUDA_VISIBLE_DEVICES", "")], &[], &["no-gpu"]),
    ];
    for (list, env, wanted, ids) in cases {
        let gpus = [("SIM_DEVICES", "3"), ("SIM_CAPABILITY", "6.1,8.6,8.6")];
        let output = with_driver(&driver, list, &[&gpus, env].concat());
        assert_eq!(
            targets(&output),
            (json(wanted), json(ids)),
            "{list} {env:?}"
        );
    }
}

/// No GPU is known then. The cause is a note, and the evidence if `native` finds no GPU.
#[cfg(target_os = "linux")]
#[test]
fn a_driver_that_cannot_be_opened_is_named() {
    let no_driver = folder("no-driver");
    file(&no_driver, "libcuda.so.1", "");
    let findings = |list| {
        let output = with_driver(&no_driver, list, &[]);
        let json: Value = serde_json::from_str(&text(&output)).expect("JSON");
        (
            output,
            json["findings"].as_array().expect("findings").clone(),
        )
    };
    let words =
        "`libcuda.so.1`, the library of NVIDIA's driver, cannot be opened, so no GPU can be used";
    let (output, notes) = findings("auto");
    must_exit(&output, 0);
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert_eq!(
        (&notes[0]["id"], &notes[1]["id"]),
        (&"driver-missing".into(), &"no-gpu".into())
    );
    assert_eq!(
        (&notes[0]["severity"], &notes[0]["summary"]),
        (&"note".into(), &words.into())
    );
    let (output, errors) = findings("native");
    must_exit(&output, 1);
    let error = errors.iter().find(|one| one["id"] == "no-gpu");
    assert_eq!(error.expect("an error")["evidence"]["driver"], words);
}
