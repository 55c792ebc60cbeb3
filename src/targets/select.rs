//! The selection of GPU targets: the requested list, or else the GPUs of this machine, or else the default.

#[cfg(test)]
mod tests;

use crate::model::target_list::add;
use crate::model::{ChosenBy, Gencode, TargetList};
use crate::runtime::driver::Device;
use crate::runtime::facts::{ComputeCapability, Finding, Target};
use crate::system::files;
use crate::targets::nvcc_support::known;
use crate::targets::target_lists::{add_all, keep, machine, majors, ptx, with_ptx};
use crate::targets::{Compiler, TargetRequest, Word, gpu_names};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Machine code and PTX to compile.
    pub list: TargetList,
    pub chosen_by: ChosenBy,
    pub findings: Vec<Finding>,
}

/// The reason why a target list cannot be compiled for.
#[derive(Clone, Debug)]
pub enum RequestProblem<'a> {
    /// A word that is not a target.
    UnknownWord(&'a str),
    Empty,
    /// `native` on a machine without a GPU, and targets to use instead.
    NoGpu(Vec<Target>),
    /// A target that cannot be compiled from the PTX that the list names for it.
    Unsound(Gencode),
    Unsupported(&'a Compiler, Vec<Target>),
}

/// A selection that differs from what the reader may expect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SelectionNote<'a> {
    /// A machine without a GPU, and the targets that are compiled by default.
    NoGpu(&'a [Target]),
    /// A GPU that nvcc does not support yet, and the targets that are compiled for it.
    GpuTooNew(&'a Device, &'a [Target], &'a Compiler),
    /// A GPU that nvcc no longer supports.
    GpuTooOld(&'a Device, &'a Compiler),
    /// A GPU whose number, the first target, is the second target for this nvcc.
    Renamed(Target, Target, &'a Compiler),
    /// Two targets of which nvcc compiles only the first.
    Rival(Gencode, Gencode),
    /// A release build for the GPUs of this machine, and the generations with the GPUs that are left out.
    ThisMachine(&'a [Target], Vec<(&'static str, Vec<ComputeCapability>)>),
    /// A release build for these targets, none of which is PTX.
    NoPtx(&'a [Target]),
}

/// Returns the targets to compile for, which are never empty. Without a compiler, the request is used unchanged.
pub fn select<'a>(
    request: Option<&'a TargetRequest>,
    compiler: Option<&'a Compiler>,
    gpus: &[Device],
) -> Result<Selection, RequestProblem<'a>> {
    let Some(request) = request else {
        return Ok(default_targets(compiler, gpus, &|_| true));
    };
    let words = request.words().map_err(RequestProblem::UnknownWord)?;
    let mut requested: Vec<Gencode> = Vec::new();
    let mut add = |targets: &[Target]| requested.append(&mut plain(targets));
    let mut written: Vec<Gencode> = Vec::new();
    let mut findings = Vec::new();
    for word in words {
        match word {
            Word::Targets(targets) => written.extend(targets),
            Word::Generation { capabilities, ptx } => {
                add(&generation(&capabilities, ptx, compiler));
            }
            Word::All => add(&with_ptx(known(compiler))),
            Word::AllMajor => add(&with_ptx(majors(&known(compiler)))),
            Word::Auto => {
                let auto = default_targets(compiler, gpus, &|_| true);
                add(&auto.list.targets());
                findings.extend(auto.findings);
            }
            Word::Native if gpus.is_empty() => {
                let instead = with_ptx(majors(&known(compiler)));
                return Err(RequestProblem::NoGpu(instead));
            }
            Word::Native => {
                for gpu in gpus {
                    let (targets, finding) = for_gpu(gpu, compiler);
                    if targets.is_empty() {
                        // GPUs that are too old are reported with the other unsupported targets.
                        add(&[machine(gpu.capability)]);
                    } else {
                        add(&targets);
                        findings.extend(finding);
                    }
                }
            }
        }
    }
    requested.extend(written);
    if let Some(wrong) = requested.iter().find(|gencode| !gencode.is_valid()) {
        return Err(RequestProblem::Unsound(*wrong));
    }
    if let Some(compiler) = compiler {
        findings.extend(rename(&mut requested, compiler));
    }
    let (requested, note) = settle(&TargetList::new(requested));
    findings.extend(note);
    if requested.gencodes().is_empty() {
        return Err(RequestProblem::Empty);
    }
    if let Some(compiler) = compiler {
        let is_unsupported = |target: &Target| compiler.can_compile(*target) == Some(false);
        let mut targets = Vec::new();
        for gencode in requested.gencodes() {
            let pair = [gencode.target, gencode.via];
            if let Some(target) = pair.iter().find(|target| is_unsupported(target)) {
                files::push_new(&mut targets, *target);
            }
        }
        if !targets.is_empty() {
            return Err(RequestProblem::Unsupported(compiler, targets));
        }
    }
    findings.dedup();
    Ok(Selection {
        list: requested,
        chosen_by: request.from,
        findings,
    })
}

/// Returns machine code for every distinct GPU of this machine, and PTX of the lowest and the highest. Without a GPU,
/// returns the first of each major that cuDNN also supports, and PTX of the highest.
pub fn default_targets(
    compiler: Option<&Compiler>,
    gpus: &[Device],
    is_supported: &dyn Fn(ComputeCapability) -> bool,
) -> Selection {
    let mut targets = Vec::new();
    let mut findings = Vec::new();
    for gpu in gpus {
        let (found, finding) = for_gpu(gpu, compiler);
        add_all(&mut targets, &found);
        if let Some(finding) = finding.filter(|finding| !findings.contains(finding)) {
            findings.push(finding);
        }
    }
    let chosen_by = if targets.is_empty() {
        let mut codes = known(compiler);
        // If cuDNN supports none of nvcc's targets, all are kept, because kernels can run without cuDNN.
        if codes.iter().any(|code| is_supported(code.capability)) {
            keep(&mut codes, &|code| is_supported(code.capability));
        }
        add_all(&mut targets, &with_ptx(majors(&codes)));
        if gpus.is_empty() {
            findings.push(SelectionNote::NoGpu(&targets).finding());
        }
        ChosenBy::Default
    } else {
        if let [lowest, .., highest] | [lowest @ highest] = targets[..] {
            add(&mut targets, ptx(lowest.capability));
            add(&mut targets, ptx(highest.capability));
        }
        ChosenBy::Gpus
    };
    Selection {
        list: TargetList::new(plain(&targets)),
        chosen_by,
        findings,
    }
}

/// Returns the targets, each compiled from its own PTX.
fn plain(targets: &[Target]) -> Vec<Gencode> {
    let mut gencodes = Vec::new();
    for target in targets {
        gencodes.push(Gencode::plain(*target));
    }
    gencodes
}

/// Returns machine code for a GPU. If nvcc does not support the GPU, returns PTX of the newest supported GPU below it,
/// which the driver compiles. If that one is of the same major, also returns its machine code, which runs unchanged.
fn for_gpu(gpu: &Device, compiler: Option<&Compiler>) -> (Vec<Target>, Option<Finding>) {
    let Some(compiler) = compiler else {
        return (vec![machine(gpu.capability)], None);
    };
    let capability = compiler.renamed(gpu.capability);
    if compiler.can_compile(machine(capability)) != Some(false) {
        return (vec![machine(capability)], None);
    }
    let Some(below) = compiler.newest_below(capability) else {
        let finding = SelectionNote::GpuTooOld(gpu, compiler).finding();
        return (Vec::new(), Some(finding));
    };
    let mut targets = vec![machine(below), ptx(below)];
    keep(&mut targets, &|target| target.runs_on(capability));
    let finding = SelectionNote::GpuTooNew(gpu, &targets, compiler).finding();
    (targets, Some(finding))
}

/// Returns the targets of a generation that nvcc supports, or all of them if it supports none, so that the error can
/// name them.
fn generation(
    capabilities: &[ComputeCapability],
    with_ptx: bool,
    compiler: Option<&Compiler>,
) -> Vec<Target> {
    let mut targets = Vec::new();
    for capability in capabilities {
        targets.push(machine(*capability));
    }
    let is_possible = |target: &Target| {
        compiler.is_none_or(|compiler| compiler.can_compile(*target) != Some(false))
    };
    if targets.iter().any(is_possible) {
        keep(&mut targets, &is_possible);
    }
    if let (true, Some(last)) = (with_ptx, targets.last()) {
        targets.push(ptx(last.capability));
    }
    targets
}

/// Replaces the numbers for which this nvcc uses another number for the same GPU.
fn rename(requested: &mut [Gencode], compiler: &Compiler) -> Option<Finding> {
    let mut note = None;
    for gencode in requested {
        let before = gencode.target;
        let mut after = *gencode;
        after.target.capability = compiler.renamed(before.capability);
        after.via.capability = compiler.renamed(gencode.via.capability);
        if after != *gencode && compiler.can_compile(after.target) != Some(false) {
            *gencode = after;
            note = note.or(Some(SelectionNote::Renamed(before, after.target, compiler)));
        }
    }
    note.map(|note| note.finding())
}

/// Removes duplicates of which nvcc compiles only one. The family's machine code is kept, because it runs wherever the
/// code without a letter does.
fn settle(requested: &TargetList) -> (TargetList, Option<Finding>) {
    let mut note = None;
    let mut kept: Vec<Gencode> = Vec::new();
    for &gencode in requested.gencodes() {
        let Some(rival) = kept.iter_mut().find(|kept| kept.excludes(gencode)) else {
            kept.push(gencode);
            continue;
        };
        let rank = |one: Gencode| (one.via.suffix, one.target.suffix, one.via.capability);
        let (stays, goes) = if rank(gencode) >= rank(*rival) {
            (gencode, *rival)
        } else {
            (*rival, gencode)
        };
        *rival = stays;
        note = note.or(Some(SelectionNote::Rival(stays, goes)));
    }
    (TargetList::new(kept), note.map(|note| note.finding()))
}

/// Returns the note that a release build is only for the GPUs of this machine, if nvcc supports others.
pub fn left_out<'a>(
    targets: &'a [Target],
    compiler: Option<&Compiler>,
) -> Option<SelectionNote<'a>> {
    let supported = known(compiler);
    let is_left = |capability: ComputeCapability| {
        supported.contains(&machine(capability))
            && !targets.iter().any(|target| target.runs_on(capability))
    };
    let left_out = gpu_names::generations(&is_left);
    (!left_out.is_empty()).then_some(SelectionNote::ThisMachine(targets, left_out))
}
