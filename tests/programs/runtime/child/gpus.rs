//! Which GPUs are tried, and what the operator chose.

use super::{json, told};
use crate::support::circumstances::do_all;
use crate::support::fresh;
use std::fs;

/// The variables of launchers, from the inner one to the outer one.
const RANKS: [&str; 7] = [
    "LOCAL_RANK",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "MPI_LOCALRANKID",
    "PMI_LOCAL_RANK",
    "PALS_LOCAL_RANKID",
    "FLUX_TASK_LOCAL_ID",
    "SLURM_LOCALID",
];

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

/// In a container that starts again whenever it ends, what passes by must not end the program. Faults do.
#[test]
fn a_required_gpu_may_be_shared_or_fail_once() {
    let pipes = fresh("child-mps-required");
    fs::write(pipes.join("control"), "").unwrap();
    let mps = ("CUDA_MPS_PIPE_DIRECTORY", pipes.to_str().unwrap());
    let once = pipes.join("once");
    let abort = ("SIM_FAULT", "abort:cudnnConvolutionForward");
    let once = [("SIM_ONCE", once.to_str().unwrap()), abort];
    let started = |variables: &[(&str, &str)], value: &str| {
        let required = [("CUDNN_GUARD_REQUIRE_GPU", value)];
        do_all(&["startup"], &[variables, &required].concat())
    };
    let shared = started(&[mps], "1").exits_with(0);
    assert!(shared.stderr.contains("[device-busy]"), "{}", shared.stderr);
    let crashed = started(&once, "1").exits_with(0);
    let told = "\n  retry       passed\n";
    assert!(crashed.stderr.contains(told), "{}", crashed.stderr);
    started(&[mps], "strict").exits_with(78);
    started(&[abort], "1").exits_with(78);
}

/// A service that was killed leaves its socket, and nobody shares the GPU any more.
#[test]
fn a_multi_process_service_that_is_gone_hinders_nobody() {
    use std::os::unix::net::UnixListener;
    // A socket's path is short.
    let pipes = std::env::temp_dir().join(format!("guard-mps-{}", std::process::id()));
    fs::create_dir_all(&pipes).unwrap();
    let mps = [("CUDA_MPS_PIPE_DIRECTORY", pipes.to_str().unwrap())];
    let listens = UnixListener::bind(pipes.join("control")).unwrap();
    assert_eq!(tried(&mps), "unknown device-busy: ");
    drop(listens);
    assert_eq!(tried(&mps), "pass : Simulated GPU");
    fs::remove_dir_all(&pipes).unwrap();
}

/// Nobody takes what waits in its queue: a service that was stopped. To connect as a client does would wait for ever.
#[test]
fn a_multi_process_service_that_is_stopped_holds_nobody_up() {
    use std::os::fd::AsRawFd;
    use std::os::unix::net::{UnixListener, UnixStream};
    unsafe extern "C" {
        fn listen(socket: i32, backlog: i32) -> i32;
    }
    let pipes = std::env::temp_dir().join(format!("guard-mps-full-{}", std::process::id()));
    fs::create_dir_all(&pipes).unwrap();
    let control = pipes.join("control");
    let stopped = UnixListener::bind(&control).unwrap();
    // SAFETY: the socket is open, and only its queue gets shorter.
    assert_eq!(unsafe { listen(stopped.as_raw_fd(), 0) }, 0);
    let waiting = UnixStream::connect(&control).unwrap();
    // What is held up goes on then, and does not see the service.
    let ends = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_secs(10));
        drop(stopped);
    });
    let began = std::time::Instant::now();
    let mps = [("CUDA_MPS_PIPE_DIRECTORY", pipes.to_str().unwrap())];
    assert_eq!(tried(&mps), "unknown device-busy: ");
    assert!(began.elapsed().as_secs() < 9);
    drop(waiting);
    ends.join().unwrap();
    fs::remove_dir_all(&pipes).unwrap();
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
                "cudnn-guard: unknown: Simulated GPU is in a compute mode in which one process at a time may use it, so it was not tested  [device-busy]
  = help: set CUDNN_GUARD_DEVICES=0 to test it anyway
  mode        {name}
"
            )
        );
        let asked = ("CUDNN_GUARD_DEVICES", "0");
        assert_eq!(tried(&[mode, asked]), "pass : Simulated GPU");
    }
    let ran = do_all(&["startup"], &[("SIM_MODE", "2"), retain]).exits_with(0);
    ran.says("no process can use it, so it was not tested  [device-busy]\n  = help: share the GPU again: `sudo nvidia-smi -c DEFAULT`\n");
    // One that says nothing of it is tried.
    let silent = ("SIM_FAULT", "status:cuDeviceGetAttribute(20):1");
    assert_eq!(tried(&[("SIM_MODE", "3"), silent]), "pass : Simulated GPU");
}

