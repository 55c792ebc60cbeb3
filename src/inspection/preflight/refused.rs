//! Files that the loader finds and refuses: damaged ones, and libraries of the system that are too old.

use crate::inspection::preflight::PreflightInput;
use crate::model::linkage::LoadPhase;
use crate::runtime::binary::defect::Defect;
use crate::runtime::facts::finding::{Finding, Severity};
use crate::runtime::facts::finding_id::FindingId;
use std::path::Path;

impl PreflightInput {
    /// Files that are cut off, or no libraries. Those of the cuDNN are judged with it.
    pub(super) fn damaged(&self, findings: &mut Vec<Finding>) {
        for object in &self.objects {
            let Some(flaw) = &object.flaw else {
                continue;
            };
            let mut parts = self.cudnn.iter().flat_map(|cudnn| &cudnn.parts);
            if parts.any(|part| part.path == object.path) {
                continue;
            }
            let summary = format!("`{}` {flaw}", object.path.display());
            let severity = Severity::error_if(object.need != LoadPhase::Later);
            let asking = object.asked_by.and_then(|index| self.objects.get(index));
            findings.push(
                Finding::new(flaw.id(), severity, summary)
                    .with_lines("needed by", asking.map(|asking| asking.path.display()))
                    .help(self.replacement_help(flaw)),
            );
        }
    }

    /// What to do about a library that is none of a cuDNN.
    pub(super) fn replacement_help(&self, defect: &Defect) -> String {
        match defect {
            Defect::Cpu(_) | Defect::Machine(..) | Defect::Class => {
                format!("copy the one for {} in its place", self.platform.cpu)
            }
            _ => "install the package that has it again, and see that the disk is not full".into(),
        }
    }

    /// Versions of symbols that a library of the system is too old for.
    pub(super) fn too_old(&self, findings: &mut Vec<Finding>) {
        let mut said: Vec<&Path> = Vec::new();
        let objects = self.objects.iter();
        for object in objects.filter(|object| object.need != LoadPhase::Later) {
            for (from, versions) in &object.linkage.constraints {
                // Parts of cuDNN are compared by their releases.
                if from.starts_with("libcudnn") {
                    continue;
                }
                let found = self.objects.iter().find(|other| {
                    other.name == *from || other.linkage.soname.as_deref() == Some(from)
                });
                let Some(found) = found else {
                    continue;
                };
                let lacks = |version: &&String| !found.linkage.has.contains(version);
                let lacking: Vec<&str> =
                    versions.iter().filter(lacks).map(String::as_str).collect();
                if lacking.is_empty()
                    || found.linkage.has.is_empty()
                    || said.contains(&&*object.path)
                {
                    continue;
                }
                said.push(&object.path);
                let summary = format!(
                    "`{}` has no {}, which `{}` needs",
                    found.path.display(),
                    lacking.join(", "),
                    object.path.display()
                );
                let finding = Finding::error(FindingId::LibraryNotFound, summary);
                let newest = lacking.last().copied().unwrap_or_default();
                findings.push(match newest.strip_prefix("GLIBC_") {
                    Some(number) => finding.help(format!(
                        "run the program on a system or in a container whose glibc is {number} or later"
                    )),
                    None => finding.help(format!(
                        "put the directory of a {from} that has {newest} into LD_LIBRARY_PATH"
                    )),
                });
            }
        }
    }
}
