//! A program with `Link::Lazy` and NVIDIA's own cuDNN.

use super::set;
use crate::build::lazy::consumers;
use crate::support::{built, cargo, fresh, place, program, run};

#[test]
#[ignore = "needs real NVIDIA files: CUDNN_GUARD_REAL"]
fn a_lazy_program_starts_without_cuda() {
    let toolkit = fresh("lazy-real-toolkit");
    consumers::with_stub(&set("cuda-cu13/nvidia/cu13"), &toolkit, "cc");
    let away = fresh("lazy-real-cudnn");
    let cudnn = away.join("cudnn");
    place(&set("cudnn-cu13-9.28/nvidia/cudnn"), &cudnn);
    let dir = consumers::all_kinds("lazy-consumers");
    let mut build = cargo(&dir, &["build"]);
    run(build.env("CUDA_HOME", &toolkit).env("CUDNN_PATH", &cudnn)).exits_with(0);
    let start = |arguments: &[&str]| {
        let mut command = program(built("lazy-consumers"));
        run(command.args(arguments).env_remove("LD_LIBRARY_PATH"))
    };
    let ran = start(&["call"]).exits_with(0);
    assert_eq!(ran.stdout, "92800 92800 92800\n");
    // With an older cuDNN.
    let older = set("cudnn-cu13-9.14/nvidia/cudnn/lib");
    let mut command = program(built("lazy-consumers"));
    let ran = run(command.arg("call-new").env("LD_LIBRARY_PATH", &older)).exits_with(78);
    assert_eq!(
        ran.stderr,
        format!(
            "cudnn-guard: this program calls `cudnnSubquadraticOpsVersionCheck`, introduced in cuDNN 9.22.0, but `{}` does not \
             contain it  [cudnn-not-loadable]\n  = help: install cuDNN 9.28.0 or later\n  loaded      cuDNN 9.14.0\n  \
             built with  cuDNN 9.28.0\n",
            older.join("libcudnn.so.9").display()
        )
    );
    // Without cuDNN and the driver.
    std::fs::rename(&cudnn, away.join("moved")).unwrap();
    let ran = start(&[]).exits_with(0);
    assert_eq!((&*ran.stdout, &*ran.stderr), ("computing on the CPU\n", ""));
    start(&["call"])
        .exits_with(78)
        .says("this program calls `cudnnGetVersion`, but `libcudnn.so.9` cannot be loaded  [cudnn-not-loadable]");
}
