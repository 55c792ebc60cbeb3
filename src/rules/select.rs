//! Which GPUs to compile for: what somebody asked for, else what is in this machine, else what most machines have.

use crate::model::arch::{Code, ComputeCapability, Suffix, Target};
use crate::model::env::{Env, Variable};
use crate::model::finding::Finding;
use crate::model::gpu::Gpu;
use crate::rules::dialect::{self, Dialect, Word};
use std::collections::BTreeSet;

/// What is compiled for where neither a list nor an nvcc tells: the first of each major that CUDA 13 serves.
const FIRST_OF_EACH_MAJOR: [u32; 6] = [75, 80, 90, 100, 110, 120];

/// The targets of a build, in numeric order, and who chose them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Machine code and PTX to compile.
    pub targets: Vec<Target>,
    /// `CUDNN_GUARD_ARCHS`, `the build script`, `the GPUs of this machine`, `the default`.
    pub chosen_by: String,
    /// What was noticed while choosing.
    pub findings: Vec<Finding>,
}

/// A list of targets that somebody wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// Who: the variable's name, or `the build script`.
    pub from: &'static str,
    /// How to read it.
    pub dialect: Dialect,
    /// As written.
    pub text: String,
}

/// The nvcc that will compile, and what it says it can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiler {
    /// Its path.
    pub nvcc: String,
    /// The machine code it makes.
    pub codes: Vec<Target>,
}

/// The first of: `CUDNN_GUARD_ARCHS`, the build script, `CUDAARCHS`, `TORCH_CUDA_ARCH_LIST`, `CUDA_COMPUTE_CAP`.
pub fn wish(env: &Env, archs: &[String]) -> Option<Wish> {
    let variable = |variable: Variable, dialect| {
        env.get(variable).map(|value| Wish {
            from: variable.name(),
            dialect,
            text: value.to_string_lossy().into_owned(),
        })
    };
    let script = || {
        (!archs.is_empty()).then(|| Wish {
            from: "the build script",
            dialect: Dialect::Ours,
            text: archs.join(" "),
        })
    };
    variable(Variable::GuardArchs, Dialect::Ours)
        .or_else(script)
        .or_else(|| variable(Variable::CudaArchs, Dialect::CMake))
        .or_else(|| variable(Variable::TorchCudaArchList, Dialect::Torch))
        .or_else(|| variable(Variable::CudaComputeCap, Dialect::ComputeCap))
}

/// Whether the GPUs of this machine matter: only then is the driver asked.
pub fn needs_gpus(wish: Option<&Wish>) -> bool {
    wish.is_none_or(|wish| {
        dialect::read(wish.dialect, &wish.text).is_ok_and(|words| words.contains(&Word::Native))
    })
}

/// The targets to compile for, never none. Without a compiler to ask they stand as they are written.
pub fn select(
    wish: Option<&Wish>,
    compiler: Option<&Compiler>,
    gpus: &[Gpu],
) -> Result<Selection, Vec<Finding>> {
    match wish {
        Some(wish) => wished(wish, compiler, gpus),
        None => Ok(unasked(compiler, gpus)),
    }
}

