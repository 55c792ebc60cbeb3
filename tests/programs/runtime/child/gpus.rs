//! The GPUs that are tested, and how the operator selects them.

use super::{json, verdict_and_ids};
use crate::support::circumstances::do_all;
use crate::support::fresh;
use std::fs;

/// The rank variables of launchers, from the innermost to the outermost.
const RANKS: [&str; 7] = [
    "LOCAL_RANK",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "MPI_LOCALRANKID",
    "PMI_LOCAL_RANK",
    "PALS_LOCAL_RANKID",
    "FLUX_TASK_LOCAL_ID",
    "SLURM_LOCALID",
];

/// Returns the verdict, the ids of the findings and the names of the tested GPUs.
fn tried(variables: &[(&str, &str)]) -> String {
    let ran = do_all(&["check"], variables).exits_with(0);
    let json = json(&ran.stdout);
    let mut names: Vec<String> = Vec::new();
    for row in json["convolution"].as_array().unwrap() {
        names.push(row["device"].as_str().unwrap().to_string());
    }
    names.dedup();
    format!("{}: {}", verdict_and_ids(&ran.stdout), names.join("; "))
}

#[test]
fn the_requested_gpus_are_tested() {
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
fn a_requested_gpu_that_is_not_visible_is_reported() {
    let reported = |count, devices| {
        let variables = [("SIM_DEVICES", count), ("CUDNN_GUARD_DEVICES", devices)];
        let ran = do_all(&["check"], &variables).exits_with(0);
        let findings = json(&ran.stdout)["findings"].clone();
        let help = findings[0]["help"][0].as_str().unwrap();
        format!("{}; {help}", findings[0]["summary"].as_str().unwrap())
    };
    assert_eq!(
        reported("1", "3"),
        "CUDNN_GUARD_DEVICES requests GPU 3, but only GPU 0 is visible; set CUDNN_GUARD_DEVICES to 0 or all"
    );
    assert_eq!(
        reported("4", "1,4,5"),
        "CUDNN_GUARD_DEVICES requests GPUs 4 and 5, but only GPUs 0 to 3 are visible; \
         set CUDNN_GUARD_DEVICES to numbers from 0 to 3, or to all"
    );
}

#[test]
fn gpus_that_are_shared_through_mps_are_tested_only_on_request() {
    let pipes = fresh("child-mps");
    fs::write(pipes.join("control"), "").unwrap();
    let mps = ("CUDA_MPS_PIPE_DIRECTORY", pipes.to_str().unwrap());
    let ran = do_all(&["check"], &[mps]).exits_with(0);
    assert_eq!(verdict_and_ids(&ran.stdout), "unknown device-busy");
    let ran = do_all(&["check"], &[mps, ("CUDNN_GUARD_DEVICES", "0")]).exits_with(0);
    assert_eq!(verdict_and_ids(&ran.stdout), "pass ");
}

/// In a container that is restarted whenever it exits, temporary conditions must not stop the program. Faults must.
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
    let retried = "\n  retry       passed\n";
    assert!(crashed.stderr.contains(retried), "{}", crashed.stderr);
    started(&[mps], "strict").exits_with(78);
    started(&[abort], "1").exits_with(78);
}

/// A killed service leaves its socket behind, but the GPU is no longer shared.
#[test]
fn a_dead_multi_process_service_does_not_prevent_the_test() {
    use std::os::unix::net::UnixListener;
    // The path of a socket must be short.
    let pipes = std::env::temp_dir().join(format!("guard-mps-{}", std::process::id()));
    fs::create_dir_all(&pipes).unwrap();
    let mps = [("CUDA_MPS_PIPE_DIRECTORY", pipes.to_str().unwrap())];
    let listens = UnixListener::bind(pipes.join("control")).unwrap();
    assert_eq!(tried(&mps), "unknown device-busy: ");
    drop(listens);
    assert_eq!(tried(&mps), "pass : Simulated GPU");
    fs::remove_dir_all(&pipes).unwrap();
}

