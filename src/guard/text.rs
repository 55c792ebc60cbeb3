//! The text of the guard: the files of build-support/guard as they are, and one constant with what the build knew.

use crate::guard::facts::{Facts, KNOWN, without_folders};
use crate::guard::{record, within};
use crate::model::arch::{Code, Suffix, Target};
use crate::model::facts::Loader;
use crate::model::finding::{Finding, Severity};
use crate::model::version::Version;
use std::fmt::Write;

macro_rules! modules {
    ($($name:literal),*) => {
        &[$(($name, include_str!(concat!("../../build-support/guard/", $name, ".rs")))),*]
    };
}

/// The guard's modules; they know each other as `super::name`.
pub(super) const MODULES: &[(&str, &str)] = modules![
    "version",
    "arch",
    "json",
    "finding",
    "allowed",
    "tables",
    "facts",
    "served",
    "elf",
    "ended",
    "eager",
    "cuda_status",
    "cudnn_status",
    "no_driver",
    "no_gpu",
    "driver",
    "shape",
    "data_type",
    "kind",
    "algorithm",
    "cudnn_calls",
    "cudnn",
    "descriptor",
    "graph_calls",
    "graph",
    "device",
    "reference",
    "tolerance",
    "refusal",
    "trouble",
    "outcome",
    "trial",
    "engines",
    "convolution",
    "via",
    "cache",
    "route",
    "names",
    "loaded",
    "wheel",
    "release",
    "needs",
    "parts",
    "judge",
    "answer",
    "devices",
    "hidden",
    "tell",
    "here",
    "unmapped",
    "said",
    "unopened",
    "stray",
    "tried",
    "turn",
    "child",
    "report",
    "report_json",
    "report_text",
    "output",
    "operator",
    "check",
    "startup"
];
/// What differs by system: the modules `platform` and `process`, and what they take.
const LINUX: &[(&str, &str)] = &[
    (
        "platform",
        include_str!("../../build-support/guard/linux.rs"),
    ),
    (
        "mapped",
        include_str!("../../build-support/guard/linux_mapped.rs"),
    ),
    (
        "process",
        include_str!("../../build-support/guard/linux_process.rs"),
    ),
];
const OTHER: &[(&str, &str)] = &[
    (
        "platform",
        include_str!("../../build-support/guard/other.rs"),
    ),
    (
        "process",
        include_str!("../../build-support/guard/other_process.rs"),
    ),
];

/// Lints that a consumer may deny and that say nothing about a file it did not write.
const ALLOWED: &str = "clippy::all, clippy::pedantic, clippy::nursery, clippy::restriction, clippy::cargo, dead_code, \
    missing_docs, missing_debug_implementations, missing_copy_implementations, non_snake_case, \
    rust_2018_idioms, rust_2021_compatibility, rust_2024_compatibility, single_use_lifetimes, trivial_casts, \
    trivial_numeric_casts, unknown_lints, unreachable_pub, unsafe_code, unused, unused_lifetimes, \
    unused_qualifications, unused_results, variant_size_differences, let_underscore_drop, \
    elided_lifetimes_in_paths, explicit_outlives_requirements, meta_variable_misuse, \
    redundant_lifetimes, unnameable_types, warnings";

/// The whole file.
pub fn text(facts: &Facts<'_>) -> String {
    let mut out = String::with_capacity(128 * 1024);
    out.push_str(concat!(
        "// Written by cudnn-guard ",
        env!("CARGO_PKG_VERSION"),
        ".\n// SPDX-License-Identifier: 0BSD\n\n"
    ));
    out.push_str("#[allow(");
    out.push_str(ALLOWED);
    out.push_str(")]\nmod imp {\n");
    for (name, source) in MODULES {
        module(&mut out, "", name, source);
    }
    for (name, source) in LINUX {
        module(&mut out, &format!("#[cfg({KNOWN})]\n"), name, source);
    }
    for (name, source) in OTHER {
        module(&mut out, &format!("#[cfg(not({KNOWN}))]\n"), name, source);
    }
    module(&mut out, "", "built", &built(facts));
    module(&mut out, "", "record", &record::module(facts));
    let source = within::module(facts);
    module(&mut out, "", "within", &source);
    if facts.loader == Loader::Linked {
        module(&mut out, "", "linked", LINKED);
    }
    out.push_str(FACE);
    out
}

/// What the program sees.
const FACE: &str = r"pub use built::BUILT;
pub use finding::{Finding, Severity, Verdict};
pub use report::{Failure, Report};

/// Verifies everything and ends the program, with exit code 78, if something does not fit. What is unknown is said in
/// one line on standard error, and the program goes on.
pub fn startup() {
    record::keep();
    startup::startup(&BUILT);
}

