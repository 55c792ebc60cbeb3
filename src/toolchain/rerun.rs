//! What makes cargo run the build script again.

use crate::model::environment::{Kind as Meaning, Variable};
use crate::model::platform::Os;
use crate::search;
use crate::search::EACH_TOOLKIT;
use crate::system::directive::Directive;
use crate::system::path_encoding::cargo_cannot_take;
use crate::toolchain::Toolchain;
use std::ffi::OsStr;

impl Toolchain {
    /// The variables and the files that the answer rests on. Files that do not exist are left out: cargo takes them for
    /// changed every time.
    pub(super) fn reruns(&self) -> Vec<Directive> {
        let mut names: Vec<String> = Vec::new();
        for &variable in Variable::ALL {
            let asked = matches!(variable.kind(), Meaning::Wish | Meaning::Setting);
            let by_path = variable == Variable::Path && self.path_decided();
            if asked || by_path || search::is_watched(variable, &self.host.env) {
                names.extend(self.host.env.spellings(variable));
            }
        }
        let each = self.host.env.numbered(EACH_TOOLKIT).into_iter();
        if self.host.platform.os == Os::Windows {
            names.extend(each.map(|(name, _)| name));
        }
        let env = names.into_iter().map(Directive::RerunIfEnvChanged);
        let read = self
            .read
            .iter()
            .filter(|path| cargo_cannot_take(path).is_none());
        env.chain(read.cloned().map(Directive::RerunIfChanged))
            .collect()
    }

    /// Whether PATH decided what was chosen. A bare name in `NVCC` is looked up there, too.
    fn path_decided(&self) -> bool {
        let bare = [Variable::Nvcc, Variable::CudaCxx].iter().any(|variable| {
            let value = self.host.env.get(*variable).and_then(OsStr::to_str);
            value
                .unwrap_or_default()
                .split_whitespace()
                .last()
                .is_some_and(|name| !name.contains(['/', '\\']))
        });
        bare || self
            .candidates
            .iter()
            .any(|one| one.chosen && one.via.is_path())
    }
}
