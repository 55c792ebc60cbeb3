//! The report about a target list.

use crate::config::Config;
use crate::model::{ChosenBy, TargetList};
use crate::report::json::texts;
use crate::report::layout::{columns, wrapped, wrapped_lines};
use crate::report::verdict;
use crate::runtime::facts::finding_id::is_not_found;
use crate::runtime::report::json_members::document;
use crate::targets::select::Selection;
use crate::targets::{Compiler, Dialect, TargetRequest, nvcc_table, target_request};
use crate::toolchain::Toolchain;
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
    /// Examines this list. Default: the targets that a build would use. With `cuda`, the targets of nvcc are taken from
    /// the tables for that version. Without it, this machine's nvcc is queried.
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
        let toolchain = cuda.is_none().then(|| self.survey_on(host.clone()));
        let compiler = match &toolchain {
            Some(toolchain) => {
                let fault = toolchain.toolkit_fault.iter();
                findings.extend(fault.filter(|fault| !is_not_found(fault.id)).cloned());
                toolchain.compiler(request.as_ref(), &mut findings)
            }
            None => cuda.and_then(|cuda| Compiler::from_table(None, cuda)),
        };
        let source = match (cuda, &compiler) {
            (Some(cuda), _) => from_table(cuda),
            (None, Some(compiler)) if compiler.was_queried => format!("{}, asked", compiler.name),
            (None, Some(compiler)) => format!("what {} is known to do", compiler.name),
            (None, None) => "the list alone: there is no CUDA here".to_string(),
        };
        let selection = choose(
            self,
            request.as_ref(),
            compiler.as_ref(),
            cuda.or_else(|| toolchain.as_ref()?.cuda_version()),
            toolchain.as_ref().and_then(Toolchain::cudnn),
            &host,
            &mut findings,
        );
        let mut selection = selection.unwrap_or_else(|error| {
            findings.push(error);
            Selection::default()
        });
        if verdict(&findings, true) == Verdict::Fail {
            selection.list = TargetList::default();
        }
        TargetReport {
            list: selection.list,
            chosen_by: selection.chosen_by,
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