fn wished(
    wish: &Wish,
    compiler: Option<&Compiler>,
    gpus: &[Gpu],
) -> Result<Selection, Vec<Finding>> {
    let words = dialect::read(wish.dialect, &wish.text)
        .map_err(|word| vec![unreadable(wish, &format!("`{word}` in {} is", wish.from))])?;
    let mut targets = BTreeSet::new();
    let mut findings = Vec::new();
    for word in words {
        match word {
            Word::Targets(written) => targets.extend(written),
            Word::All => targets.extend(with_ptx(known(compiler))),
            Word::AllMajor => targets.extend(with_ptx(majors(&known(compiler)))),
            Word::Native if gpus.is_empty() => {
                return Err(vec![native_without_gpu(wish, compiler)]);
            }
            Word::Native => {
                for gpu in gpus {
                    let (target, finding) = for_gpu(gpu, compiler);
                    targets.insert(target.unwrap_or(machine(gpu.capability)));
                    // Too old is said below, with all else that nvcc cannot do.
                    findings.extend(finding.filter(|_| target.is_some()));
                }
            }
        }
    }
    if targets.is_empty() {
        return Err(vec![unreadable(
            wish,
            &format!("{} names no GPU target: its list is", wish.from),
        )]);
    }
    if let Some(compiler) = compiler {
        let lacks = |target: &&Target| !knows(compiler, target.capability);
        let lacking: Vec<String> = targets
            .iter()
            .filter(lacks)
            .map(Target::to_string)
            .collect();
        if !lacking.is_empty() {
            return Err(vec![unsupported(compiler, &lacking.join(", "), wish)]);
        }
    }
    findings.dedup();
    Ok(Selection {
        targets: targets.into_iter().collect(),
        chosen_by: wish.from.to_string(),
        findings,
    })
}

/// Machine code for every distinct GPU of this machine and PTX of the lowest and the highest; without a GPU the
/// first of each major and PTX of the highest.
fn unasked(compiler: Option<&Compiler>, gpus: &[Gpu]) -> Selection {
    let mut targets = BTreeSet::new();
    let mut findings = Vec::new();
    for gpu in gpus {
        let (target, finding) = for_gpu(gpu, compiler);
        targets.extend(target);
        if !findings.contains(&finding) {
            findings.push(finding);
        }
    }
    let chosen_by = if targets.is_empty() {
        targets.extend(with_ptx(majors(&known(compiler))));
        "the default"
    } else {
        let ends =
            [targets.first(), targets.last()].map(|end| end.map(|target| ptx(target.capability)));
        targets.extend(ends.into_iter().flatten());
        "the GPUs of this machine"
    };
    Selection {
        targets: targets.into_iter().collect(),
        chosen_by: chosen_by.to_string(),
        findings: findings.into_iter().flatten().collect(),
    }
}

/// Machine code for a GPU; where nvcc does not know it, PTX of the newest below it, which the driver compiles.
fn for_gpu(gpu: &Gpu, compiler: Option<&Compiler>) -> (Option<Target>, Option<Finding>) {
    let Some(compiler) = compiler.filter(|compiler| !knows(compiler, gpu.capability)) else {
        return (Some(machine(gpu.capability)), None);
    };
    let plain = compiler
        .codes
        .iter()
        .filter(|code| code.suffix == Suffix::None);
    let below = plain
        .map(|code| code.capability)
        .filter(|known| *known < gpu.capability);
    match below.max().map(ptx) {
        Some(target) => {
            let summary = format!(
                "`{}`, compute capability {}, is newer than what `{}` can compile for",
                gpu.name, gpu.capability, compiler.nvcc
            );
            let finding = Finding::warning("gpu-newer-than-nvcc", summary)
                .with("nvcc knows", listed(&compiler.codes))
                .with(
                    "compiled",
                    format!("{target}, which the driver compiles for that GPU"),
                )
                .help("install a newer CUDA toolkit to get machine code for that GPU");
            (Some(target), Some(finding))
        }
        None => {
            let summary = format!(
                "`{}`, compute capability {}, is older than all that `{}` can compile for",
                gpu.name, gpu.capability, compiler.nvcc
            );
            let finding = Finding::warning("arch-unsupported-by-nvcc", summary)
                .with("nvcc knows", listed(&compiler.codes))
                .help("install an older CUDA toolkit to compile for that GPU");
            (None, Some(finding))
        }
    }
}

fn known(compiler: Option<&Compiler>) -> Vec<Target> {
    match compiler {
        Some(compiler) => compiler.codes.clone(),
        None => FIRST_OF_EACH_MAJOR
            .map(|number| machine(ComputeCapability::from_number(number)))
            .to_vec(),
    }
}

