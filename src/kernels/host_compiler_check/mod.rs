//! The check that CUDA supports the host compiler, before nvcc fails.

#[cfg(all(test, unix))]
pub mod real;
#[cfg(all(test, unix))]
pub mod tests;

use crate::error::Error;
use crate::host_compiler::headers::contradictions;
use crate::host_compiler::{
    HostCompilerCheck, HostCompilerFault, Limits, Make, limits, msvc_preprocessor, query,
};
use crate::model::{CompilerChoice, Toolkit};
use crate::runtime::facts::{Finding, FindingId, Version};
use crate::system::files;
use crate::toolchain::Toolchain;
use crate::toolkit::Plan;
use std::path::Path;

/// The flag that disables nvcc's own version check.
const UNCHECKED: &str = "allow-unsupported-compiler";

/// Checks the host compiler and returns the findings that do not stop the build. If nvcc's default compiler is not
/// supported but another installed one is, uses the other. An explicitly named compiler is never replaced.
pub fn host_compiler(
    plan: &mut Plan,
    toolchain: &Toolchain,
    out_dir: &Path,
) -> Result<Vec<Finding>, Error> {
    let machine = plan.host;
    let Some((compiler, program)) = query::query(plan, &out_dir.join("cudnn-guard"))? else {
        return Ok(Vec::new());
    };
    // A replacement is always a gcc too.
    plan.is_gcc = compiler.make == Make::Gcc;
    let header = compiler.host_config.as_deref();
    let limits = limits(header, plan.cuda());
    let flags = plan.all_flags();
    if msvc_preprocessor::is_unusable(&compiler, &plan.search_path(), &flags) {
        for flag in msvc_preprocessor::CONFORMING {
            plan.flags.push(flag.to_string());
        }
    }
    let misfit = limits.misfit(compiler.make, compiler.number());
    let installed = |_| query::installed_alternatives(&program, &limits, machine);
    let alternatives = misfit.map(installed).unwrap_or_default();
    let cuda = name_of(plan.toolkit);
    let check = HostCompilerCheck {
        compiler: &compiler,
        program: &program,
        choice: &plan.choice,
        cuda: &cuda,
        limits: &limits,
        alternatives: &alternatives,
    };
    let allowed = &toolchain.allowed;
    let mut findings = Vec::new();
    if let Some(misfit) = misfit {
        let mut flags = flags.iter();
        let unchecked = flags.any(|flag| flag.trim_start_matches('-') == UNCHECKED);
        let mut fault = HostCompilerFault::Unsupported(check, misfit, !unchecked);
        let id = FindingId::HostCompilerUnsupported;
        match alternatives.first() {
            _ if unchecked => {}
            // nvcc checks the version itself.
            _ if allowed.contains(id) => plan.flags.push(format!("-{UNCHECKED}")),
            Some(alternative)
                if plan.choice == CompilerChoice::Unset
                    && compiler.make == Make::Gcc
                    && machine.is_target() =>
            {
                plan.ccbin = Some(alternative.program.to_string_lossy().into_owned());
                fault = HostCompilerFault::Replaced(check, misfit, alternative);
            }
            _ => {}
        }
        findings.push(fault.finding());
    }
    let math = header.map(|header| header.with_file_name("math_functions.h"));
    if let (Some(math), Some(glibc)) = (math, compiler.glibc) {
        let text = files::read(&math).unwrap_or_default();
        let names = contradictions(&text, glibc);
        if !names.is_empty() {
            let fault = HostCompilerFault::Headers(&math, &names, glibc, &cuda);
            findings.push(fault.finding());
        }
    }
    allowed.apply(&mut findings);
    Error::split_findings(findings)
}

/// Returns the limits in the toolkit's own header, or else those that are known for this CUDA.
pub fn limits(header: Option<&Path>, cuda: Option<Version>) -> Limits {
    match header.and_then(|header| files::read(header).ok()) {
        Some(text) => limits::parse_host_config(&text),
        None => cuda.and_then(limits::for_cuda).unwrap_or_default(),
    }
}

/// Returns the name for messages: `CUDA 12.9`.
fn name_of(toolkit: Option<&Toolkit>) -> String {
    match toolkit.map(|toolkit| (toolkit, toolkit.version)) {
        Some((_, Some(version))) => format!("CUDA {}", version.short()),
        Some((toolkit, None)) => format!("the CUDA toolkit at `{}`", toolkit.root.display()),
        None => "this CUDA".to_string(),
    }
}
