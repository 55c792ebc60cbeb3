//! The host compiler that nvcc would use, for the report.

use crate::host_compiler::selection::missing;
use crate::host_compiler::{HostCompilerFault, query};
use crate::kernels::host_compiler_check::{host_compiler, limits};
use crate::runtime::facts::Finding;
use crate::system::out_dir::{create_dir, in_scratch};
use crate::toolchain::Toolchain;
use crate::toolkit::nvcc_output::without_commands;
use crate::toolkit::{Product, nvcc_command};
use std::path::Path;

/// Returns a description of nvcc's default host compiler, `true` if it is known which versions CUDA supports, and its
/// faults as warnings, since they matter only to crates that compile kernels.
pub fn survey(toolchain: &Toolchain, nvcc: &Path) -> Option<(String, bool, Vec<Finding>)> {
    let machine = &toolchain.host;
    let toolkit = toolchain.toolkit();
    let plan = query::plan(machine, toolkit, nvcc, Product::Object, Vec::new());
    let mut plan = plan.ok()?;
    in_scratch(|dir| {
        let cache = dir.join("cudnn-guard");
        create_dir(&cache).ok()?;
        match query::query(&plan, &cache) {
            Ok(Some((compiler, program))) => {
                let findings = host_compiler(&mut plan, toolchain, dir);
                let findings = findings.unwrap_or_else(|error| error.findings().to_vec());
                let findings = findings.into_iter().map(Finding::into_warning);
                let words = format!("{} at {}", compiler.named(), program.display());
                let limits = limits(compiler.host_config.as_deref(), toolchain.cuda_version());
                let is_known = limits.misfit(compiler.make, u32::MAX).is_some();
                Some((words, is_known, findings.collect()))
            }
            Ok(None) => {
                // The output of nvcc, which contains no answer.
                let question = nvcc_command::question(&plan, &cache.join("host-compiler.cpp"));
                let output = machine.answers.query(&question, &|_| None).ok()?;
                let output = without_commands(&output.stdout) + &without_commands(&output.stderr);
                let missing = missing(&output, &plan.choice, &machine.env)?;
                let fault = HostCompilerFault::NotStarted(nvcc, output.clone(), missing);
                let words = "none that nvcc can start".into();
                Some((words, true, vec![fault.finding()]))
            }
            Err(_) => None,
        }
    })?
}
