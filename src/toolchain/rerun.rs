//! The directives that make cargo run the build script again.

use crate::model::environment::Kind as Meaning;
use crate::model::{FoundVia, Os, Variable};
use crate::search::{self, EACH_TOOLKIT};
use crate::system::{Directive, cargo_cannot_take};
use crate::toolchain::Toolchain;
use std::ffi::OsStr;

impl Toolchain {
    /// Returns the directives for the variables and files that the result depends on. Files that do not exist are left
    /// out, because cargo treats them as changed in every build.
    pub(crate) fn reruns(&self) -> Vec<Directive> {
        let mut lines = Vec::new();
        for &variable in Variable::ALL {
            let is_input = matches!(variable.kind(), Meaning::Installation(_) | Meaning::Setting);
            let by_path = variable == Variable::Path && self.depends_on_path();
            if is_input || by_path || search::is_watched(variable, &self.host.env) {
                for name in self.host.env.spellings(variable) {
                    lines.push(Directive::RerunIfEnvChanged(name));
                }
            }
        }
        if self.host.platform.os == Os::Windows {
            for (name, _) in self.host.env.numbered(EACH_TOOLKIT) {
                lines.push(Directive::RerunIfEnvChanged(name));
            }
        }
        for path in &self.read {
            if cargo_cannot_take(path).is_none() {
                lines.push(Directive::RerunIfChanged(path.clone()));
            }
        }
        lines
    }

    /// Returns `true` if PATH affected the choice. A bare name in `NVCC` is also searched on PATH.
    fn depends_on_path(&self) -> bool {
        let bare = [Variable::Nvcc, Variable::CudaCxx].iter().any(|variable| {
            let value = self.host.env.get(*variable).and_then(OsStr::to_str);
            let name = value.unwrap_or_default().split_whitespace().last();
            name.is_some_and(|name| !name.contains(['/', '\\']))
        });
        let on_path = [FoundVia::NvccOnPath, FoundVia::EnvironmentOnPath];
        let mut candidates = self.candidates.iter();
        bare || candidates.any(|one| one.is_chosen() && on_path.contains(&one.via))
    }
}

#[cfg(all(test, unix))]
mod tests {
    use crate::config::Config;
    use crate::model::{Environment, Platform};
    use crate::system::Host;
    use crate::system::directive::Directive;
    use crate::system::probe_cache::ProbeCache;
    use crate::toolchain::Toolchain;
    use std::fs;

    /// `/usr/local/cuda` may later point to another version, and the old one may be removed. Both lines detect that.
    #[test]
    fn a_file_is_watched_under_its_searched_and_its_real_name() {
        let dir = std::env::temp_dir().join(format!("cudnn-guard-reruns-{}", std::process::id()));
        fs::create_dir_all(dir.join("cuda-13.0/include")).unwrap();
        let dir = fs::canonicalize(dir).unwrap();
        fs::create_dir_all(dir.join("image")).unwrap();
        let (link, real) = (dir.join("cuda"), dir.join("cuda-13.0"));
        fs::write(real.join("include/cuda.h"), "#define CUDA_VERSION 13000\n").unwrap();
        std::os::unix::fs::symlink("cuda-13.0", &link).unwrap();
        let config = Config::new().cuda(">=13").root(dir.join("image"));
        let toolchain = config.env("CUDA_HOME", &link).survey();
        let lines = toolchain.reruns();
        fs::remove_dir_all(&dir).unwrap();
        for header in [link.join("include/cuda.h"), real.join("include/cuda.h")] {
            let line = Directive::RerunIfChanged(header);
            assert!(lines.contains(&line), "{line} is not in {lines:?}");
        }
    }

    #[test]
    fn cargo_watches_only_inputs_that_do_not_change_by_themselves() {
        let names = |env: &[(&str, &str)]| -> Vec<String> {
            let pairs = env
                .iter()
                .map(|(name, value)| (name.to_string(), value.into()));
            let platform = Platform::from_triple("x86_64-unknown-linux-gnu");
            let host = Host {
                env: Environment::new(pairs),
                platform,
                root: Some("/var/empty".into()),
                answers: ProbeCache::default(),
            };
            let config = Config::new().cuda(">=1").cudnn(">=1");
            let needs = config.needs();
            let directives = Toolchain::find(config, host, needs).reruns();
            let names = directives
                .into_iter()
                .filter_map(|directive| match directive {
                    Directive::RerunIfEnvChanged(name) => Some(name),
                    _ => None,
                });
            names.collect()
        };
        let watched = names(&[
            ("LD_LIBRARY_PATH", "/a"),
            ("PATH", "/bin"),
            ("HOME", "/root"),
        ]);
        for name in [
            "CUDA_HOME",
            "CUDNN_PATH",
            "CUDNN_GUARD_HOME",
            "CUDNN_GUARD_ALLOW",
            "VIRTUAL_ENV",
            "CONDA_PREFIX",
            "NVHPC_ROOT",
            "TF_CUDA_PATHS",
        ] {
            assert!(
                watched.iter().any(|watched| watched == name),
                "{name}: {watched:?}"
            );
        }
        let by_name = names(&[("NVCC", "ccache nvcc"), ("PATH", "/bin")]);
        assert!(
            by_name.iter().any(|watched| watched == "PATH"),
            "{by_name:?}"
        );
        for name in ["PATH", "LD_LIBRARY_PATH", "HOME"] {
            assert!(
                !watched.iter().any(|watched| watched == name),
                "{name}: {watched:?}"
            );
        }
    }
}
