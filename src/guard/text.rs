//! The text of the guard: the files of build-support/guard, each in a module of its own, and what the build knew.

use crate::guard::facts::{Facts, KNOWN, without_folders};
use crate::guard::{record, within};
use crate::runtime::facts::built::Loader;
use crate::runtime::facts::compute_capability::{Code, Suffix, Target};
use crate::runtime::facts::finding::{Finding, Severity};
use crate::runtime::facts::version::Version;
use std::fmt::Write;

macro_rules! sources {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../build-support/guard/", $name, ".rs")))),*]
    };
}

/// The files of the runtime.
pub(super) const SOURCES: &[(&str, &str)] = sources![
    "binary/bounded_file",
    "binary/defect",
    "binary/elf",
    "binary/elf_symbols",
    "binary/mod",
    "binary/package_record",
    "binary/version_symbol",
    "check",
    "child/child_verdict",
    "child/exit_status",
    "child/fork",
    "child/in_process",
    "child/mod",
    "child/no_fork",
    "child/pipe_sink",
    "child/process_lock",
    "child/protocol",
    "child/work",
    "convolution/algorithm",
    "convolution/case",
    "convolution/case_result",
    "convolution/cudnn_error",
    "convolution/data_type",
    "convolution/failure",
    "convolution/graph_engines",
    "convolution/mod",
    "convolution/reference",
    "convolution/run_case",
    "convolution/shape",
    "convolution/suite",
    "convolution/tolerance",
    "cudnn/descriptor",
    "cudnn/functions",
    "cudnn/graph",
    "cudnn/graph_signatures",
    "cudnn/mod",
    "cudnn/signatures",
    "cudnn/status",
    "driver/cuda_status",
    "driver/device_memory",
    "driver/devices",
    "driver/driver_missing",
    "driver/mod",
    "driver/no_gpu",
    "driver/query",
    "facts/allowed",
    "facts/built",
    "facts/compute_capability",
    "facts/finding",
    "facts/json",
    "facts/linked_in",
    "facts/mod",
    "facts/tables",
    "facts/version",
    "judge/gpu_support",
    "judge/mod",
    "judge/rules",
    "loader/cudarc_eager",
    "loader/dlerror_messages",
    "loader/ld_so_cache",
    "loader/library_names",
    "loader/load_origin",
    "loader/locate",
    "loader/map_failures",
    "loader/mod",
    "loader/search_path",
    "mod",
    "parts/dlopen_dependencies",
    "parts/foreign_parts",
    "parts/missing_dlopen",
    "parts/mod",
    "parts/part_files",
    "parts/release",
    "parts/required_parts",
    "report/env_config",
    "report/json_members",
    "report/mod",
    "report/output",
    "report/result",
    "report/text",
    "startup",
    "system/linux",
    "system/mapped",
    "system/mod",
    "system/other",
    "system/windows",
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
    module_text(&mut out, "mod");
    module(&mut out, "", "built", &built(facts));
    module(&mut out, "", "record", &record::module(facts));
    if facts.loader == Loader::Static {
        module(
            &mut out,
            &format!("#[cfg({KNOWN})]\n"),
            "within",
            &within::module(facts),
        );
    }
    if facts.loader == Loader::Linked {
        module(&mut out, "", "linked", LINKED);
    }
    out.push_str(FACE);
    out
}

/// What the program sees.
const FACE: &str = r"}

#[allow(unused_imports, unreachable_pub)]
pub use imp::{built::BUILT, Failure, Finding, Report, Severity, Verdict};

/// Verifies everything and ends the program, with exit code 78, if something does not fit. What is unknown is said in
/// one line on standard error, and the program goes on.
#[allow(dead_code, unreachable_pub)]
pub fn startup() {
    imp::record::keep();
    imp::startup(&BUILT);
}

/// Verifies everything: the files, their releases, the driver, the GPU, a small convolution in each format. `Ok` only if all of it fits;
/// what could not be checked is a `Failure` whose verdict is `Unknown`. Never panics, never exits.
#[allow(dead_code, unreachable_pub)]
pub fn check() -> Result<Report, Failure> {
    imp::record::keep();
    imp::check(&BUILT)
}

/// Verifies the same with every kind of convolution: forward, both gradients, bias with activation; in `f32` with and
/// without TF32, `f16` and `bf16`; in both layouts; by every algorithm that cuDNN offers. For a test or an installation's
/// self-check, not for every start.
#[allow(dead_code, unreachable_pub)]
pub fn check_thoroughly() -> Result<Report, Failure> {
    imp::record::keep();
    imp::check_thoroughly(&BUILT)
}

