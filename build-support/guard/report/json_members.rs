//! The members of a report's JSON, whose names and shapes stay as they are.

use crate::runtime::convolution::case_result::CaseResult;
use crate::runtime::driver::query::Driver;
use crate::runtime::facts::built::Built;
use crate::runtime::facts::json::Json;
use crate::runtime::facts::version::Version;
use crate::runtime::report::contents::LoadedCudnn;

/// `built`.
pub fn built(built: &Built) -> Json {
    let findings = built.findings.iter().map(|finding| {
        Json::object([
            ("id", Json::text(&finding.id)),
            ("severity", Json::text(finding.severity)),
            ("summary", Json::text(&finding.summary)),
        ])
    });
    Json::object([
        ("cudnn", Json::optional(built.cudnn)),
        ("cuda", Json::optional(built.cuda.map(Version::short))),
        (
            "requirement",
            Json::optional(built.requirement.as_ref().map(|wanted| &wanted.text)),
        ),
        ("targets", Json::list(built.targets.iter().map(Json::text))),
        ("findings", Json::list(findings)),
    ])
}

/// `loaded`.
pub fn loaded(loaded: &LoadedCudnn) -> Json {
    let parts = loaded.parts.iter().map(|part| {
        Json::object([
            ("name", Json::text(&part.name)),
            ("path", Json::text(part.path.display())),
            ("version", Json::optional(part.version)),
            ("told_by", Json::optional(part.told_by)),
        ])
    });
    Json::object([
        (
            "version",
            Json::optional(loaded.version.map(|(version, _)| version)),
        ),
        ("path", Json::text(loaded.path.display())),
        ("found_via", Json::text(&loaded.origin)),
        (
            "cuda_major",
            loaded
                .cuda_major
                .map_or(Json::Null, |major| Json::Integer(i64::from(major))),
        ),
        ("parts", Json::list(parts)),
    ])
}

/// `driver`.
pub fn driver(driver: &Driver) -> Json {
    Json::object([
        ("library", Json::text(&driver.library)),
        ("version", Json::optional(driver.version.as_ref())),
        ("cuda", Json::optional(driver.cuda.map(Version::short))),
    ])
}

/// One of `convolution`. What comes first is there in every release.
pub fn outcome(outcome: &CaseResult) -> Json {
    let number = |number: Option<f64>| number.map_or(Json::Null, Json::Float);
    Json::object([
        ("device", Json::text(&outcome.device)),
        ("operation", Json::text(outcome.operation)),
        ("data_type", Json::text(outcome.data_type)),
        ("verdict", Json::text(outcome.verdict)),
        ("largest_error", number(outcome.largest_error)),
        ("milliseconds", Json::Float(outcome.milliseconds)),
        ("api", Json::text(outcome.api.name())),
        ("layout", Json::text(outcome.layout)),
        (
            "algorithm",
            Json::optional(Some(&outcome.algorithm).filter(|name| !name.is_empty())),
        ),
        (
            "rounds_to_tf32",
            outcome.tf32.map_or(Json::Null, Json::Bool),
        ),
        ("left_out", Json::optional(outcome.left_out.as_ref())),
        (
            "context_milliseconds",
            number(outcome.start.map(|start| start.context)),
        ),
        (
            "handle_milliseconds",
            number(outcome.start.map(|start| start.handle)),
        ),
    ])
}
