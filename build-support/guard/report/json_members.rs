//! The members of a report's JSON. Their names and structure never change.

use crate::runtime::convolution::CaseResult;
use crate::runtime::driver::{Device, Driver};
use crate::runtime::facts::{Built, BuiltFinding, Finding, Json, Verdict, Version};
use crate::runtime::install::SubLibraryFile;
use crate::runtime::report::LoadedCudnn;
use std::fmt::Display;

/// The version of the JSON. It rises if a key is removed or changes its meaning.
const SCHEMA: u32 = 1;

/// Returns a document in the form that all documents share. `docs/report.schema.json` describes it.
pub fn document(
    kind: &str,
    verdict: Verdict,
    members: Vec<(&str, Json)>,
    findings: &[Finding],
) -> String {
    let mut all = vec![
        ("schema", Json::integer(Some(SCHEMA))),
        ("kind", Json::text(&kind)),
        ("verdict", Json::text(&verdict)),
    ];
    all.extend(members);
    all.push(("findings", Json::list(findings, Finding::json)));
    Json::object(&all).to_string()
}

pub fn built(built: &Built) -> Json {
    let requirement = built.requirement.as_ref();
    let requirement = requirement.map(|requirement| &requirement.text);
    let targets = Json::list(&built.targets, |target| Json::text(target));
    Json::object(&[
        ("cudnn", Json::optional(built.cudnn)),
        ("cuda", Json::optional(built.cuda.map(Version::short))),
        ("requirement", Json::optional(requirement)),
        ("targets", targets),
        ("findings", Json::list(&built.findings, built_finding)),
    ])
}

pub fn built_finding(finding: &BuiltFinding) -> Json {
    Json::object(&[
        ("id", Json::text(&finding.id)),
        ("severity", Json::text(&finding.severity)),
        ("summary", Json::text(&finding.summary)),
    ])
}

pub fn loaded(loaded: Option<&LoadedCudnn>) -> Json {
    let Some(loaded) = loaded else {
        return Json::null();
    };
    let part = |file: &&SubLibraryFile| part(file, file.told_by);
    let parts = SubLibraryFile::taken(&Vec::from_iter(&loaded.parts));
    let version = loaded.version.map(|(version, _)| version);
    Json::object(&[
        ("version", Json::optional(version)),
        ("path", Json::text(&loaded.path.display())),
        ("found_via", Json::text(&loaded.origin)),
        ("cuda_major", Json::integer(loaded.cuda_major)),
        ("parts", Json::list(&parts, part)),
    ])
}

pub fn part(file: &SubLibraryFile, told_by: Option<impl Display>) -> Json {
    Json::object(&[
        ("name", Json::text(&file.name)),
        ("path", Json::text(&file.path.display())),
        ("version", Json::optional(file.version)),
        ("told_by", Json::optional(told_by)),
    ])
}

pub fn driver(driver: Option<&Driver>) -> Json {
    let Some(driver) = driver else {
        return Json::null();
    };
    Json::object(&[
        ("library", Json::text(&driver.library)),
        ("version", Json::optional(driver.version.as_ref())),
        ("cuda", Json::optional(driver.cuda.map(Version::short))),
    ])
}

pub fn device(device: &Device) -> Json {
    Json::object(&[
        ("name", Json::text(&device.name)),
        ("compute_capability", Json::text(&device.capability)),
    ])
}

/// Returns an entry of `convolution`.
pub fn outcome(outcome: &CaseResult) -> Json {
    let algorithm = Some(&outcome.algorithm).filter(|name| !name.is_empty());
    let (context, handle) = outcome.start.unzip();
    Json::object(&[
        ("device", Json::text(&outcome.device)),
        ("operation", Json::text(&outcome.operation.name())),
        ("data_type", Json::text(&outcome.data_type.name())),
        ("verdict", Json::text(&outcome.verdict)),
        ("largest_error", Json::float(outcome.largest_error)),
        ("milliseconds", Json::float(Some(outcome.milliseconds))),
        ("api", Json::text(&outcome.api.name())),
        ("layout", Json::text(&outcome.layout.name())),
        ("algorithm", Json::optional(algorithm)),
        ("rounds_to_tf32", Json::bool(outcome.tf32)),
        ("left_out", Json::optional(outcome.left_out.as_ref())),
        ("context_milliseconds", Json::float(context)),
        ("handle_milliseconds", Json::float(handle)),
    ])
}
