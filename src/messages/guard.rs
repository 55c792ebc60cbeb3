use crate::guard::InvalidGuard;
use crate::runtime::facts::sub_libraries;
use crate::{Finding, FindingId};

impl InvalidGuard<'_> {
    pub fn finding(&self) -> Finding {
        let error = |headline: &str| Finding::error(FindingId::ConfigInvalid, headline);
        match self {
            InvalidGuard::NoRequirement => error("`guard()` was called, but the build script does not require cuDNN")
                .help("call `.cudnn(\">=9\")` on `Config` in build.rs, with the versions that your program supports"),
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
