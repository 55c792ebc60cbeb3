//! Kernels through the public API, with the nvcc of fixtures/nvcc, which only logs its arguments, and the rules for
//! which GPU runs which code, compared with NVIDIA's own assembler.

use crate::support::builds::{toolkit, write};
use crate::support::{fresh, repository};
use cudnn_guard::{Code, ComputeCapability, Config, Link, Suffix, Target, Toolchain};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

struct Package(PathBuf);

impl Package {
    fn new(name: &str) -> Self {
        let dir = fresh(name);
        toolkit(&dir.join("cuda"), 13000, true);
        write(&dir.join("src/a.cu"), "");
        fs::create_dir(dir.join("out")).unwrap();
        Self(dir)
    }

    fn path(&self, path: &str) -> String {
        self.0.join(path).to_string_lossy().into_owned()
    }

    /// Like [`probe`](Self::probe), but for a program with a guard.
    fn guarded(&self, archs: &str) -> Toolchain {
        let config = self.config(archs).cudnn(">=9").link(Link::Runtime);
        config.probe().unwrap()
    }

    /// Returns the targets that the guard declares as compiled.
    fn claimed(&self) -> String {
        let guard = fs::read_to_string(self.0.join("out/cudnn_guard.rs")).unwrap();
        let mut lines = guard.lines().map(str::trim_start);
        let line = lines.find_map(|line| line.strip_prefix("targets "));
        line.unwrap_or_default().trim_end_matches("\\n\\").into()
    }

    fn probe(&self, archs: &str) -> Toolchain {
        self.config(archs).probe().unwrap()
    }

    fn config(&self, archs: &str) -> Config {
        let env = [
            ("CUDA_HOME", self.path("cuda")),
            ("OUT_DIR", self.path("out")),
            ("CUDNN_GUARD_CACHE", self.path("cache")),
            ("CUDNN_GUARD_ARCHS", archs.to_string()),
        ];
        Config::new().cuda(">=12").envs(env)
    }
}

/// The targets of an nvcc that is too old to list them follow from its version.
#[test]
fn an_nvcc_that_lists_no_targets_is_known_by_its_version() {
    let package = Package::new("kernels-old");
    let nvcc = package.path("cuda/bin/nvcc");
    fs::remove_dir_all(package.path("cuda")).unwrap();
    toolkit(&package.0.join("cuda"), 10010, false);
    fs::create_dir(package.path("cuda/bin")).unwrap();
    symlink(repository().join("fixtures/nvcc/nvcc-10.1"), &nvcc).unwrap();
    let env = |archs: &str| {
        [
            ("CUDA_HOME", package.path("cuda")),
            ("CUDNN_GUARD_ARCHS", archs.to_string()),
        ]
    };
    let gpu = Config::new().cuda(">=10").envs(env("all")).probe().unwrap();
    let list = gpu.target_list().unwrap();
    assert_eq!(
        list.to_string(),
        "sm_30 sm_32 sm_35 sm_37 sm_50 sm_52 sm_53 sm_60 sm_61 sm_62 sm_70 compute_70 sm_72 sm_75"
    );
    let report = Config::new().envs(env("80")).examine_targets(None, None);
    let summaries: Vec<&str> = report
        .findings()
        .iter()
        .map(|one| one.summary.as_str())
        .collect();
    assert_eq!(
        summaries,
        [
            format!("`{nvcc}` is from CUDA 10.1, which cannot list its GPU targets"),
            format!("`{nvcc}` does not support sm_80, which CUDNN_GUARD_ARCHS requests")
        ]
    );
}

#[test]
fn nvcc_is_queried_once() {
    let package = Package::new("kernels-asked-once");
    let nvcc = package.path("cuda/bin/nvcc");
    let dated = |year: u32| {
        // Separate processes write the file, because a file that this process has open for writing cannot be run.
        let script = format!(
            "cp -L '{nvcc}' '{nvcc}.new' && mv -f '{nvcc}.new' '{nvcc}' && touch -d {year}-01-01T00:00:00 '{nvcc}'"
        );
        let mut shell = std::process::Command::new("/bin/sh");
        assert!(shell.args(["-c", &script]).status().unwrap().success());
    };
    dated(2020);
    let questions = package.0.join("cuda/questions");
    let asked = || {
        let gpu = package.probe("80");
        gpu.targets().unwrap();
        gpu.report();
        let calls = fs::read_to_string(&questions).unwrap_or_default();
        let _ = fs::remove_file(&questions);
        calls
    };
    assert_eq!(asked(), "--version\n--list-gpu-code\n");
    assert_eq!(asked(), "", "by the next build");
    dated(2019);
    assert_eq!(asked(), "--version\n--list-gpu-code\n", "another nvcc");
}

