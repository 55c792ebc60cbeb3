//! What the build knew, once more, in a section of the program that `cudnn-guard inspect` reads.

use crate::guard::facts::{Facts, without_folders};
use crate::model::record::{MACH_SECTION, SECTION, framed};
use crate::runtime::facts::built::{Loader, Policy};
use crate::runtime::facts::finding::Severity;

/// The module of the generated file. Whoever uses a function of the guard keeps the record: `#[used]` holds the
/// compiler, and only a use holds linkers that leave out what nothing is used of.
pub fn module(facts: &Facts<'_>) -> String {
    let bytes = bytes(facts);
    let length = bytes.len();
    let text = bytes.escape_ascii();
    format!(
        "#[used]\n\
         #[cfg_attr(not(target_vendor = \"apple\"), unsafe(link_section = {SECTION:?}))]\n\
         #[cfg_attr(target_vendor = \"apple\", unsafe(link_section = {MACH_SECTION:?}))]\n\
         static RECORD: [u8; {length}] = *b\"{text}\";\n\
         pub fn keep() {{\n    \
         // SAFETY: a constant's own bytes.\n    \
         let _ = unsafe {{ std::ptr::read_volatile(RECORD.as_ptr()) }};\n}}\n"
    )
}

fn bytes(facts: &Facts<'_>) -> Vec<u8> {
    let mut lines = vec![("guard", env!("CARGO_PKG_VERSION").to_string())];
    let mut fact = |name, value: Option<String>| lines.extend(value.map(|value| (name, value)));
    fact("crate", facts.package.clone());
    fact("cudnn", facts.cudnn.map(|version| version.to_string()));
    let major = facts.cudnn_cuda_major;
    fact("cudnn-cuda", major.map(|major| major.to_string()));
    fact("cuda", facts.cuda.map(|version| version.short()));
    if let Some(asked) = &facts.requirement {
        fact("requirement", Some(asked.text.clone()));
        fact("from", Some(asked.from.to_string()));
        fact("below", asked.below.map(|below| below.to_string()));
    }
    let policy = match facts.policy {
        Policy::Compatible => "compatible",
        Policy::SameMinor => "same-minor",
        Policy::Exact => "exact",
        Policy::Requirement => "requirement",
    };
    fact("policy", Some(policy.into()));
    let loader = match facts.loader {
        Loader::Linked => "linked",
        Loader::Dlopen => "dlopen",
        Loader::Cudarc => "cudarc",
        Loader::Static => "static",
    };
    fact("loader", Some(loader.into()));
    fact("cudarc", facts.cudarc.map(|version| version.to_string()));
    let targets: Vec<String> = facts.targets.iter().map(ToString::to_string).collect();
    fact(
        "targets",
        Some(targets.join(" ")).filter(|list| !list.is_empty()),
    );
    fact(
        "needs",
        Some(facts.needs.join(" ")).filter(|list| !list.is_empty()),
    );
    fact("convolution", Some(facts.convolution.to_string()));
    fact("require-gpu", Some(facts.require_gpu.to_string()));
    for finding in facts.findings {
        if finding.severity != Severity::Note {
            let summary = without_folders(&finding.summary);
            let line = format!("{} {} {summary}", finding.severity, finding.id);
            fact("finding", Some(line));
        }
    }
    fact("absent", facts.absent.clone());
    framed(&lines)
}
