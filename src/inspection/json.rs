//! The inspection as JSON. What `cudnn-guard doctor` prints too has the same keys here.

use crate::inspection::Inspection;
use crate::inspection::guard_record::GuardRecord;
use crate::model::linkage::{Format, Missing, Object};
use crate::report::json::{SCHEMA, cudnn, driver, gpu, list, number, or_null, path, texts};
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::json::Json;

/// The whole inspection.
pub(super) fn inspection(inspection: &Inspection) -> Json {
    let picture = &inspection.picture;
    let found_via = Some(picture.found_via.as_str()).filter(|via| !via.is_empty());
    let cudnn = inspection.cudnn().map(|found| cudnn(found, found_via));
    let driver = inspection.driver.as_ref().map(driver);
    let others = picture.objects.get(1..).unwrap_or_default();
    Json::object([
        ("schema", Json::Integer(SCHEMA)),
        ("verdict", Json::text(inspection.verdict())),
        ("unknown", texts(&inspection.unknown)),
        ("program", program(inspection)),
        ("cudnn", or_null(cudnn)),
        ("libraries", list(others, library)),
        ("missing", list(&picture.missing, missing)),
        ("driver", or_null(driver)),
        ("gpus", list(&picture.gpus, gpu)),
        ("findings", list(&inspection.findings, Finding::to_json)),
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
        ("guards", list(&inspection.picture.guards, guard)),
    ])
}

fn guard(guard: &GuardRecord) -> Json {
    let built = &guard.built;
    let requirement = built.requirement.map(|asked| asked.text);
    let lower = |name: String| Json::text(name.to_ascii_lowercase());
    Json::object([
        ("crate", Json::optional(guard.package.as_ref())),
        ("written_by", Json::text(&guard.written_by)),
        ("cudnn", Json::optional(built.cudnn)),
        ("cudnn_cuda_major", number(built.cudnn_cuda_major)),
        ("cuda", Json::optional(built.cuda.map(|cuda| cuda.short()))),
        ("requirement", Json::optional(requirement)),
        ("policy", lower(format!("{:?}", built.policy))),
        ("loader", lower(format!("{:?}", built.loader))),
        ("cudarc", Json::optional(built.cudarc)),
        ("targets", texts(built.targets)),
        ("convolution", Json::Bool(built.convolution)),
        ("require_gpu", Json::Bool(built.require_gpu)),
        ("findings", texts(&guard.noticed)),
        ("absent", Json::optional(built.absent)),
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
