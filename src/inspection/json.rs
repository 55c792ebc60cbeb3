//! The inspection as JSON. What `cudnn-guard doctor` prints too has the same keys here.

use crate::inspection::Inspection;
use crate::model::linkage::{Format, Missing, Object};
use crate::report::json::{SCHEMA, cudnn, driver, gpu, path, texts};
use crate::runtime::facts::built::Built;
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::json::Json;

/// The whole inspection.
pub(super) fn inspection(inspection: &Inspection) -> Json {
    let picture = &inspection.picture;
    let found_via = Some(picture.found_via.as_str()).filter(|via| !via.is_empty());
    Json::object([
        ("schema", Json::Integer(SCHEMA)),
        ("verdict", Json::text(inspection.verdict())),
        ("unknown", texts(&inspection.unknown)),
        ("program", program(inspection)),
        (
            "cudnn",
            inspection
                .cudnn()
                .map_or(Json::Null, |found| cudnn(found, found_via)),
        ),
        (
            "libraries",
            Json::list(picture.objects.iter().skip(1).map(library)),
        ),
        ("missing", Json::list(picture.missing.iter().map(missing))),
        (
            "driver",
            inspection.driver.as_ref().map_or(Json::Null, driver),
        ),
        ("gpus", Json::list(picture.gpus.iter().map(gpu))),
        (
            "findings",
            Json::list(inspection.findings.iter().map(Finding::to_json)),
        ),
    ])
}

fn program(inspection: &Inspection) -> Json {
    let linkage = &inspection.linkage;
    let format = match linkage.format {
        Format::Elf => "elf",
        Format::Pe => "pe",
    };
    Json::object([
        ("path", path(&inspection.picture.program)),
        ("format", Json::text(format)),
        ("cpu", Json::text(&linkage.cpu)),
        ("needed", texts(&linkage.needed)),
        (
            "guards",
            Json::list(inspection.picture.guards.iter().map(guard)),
        ),
    ])
}

fn guard(built: &Built) -> Json {
    let lower = |name: String| Json::text(name.to_ascii_lowercase());
    let noticed = built.findings.iter();
    let noticed: Vec<String> = noticed
        .map(|one| format!("{} {} {}", one.severity, one.id, one.summary))
        .collect();
    Json::object([
        ("crate", Json::optional(built.package.as_ref())),
        ("written_by", Json::text(&built.written_by)),
        ("cudnn", Json::optional(built.cudnn)),
        (
            "cudnn_cuda_major",
            built
                .cudnn_cuda_major
                .map_or(Json::Null, |major| Json::Integer(i64::from(major))),
        ),
        ("cuda", Json::optional(built.cuda.map(|cuda| cuda.short()))),
        (
            "requirement",
            Json::optional(built.requirement.as_ref().map(|asked| &asked.text)),
        ),
        ("policy", lower(format!("{:?}", built.policy))),
        ("loader", lower(format!("{:?}", built.loader))),
        ("cudarc", Json::optional(built.cudarc)),
        ("targets", texts(&built.targets)),
        ("convolution", Json::Bool(built.convolution)),
        ("require_gpu", Json::Bool(built.require_gpu)),
        ("findings", texts(&noticed)),
        ("absent", Json::optional(built.absent.as_ref())),
    ])
}

fn library(object: &Object) -> Json {
    Json::object([
        ("name", Json::text(&object.name)),
        ("path", path(&object.path)),
        ("found_via", Json::optional(object.via.as_ref())),
    ])
}

fn missing(missing: &Missing) -> Json {
    Json::object([
        ("name", Json::text(&missing.name)),
        ("needed_by", path(&missing.needed_by)),
    ])
}
