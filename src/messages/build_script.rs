//! Invalid configurations in build scripts and variables, and versions that do not meet a requirement.

use crate::choice::CheckContext;
use crate::choice::requirement::{InvalidRequirement, Requirement};
use crate::guard::InvalidGuard;
use crate::messages::phrases::{also, fetch, found_via, named, suggestion, variable};
use crate::model::{Candidate, Kind};
use crate::runtime::facts::sub_libraries;
use crate::toolchain::findings::ConfigFault;
use crate::{Finding, FindingId};

impl ConfigFault<'_> {
    pub fn finding(&self) -> Finding {
        match self {
            Self::AllowedId(id) => FindingId::ConfigInvalid
                .error(format!("`.allow({id:?})` is not a finding id"))
                .helps(suggestion(FindingId::similar(id).map(|id| format!(".allow({id:?})"))))
                .help("use the id in brackets after the headline"),
            Self::NoRoot(path) => FindingId::ConfigInvalid
                .error(format!("the root `{}` does not exist or is not a directory", path.display()))
                .help("specify a root that contains the usr/ directory of the system to examine"),
            Self::Deadline(name, value) => FindingId::VariableUnusable.error(format!(
                "{name}={value:?} is not a positive number of seconds"
            ))
            .help(format!("set {name} to a number of seconds, such as {name}=60, or unset it")),
            Self::NarrowTarget(platform) => FindingId::PlatformUnsupported.error(format!(
                "the build target {} is 32-bit, but CUDA and cuDNN only exist for 64-bit systems",
                platform.triple
            ))
            .help(format!("build for {}", platform.instead()))
            .help("call `.optional(true)` in build.rs to build without CUDA"),
            Self::NoToolkit => FindingId::CudaNotFound.error("no CUDA toolkit was found"),
            Self::Shown(lines) => FindingId::ConfigInvalid
                .error("CUDNN_GUARD_PRINT is set: the build stops after showing what was found")
                .with("found", lines.join("\n"))
                .help("unset CUDNN_GUARD_PRINT to build"),
        }
    }
}

impl InvalidGuard<'_> {
    pub fn finding(&self) -> Finding {
        let error = |headline: &str| FindingId::ConfigInvalid.error(headline);
        match self {
            InvalidGuard::NoRequirement(setting) => error(&format!(
                "`.{setting}(..)` of `guard()` concerns cuDNN, which the build script does not require"
            ))
            .help("call `.cudnn(\">=9\")` on `Config` in build.rs, with the versions that your program supports")
            .help(format!("or remove `.{setting}(..)` if your program does not use cuDNN")),
            InvalidGuard::Loader(loader, link) => {
                error(&format!("`Loader::{loader:?}` contradicts `Link::{link:?}`"))
                    .help("remove `.loader(..)`: `.link(..)` already determines it")
            }
            InvalidGuard::Policy(policy) => error(&format!(
                "`Policy::{policy:?}` requires a cuDNN at build time, but `Link::Runtime` builds without one"
            ))
            .help("remove `.policy(..)`, and specify in `.cudnn(..)` which versions may be loaded"),
            InvalidGuard::UnknownNeed(word, operations) => error(&format!(
                "`.needs(..)` contains `{word}`, which is neither a sub-library of cuDNN nor an operation"
            ))
            .with("sub-libs", sub_libraries::words().join(", "))
            .with("operations", operations.join(", "))
            .help("use one of the names below; nothing else has to be declared"),
            InvalidGuard::NoOutDir => {
                error("the guard can only be written from a build script: OUT_DIR is not set")
                    .help("call this from build.rs")
            }
        }
    }
}

impl InvalidRequirement<'_> {
    pub fn finding(self) -> Finding {
        let Self {
            method,
            text,
            error,
        } = self;
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
}

impl Requirement {
    /// Returns the finding for a candidate whose version does not meet the requirement. `better`: another candidate
    /// that meets it; `install`: the command that installs or selects such a version.
    pub fn unmet_finding(
        &self,
        context: &CheckContext,
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
            // A build uses the directory that a variable requests, whatever else is installed.
            let can_fetch = kind == Kind::Toolkit && candidate.request.is_none();
            let fetch = || can_fetch.then(|| fetch(context, "without root")).flatten();
            let install = install.or_else(fetch);
            finding.helps(install).help(match candidate.request {
                Some(_) => format!("set {} to the directory of {required}", candidate.via),
                None => format!("install {required}, or set {variable} to its directory"),
            })
        };
        finding.help(match context.is_survey {
            true => format!("relax `--{method} {text:?}`"),
            false => format!("relax `.{method}({text:?})` in build.rs"),
        })
    }
}
