//! The report as JSON. Keys are never renamed, and all of them are always there: what is not known is `null` or
//! an empty list.

use crate::model::candidate::{Candidate, Cudnn, Found, LinkName, Part, Toolkit};
use crate::model::found_via::FoundVia;
use crate::model::owner::{Installer, Owner};
use crate::model::version_source;
use crate::report::Report;
use crate::runtime::driver::query::{Device, Driver};
use crate::runtime::facts::compute_capability::Target;
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::json::is_unprintable;
use crate::runtime::facts::version::Version;
use crate::search::search_step::Kind;
use serde_json::{Map, Value, json};
use std::fmt::Display;
use std::path::{Path, PathBuf};

/// The shape that programs may rely on: `schema` changes when a key changes its meaning.
pub(crate) const SCHEMA: i64 = 1;

/// One line, in which no text of the machine can move a cursor or turn the direction of what follows: JSON lets that
/// stand.
pub(crate) fn line(value: &Value) -> String {
    let mut line = String::new();
    for character in value.to_string().chars() {
        if is_unprintable(character) {
            line.push_str(&format!("\\u{:04x}", u32::from(character)));
        } else {
            line.push(character);
        }
    }
    line
}

/// The whole report.
pub(super) fn report(report: &Report) -> Value {
    let machine = report.machine.clone().unwrap_or_default();
    let gpu_codes = &machine.gpu_codes;
    let (toolkit_via, cudnn_via) = (report.via(Kind::Toolkit), report.via(Kind::Cudnn));
    json!({
        "schema": SCHEMA,
        "verdict": text(report.verdict()),
        "toolkit": report.toolkit.as_ref().map(|found| toolkit(found, toolkit_via, gpu_codes)),
        "cudnn": report.cudnn.as_ref().map(|found| cudnn(found, cudnn_via)),
        "candidates": list(&report.candidates, candidate),
        "host_compiler": machine.host_compiler.as_deref(),
        "driver": machine.driver.as_ref().map(driver),
        "gpus": list(&machine.gpus, gpu),
        "targets": list(&machine.targets, text),
        "findings": list(&report.findings, finding),
    })
}

fn toolkit(toolkit: &Toolkit, via: Option<&FoundVia>, gpu_codes: &[Target]) -> Value {
    json!({
        "root": path(&toolkit.root),
        "version": toolkit.version.map(Version::short),
        "nvcc": optional_path(&toolkit.nvcc),
        "include_dirs": list(&toolkit.include_dirs, |dir| path(dir)),
        "link_dirs": list(&toolkit.link_dirs, |dir| path(dir)),
        "found_via": via.map(text),
        "gpu_codes": list(gpu_codes, text),
    })
}

pub(crate) fn cudnn(cudnn: &Cudnn, via: Option<impl Display>) -> Value {
    let link_name = cudnn.link_name.as_ref().map(|name| match name {
        LinkName::Short(name) | LinkName::Verbatim(name) => name,
    });
    json!({
        "version": cudnn.version().map(text),
        "header": optional_path(&cudnn.header),
        "include_dir": optional_path(&cudnn.include_dir),
        "library": optional_path(&cudnn.library),
        "library_version": cudnn.library_version.map(text),
        "link_dir": optional_path(&cudnn.link_dir),
        "link_name": link_name,
        "cuda_major": cudnn.cuda_major,
        "found_via": via.map(text),
        "gpu_codes": list(&cudnn.gpu_codes, text),
        "parts": list(&cudnn.parts, part),
        "owner": cudnn.owner.as_deref().map(owner),
    })
}

fn owner(owner: &Owner) -> Value {
    let installer = match owner.installer {
        Installer::Conda => "conda",
        Installer::Pip => "pip",
        Installer::Apt => "apt",
    };
    json!({ "installer": installer, "name": owner.name, "version": owner.version })
}

fn part(part: &Part) -> Value {
    json!({
        "name": part.name,
        "path": path(&part.path),
        "version": part.version.map(text),
        "told_by": part.told_by.map(version_source::in_full),
    })
}

fn candidate(candidate: &Candidate) -> Value {
    let (kind, root, version) = match &candidate.found {
        Found::Toolkit(toolkit) => (
            "toolkit",
            &toolkit.root,
            toolkit.version.map(Version::short),
        ),
        Found::Cudnn(cudnn) => ("cudnn", &cudnn.root, cudnn.version().map(text)),
    };
    json!({
        "kind": kind,
        "path": path(root),
        "found_via": text(&candidate.via),
        "version": version,
        "chosen": candidate.chosen,
        "rejected": candidate.rejected.as_ref().map(text),
    })
}

pub(crate) fn driver(driver: &Driver) -> Value {
    json!({
        "library": driver.library,
        "version": driver.version,
        "cuda": driver.cuda.map(Version::short),
    })
}

pub(crate) fn gpu(gpu: &Device) -> Value {
    json!({ "name": gpu.name, "compute_capability": text(gpu.capability) })
}

pub(crate) fn finding(finding: &Finding) -> Value {
    let evidence = finding.evidence.iter();
    let evidence: Map<String, Value> = evidence
        .map(|(label, value)| (label.to_string(), json!(value)))
        .collect();
    json!({
        "id": finding.id.as_str(),
        "severity": text(finding.severity),
        "summary": finding.summary,
        "evidence": evidence,
        "help": finding.help,
    })
}

pub(crate) fn list<'a, T, V>(values: &'a [T], one: impl Fn(&'a T) -> V) -> Vec<V> {
    values.iter().map(one).collect()
}

pub(crate) fn text(value: impl Display) -> String {
    value.to_string()
}

pub(crate) fn path(path: &Path) -> String {
    text(path.display())
}

fn optional_path(optional: &Option<PathBuf>) -> Option<String> {
    optional.as_deref().map(path)
}
