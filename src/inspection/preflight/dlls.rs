//! DLLs that a program for Windows imports and that are not found.

use crate::inspection::fault::InspectionFault;
use crate::inspection::preflight::{Other, PreflightInput};
use crate::model::linkage::{LoadPhase, Missing};
use crate::runtime::facts::Finding;
use crate::runtime::system::names::DRIVER_DLL;

impl PreflightInput {
    pub(super) fn dlls_not_found(&self, findings: &mut Vec<Finding>, unknown: &mut Vec<String>) {
        for missing in self.graph.missing.iter().filter(|one| !self.opens_dll(one)) {
            let name = &missing.name;
            if name.eq_ignore_ascii_case(DRIVER_DLL) {
                unknown.push("no NVIDIA driver was found".into());
                continue;
            }
            if !self.path_known {
                unknown.push(format!("{name} may be on the PATH where the program runs"));
            }
            // A version that a guard rejects would not help.
            let is_usable = |other: &&Other| {
                let refusal = other.version.and_then(|version| self.refusal(version));
                other.instead_of == *name && refusal.is_none()
            };
            let other = self.others.iter().find(is_usable);
            let other = other.map(|other| &*other.path);
            findings.push(InspectionFault::NoDll(missing, self.path_known, other).finding());
        }
    }

    /// Returns `true` if the program opens this DLL itself, which the file's tables do not show.
    pub(super) fn opens_dll(&self, missing: &Missing) -> bool {
        let delayed = self.graph.objects.first().map(|one| &one.linkage.delayed);
        missing.need == LoadPhase::Later
            && missing.needed_by == self.program
            && delayed.is_none_or(|delayed| !delayed.contains(&missing.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choice::requirement::Requirements;
    use crate::loader::ldso::LoadGraph;
    use crate::model::Platform;
    use crate::model::linkage::Object;
    use crate::runtime::facts::{Built, Loader, Policy, Version};

    const DLL: &str = "cudnn64_9.dll";

    /// A program that requires 9.10 or later, and the cuDNNs of these versions outside of the search path.
    fn input(need: LoadPhase, minors: &[u32]) -> PreflightInput {
        let other = |minor: &u32| Other {
            instead_of: DLL.into(),
            path: format!("/dnn{minor}/{DLL}").into(),
            soname: None,
            version: Some(Version::new(9, *minor, 0)),
        };
        let mut graph = LoadGraph::default();
        graph.missing.push(Missing {
            name: DLL.into(),
            need,
            ..Missing::default()
        });
        PreflightInput {
            platform: Platform::from_triple("x86_64-pc-windows-msvc"),
            guards: vec![Built {
                loader: Loader::Dlopen,
                policy: Policy::Requirement,
                requirement: Requirements::parse(None, Some(">=9.10")).0.cudnn,
                ..Built::default()
            }],
            graph,
            others: minors.iter().map(other).collect(),
            path_known: true,
            ..PreflightInput::default()
        }
    }

    fn opened(minors: &[u32]) -> Vec<String> {
        let input = input(LoadPhase::Later, minors);
        let missing = &input.graph.missing[0];
        let fault = input.no_cudnn(None, vec![DLL.into()], missing, true);
        fault.finding().help
    }

    fn linked(minors: &[u32]) -> Vec<String> {
        let (mut findings, mut unknown) = (Vec::new(), Vec::new());
        input(LoadPhase::Start, minors).dlls_not_found(&mut findings, &mut unknown);
        findings.remove(0).help
    }

    #[test]
    fn only_a_cudnn_that_the_program_can_run_with_is_recommended() {
        let right = ["add `/dnn14` to PATH where the program runs"];
        assert_eq!(opened(&[1, 14]), right);
        assert_eq!(linked(&[1, 14]), right);
        let any = "add the directory that contains it to PATH where the program runs, or copy all DLLs in that directory next \
                   to the program";
        let required = "install a cuDNN that meets `>=9.10`, or add its directory to PATH";
        assert_eq!(opened(&[1]), [required]);
        assert_eq!(linked(&[1]), [any]);
    }

    #[test]
    fn a_delayed_dll_is_not_one_that_the_program_opens_itself() {
        let mut input = input(LoadPhase::Later, &[]);
        let mut program = Object::default();
        input.graph.objects.push(program.clone());
        assert!(input.opens_dll(&input.graph.missing[0]));
        program.linkage.delayed.push(DLL.into());
        input.graph.objects = vec![program];
        assert!(!input.opens_dll(&input.graph.missing[0]));
    }
}
