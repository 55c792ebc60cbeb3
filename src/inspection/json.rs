//! The inspection as JSON. Its keys are the same as in the output of `cudnn-guard doctor`.

use crate::Version;
use crate::inspection::Inspection;
use crate::model::{Missing, Object};
use crate::report::json::{cudnn, path, texts};
use crate::runtime::facts::{Built, Json};
use crate::runtime::report::json_members::{built_finding, device, document, driver};

impl Inspection {
    /// Returns the inspection as JSON, as `cudnn-guard inspect --json` prints it.
    pub fn to_json(&self) -> String {
        let input = &self.input;
        let libraries = input.graph.objects.get(1..).unwrap_or_default();
        let members = vec![
            ("unknown", texts(&self.unknown)),
            ("program", program(self)),
            ("cudnn", cudnn(input.cudnn.as_ref(), input.found_via())),
            ("libraries", Json::list(libraries, library)),
            ("missing", Json::list(&input.graph.missing, missing)),
            ("driver", driver(input.driver.as_ref())),
            ("gpus", Json::list(input.gpus(), device)),
        ];
        document("inspect", self.verdict(), members, &self.findings)
    }
}

fn program(inspection: &Inspection) -> Json {
    let linkage = &inspection.linkage;
    let format = if linkage.is_pe { "pe" } else { "elf" };
    Json::object(&[
        ("path", path(&inspection.input.program)),
        ("format", Json::text(&format)),
        ("cpu", Json::text(&linkage.cpu)),
        ("needed", texts(&linkage.needed)),
        ("guards", Json::list(&inspection.input.guards, guard)),
    ])
}

fn guard(built: &Built) -> Json {
    let requirement = built.requirement.as_ref();
    let requirement = requirement.map(|requirement| &requirement.text);
    let name = |name: String| Json::text(&name.to_ascii_lowercase());
    Json::object(&[
        ("crate", Json::optional(built.package.as_ref())),
        ("written_by", Json::text(&built.written_by)),
        ("cudnn", Json::optional(built.cudnn)),
        ("cudnn_cuda_major", Json::integer(built.cudnn_cuda_major)),
        ("cuda", Json::optional(built.cuda.map(Version::short))),
        ("requirement", Json::optional(requirement)),
        ("policy", name(format!("{:?}", built.policy))),
        ("loader", name(format!("{:?}", built.loader))),
        ("cudarc", Json::optional(built.cudarc)),
        ("targets", texts(&built.targets)),
        ("convolution", Json::bool(Some(built.convolution))),
        ("require_gpu", Json::bool(Some(built.require_gpu))),
        ("findings", Json::list(&built.findings, built_finding)),
        ("absent", Json::optional(built.absent.as_ref())),
    ])
}

fn library(object: &Object) -> Json {
    Json::object(&[
        ("name", Json::text(&object.name)),
        ("path", path(&object.path)),
        ("found_via", Json::optional(object.via.as_ref())),
    ])
}

fn missing(missing: &Missing) -> Json {
    Json::object(&[
        ("name", Json::text(&missing.name)),
        ("needed_by", path(&missing.needed_by)),
    ])
}
