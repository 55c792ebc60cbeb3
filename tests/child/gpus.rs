//! Which GPUs are tried, and what the operator chose.

use crate::support::circumstances::do_all;
use crate::support::fresh;
use crate::{json, told};
use std::fs;

/// The verdict, the ids, and the GPUs that were tried.
fn tried(variables: &[(&str, &str)]) -> String {
    let ran = do_all(&["check"], variables).exits_with(0);
    let json = json(&ran.stdout);
    let mut names: Vec<String> = Vec::new();
    for row in json["convolution"].as_array().unwrap() {
        names.push(row["device"].as_str().unwrap().to_string());
    }
    names.dedup();
    format!("{}: {}", told(&ran.stdout), names.join("; "))
}

#[test]
fn the_gpus_that_are_asked_for_are_tried() {
    let four = ("SIM_DEVICES", "4");
    let tried = |devices| tried(&[four, ("CUDNN_GUARD_DEVICES", devices)]);
    assert_eq!(tried(""), "pass : Simulated GPU");
    assert_eq!(tried("0,3"), "pass : Simulated GPU; Simulated GPU, GPU 3");
    assert_eq!(
        tried("all"),
        "pass : Simulated GPU; Simulated GPU, GPU 1; Simulated GPU, GPU 2; Simulated GPU, GPU 3"
    );
    assert_eq!(
        tried("1,4"),
        "unknown variable-unusable: Simulated GPU, GPU 1"
    );
}

#[test]
fn where_gpus_are_shared_through_mps_cudnn_is_tried_only_when_asked() {
    let pipes = fresh("child-mps");
    fs::write(pipes.join("control"), "").unwrap();
    let mps = ("CUDA_MPS_PIPE_DIRECTORY", pipes.to_str().unwrap());
    let ran = do_all(&["check"], &[mps]).exits_with(0);
    assert_eq!(told(&ran.stdout), "unknown device-busy");
    let ran = do_all(&["check"], &[mps, ("CUDNN_GUARD_DEVICES", "0")]).exits_with(0);
    assert_eq!(told(&ran.stdout), "pass ");
}

/// In exclusive mode the guard itself could keep the program, or another one, from the GPU.
#[test]
fn a_gpu_in_exclusive_mode_is_tried_only_when_asked() {
    // Nobody may make a context: it does not come to that.
    let retain = ("SIM_FAULT", "status:cuDevicePrimaryCtxRetain:46");
    for (mode, name) in [("1", "EXCLUSIVE"), ("3", "EXCLUSIVE_PROCESS")] {
        let mode = ("SIM_MODE", mode);
        let ran = do_all(&["startup"], &[mode, retain]).exits_with(0);
        assert_eq!(
            ran.stderr,
            format!(
                "cudnn-guard: unknown: Simulated GPU is in a compute mode in which one process at a time may use it, so it was not tried  [device-busy]
  = help: set CUDNN_GUARD_DEVICES=0 to try it all the same
  mode        {name}
"
            )
        );
        let asked = ("CUDNN_GUARD_DEVICES", "0");
        assert_eq!(tried(&[mode, asked]), "pass : Simulated GPU");
    }
    let ran = do_all(&["startup"], &[("SIM_MODE", "2"), retain]).exits_with(0);
    ran.says("no process may use it, so it was not tried  [device-busy]\n  = help: share the GPU again: `sudo nvidia-smi -c DEFAULT`\n");
    // One that says nothing of it is tried.
    let silent = ("SIM_FAULT", "status:cuDeviceGetAttribute(20):1");
    assert_eq!(tried(&[("SIM_MODE", "3"), silent]), "pass : Simulated GPU");
}

/// Processes that are started together do not all come to the first GPU.
#[test]
fn each_rank_tries_its_own_gpu() {
    let four = ("SIM_DEVICES", "4");
    for variable in ["SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "LOCAL_RANK"] {
        assert_eq!(
            tried(&[four, (variable, "2")]),
            "pass : Simulated GPU, GPU 2"
        );
        // More ranks than GPUs, or one GPU for each.
        assert_eq!(tried(&[four, (variable, "4")]), "pass : Simulated GPU");
        assert_eq!(tried(&[(variable, "3")]), "pass : Simulated GPU");
        let asked = ("CUDNN_GUARD_DEVICES", "1");
        assert_eq!(
            tried(&[four, (variable, "2"), asked]),
            "pass : Simulated GPU, GPU 1"
        );
        assert_eq!(tried(&[four, (variable, "x")]), "pass : Simulated GPU");
    }
}

/// Who starts the program may have TF32 everywhere: it is told, and nothing is unknown for it.
#[test]
fn tf32_by_the_operators_choice_passes_with_a_note() {
    let rounds = ("SIM_TF32", "always");
    assert!(tried(&[rounds]).starts_with("unknown convolution-wrong: "));
    let chosen = ("NVIDIA_TF32_OVERRIDE", "1");
    assert_eq!(
        tried(&[rounds, chosen]),
        "pass convolution-wrong: Simulated GPU"
    );
    let ran = do_all(&["startup"], &[rounds, chosen]).exits_with(0);
    assert_eq!(ran.text(), "");
}
