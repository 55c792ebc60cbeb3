//! DLLs that a program for Windows imports and that are not found.

use crate::cudnn::consistency;
use crate::inspection::fault::{Alternatives, InspectionFault, Install, Reach};
use crate::inspection::preflight::{Other, PreflightInput};
use crate::model::linkage::{LoadPhase, Missing};
use crate::runtime::facts::finding::Finding;
use crate::runtime::system::names::DRIVER_DLL;
use std::path::Path;

impl PreflightInput {
    pub(super) fn dlls_not_found(&self, findings: &mut Vec<Finding>, unknown: &mut Vec<String>) {
        for missing in self.missing.iter().filter(|one| !self.opens_dll(one)) {
            let name = &missing.name;
            if name.eq_ignore_ascii_case(DRIVER_DLL) {
                unknown.push("no NVIDIA driver was found".into());
                continue;
            }
            if !self.path_known {
                unknown.push(format!("{name} may be on the PATH where the program runs"));
            }
            let mut others = self.others.iter();
            let other = others.find(|other| other.instead_of == *name);
            let other = other.map(|other| &*other.path);
            findings.push(InspectionFault::NoDll(missing, self.path_known, other).finding());
        }
    }

    /// Returns `true` if the program opens this DLL itself, which the file's tables do not show.
    pub(super) fn opens_dll(&self, missing: &Missing) -> bool {
        let delayed = self.objects.first().map(|one| &one.linkage.delayed);
        missing.need == LoadPhase::Later
            && missing.needed_by == self.program
            && delayed.is_none_or(|delayed| !delayed.contains(&missing.name))
    }

    /// Returns the alternatives to a cuDNN that Windows does not find by any of these names.
    pub(super) fn other_dlls(&self, names: &[&str], missing: &Missing) -> Alternatives<'_> {
        let (mut also_found, mut reach, mut unrequested) = (Vec::new(), None, None);
        let dir = |file: &Path| file.parent().unwrap_or(file).display().to_string();
        let is_it = |other: &&Other| names.contains(&consistency::file_name(&other.path));
        if missing.unfit.is_some() {
            // If an unusable file is in place of the library, only that is reported.
        } else if let Some(quoted) = &self.in_quotes {
            reach = Some(Reach::Unquote(quoted));
        } else if let Some(other) = self.others.iter().find(is_it) {
            reach = Some(Reach::Directory(dir(&other.path)));
            also_found.push((None, &*other.path));
        } else if let Some(file) = &self.unrequested {
            unrequested = Some((&**file, dir(file)));
        }
        Alternatives {
            also_found,
            unrequested,
            reach,
            install: Install::Dll,
        }
    }
}
