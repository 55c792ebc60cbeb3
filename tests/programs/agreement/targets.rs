//! `cudnn-guard targets`, compared with the build scripts of this machine.

use crate::support::builds::{toolkit, write};
use crate::support::circumstances::installed;
use crate::support::{Ran, cargo, fresh, program, project, rows, run};
use serde_json::Value;
use std::process::Command;

const SCRIPT: &str = r#"fn main() {
    println!("cargo::rerun-if-env-changed=TURN");
    cudnn_guard::build(|| {
        let config = cudnn_guard::Config::new().cuda(">=11").cudnn(">=9");
        let config = config.default_archs(std::env::var("DEFAULT"));
        let gpu = config.probe()?;
        let _ = gpu.kernels().files("src/*.cu").fatbin()?;
        println!("cargo::warning=targets {}", gpu.target_list()?);
        Ok(())
    });
}
"#;

/// The variables, the targets, and the ids of errors and warnings.
const CASES: &str = "\
- | sm_75 sm_80 sm_90 sm_100 sm_120 compute_120 | -
CUDNN_GUARD_ARCHS=80+PTX | sm_80 compute_80 | -
CUDAARCHS=90-real;80 CUDA_COMPUTE_CAP=75 | sm_80 compute_80 sm_90 | -
TORCH_CUDA_ARCH_LIST=8.0;9.0+PTX | sm_80 sm_90 compute_90 | -
CUDA_COMPUTE_CAP=86 | sm_86 | -
CUDNN_GUARD_ARCHS=90a | sm_90a | -
SIM_DEVICES=2 SIM_CAPABILITY=8.6,9.0 | sm_86 compute_86 sm_90 compute_90 | -
SIM_DEVICES=2 SIM_CAPABILITY=8.6,9.0 CUDNN_GUARD_ARCHS=native | sm_86 sm_90 | -
DEFAULT=75 | sm_75 | -
DEFAULT=75 CUDA_COMPUTE_CAP=86 | sm_86 | -
DEFAULT=75 SIM_DEVICES=1 SIM_CAPABILITY=8.6 | sm_86 compute_86 | -
CUDNN_GUARD_ARCHS=native | - | no-gpu
CUDNN_GUARD_ARCHS=70 | - | arch-unsupported-by-nvcc
CUDNN_GUARD_ARCHS=110 | sm_110 | gpu-newer-than-cudnn
CUDA_HOME=skewed CUDNN_GUARD_ARCHS=80 | - | nvcc-header-skew
CUDA_HOME=/nowhere CUDNN_GUARD_ARCHS=80 | - | variable-unusable";

/// Returns the ids in brackets at the ends of cargo's lines.
fn ids(text: &str) -> String {
    let id = |line: &str| Some(line.strip_suffix(']')?.rsplit_once("  [")?.1.to_string());
    text.lines().filter_map(id).collect::<Vec<_>>().join(" ")
}

/// The default without a GPU leaves out Jetson's `sm_110`, for which this cuDNN has no code.
#[test]
#[ignore = "builds a crate fifteen times"]
fn targets_prints_what_a_build_uses() {
    let test = fresh("agreement-targets");
    toolkit(&test.join("cuda"), 13000, true);
    let (driver, no_driver) = (installed((9, 14, 0)).join("driver"), test.join("no-driver"));
    write(&no_driver.join("libcuda.so.1"), "");
    let dir = project("agreement-targets-build", SCRIPT, "fn main() {}\n");
    write(&dir.join("src/a.cu"), "");
    if !dir.join("skewed").exists() {
        toolkit(&dir.join("skewed"), 12040, true);
    }
    for (turn, case) in rows(CASES).into_iter().enumerate() {
        let [env, targets, expected] = case.map(|cell| if cell == "-" { "" } else { cell });
        let with_env = |command: &mut Command| -> Ran {
            let gpu = env.contains("SIM_");
            command.env("LD_LIBRARY_PATH", if gpu { &driver } else { &no_driver });
            command.env("CUDA_HOME", test.join("cuda"));
            command.env("CUDNN_PATH", installed((9, 14, 0)));
            command.env("FAKE_NVCC_CODES", "75 80 86 90 100 110 120");
            command.env("TURN", format!("{turn}"));
            command.envs(env.split(' ').filter_map(|pair| pair.split_once('=')));
            run(command)
        };
        let built = with_env(&mut cargo(&dir, &["check"])).text();
        let list = built.lines().find_map(|line| line.split_once(": targets "));
        let (list, found) = (list.map_or("", |(_, list)| list), ids(&built));
        assert_eq!(
            (list, &*found),
            (targets, expected),
            "build: {env}\n{built}"
        );
        if env == "DEFAULT=75" {
            // Only the build script knows its own default.
            continue;
        }
        let mut shown = program(env!("CARGO_BIN_EXE_cudnn-guard"));
        shown.current_dir(&dir).args(["targets", "--json"]);
        let json: Value = serde_json::from_str(&with_env(&mut shown).stdout).unwrap();
        let texts = |list: &Value, key: &str| {
            let list = list.as_array().unwrap().iter();
            let list = list.filter(|one| one["severity"] != "note");
            let texts = list.map(|one| if key.is_empty() { one } else { &one[key] });
            texts
                .map(|text| text.as_str().unwrap())
                .collect::<Vec<_>>()
                .join(" ")
        };
        let answer = (texts(&json["targets"], ""), texts(&json["findings"], "id"));
        assert_eq!(
            (&*answer.0, &*answer.1),
            (targets, expected),
            "targets: {env}\n{json}"
        );
    }
}
