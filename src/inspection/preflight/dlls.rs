//! DLLs that a program for Windows imports and that are nowhere.

use crate::cudnn::consistency;
use crate::inspection::preflight::{Other, PreflightInput};
use crate::model::linkage::{LoadPhase, Missing};
use crate::runtime::facts::finding::{Finding, Severity};
use crate::runtime::facts::finding_id::FindingId;

impl PreflightInput {
    pub(super) fn dlls_not_found(&self, findings: &mut Vec<Finding>, unknown: &mut Vec<String>) {
        let opened: Vec<&Missing> = self
            .missing
            .iter()
            .filter(|one| self.is_opened(one))
            .collect();
        findings.extend(self.not_opened(&opened));
        for missing in self.missing.iter().filter(|one| !self.is_opened(one)) {
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

    /// Whether the program opens it itself: no table in its file tells of that.
    fn is_opened(&self, missing: &Missing) -> bool {
        let delayed = self.objects.first().map(|one| &one.linkage.delayed);
        missing.need == LoadPhase::Later
            && missing.needed_by == self.program
            && delayed.is_none_or(|delayed| !delayed.contains(&missing.name))
    }

    /// That there is no cuDNN by any of the names that it opens. Without a GPU it may do without.
    fn not_opened(&self, missing: &[&Missing]) -> Option<Finding> {
        let names: Vec<&str> = missing.iter().map(|one| one.name.as_str()).collect();
        let first = missing.first()?;
        let summary = format!(
            "this program opens {}, which Windows does not find",
            names.join(" or ")
        );
        let severity = Severity::error_if(!self.gpus.is_empty());
        let finding = Finding::new(FindingId::CudnnNotLoadable, severity, summary)
            .with("looked in", first.looked_at.join("\n"));
        if let Some(unfit) = missing.iter().find_map(|one| one.unfit.as_ref()) {
            return Some(finding.with_unfit(&unfit.path, &unfit.defect, &unfit.found_via));
        }
        if let Some(quoted) = &self.in_quotes {
            let reason = ("reason", quoted.reason.clone());
            let mut finding = finding.help(&*quoted.help);
            finding.evidence.insert(0, reason);
            return Some(finding);
        }
        let is_it = |other: &&Other| names.contains(&consistency::file_name(&other.path));
        if let Some(other) = self.others.iter().find(is_it) {
            let dir = other.path.parent().unwrap_or(&other.path).display();
            return Some(
                finding
                    .with("also found", other.path.display())
                    .help(format!("put `{dir}` into PATH where the program runs")),
            );
        }
        let finding = match &self.unasked {
            Some(file) => finding.with("there is", file.display()),
            None => finding,
        };
        Some(finding.help("copy it beside the program, or put the directory that holds it on PATH where the program runs"))
    }
}