/// Verifies everything: the files, their releases, the driver, the GPU, a small convolution in each format. `Ok` only if all of it fits;
/// what could not be checked is a `Failure` whose verdict is `Unknown`. Never panics, never exits.
pub fn check() -> Result<Report, Failure> {
    record::keep();
    check::check(&BUILT)
}

/// Verifies the same with every kind of convolution: forward, both gradients, bias with activation; in `f32` with and
/// without TF32, `f16` and `bf16`; in both layouts; by every algorithm that cuDNN offers. For a test or an installation's
/// self-check, not for every start.
pub fn check_thoroughly() -> Result<Report, Failure> {
    record::keep();
    check::check_thoroughly(&BUILT)
}

/// Verifies the files and their releases, and touches neither CUDA nor the code of cuDNN. One that is linked into the
/// program has no files, and is asked for its release.
pub fn check_version() -> Result<Report, Failure> {
    record::keep();
    check::check_version(&BUILT)
}
}

#[allow(unused_imports, unreachable_pub)]
pub use imp::{check, check_thoroughly, check_version, startup, Failure, Finding, Report, Severity, Verdict, BUILT};
";

/// Keeps `libcudnn` among the libraries of the program, whose own use of it the linker may not have seen yet.
const LINKED: &str = "\
unsafe extern \"C\" {
    fn cudnnGetVersion() -> usize;
}
#[used]
static KEEP: unsafe extern \"C\" fn() -> usize = cudnnGetVersion;
";

fn module(out: &mut String, attributes: &str, name: &str, source: &str) {
    out.push_str(attributes);
    out.push_str("mod ");
    out.push_str(name);
    out.push_str(" {\n");
    out.push_str(source);
    out.push_str("}\n");
}

fn built(facts: &Facts<'_>) -> String {
    let mut out = String::from(
        "use super::arch::{Code, ComputeCapability, Suffix, Target};\n\
         use super::facts::{Built, BuiltFinding, Loader, Policy, Requirement};\n\
         use super::finding::Severity;\nuse super::tables::{Gpus, KnownBad, Tables};\n\
         use super::version::Version;\n\
         /// What the build knew.\npub const BUILT: Built = Built {\n",
    );
    let mut field = |name: &str, value: String| {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "    {name}: {value},");
    };
    field("cudnn", option(facts.cudnn.map(version)));
    field(
        "cudnn_cuda_major",
        option(facts.cudnn_cuda_major.map(|major| major.to_string())),
    );
    field("cuda", option(facts.cuda.map(version)));
    let requirement = facts.requirement.as_ref().map(|asked| {
        format!(
            "Requirement {{ text: {:?}, from: {}, below: {} }}",
            asked.text,
            version(asked.from),
            option(asked.below.map(version))
        )
    });
    field("requirement", option(requirement));
    field("policy", format!("Policy::{:?}", facts.policy));
    field("loader", format!("Loader::{:?}", facts.loader));
    field("cudarc", option(facts.cudarc.map(version)));
    field("targets", list(facts.targets.iter().copied().map(target)));
    field("convolution", facts.convolution.to_string());
    field("require_gpu", facts.require_gpu.to_string());
    field(
        "needs",
        list(facts.needs.iter().map(|word| format!("{word:?}"))),
    );
    let worth_carrying = |finding: &&Finding| finding.severity != Severity::Note;
    field(
        "findings",
        list(facts.findings.iter().filter(worth_carrying).map(finding)),
    );
    field("tables", facts.tables.clone());
    field(
        "absent",
        option(facts.absent.as_ref().map(|reason| format!("{reason:?}"))),
    );
    out.push_str("};\n");
    out
}

pub(super) fn version(version: Version) -> String {
    format!(
        "Version::new({}, {}, {})",
        version.major, version.minor, version.patch
    )
}

fn target(target: Target) -> String {
    let suffix = match target.suffix {
        Suffix::None => "None",
        Suffix::Family => "Family",
        Suffix::Arch => "Arch",
    };
    let code = match target.code {
        Code::Machine => "Machine",
        Code::Ptx => "Ptx",
    };
    format!(
        "Target {{ capability: ComputeCapability::new({}, {}), suffix: Suffix::{suffix}, code: Code::{code} }}",
        target.capability.major, target.capability.minor
    )
}

fn finding(finding: &Finding) -> String {
    format!(
        "BuiltFinding {{ id: {:?}, severity: Severity::{:?}, summary: {:?} }}",
        finding.id,
        finding.severity,
        without_folders(&finding.summary)
    )
}

pub(super) fn option(value: Option<String>) -> String {
    value.map_or_else(|| "None".to_string(), |value| format!("Some({value})"))
}

pub(super) fn list(values: impl Iterator<Item = String>) -> String {
    let values: Vec<String> = values.collect();
    format!("&[{}]", values.join(", "))
}