/// An old card beside a new one, and nobody said which: the program may take either.
#[test]
fn the_first_gpu_that_is_served_is_tried_where_nobody_chose() {
    let two = ("SIM_DEVICES", "2");
    let order = |variables: &[(&str, &str)]| {
        let ran = do_all(&["check"], variables).exits_with(0);
        let json = json(&ran.stdout);
        let findings = json["findings"].as_array().unwrap();
        let of_gpu = |it: &&serde_json::Value| it["id"] == "arch-dropped-by-cudnn";
        let finding = findings.iter().find(of_gpu).unwrap();
        finding["evidence"]["order"].as_str().unwrap().to_string()
    };
    let unlike = ("SIM_CAPABILITY", "6.1,9.0");
    assert_eq!(
        tried(&[two, unlike]),
        "pass arch-dropped-by-cudnn: Simulated GPU, GPU 1"
    );
    assert_eq!(
        order(&[two, unlike]),
        "CUDA_DEVICE_ORDER is not set, so CUDA puts the fastest GPU first"
    );
    let by_bus = ("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    assert_eq!(
        order(&[two, unlike, by_bus]),
        "CUDA_DEVICE_ORDER=PCI_BUS_ID"
    );
    let other = ("SIM_CAPABILITY", "9.0,6.1");
    assert_eq!(
        tried(&[two, other]),
        "pass arch-dropped-by-cudnn: Simulated GPU"
    );
    // Where none is served, or this one is asked for, it stops the program if it does not compute.
    let refused = ("SIM_FAULT", "status:cudnnConvolutionForward:4000");
    let old = ("SIM_CAPABILITY", "6.1");
    let asked = ("CUDNN_GUARD_DEVICES", "0");
    for variables in [&[two, old, refused][..], &[two, unlike, refused, asked]] {
        let told = tried(variables);
        assert!(
            told.starts_with("fail ") && told.contains("convolution-failed"),
            "{told}"
        );
        assert!(told.ends_with(": Simulated GPU"), "{told}");
    }
}

/// What this cuDNN does not offer on a GPU that came after the tables may be offered by none.
#[test]
fn what_is_not_supported_on_a_gpu_that_nobody_knew_is_unknown() {
    let refused = ("SIM_FAULT", "status:cudnnConvolutionForward:3000");
    let no_engine = ("SIM_PLANS", "38=3000 1=3000 0=3000");
    let new = tried(&[refused, no_engine, ("SIM_CAPABILITY", "13.0")]);
    let told = "unknown gpu-newer-than-cudnn convolution-failed: Simulated GPU";
    assert_eq!(new, told);
    let known = tried(&[refused, no_engine]);
    assert!(known.starts_with("fail convolution-failed"), "{known}");
    let by_graph = tried(&[refused]);
    assert_eq!(by_graph, "unknown convolution-failed: Simulated GPU");
}

/// What the legacy API declines is no fault of a cuDNN whose graph API computes in the same format.
#[test]
fn what_only_the_legacy_api_declines_is_unknown() {
    for status in 3000..=3014 {
        let fault = format!("status:cudnnConvolutionForward:{status}");
        let fault = ("SIM_FAULT", &fault[..]);
        let json = json(&do_all(&["check"], &[fault]).exits_with(0).stdout);
        if status == 3009 {
            assert_eq!(json["verdict"], "fail");
            continue;
        }
        assert_eq!(json["verdict"], "unknown", "{status}: {json:#}");
        let finding = &json["findings"][0];
        assert_eq!(
            (&finding["id"], &finding["severity"]),
            (&"convolution-failed".into(), &"warning".into())
        );
        assert_eq!(
            finding["evidence"]["graph API"],
            "computes in f32 on this GPU"
        );
        let required = ("CUDNN_GUARD_REQUIRE_GPU", "1");
        do_all(&["startup"], &[fault, required]).exits_with(0);
    }
    // Where the graph API declines too, or only computes in another format, it is one.
    let fault = ("SIM_FAULT", "status:cudnnConvolutionForward:3000");
    for plans in ["38=3000 1=3000 0=3000", "1=3000 0=3000"] {
        let told = tried(&[fault, ("SIM_PLANS", plans)]);
        assert!(told.starts_with("fail convolution-failed"), "{told}");
    }
}

