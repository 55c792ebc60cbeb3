//! The report as JSON. Keys are never renamed, and all of them are always there: what is not known is `null` or
//! an empty list.

use crate::choice::message_format::{release, root_of};
use crate::choice::select_pair::version_of;
use crate::model::candidate::{Candidate, Cudnn, Found, LinkName, Part, Toolkit};
use crate::model::found_via::FoundVia;
use crate::model::gpu::Gpu;
use crate::model::owner::{Installer, Owner};
use crate::report::Report;
use crate::runtime::driver::query::Driver;
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::json::Json;
use crate::search::search_step::Kind;
use std::path::{Path, PathBuf};

/// The shape that programs may rely on: `schema` changes when a key changes its meaning.
pub(crate) const SCHEMA: i64 = 1;

/// The whole report.
pub(super) fn report(report: &Report) -> Json {
    let machine = report.machine.clone().unwrap_or_default();
    let gpu_codes = texts(&machine.gpu_codes);
    let found = report.toolkit.as_ref();
    let toolkit = found.map(|found| toolkit(found, report.via(Kind::Toolkit), gpu_codes));
    let found = report.cudnn.as_ref();
    let cudnn = found.map(|found| cudnn(found, report.via(Kind::Cudnn)));
    Json::object([
        ("schema", Json::Integer(SCHEMA)),
        ("verdict", Json::text(report.verdict())),
        ("toolkit", or_null(toolkit)),
        ("cudnn", or_null(cudnn)),
        ("candidates", list(&report.candidates, candidate)),
        ("driver", or_null(machine.driver.as_ref().map(driver))),
        ("gpus", list(&machine.gpus, gpu)),
        ("targets", texts(&machine.targets)),
        ("findings", list(&report.findings, Finding::to_json)),
    ])
}

fn toolkit(toolkit: &Toolkit, via: Option<&FoundVia>, gpu_codes: Json) -> Json {
    let version = toolkit.version.map(|version| version.short());
    Json::object([
        ("root", path(&toolkit.root)),
        ("version", Json::optional(version)),
        ("nvcc", optional_path(&toolkit.nvcc)),
        ("include_dirs", list(&toolkit.include_dirs, |dir| path(dir))),
        ("link_dirs", list(&toolkit.link_dirs, |dir| path(dir))),
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
        ("cuda_major", number(cudnn.cuda_major)),
        ("found_via", Json::optional(via)),
        ("gpu_codes", texts(&cudnn.gpu_codes)),
        ("parts", list(&cudnn.parts, part)),
        ("owner", or_null(cudnn.owner.as_deref().map(owner))),
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
    let kind = match candidate.found {
        Found::Toolkit(_) => "toolkit",
        Found::Cudnn(_) => "cudnn",
    };
    let version = version_of(candidate).map(|_| release(candidate));
    Json::object([
        ("kind", Json::text(kind)),
        ("path", path(root_of(candidate))),
        ("found_via", Json::text(&candidate.via)),
        ("version", Json::optional(version)),
        ("chosen", Json::Bool(candidate.chosen)),
        ("rejected", Json::optional(candidate.rejected.as_ref())),
    ])
}

pub(crate) fn driver(driver: &Driver) -> Json {
    let cuda = driver.cuda.map(|version| version.short());
    Json::object([
        ("library", Json::text(&driver.library)),
        ("version", Json::optional(driver.version.as_ref())),
        ("cuda", Json::optional(cuda)),
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

pub(crate) fn list<T>(values: &[T], one: fn(&T) -> Json) -> Json {
    Json::list(values.iter().map(one))
}

pub(crate) fn or_null(value: Option<Json>) -> Json {
    value.unwrap_or(Json::Null)
}

pub(crate) fn number(value: Option<u32>) -> Json {
    or_null(value.map(|value| Json::Integer(i64::from(value))))
}

pub(crate) fn path(path: &Path) -> Json {
    Json::text(path.display())
}

fn optional_path(path: &Option<PathBuf>) -> Json {
    Json::optional(path.as_ref().map(|path| path.display()))
}
