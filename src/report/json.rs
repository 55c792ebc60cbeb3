//! The report as JSON. Keys are never renamed, and all of them are always there: what is not known is `null` or
//! an empty list.

use crate::model::candidate::{Candidate, Cudnn, Found, LinkName, Part, Toolkit};
use crate::model::found_via::FoundVia;
use crate::model::gpu::Gpu;
use crate::model::owner::{Installer, Owner};
use crate::report::Report;
use crate::runtime::driver::query::Driver;
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::json::Json;
use std::path::{Path, PathBuf};

/// The shape that programs may rely on: `schema` changes when a key changes its meaning.
pub(crate) const SCHEMA: i64 = 1;

/// The whole report.
pub(super) fn report(report: &Report) -> Json {
    let machine = report.machine.clone().unwrap_or_default();
    let gpu_codes = texts(&machine.gpu_codes);
    Json::object([
        ("schema", Json::Integer(SCHEMA)),
        ("verdict", Json::text(report.verdict())),
        (
            "toolkit",
            report.toolkit.as_ref().map_or(Json::Null, |found| {
                toolkit(found, report.toolkit_via(), gpu_codes)
            }),
        ),
        (
            "cudnn",
            report
                .cudnn
                .as_ref()
                .map_or(Json::Null, |found| cudnn(found, report.cudnn_via())),
        ),
        (
            "candidates",
            Json::list(report.candidates.iter().map(candidate)),
        ),
        ("driver", machine.driver.as_ref().map_or(Json::Null, driver)),
        ("gpus", Json::list(machine.gpus.iter().map(gpu))),
        ("targets", texts(&machine.targets)),
        (
            "findings",
            Json::list(report.findings.iter().map(Finding::to_json)),
        ),
    ])
}

fn toolkit(toolkit: &Toolkit, via: Option<&FoundVia>, gpu_codes: Json) -> Json {
    Json::object([
        ("root", path(&toolkit.root)),
        (
            "version",
            Json::optional(toolkit.version.map(|version| version.short())),
        ),
        ("nvcc", optional_path(&toolkit.nvcc)),
        (
            "include_dirs",
            Json::list(toolkit.include_dirs.iter().map(|dir| path(dir))),
        ),
        (
            "link_dirs",
            Json::list(toolkit.link_dirs.iter().map(|dir| path(dir))),
        ),
        ("found_via", Json::optional(via)),
        ("gpu_codes", gpu_codes),
    ])
}

pub(crate) fn cudnn(cudnn: &Cudnn, via: Option<impl std::fmt::Display>) -> Json {
    let link_name = cudnn.link_name.as_ref().map(|name| match name {
        LinkName::Short(name) | LinkName::Verbatim(name) => name,
    });
    Json::object([
        ("version", Json::optional(cudnn.version())),
        ("header", optional_path(&cudnn.header)),
        ("include_dir", optional_path(&cudnn.include_dir)),
        ("library", optional_path(&cudnn.library)),
        ("library_version", Json::optional(cudnn.library_version)),
        ("link_dir", optional_path(&cudnn.link_dir)),
        ("link_name", Json::optional(link_name)),
        (
            "cuda_major",
            cudnn
                .cuda_major
                .map_or(Json::Null, |major| Json::Integer(i64::from(major))),
        ),
        ("found_via", Json::optional(via)),
        ("gpu_codes", texts(&cudnn.gpu_codes)),
        ("parts", Json::list(cudnn.parts.iter().map(part))),
        ("owner", cudnn.owner.as_deref().map_or(Json::Null, owner)),
    ])
}

fn owner(owner: &Owner) -> Json {
    let installer = match owner.installer {
        Installer::Conda => "conda",
        Installer::Pip => "pip",
        Installer::Apt => "apt",
    };
    Json::object([
        ("installer", Json::text(installer)),
        ("name", Json::text(&owner.name)),
        ("version", Json::text(&owner.version)),
    ])
}

fn part(part: &Part) -> Json {
    Json::object([
        ("name", Json::text(&part.name)),
        ("path", path(&part.path)),
        ("version", Json::optional(part.version)),
        ("told_by", Json::optional(part.told_by.as_ref())),
    ])
}

fn candidate(candidate: &Candidate) -> Json {
    let (kind, root, version) = match &candidate.found {
        Found::Toolkit(toolkit) => (
            "toolkit",
            &toolkit.root,
            toolkit.version.map(|version| version.short()),
        ),
        Found::Cudnn(cudnn) => (
            "cudnn",
            &cudnn.root,
            cudnn.version().map(|version| version.to_string()),
        ),
    };
    Json::object([
        ("kind", Json::text(kind)),
        ("path", path(root)),
        ("found_via", Json::text(&candidate.via)),
        ("version", Json::optional(version)),
        ("chosen", Json::Bool(candidate.chosen)),
        ("rejected", Json::optional(candidate.rejected.as_ref())),
    ])
}

pub(crate) fn driver(driver: &Driver) -> Json {
    Json::object([
        ("library", Json::text(&driver.library)),
        ("version", Json::optional(driver.version.as_ref())),
        (
            "cuda",
            Json::optional(driver.cuda.map(|version| version.short())),
        ),
    ])
}

pub(crate) fn gpu(gpu: &Gpu) -> Json {
    Json::object([
        ("name", Json::text(&gpu.name)),
        ("compute_capability", Json::text(gpu.capability)),
    ])
}

pub(crate) fn texts(values: &[impl std::fmt::Display]) -> Json {
    Json::list(values.iter().map(Json::text))
}

pub(crate) fn path(path: &Path) -> Json {
    Json::text(path.display())
}

fn optional_path(path: &Option<PathBuf>) -> Json {
    Json::optional(path.as_ref().map(|path| path.display()))
}
