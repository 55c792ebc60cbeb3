//! Which GPUs to compile for: what somebody asked for, else what is in this machine, else what most machines have.

use crate::model::arch::{Code, ComputeCapability, Suffix, Target};
use crate::model::env::{Env, Variable};
use crate::model::finding::Finding;
use crate::model::gpu::Gpu;
use crate::rules::dialect::{self, Dialect, Word};
use crate::rules::nvcc::add;

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
    let words = dialect::read(wish.dialect, &wish.text).map_err(|word| {
        let summary = format!("`{word}` in {} is not a GPU target", wish.from);
        vec![unreadable(wish, summary)]
    })?;
    let mut targets = Vec::new();
    let mut findings = Vec::new();
    for word in words {
        match word {
            Word::Targets(written) => add_all(&mut targets, &written),
            Word::All => add_all(&mut targets, &with_ptx(known(compiler))),
            Word::AllMajor => add_all(&mut targets, &with_ptx(majors(&known(compiler)))),
            Word::Native if gpus.is_empty() => {
                return Err(vec![native_without_gpu(wish, compiler)]);
            }
            Word::Native => {
                for gpu in gpus {
                    let (target, finding) = for_gpu(gpu, compiler);
                    add(&mut targets, target.unwrap_or(machine(gpu.capability)));
                    // Too old is said below, with all else that nvcc cannot do.
                    findings.extend(finding.filter(|_| target.is_some()));
                }
            }
        }
    }
    if targets.is_empty() {
        let summary = format!("{} names no GPU target: its list is empty", wish.from);
        return Err(vec![unreadable(wish, summary)]);
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
        targets,
        chosen_by: wish.from.to_string(),
        findings,
    })
}

/// Machine code for every distinct GPU of this machine and PTX of the lowest and the highest; without a GPU the
/// first of each major and PTX of the highest.
fn unasked(compiler: Option<&Compiler>, gpus: &[Gpu]) -> Selection {
    let mut targets = Vec::new();
    let mut findings = Vec::new();
    for gpu in gpus {
        let (target, finding) = for_gpu(gpu, compiler);
        if let Some(target) = target {
            add(&mut targets, target);
        }
        if !findings.contains(&finding) {
            findings.push(finding);
        }
    }
    let chosen_by = if targets.is_empty() {
        add_all(&mut targets, &with_ptx(majors(&known(compiler))));
        "the default"
    } else {
        if let [lowest, .., highest] | [lowest @ highest] = targets[..] {
            add(&mut targets, ptx(lowest.capability));
            add(&mut targets, ptx(highest.capability));
        }
        "the GPUs of this machine"
    };
    Selection {
        targets,
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

fn add_all(targets: &mut Vec<Target>, more: &[Target]) {
    for target in more {
        add(targets, *target);
    }
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

fn unreadable(wish: &Wish, summary: String) -> Finding {
    Finding::error("arch-unknown", summary)
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
mod tests;
