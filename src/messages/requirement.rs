use crate::choice::findings::{UnmetRequirement, owner};
use crate::choice::message_format::{product, release};
use crate::choice::requirement::InvalidRequirement;
use crate::messages::phrases::{also_all, found_via, named, variable};
use crate::model::Kind;
use crate::{Finding, FindingId};

impl InvalidRequirement {
    pub fn finding(&self) -> Finding {
        let Self { method, text, .. } = self;
        let headline = match &self.error {
            Some(_) => format!("`.{method}({text:?})` is not a valid version requirement"),
            None => format!("no version can satisfy `.{method}({text:?})`"),
        };
        let example = match *method {
            "cuda" => ">=12.0",
            _ => ">=9.1, <10",
        };
        Finding::error(FindingId::ConfigInvalid, headline)
            .help(format!(
                "use Cargo.toml syntax in build.rs, for example `.{method}(\"{example}\")`"
            ))
            .with_some("reason", self.error.as_ref())
    }
}

impl UnmetRequirement<'_> {
    pub fn finding(&self) -> Finding {
        let (candidate, required, text) =
            (self.candidate, self.requirement, &self.requirement.text);
        let kind = candidate.kind();
        let id = match kind {
            Kind::Toolkit => FindingId::CudaRequirementUnmet,
            Kind::Cudnn => FindingId::CudnnRequirementUnmet,
        };
        let (product, variable, method) = (kind.product(), variable(kind), kind.name());
        let older = candidate.version().unwrap_or(required.from) < required.from;
        let difference = if older { "too old" } else { "too new" };
        let mut finding = id
            .error(format!(
                "{} is {difference}: this crate requires `{text}`",
                named(candidate)
            ))
            .with("found via", found_via(candidate))
            .with_some("owner", owner(candidate))
            .with_lines("also found", also_all(&self.others));
        let finding = if let Some(better) = self.better {
            let activate = match better.via.is_inactive() {
                true => ", or activate that environment",
                false => "",
            };
            let (root, version) = (better.root().display(), release(better));
            let contents = format!("{} {version}", self::product(better));
            finding.help(format!(
                "set {variable} to `{root}`, which contains {contents}{activate}"
            ))
        } else {
            if let Some(command) = &self.install {
                finding = finding.help(format!("run `{command}`"));
            }
            let required = format!("a {product} that satisfies `{text}`");
            finding.help(match candidate.request {
                Some(_) => format!("set {} to the directory of {required}", candidate.via),
                None => format!("install {required}, or set {variable} to its directory"),
            })
        };
        finding.help(format!("relax `.{method}({text:?})` in build.rs"))
    }
}