fn knows(compiler: &Compiler, capability: ComputeCapability) -> bool {
    compiler
        .codes
        .iter()
        .any(|code| code.capability == capability)
}

/// The first of each major, from codes in numeric order.
fn majors(codes: &[Target]) -> Vec<Target> {
    let mut firsts: Vec<Target> = Vec::new();
    for code in codes {
        let seen = firsts.last().map(|first| first.capability.major);
        if code.suffix == Suffix::None && seen != Some(code.capability.major) {
            firsts.push(*code);
        }
    }
    firsts
}

/// With PTX for GPUs to come: that of the first of the highest major, as nvcc's own `-arch=all` does it.
fn with_ptx(codes: Vec<Target>) -> Vec<Target> {
    let first = majors(&codes).last().map(|first| ptx(first.capability));
    codes.into_iter().chain(first).collect()
}

const fn machine(capability: ComputeCapability) -> Target {
    Target {
        capability,
        suffix: Suffix::None,
        code: Code::Machine,
    }
}

const fn ptx(capability: ComputeCapability) -> Target {
    Target {
        capability,
        suffix: Suffix::None,
        code: Code::Ptx,
    }
}

fn listed(targets: &[Target]) -> String {
    let words: Vec<String> = targets.iter().map(Target::to_string).collect();
    words.join(" ")
}

fn unreadable(wish: &Wish, subject: &str) -> Finding {
    let what = if subject.ends_with("list is") {
        "empty"
    } else {
        "not a GPU target"
    };
    Finding::error("arch-unknown", format!("{subject} {what}"))
        .with("found", format!("{}: {:?}", wish.from, wish.text))
        .help(
            "write targets as `80`, `8.6`, `90a`, `sm_86`, `compute_90`, `86-real`, `8.6+PTX`, `native`, `all` or \
             `all-major`, with spaces, commas or semicolons between them",
        )
}

fn native_without_gpu(wish: &Wish, compiler: Option<&Compiler>) -> Finding {
    let instead = with_ptx(majors(&known(compiler)));
    Finding::error(
        "no-gpu",
        format!(
            "this machine shows no GPU, and {} asks for `native`",
            wish.from
        ),
    )
    .with("found", format!("{}: {:?}", wish.from, wish.text))
    .help(format!(
        "set CUDNN_GUARD_ARCHS=\"{}\", or fewer of these",
        listed(&instead)
    ))
}

