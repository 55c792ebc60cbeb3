//! DLLs that a program for Windows imports and that are nowhere.

use crate::cudnn::consistency;
use crate::inspection::preflight::{Other, PreflightInput};
use crate::model::linkage::{LoadPhase, Missing};
use crate::runtime::facts::finding::{Finding, Severity};
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::loader::not_found::NotFound;
use crate::runtime::system::names::DRIVER_DLL;

const PUT_ON_PATH: &str =
    "copy it beside the program, or put the directory that holds it on PATH where the program runs";

impl PreflightInput {
    pub(super) fn dlls_not_found(&self, findings: &mut Vec<Finding>, unknown: &mut Vec<String>) {
        for missing in self.missing.iter().filter(|one| !self.opens_dll(one)) {
            let (name, asking) = (&missing.name, consistency::file_name(&missing.needed_by));
            if name.eq_ignore_ascii_case(DRIVER_DLL) {
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
                    .help(PUT_ON_PATH),
            );
        }
    }

    /// Returns `true` if the program opens it itself: no table in its file tells of that.
    pub(super) fn opens_dll(&self, missing: &Missing) -> bool {
        let delayed = self.objects.first().map(|one| &one.linkage.delayed);
        missing.need == LoadPhase::Later
            && missing.needed_by == self.program
            && delayed.is_none_or(|delayed| !delayed.contains(&missing.name))
    }

    /// Returns the finding for a cuDNN that Windows finds by none of these names.
    pub(super) fn no_dll(
        &self,
        summary: String,
        names: &[&str],
        missing: &Missing,
        sure: bool,
    ) -> Finding {
        let severity = Severity::error_if(sure);
        let mut finding = Finding::new(FindingId::CudnnNotLoadable, severity, summary)
            .with("looked in", missing.looked_at.join("\n"));
        let unfit = missing.unfit.clone();
        let is_it = |other: &&Other| names.contains(&consistency::file_name(&other.path));
        let mut elsewhere = Vec::new();
        if unfit.is_some() {
            // What is in the place of the library is all that there is to say.
        } else if let Some(quoted) = &self.in_quotes {
            let reason = ("reason", quoted.reason());
            finding.evidence.insert(0, reason);
            elsewhere.push(quoted.help());
        } else if let Some(other) = self.others.iter().find(is_it) {
            let dir = other.path.parent().unwrap_or(&other.path).display();
            elsewhere.push(format!("put `{dir}` into PATH where the program runs"));
            finding = finding.with("also found", other.path.display());
        } else if let Some(file) = &self.unasked {
            finding = finding.with("there is", file.display());
        }
        let not_found = NotFound {
            unfit,
            unasked: None,
        };
        not_found.explain(finding, elsewhere, vec![PUT_ON_PATH.into()])
    }
}