/// A stopped service does not accept connections. A client that connected to it would wait forever.
#[test]
fn a_stopped_multi_process_service_does_not_block_the_program() {
    use std::os::fd::AsRawFd;
    use std::os::unix::net::{UnixListener, UnixStream};
    unsafe extern "C" {
        fn listen(socket: i32, backlog: i32) -> i32;
    }
    let pipes = std::env::temp_dir().join(format!("guard-mps-full-{}", std::process::id()));
    fs::create_dir_all(&pipes).unwrap();
    let control = pipes.join("control");
    let stopped = UnixListener::bind(&control).unwrap();
    // SAFETY: the socket is open, and the call only shortens its queue.
    assert_eq!(unsafe { listen(stopped.as_raw_fd(), 0) }, 0);
    let waiting = UnixStream::connect(&control).unwrap();
    // Dropping the socket releases a blocked guard, which then does not see the service.
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

/// In exclusive mode, the guard itself could keep the program or another process from using the GPU.
#[test]
fn a_gpu_in_exclusive_mode_is_tested_only_on_request() {
    // No context can be created, and the guard must not need one.
    let retain = ("SIM_FAULT", "status:cuDevicePrimaryCtxRetain:46");
    for (mode, name) in [("1", "EXCLUSIVE"), ("3", "EXCLUSIVE_PROCESS")] {
        let mode = ("SIM_MODE", mode);
        let ran = do_all(&["startup"], &[mode, retain]).exits_with(0);
        assert_eq!(
            ran.stderr,
            format!(
                "cudnn-guard: unknown: Simulated GPU is in a compute mode in which only one process at a time can use it, so it was not tested  [device-busy]
  = help: set CUDNN_GUARD_DEVICES=0 to test it anyway
  mode        {name}
"
            )
        );
        let asked = ("CUDNN_GUARD_DEVICES", "0");
        assert_eq!(tried(&[mode, asked]), "pass : Simulated GPU");
    }
    let ran = do_all(&["startup"], &[("SIM_MODE", "2"), retain]).exits_with(0);
    ran.says("in a compute mode in which no process can use it, so it was not tested  [device-busy]\n  = help: share the GPU again: `sudo nvidia-smi -c DEFAULT`\n");
    // A GPU that does not report its compute mode is tested.
    let silent = ("SIM_FAULT", "status:cuDeviceGetAttribute(20):1");
    assert_eq!(tried(&[("SIM_MODE", "3"), silent]), "pass : Simulated GPU");
}

/// With an old and a new GPU and no selection, the program may use either.
#[test]
fn the_first_supported_gpu_is_tested_by_default() {
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
    // If no GPU is supported, or this GPU is requested, a wrong result stops the program.
    let refused = ("SIM_FAULT", "status:cudnnConvolutionForward:4000");
    let old = ("SIM_CAPABILITY", "6.1");
    let asked = ("CUDNN_GUARD_DEVICES", "0");
    for variables in [&[two, old, refused][..], &[two, unlike, refused, asked]] {
        let outcome = tried(variables);
        assert!(
            outcome.starts_with("fail ") && outcome.contains("convolution-failed"),
            "{outcome}"
        );
        assert!(outcome.ends_with(": Simulated GPU"), "{outcome}");
    }
}

/// On a GPU that is newer than the tables, perhaps no cuDNN supports the operation.
#[test]
fn an_unsupported_convolution_on_an_unknown_gpu_is_unknown() {
    let refused = ("SIM_FAULT", "status:cudnnConvolutionForward:3000");
    let no_engine = ("SIM_PLANS", "38=3000 1=3000 0=3000");
    let new = tried(&[refused, no_engine, ("SIM_CAPABILITY", "13.0")]);
    let expected = "unknown gpu-newer-than-cudnn convolution-failed: Simulated GPU";
    assert_eq!(new, expected);
    let known = tried(&[refused, no_engine]);
    assert!(known.starts_with("fail convolution-failed"), "{known}");
    let by_graph = tried(&[refused]);
    assert_eq!(by_graph, "unknown convolution-failed: Simulated GPU");
}

/// The legacy API may decline an operation if the graph API of the same cuDNN computes it in the same format.
#[test]
fn a_refusal_by_only_the_legacy_api_is_unknown() {
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
    // It is a fault if the graph API declines too, or only computes in another format.
    let fault = ("SIM_FAULT", "status:cudnnConvolutionForward:3000");
    for plans in ["38=3000 1=3000 0=3000", "1=3000 0=3000"] {
        let outcome = tried(&[fault, ("SIM_PLANS", plans)]);
        assert!(outcome.starts_with("fail convolution-failed"), "{outcome}");
    }
}

/// Processes that are started together do not all use the first GPU.
#[test]
fn each_rank_tests_its_own_gpu() {
    let four = ("SIM_DEVICES", "4");
    let bound = ("CUDA_VISIBLE_DEVICES", "0");
    for variable in RANKS {
        assert_eq!(
            tried(&[four, (variable, "2")]),
            "pass : Simulated GPU, GPU 2"
        );
        // The launcher assigned a GPU to this process.
        assert_eq!(tried(&[bound, (variable, "3")]), "pass : Simulated GPU");
        let asked = ("CUDNN_GUARD_DEVICES", "1");
        assert_eq!(
            tried(&[four, (variable, "2"), asked]),
            "pass : Simulated GPU, GPU 1"
        );
        assert_eq!(tried(&[four, (variable, "x")]), "pass : Simulated GPU");
    }
}

/// A launcher can start another launcher: `srun --ntasks-per-node=1 torchrun`.
#[test]
fn the_inner_launcher_determines_the_rank() {
    let four = ("SIM_DEVICES", "4");
    for pair in RANKS.windows(2) {
        let (inner, outer) = ((pair[0], "2"), (pair[1], "0"));
        assert_eq!(tried(&[four, outer, inner]), "pass : Simulated GPU, GPU 2");
    }
}

/// With 64 processes on 4 GPUs, only four run convolutions.
#[test]
fn ranks_that_share_a_gpu_leave_the_convolution_to_the_first_rank() {
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
    // The files and the driver are still checked.
    let old = ("SIM_CUDA", "11080");
    let outcome = tried(&[four, ("LOCAL_RANK", "5"), old]);
    assert!(outcome.starts_with("fail driver-too-old "), "{outcome}");
}

/// Processes that start CUDA at the same time take turns in the driver, and the last one waits.
#[test]
fn a_deadline_met_while_the_driver_starts_reports_contention() {
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

/// The driver compiles all of cuDNN for a newer GPU, which takes minutes the first time.
#[test]
fn a_deadline_during_ptx_compilation_is_explained() {
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
    assert!(help(&set[..3]).contains("caches the result in `~/.nv/ComputeCache`"));
    assert_eq!(
        help(&set[1..3]),
        "  = help: set CUDNN_GUARD_DEADLINE to more seconds if this machine is slow"
    );
}