fn unsupported(compiler: &Compiler, lacking: &str, wish: &Wish) -> Finding {
    Finding::error(
        "arch-unsupported-by-nvcc",
        format!(
            "`{}` cannot compile for {lacking}, which {} asks for",
            compiler.nvcc, wish.from
        ),
    )
    .with("found", format!("{}: {:?}", wish.from, wish.text))
    .with("nvcc knows", listed(&compiler.codes))
    .help("write targets that this nvcc knows, or choose another CUDA toolkit with CUDA_HOME")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(number: u32) -> Target {
        machine(ComputeCapability::from_number(number))
    }

    /// CUDA 13.5, as far as it matters.
    fn nvcc() -> Compiler {
        Compiler {
            nvcc: "/cuda/bin/nvcc".to_string(),
            codes: [75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121]
                .map(code)
                .to_vec(),
        }
    }

    fn gpu(number: u32) -> Gpu {
        Gpu {
            name: format!("GPU {number}"),
            capability: ComputeCapability::from_number(number),
        }
    }

    fn ours(text: &str) -> Wish {
        Wish {
            from: "CUDNN_GUARD_ARCHS",
            dialect: Dialect::Ours,
            text: text.to_string(),
        }
    }

    #[track_caller]
    fn gives(wish: Option<&str>, gpus: &[u32], wanted: &str) -> Selection {
        let gpus: Vec<Gpu> = gpus.iter().copied().map(gpu).collect();
        let selection = select(wish.map(ours).as_ref(), Some(&nvcc()), &gpus).unwrap();
        assert_eq!(listed(&selection.targets), wanted);
        selection
    }

    #[track_caller]
    fn refuses(wish: &Wish, gpus: &[Gpu], wanted: &str) {
        let findings = select(Some(wish), Some(&nvcc()), gpus).unwrap_err();
        let texts: Vec<String> = findings.iter().map(Finding::to_string).collect();
        assert_eq!(texts.join("\n\n"), wanted);
    }

    #[test]
    fn a_list_is_put_in_numeric_order_once() {
        gives(
            Some("12.0 9.0 10.0 8.0 sm_90 compute_120"),
            &[],
            "sm_80 sm_90 sm_100 sm_120 compute_120",
        );
        gives(Some("90a 90"), &[], "sm_90 sm_90a");
    }

    #[test]
    fn all_is_what_this_nvcc_can_do() {
        gives(
            Some("all"),
            &[],
            "sm_75 sm_80 sm_86 sm_87 sm_89 sm_90 sm_100 sm_103 sm_110 sm_120 compute_120 sm_121",
        );
        gives(
            Some("all-major"),
            &[],
            "sm_75 sm_80 sm_90 sm_100 sm_110 sm_120 compute_120",
        );
    }

    #[test]
    fn without_a_wish_the_gpus_of_this_machine_decide() {
        let selection = gives(
            None,
            &[120, 86, 86, 90],
            "sm_86 compute_86 sm_90 sm_120 compute_120",
        );
        assert_eq!(selection.chosen_by, "the GPUs of this machine");
        gives(None, &[90], "sm_90 compute_90");
    }

    #[test]
    fn without_wish_and_gpu_all_majors_are_compiled() {
        let selection = gives(
            None,
            &[],
            "sm_75 sm_80 sm_90 sm_100 sm_110 sm_120 compute_120",
        );
        assert_eq!(selection.chosen_by, "the default");
        let tableless = select(None, None, &[]).unwrap();
        assert_eq!(tableless.targets, selection.targets);
    }

    #[test]
    fn without_nvcc_a_list_stands_as_it_is_written() {
        let selection = select(Some(&ours("37 200")), None, &[]).unwrap();
        assert_eq!(listed(&selection.targets), "sm_37 sm_200");
    }

    #[test]
    fn native_is_the_machine_code_of_this_machine() {
        gives(Some("native"), &[90, 86, 90], "sm_86 sm_90");
        gives(Some("native compute_75"), &[90], "compute_75 sm_90");
    }

    #[test]
    fn a_gpu_that_nvcc_does_not_know_yet_gets_the_newest_ptx() {
        for wish in [None, Some("native")] {
            let selection = gives(wish, &[130, 130], "compute_121");
            assert_eq!(
                selection.findings[0].to_string(),
                "`GPU 130`, compute capability 13.0, is newer than what `/cuda/bin/nvcc` can compile for  \
                 [gpu-newer-than-nvcc]\n  \
                 nvcc knows  sm_75 sm_80 sm_86 sm_87 sm_89 sm_90 sm_100 sm_103 sm_110 sm_120 sm_121\n  \
                 compiled    compute_121, which the driver compiles for that GPU\n  \
                 = help: install a newer CUDA toolkit to get machine code for that GPU"
            );
            assert_eq!(selection.findings.len(), 1);
        }
        // Between two that it knows: PTX of the one below, since that of a newer one would not run.
        gives(None, &[101, 86], "sm_86 compute_86 compute_100");
    }

    #[test]
    fn a_gpu_that_nvcc_dropped_stops_only_who_asked_for_it() {
        let selection = gives(None, &[61, 90], "sm_90 compute_90");
        assert_eq!(selection.findings[0].id, "arch-unsupported-by-nvcc");
        assert_eq!(
            gives(
                None,
                &[61],
                "sm_75 sm_80 sm_90 sm_100 sm_110 sm_120 compute_120"
            )
            .findings
            .len(),
            1
        );
        let findings = select(Some(&ours("native")), Some(&nvcc()), &[gpu(61)]).unwrap_err();
        assert_eq!(
            findings[0].summary,
            "`/cuda/bin/nvcc` cannot compile for sm_61, which CUDNN_GUARD_ARCHS asks for"
        );
    }

    #[test]
    fn says_what_cannot_be_read() {
        refuses(
            &ours("80 8x"),
            &[],
            "`8x` in CUDNN_GUARD_ARCHS is not a GPU target  [arch-unknown]\n  \
             found       CUDNN_GUARD_ARCHS: \"80 8x\"\n  \
             = help: write targets as `80`, `8.6`, `90a`, `sm_86`, `compute_90`, `86-real`, `8.6+PTX`, `native`, \
             `all` or `all-major`, with spaces, commas or semicolons between them",
        );
        let findings = select(Some(&ours(" ; ")), None, &[]).unwrap_err();
        assert_eq!(
            findings[0].summary,
            "CUDNN_GUARD_ARCHS names no GPU target: its list is empty"
        );
    }

    #[test]
    fn says_what_nvcc_cannot_do() {
        refuses(
            &ours("37 80 compute_200"),
            &[],
            "`/cuda/bin/nvcc` cannot compile for sm_37, compute_200, which CUDNN_GUARD_ARCHS asks for  \
             [arch-unsupported-by-nvcc]\n  \
             found       CUDNN_GUARD_ARCHS: \"37 80 compute_200\"\n  \
             nvcc knows  sm_75 sm_80 sm_86 sm_87 sm_89 sm_90 sm_100 sm_103 sm_110 sm_120 sm_121\n  \
             = help: write targets that this nvcc knows, or choose another CUDA toolkit with CUDA_HOME",
        );
    }

    #[test]
    fn native_without_a_gpu_is_answered_with_the_list_to_write() {
        refuses(
            &ours("native"),
            &[],
            "this machine shows no GPU, and CUDNN_GUARD_ARCHS asks for `native`  [no-gpu]\n  \
             found       CUDNN_GUARD_ARCHS: \"native\"\n  \
             = help: set CUDNN_GUARD_ARCHS=\"sm_75 sm_80 sm_90 sm_100 sm_110 sm_120 compute_120\", or fewer of these",
        );
    }

    #[test]
    fn variables_and_build_script_in_their_order() {
        let pair = |name: &str, value: &str| (name.to_string(), value.into());
        let mut pairs = vec![
            pair("CUDNN_GUARD_ARCHS", "75"),
            pair("CUDAARCHS", "80"),
            pair("TORCH_CUDA_ARCH_LIST", "8.6"),
            pair("CUDA_COMPUTE_CAP", "90"),
        ];
        let script = ["89".to_string()];
        let mut order = Vec::new();
        for archs in [&script[..], &script[..], &[], &[], &[], &[]] {
            let found = wish(&Env::new(pairs.clone()), archs);
            order.push(found.map(|wish| (wish.from, wish.text)));
            if order.len() != 2 {
                pairs = pairs.split_off(1.min(pairs.len()));
            }
        }
        let order: Vec<_> = order
            .iter()
            .map(|found| found.as_ref().map(|(from, text)| (*from, text.as_str())))
            .collect();
        assert_eq!(
            order,
            [
                Some(("CUDNN_GUARD_ARCHS", "75")),
                Some(("the build script", "89")),
                Some(("CUDAARCHS", "80")),
                Some(("TORCH_CUDA_ARCH_LIST", "8.6")),
                Some(("CUDA_COMPUTE_CAP", "90")),
                None
            ]
        );
    }

    #[test]
    fn the_driver_is_asked_only_where_it_matters() {
        assert!(needs_gpus(None));
        assert!(needs_gpus(Some(&ours("80 native"))));
        assert!(!needs_gpus(Some(&ours("80"))));
        assert!(!needs_gpus(Some(&ours("80 native what"))));
    }
}
