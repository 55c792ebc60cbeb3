//! The inspection as JSON. What `cudnn-guard doctor` prints too has the same keys here.

use crate::inspection::Inspection;
use crate::model::linkage::{Format, Missing, Object};
use crate::report::json::{SCHEMA, cudnn, driver, finding, gpu, list, path, text};
use crate::runtime::facts::built::Built;
use crate::runtime::facts::version::Version;
use serde_json::{Value, json};

/// The whole inspection.
pub(super) fn inspection(inspection: &Inspection) -> Value {
    let input = &inspection.input;
    let found_via = Some(&input.found_via).filter(|via| !via.is_empty());
    json!({
        "schema": SCHEMA,
        "verdict": text(inspection.verdict()),
        "unknown": inspection.unknown,
        "program": program(inspection),
        "cudnn": inspection.cudnn().map(|found| cudnn(found, found_via)),
        "libraries": list(input.objects.get(1..).unwrap_or_default(), library),
        "missing": list(&input.missing, missing),
        "driver": inspection.driver.as_ref().map(driver),
        "gpus": list(&input.gpus, gpu),
        "findings": list(&inspection.findings, finding),
    })
}

fn program(inspection: &Inspection) -> Value {
    let linkage = &inspection.linkage;
    let format = match linkage.format {
        Format::Elf => "elf",
        Format::Pe => "pe",
    };
    json!({
        "path": path(&inspection.input.program),
        "format": format,
        "cpu": linkage.cpu,
        "needed": linkage.needed,
        "guards": list(&inspection.input.guards, guard),
    })
}

fn guard(built: &Built) -> Value {
    json!({
        "crate": built.package.as_ref().map(text),
        "written_by": text(&built.written_by),
        "cudnn": built.cudnn.map(text),
        "cudnn_cuda_major": built.cudnn_cuda_major,
        "cuda": built.cuda.map(Version::short),
        "requirement": built.requirement.as_ref().map(|asked| text(&asked.text)),
        "policy": format!("{:?}", built.policy).to_ascii_lowercase(),
        "loader": format!("{:?}", built.loader).to_ascii_lowercase(),
        "cudarc": built.cudarc.map(text),
        "targets": list(&built.targets, text),
        "convolution": built.convolution,
        "require_gpu": built.require_gpu,
        "findings": list(&built.findings, |one| {
            format!("{} {} {}", one.severity, one.id, one.summary)
        }),
        "absent": built.absent.as_ref().map(text),
    })
}

fn library(object: &Object) -> Value {
    json!({
        "name": object.name,
        "path": path(&object.path),
        "found_via": object.via.as_ref().map(text),
    })
}

fn missing(missing: &Missing) -> Value {
    json!({ "name": missing.name, "needed_by": path(&missing.needed_by) })
}
