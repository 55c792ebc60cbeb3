use crate::choice::findings::UnmetRequirement;
use crate::choice::requirement::InvalidRequirement;
use crate::messages::phrases::{also, found_via, named, variable};
use crate::model::Kind;
use crate::{Finding, FindingId};

impl InvalidRequirement {
    pub fn finding(&self) -> Finding {
        let Self { method, text, .. } = self;
        FindingId::ConfigInvalid
            .error(match &self.error {
                Some(_) => format!("`.{method}({text:?})` is not a valid version requirement"),
                None => format!("no version can satisfy `.{method}({text:?})`"),
            })
            .help(match *method {
                "cuda" => "use Cargo.toml syntax in build.rs, for example `.cuda(\">=12.0\")`",
                _ => "use Cargo.toml syntax in build.rs, for example `.cudnn(\">=9.1, <10\")`",
            })
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
        let finding = id
            .error(format!(
                "{} is {difference}: this crate requires `{text}`",
                named(candidate)
            ))
            .with("found via", found_via(candidate))
            .with_some("owner", candidate.owner())
            .with_lines("also found", self.others.iter().map(|one| also(one)));
        let finding = if let Some(better) = self.better {
            let (root, contents) = (better.root().display(), better.title());
            finding.help(match better.via.is_inactive() {
                true => format!("set {variable} to `{root}`, which contains {contents}, or activate that environment"),
                false => format!("set {variable} to `{root}`, which contains {contents}"),
            })
        } else {
            let required = format!("a {product} that satisfies `{text}`");
            let install = self
                .install
                .as_ref()
                .map(|command| format!("run `{command}`"));
            finding.helps(install).help(match candidate.request {
                Some(_) => format!("set {} to the directory of {required}", candidate.via),
                None => format!("install {required}, or set {variable} to its directory"),
            })
        };
        finding.help(format!("relax `.{method}({text:?})` in build.rs"))
    }
}
