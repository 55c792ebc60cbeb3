//! DLLs that a program for Windows imports and that are nowhere.

use crate::cudnn::consistency;
use crate::inspection::preflight::PreflightInput;
use crate::model::linkage::LoadPhase;
use crate::runtime::facts::finding::{Finding, Severity};
use crate::runtime::facts::finding_id::FindingId;

impl PreflightInput {
    pub(super) fn dlls_not_found(&self, findings: &mut Vec<Finding>, unknown: &mut Vec<String>) {
        for missing in &self.missing {
            let (name, asking) = (&missing.name, consistency::file_name(&missing.needed_by));
            if name.eq_ignore_ascii_case("nvcuda.dll") {
                unknown.push("there is no driver here".into());
                continue;
            }
            let id = if name.to_ascii_lowercase().starts_with("cudnn") {
                FindingId::CudnnNotLoadable
            } else {
                FindingId::LibraryNotFound
            };
            let later = missing.need == LoadPhase::Later;
            let verb = if later { "loads" } else { "needs" };
            let when = if later { " when it first calls it" } else { "" };
            let lack = match self.path_known {
                true => "is not where Windows looks for it",
                false => "does not lie beside the program",
            };
            let summary = format!("`{asking}` {verb} `{name}`{when}, which {lack}");
            if !self.path_known {
                unknown.push(format!(
                    "{name} is looked for along the PATH of wherever the program runs"
                ));
            }
            let severity = Severity::error_if(self.path_known && !later);
            findings.push(
                Finding::new(id, severity, summary)
                    .with("looked in", missing.looked_at.join("\n"))
                    .help("copy it beside the program, or put the directory that holds it on PATH where the program runs"),
            );
        }
    }
}