/// Verifies the files and their releases, and touches neither CUDA nor the code of cuDNN. One that is linked into the
/// program has no files, and is asked for its release.
#[allow(dead_code, unreachable_pub)]
pub fn check_version() -> Result<Report, Failure> {
    imp::record::keep();
    imp::check_version(&BUILT)
}
";

/// Keeps `libcudnn` among the libraries of the program, whose own use of it the linker may not have seen yet.
const LINKED: &str = "\
unsafe extern \"C\" {
    fn cudnnGetVersion() -> usize;
}
#[used]
static KEEP: unsafe extern \"C\" fn() -> usize = cudnnGetVersion;
";

/// The text of a file, with those that it declares as modules in their places. They have no files here, and their root
/// is not the crate's.
fn module_text(out: &mut String, name: &str) {
    let source = SOURCES.iter().find(|(known, _)| *known == name);
    let source = source.map_or("", |(_, source)| source);
    let folder = name.strip_suffix("mod").unwrap_or_default();
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        let declared = line.strip_prefix("pub mod ");
        match declared.and_then(|rest| rest.strip_suffix(';')) {
            Some(module) => {
                let _ = writeln!(out, "pub mod {module} {{");
                let file = format!("{folder}{module}");
                let is_file = SOURCES.iter().any(|(known, _)| *known == file);
                module_text(out, &if is_file { file } else { file + "/mod" });
                out.push_str("}\n");
            }
            None if line == "#[cfg(feature = \"runtime\")]" => {}
            // A program does without what only the build reads.
            None if line == "#[cfg(feature = \"build\")]" => {
                lines.next();
            }
            None => {
                out.push_str(&line.replace(ROOT, &to_root(name)));
                out.push('\n');
            }
        }
    }
}

/// How the files of the runtime name its root.
const ROOT: &str = "crate::runtime::";

/// The same from within the module of this file, wherever the text is included.
fn to_root(name: &str) -> String {
    let folders = name.matches('/').count();
    match folders + usize::from(!name.ends_with("mod")) {
        0 => "self::".to_string(),
        depth => "super::".repeat(depth),
    }
}

fn module(out: &mut String, attributes: &str, name: &str, source: &str) {
    out.push_str(attributes);
    out.push_str("pub mod ");
    out.push_str(name);
    out.push_str(" {\n");
    out.push_str(source);
    out.push_str("}\n");
}

fn built(facts: &Facts<'_>) -> String {
    let mut out = String::from(
        "use super::facts::built::{Built, BuiltFinding, Loader, Policy, Requirement};\n\
         use super::facts::compute_capability::{Code, ComputeCapability, Suffix, Target};\n\
         use super::facts::finding::Severity;\nuse super::facts::tables::{Gpus, KnownBad, Tables};\n\
         use super::facts::version::Version;\n\
         /// What the build knew.\npub static BUILT: Built = Built {\n",
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
    if facts.loader == Loader::Static {
        let _ = writeln!(
            out,
            "    #[cfg({KNOWN})]\n    linked_in: Some(super::within::LINKED_IN),"
        );
        let _ = writeln!(out, "    #[cfg(not({KNOWN}))]\n    linked_in: None,");
    } else {
        out.push_str("    linked_in: None,\n");
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_finds_the_root_from_where_it_stands() {
        assert_eq!(to_root("mod"), "self::");
        assert_eq!(to_root("check"), "super::");
        assert_eq!(to_root("facts/mod"), "super::");
        assert_eq!(to_root("facts/version"), "super::super::");
    }

    /// A module within a file would stand at another depth than the file.
    #[test]
    fn no_file_holds_a_module() {
        for (name, source) in SOURCES {
            for line in source.lines().map(str::trim_start) {
                let opened = line.contains("mod ") && line.ends_with('{');
                assert!(!opened || line.starts_with("//"), "{name}: {line}");
            }
        }
    }

    #[test]
    fn the_text_has_every_file_and_knows_no_crate() {
        let mut text = String::new();
        module_text(&mut text, "mod");
        for (name, source) in SOURCES {
            let first = source.lines().next().unwrap_or_default();
            assert!(text.contains(first), "{name}");
        }
        assert!(!text.contains("crate::runtime"), "a path is left");
        // What the build alone reads is not in it, nor is a feature of this crate.
        assert!(!text.contains("mod pe ") && !text.contains("feature ="));
    }
}