/// The build script may write its guard before it compiles kernels.
#[test]
fn the_guard_lists_the_compiled_targets() {
    let package = Package::new("kernels-guard");
    let gpu = package.guarded("80 90 compute_90");
    gpu.guard().write().unwrap();
    assert_eq!(package.claimed(), "");
    let kernels = || gpu.kernels().files(package.path("src/*.cu"));
    kernels().compile("mine").unwrap();
    assert_eq!(package.claimed(), "sm_80 sm_90 compute_90");
    // The guard is written after the kernels are compiled.
    let again = Package::new("kernels-guard-after");
    let gpu = again.guarded("80 90 compute_90");
    let kernels = gpu.kernels().files(again.path("src/*.cu"));
    kernels.compile("mine").unwrap();
    gpu.guard().write().unwrap();
    assert_eq!(again.claimed(), "sm_80 sm_90 compute_90");
}

#[test]
fn the_guard_lists_no_target_that_was_not_compiled() {
    let package = Package::new("kernels-guard-less");
    let gpu = package.guarded("80 90");
    assert_eq!(gpu.gencode_flags().unwrap().len(), 2);
    assert_eq!(gpu.targets().unwrap().len(), 2);
    gpu.guard().write().unwrap();
    assert_eq!(package.claimed(), "");
    let kernels = || gpu.kernels().files(package.path("src/*.cu"));
    let newer = kernels().at_least(ComputeCapability::new(9, 0));
    newer.compile("newer").unwrap();
    assert_eq!(package.claimed(), "sm_90");
    let broken = gpu.kernels().file(package.path("src/none.cu"));
    assert!(broken.fatbin().is_err());
    assert_eq!(package.claimed(), "sm_90");
    kernels().ptx().unwrap();
    assert_eq!(package.claimed(), "compute_80 sm_90");
}

fn target(text: &str) -> Target {
    let number = text.trim_end_matches(['a', 'f']);
    Target {
        capability: ComputeCapability::from_number(number.parse().unwrap()),
        suffix: match &text[number.len()..] {
            "a" => Suffix::Arch,
            "f" => Suffix::Family,
            _ => Suffix::None,
        },
        code: Code::Ptx,
    }
}

/// PTX runs exactly on the GPUs for which ptxas can assemble it.
#[test]
fn ptx_runs_where_ptxas_accepts_it() {
    let text = fs::read_to_string(repository().join("fixtures/targets/ptxas.txt")).unwrap();
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split(' ').collect())
        .collect();
    let mut pairs = 0;
    for row in &rows {
        let (release, from, made) = (row[0], row[1], &row[2..]);
        for to in rows
            .iter()
            .filter(|other| other[0] == release)
            .map(|other| other[1])
        {
            let (ptx, machine) = (target(from), target(to));
            // For PTX with an `a`, ptxas only assembles machine code with an `a`. Its GPU also runs code without the
            // `a`, so these pairs are skipped.
            if ptx.suffix == Suffix::Arch && machine.suffix != Suffix::Arch {
                assert!(!made.contains(&to), "{release}: {from} to {to}");
                continue;
            }
            assert_eq!(
                ptx.runs_on(machine.capability),
                made.contains(&to),
                "CUDA {release}: {ptx} on {}",
                machine.capability
            );
            pairs += 1;
        }
    }
    assert!(pairs > 1900, "{pairs}");
}

/// `ptxas` 13.0 treats the old number of this GPU in the same way.
#[test]
fn the_old_number_of_thor_still_means_thor() {
    let thor = ComputeCapability::new(11, 0);
    for old in ["101", "101a", "101f"] {
        assert!(target(old).runs_on(thor), "{old}");
        let machine = Target {
            code: Code::Machine,
            ..target(old)
        };
        assert!(machine.runs_on(thor), "{machine}");
    }
    for other in ["100a", "103a", "100f", "103f"] {
        assert!(!target(other).runs_on(thor), "{other}");
    }
    assert!(!target("101a").runs_on(ComputeCapability::new(11, 1)));
}
