use crate::choice::requirement::Requirement;
use crate::messages::phrases::{also, found_via, named, variable};
use crate::model::{Candidate, Kind};
use crate::{Finding, FindingId};

impl Requirement {
    /// Returns the finding for an argument of `method` that is invalid, with the error of the parser, or that no version
    /// meets.
    pub fn invalid(method: &str, text: &str, error: Option<semver::Error>) -> Finding {
        FindingId::ConfigInvalid
            .error(match &error {
                Some(_) => format!("`.{method}({text:?})` is not a valid version requirement"),
                None => format!("no version can satisfy `.{method}({text:?})`"),
            })
            .help(match method {
                "cuda" => "use Cargo.toml syntax in build.rs, for example `.cuda(\">=12.0\")`",
                _ => "use Cargo.toml syntax in build.rs, for example `.cudnn(\">=9.1, <10\")`",
            })
            .with_some("reason", error)
    }

    /// Returns the finding for a candidate whose version does not meet the requirement. `better`: another candidate that
    /// meets it; `install`: the command that installs or selects such a version.
    pub fn unmet(
        &self,
        candidate: &Candidate,
        others: &[&Candidate],
        better: Option<&Candidate>,
        install: Option<String>,
    ) -> Finding {
        let (kind, text) = (candidate.kind(), &self.text);
        let id = match kind {
            Kind::Toolkit => FindingId::CudaRequirementUnmet,
            Kind::Cudnn => FindingId::CudnnRequirementUnmet,
        };
        let (product, variable, method) = (kind.product(), variable(kind), kind.name());
        let older = candidate.version().unwrap_or(self.from) < self.from;
        let difference = if older { "too old" } else { "too new" };
        let finding = id
            .error(format!(
                "{} is {difference}: this crate requires `{text}`",
                named(candidate)
            ))
            .with("found via", found_via(candidate))
            .with_some("owner", candidate.owner())
            .with_lines("also found", others.iter().map(|one| also(one)));
        let finding = if let Some(better) = better {
            let (root, contents) = (better.root().display(), better.title());
            finding.help(match better.via.is_inactive() {
                true => format!("set {variable} to `{root}`, which contains {contents}, or activate that environment"),
                false => format!("set {variable} to `{root}`, which contains {contents}"),
            })
        } else {
            let required = format!("a {product} that satisfies `{text}`");
            let install = install.map(|command| format!("run `{command}`"));
            finding.helps(install).help(match candidate.request {
                Some(_) => format!("set {} to the directory of {required}", candidate.via),
                None => format!("install {required}, or set {variable} to its directory"),
            })
        };
        finding.help(format!("relax `.{method}({text:?})` in build.rs"))
    }
}