/// Processes that are started together do not all come to the first GPU.
#[test]
fn each_rank_tries_its_own_gpu() {
    let four = ("SIM_DEVICES", "4");
    let bound = ("CUDA_VISIBLE_DEVICES", "0");
    for variable in RANKS {
        assert_eq!(
            tried(&[four, (variable, "2")]),
            "pass : Simulated GPU, GPU 2"
        );
        // The launcher gave this process a GPU of its own.
        assert_eq!(tried(&[bound, (variable, "3")]), "pass : Simulated GPU");
        let asked = ("CUDNN_GUARD_DEVICES", "1");
        assert_eq!(
            tried(&[four, (variable, "2"), asked]),
            "pass : Simulated GPU, GPU 1"
        );
        assert_eq!(tried(&[four, (variable, "x")]), "pass : Simulated GPU");
    }
}

/// A launcher starts another one: `srun --ntasks-per-node=1 torchrun`.
#[test]
fn the_inner_launcher_gives_the_rank() {
    let four = ("SIM_DEVICES", "4");
    for pair in RANKS.windows(2) {
        let (inner, outer) = ((pair[0], "2"), (pair[1], "0"));
        assert_eq!(tried(&[four, outer, inner]), "pass : Simulated GPU, GPU 2");
    }
}

/// 64 processes on 4 GPUs: four of them convolve.
#[test]
fn ranks_that_share_a_gpu_leave_the_convolution_to_the_first() {
    let four = ("SIM_DEVICES", "4");
    assert_eq!(tried(&[four, ("LOCAL_RANK", "5")]), "unknown device-busy: ");
    assert_eq!(tried(&[("LOCAL_RANK", "3")]), "unknown device-busy: ");
    let required = ("CUDNN_GUARD_REQUIRE_GPU", "1");
    let ran = do_all(&["startup"], &[four, ("LOCAL_RANK", "5"), required]).exits_with(0);
    assert_eq!(
        ran.stderr,
        "cudnn-guard: unknown: local rank 5 shares GPU 1 with local rank 1, which tests it  [device-busy]
  = help: set CUDNN_GUARD_DEVICES=1 to test the GPU in this process too
"
    );
    assert_eq!(
        tried(&[four, ("LOCAL_RANK", "5"), ("CUDNN_GUARD_DEVICES", "1")]),
        "pass : Simulated GPU, GPU 1"
    );
    // The files and the driver are checked all the same.
    let old = ("SIM_CUDA", "11080");
    let told = tried(&[four, ("LOCAL_RANK", "5"), old]);
    assert!(told.starts_with("fail driver-too-old "), "{told}");
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

/// Where many processes start CUDA at once they take turns in the driver, and the last one waits.
#[test]
fn a_deadline_met_while_the_driver_starts_names_contention() {
    let deadline = ("CUDNN_GUARD_DEADLINE", "1");
    for (call, stage) in [
        ("cuInit", "querying the driver"),
        ("cuDevicePrimaryCtxRetain", "creating the GPU context"),
    ] {
        let fault = format!("hang:{call}");
        let late = [deadline, ("SIM_FAULT", &fault)];
        for mode in [("CUDNN_GUARD_REQUIRE_GPU", "1"), ("CUDNN_GUARD", "deny")] {
            let ran = do_all(&["startup"], &[&late[..], &[mode]].concat()).exits_with(0);
            assert_eq!(
                ran.stderr,
                format!(
                    "cudnn-guard: unknown: the test process timed out while {stage}  [convolution-timeout]
  = help: set CUDNN_GUARD_DEADLINE=300: other processes may be starting CUDA too, and the driver handles them one at a time
"
                )
            );
        }
        let strict = ("CUDNN_GUARD_REQUIRE_GPU", "strict");
        do_all(&["startup"], &[&late[..], &[strict]].concat()).exits_with(78);
    }
}

/// The driver compiles all of cuDNN for a GPU that came later, which takes minutes once.
#[test]
fn a_deadline_met_while_ptx_is_compiled_says_so() {
    let set = [
        ("SIM_CAPABILITY", "13.0"),
        ("SIM_FAULT", "hang:cudnnConvolutionForward"),
        ("CUDNN_GUARD_DEADLINE", "1"),
        ("CUDA_CACHE_PATH", "/scratch/cache"),
    ];
    let help = |variables: &[(&str, &str)]| {
        let ran = do_all(&["startup"], variables).exits_with(0);
        ran.stderr.lines().nth(1).unwrap_or_default().to_string()
    };
    assert_eq!(
        help(&set),
        "  = help: set CUDNN_GUARD_DEADLINE=900 for the first start: the GPU is newer than this cuDNN, so the driver compiles its PTX and caches the result in `/scratch/cache` (CUDA_CACHE_PATH), which must be writable"
    );
    assert!(help(&set[..3]).contains("keeps in `~/.nv/ComputeCache`"));
    assert_eq!(
        help(&set[1..3]),
        "  = help: set CUDNN_GUARD_DEADLINE to more seconds if this machine is slow"
    );
}
