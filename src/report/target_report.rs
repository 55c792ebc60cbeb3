//! The report about a target list.

use crate::config::Config;
use crate::model::{ChosenBy, TargetList};
use crate::report::json::texts;
use crate::report::layout::{columns, wrapped, wrapped_lines};
use crate::report::verdict;
use crate::runtime::report::json_members::document;
use crate::targets::{Compiler, Dialect, TargetRequest, nvcc_table, target_request};
use crate::toolchain::targets::choose;
use crate::{Finding, Verdict, Version};
use std::fmt;

/// The targets of a list, with their flags for nvcc and the findings about them.
#[derive(Clone, Debug)]
pub struct TargetReport {
    list: TargetList,
    chosen_by: ChosenBy,
    source: String,
    findings: Vec<Finding>,
}

impl Config {
    /// Examines this list. Default: the variables, else the GPUs of this machine, else `all-major`. With `cuda`, the
    /// targets of nvcc are taken from the tables for that version. Without it, this machine's nvcc is queried.
    pub fn examine_targets(&self, list: Option<&str>, cuda: Option<Version>) -> TargetReport {
        let host = self.host();
        let request = match list {
            Some(text) => Some(TargetRequest {
                from: ChosenBy::CommandLine,
                dialect: Dialect::Ours,
                text: text.to_string(),
            }),
            None => target_request::request(&host.env, &self.archs),
        };
        let mut findings = Vec::new();
        let (compiler, source) = match cuda {
            Some(cuda) => (Compiler::from_table(None, cuda), from_table(cuda)),
            None => {
                let letters = target_request::needs_letters(request.as_ref());
                let toolchain = self.survey_on(host.clone());
                let compiler = toolchain.compiler(letters, &mut findings);
                let source = match &compiler {
                    Some(compiler) if compiler.was_queried => {
                        format!("{}, asked", compiler.name)
                    }
                    Some(compiler) => format!("what {} is known to do", compiler.name),
                    None => "the list alone: there is no CUDA here".to_string(),
                };
                (compiler, source)
            }
        };
        let (list, chosen_by) = match choose(
            request.as_ref(),
            None,
            compiler.as_ref(),
            &|_| true,
            &host,
            &mut findings,
        ) {
            Ok(selection) => {
                findings.extend(selection.findings);
                (selection.list, selection.chosen_by)
            }
            Err(error) => {
                findings.push(error);
                let from = request.map_or(ChosenBy::Default, |request| request.from);
                (TargetList::default(), from)
            }
        };
        TargetReport {
            list,
            chosen_by,
            source,
            findings,
        }
    }
}

/// Returns the description of an nvcc that was not queried.
fn from_table(cuda: Version) -> String {
    let version = cuda.short();
    match nvcc_table::row_for(cuda) {
        None => format!("nothing is known of CUDA {version}"),
        Some(_) if cuda > nvcc_table::newest() => format!(
            "CUDA {version} is not known: what CUDA {} is known to do",
            nvcc_table::newest().short()
        ),
        Some(_) => format!("what CUDA {version} is known to do"),
    }
}

impl TargetReport {
    /// Returns the targets. The list is empty after an error.
    pub fn list(&self) -> &TargetList {
        &self.list
    }

    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Returns fail if a finding is an error, and pass otherwise.
    pub fn verdict(&self) -> Verdict {
        verdict(&self.findings, true)
    }

    /// Returns the report as JSON, as `cudnn-guard targets --json` prints it.
    pub fn to_json(&self) -> String {
        let members = vec![
            ("targets", texts(&self.list.targets())),
            ("flags", texts(&self.list.nvcc())),
        ];
        document("targets", self.verdict(), members, &self.findings)
    }
}

impl fmt::Display for TargetReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.verdict() == Verdict::Pass {
            let list = self.list.to_string();
            writeln!(f, "targets    {}", wrapped(&list, 11, columns(f)))?;
            writeln!(f, "chosen by  {}", self.chosen_by)?;
            writeln!(f, "nvcc       {}", wrapped(&self.source, 11, columns(f)))?;
            writeln!(f, "flags      {}", self.list.nvcc().join("\n           "))?;
        }
        for (index, finding) in self.findings.iter().enumerate() {
            let is_first = index == 0 && self.verdict() == Verdict::Fail;
            let gap = if is_first { "" } else { "\n" };
            let text = format!("{}: {finding}\n", finding.severity);
            write!(f, "{gap}{}", wrapped_lines(&text, columns(f)))?;
        }
        Ok(())
    }
}
