use crate::guard::InvalidGuard;
use crate::runtime::facts::sub_libraries;
use crate::{Finding, FindingId};

impl InvalidGuard<'_> {
    pub fn finding(&self) -> Finding {
        let error = |headline: &str| Finding::error(FindingId::ConfigInvalid, headline);
        match self {
            InvalidGuard::NoRequirement => error("`guard()` was called, but the build script never asked for a cuDNN")
                .help("call `.cudnn(\">=9\")` on `Config` in build.rs, with the releases your program works with"),
            InvalidGuard::Loader(loader, link) => {
                error(&format!("`Loader::{loader:?}` contradicts `Link::{link:?}`"))
                    .help("leave `.loader(..)` out: it follows from `.link(..)`")
            }
            InvalidGuard::Policy(policy) => error(&format!(
                "`Policy::{policy:?}` needs the cuDNN that was built with, and `Link::Runtime` builds with none"
            ))
            .help("leave `.policy(..)` out, and say in `.cudnn(..)` which releases may be loaded"),
            InvalidGuard::UnknownNeed(word, operations) => error(&format!(
                "`.needs(..)` names `{word}`, which is neither a part of cuDNN nor an operation"
            ))
            .with("parts", sub_libraries::words().join(", "))
            .with("operations", operations.join(", "))
            .help("name in build.rs what stands here, and leave out the rest: it needs no name"),
            InvalidGuard::NoOutDir => {
                error("the guard can only be written from a build script: `OUT_DIR` is not set")
                    .help("call this from build.rs")
            }
        }
    }
}
