//! The report as JSON. Keys are never renamed and always present. An unknown value is `null` or an empty list.

use crate::model::{Candidate, Cudnn, Found, FoundVia, Installer, Kind, Owner, Toolkit};
use crate::report::ToolchainReport;
use crate::runtime::facts::{Json, VersionSource};
use crate::runtime::install::SubLibraryFile;
use crate::runtime::report::json_members::{device, document, driver, part};
use crate::{Target, Version};
use std::fmt::Display;
use std::path::{Path, PathBuf};

pub(super) fn report(report: &ToolchainReport) -> String {
    let machine = report.machine.clone().unwrap_or_default();
    let (toolkit_via, cudnn_via) = (report.via(Kind::Toolkit), report.via(Kind::Cudnn));
    let toolkit = report.toolkit.as_ref();
    let toolkit = toolkit.map(|found| toolkit_json(found, toolkit_via, &machine.gpu_codes));
    let host_compiler = machine.host_compiler.as_ref();
    let members = vec![
        ("toolkit", toolkit.unwrap_or_else(Json::null)),
        ("cudnn", cudnn(report.cudnn.as_ref(), cudnn_via)),
        ("candidates", Json::list(&report.candidates, candidate)),
        ("host_compiler", Json::optional(host_compiler)),
        ("driver", driver(machine.driver.as_ref())),
        ("gpus", Json::list(&machine.gpus, device)),
        ("targets", texts(&machine.targets)),
    ];
    document("doctor", report.verdict(), members, &report.findings)
}

fn toolkit_json(toolkit: &Toolkit, via: Option<&FoundVia>, gpu_codes: &[Target]) -> Json {
    let version = toolkit.version.map(Version::short);
    let dirs = |dirs: &[PathBuf]| Json::list(dirs, |dir| path(dir));
    Json::object(&[
        ("root", path(&toolkit.root)),
        ("version", Json::optional(version)),
        ("nvcc", optional_path(&toolkit.nvcc)),
        ("include_dirs", dirs(&toolkit.include_dirs)),
        ("link_dirs", dirs(&toolkit.link_dirs)),
        ("found_via", Json::optional(via)),
        ("gpu_codes", texts(gpu_codes)),
    ])
}

pub(crate) fn cudnn(cudnn: Option<&Cudnn>, via: Option<impl Display>) -> Json {
    let Some(cudnn) = cudnn else {
        return Json::null();
    };
    let link_name = cudnn.link_library.as_ref();
    let link_name = link_name.map(|library| library.kind_and_name().1);
    let owner = cudnn.owner.as_deref();
    let parts = SubLibraryFile::taken(&cudnn.installed.files());
    let part = |file: &&SubLibraryFile| part(file, file.told_by.map(VersionSource::in_full));
    Json::object(&[
        ("version", Json::optional(cudnn.version())),
        ("header", optional_path(&cudnn.header)),
        ("include_dir", optional_path(&cudnn.include_dir)),
        ("library", optional_path(&cudnn.library)),
        ("library_version", Json::optional(cudnn.library_version)),
        ("link_dir", optional_path(&cudnn.link_dir)),
        ("link_name", Json::optional(link_name)),
        ("cuda_major", Json::integer(cudnn.cuda_major)),
        ("found_via", Json::optional(via)),
        ("gpu_codes", texts(&cudnn.gpu_codes)),
        ("parts", Json::list(&parts, part)),
        ("owner", owner.map_or_else(Json::null, owner_json)),
    ])
}

fn owner_json(owner: &Owner) -> Json {
    let installer = match owner.installer {
        Installer::Conda => "conda",
        Installer::Pip | Installer::Uv => "pip",
        Installer::Apt => "apt",
    };
    Json::object(&[
        ("installer", Json::text(&installer)),
        ("name", Json::text(&owner.name)),
        ("version", Json::text(&owner.version)),
    ])
}

fn candidate(candidate: &Candidate) -> Json {
    let (kind, version) = match &candidate.found {
        Found::Toolkit(toolkit) => ("toolkit", toolkit.version.map(Version::short)),
        Found::Cudnn(cudnn) => ("cudnn", cudnn.version().map(|version| version.to_string())),
    };
    Json::object(&[
        ("kind", Json::text(&kind)),
        ("path", path(candidate.root())),
        ("found_via", Json::text(&candidate.via)),
        ("version", Json::optional(version)),
        ("chosen", Json::bool(Some(candidate.is_chosen()))),
        ("rejected", Json::optional(candidate.rejected.as_ref())),
    ])
}

pub(crate) fn texts<T: Display>(values: &[T]) -> Json {
    Json::list(values, |value| Json::text(value))
}

pub(crate) fn path(path: &Path) -> Json {
    Json::text(&path.display())
}

fn optional_path(optional: &Option<PathBuf>) -> Json {
    optional.as_deref().map_or_else(Json::null, path)
}
