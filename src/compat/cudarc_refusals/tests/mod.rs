//! A made-up registry with versions of cudarc that do not exist, in the form of the real ones, and a build that uses
//! them.

use super::*;
use crate::compat::cudarc_sources::{Resolved, locked};
use std::ffi::OsString;
use std::fs;

mod cuda;
mod libraries;

const BY_NVCC: &str = "cuda-version-from-build-system";
const BY_HEADER: &str = "cudnn-version-from-build-system";

const REFUSES: &str =
    "    }\n    panic!(\"Unsupported cuda toolkit version: `{version_number}`.\")\n";

const UNPACKED: &str = "home/.cargo/registry/src/index-1";

/// A workspace and a registry in a temporary directory, which is removed with this value.
struct World {
    dir: PathBuf,
    /// The features of every cudarc in the build.
    features: Vec<&'static str>,
    option: Option<&'static str>,
    toolkit: Toolkit,
    cudnn: Cudnn,
    driver: Option<Version>,
    os: Os,
    /// The directories that the loader searches.
    searched: Vec<&'static str>,
}

impl World {
    fn new(name: &str) -> Self {
        let name = format!("cudnn-guard-cudarc-{name}-{}", std::process::id());
        Self {
            dir: std::env::temp_dir().join(name),
            features: vec![BY_NVCC],
            option: None,
            toolkit: Toolkit::default(),
            cudnn: Cudnn::default(),
            driver: None,
            os: Os::Linux,
            searched: Vec::new(),
        }
    }

    fn file(&self, path: &str, text: &str) {
        let file = self.dir.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    /// Unpacks a cudarc with these features.
    fn cudarc(&self, version: &str, features: &[&str], build_script: &str) -> &Self {
        let features: String = features.iter().map(|one| format!("{one} = []\n")).collect();
        let manifest = format!(
            "[features]\ndefault = [\n    \"driver\",\n    \"curand\",\n]\n{features}\n[lib]\n"
        );
        let dir = format!("{UNPACKED}/cudarc-{version}");
        self.file(&format!("{dir}/Cargo.toml"), &manifest);
        self.file(&format!("{dir}/build.rs"), build_script);
        self
    }

    fn found_with(&self, lock: &str, pairs: &[(&str, &Path)]) -> Vec<String> {
        let home = [("HOME".to_string(), self.dir.join("home").into_os_string())];
        let pairs = pairs
            .iter()
            .map(|(name, value)| (name.to_string(), OsString::from(value)));
        let env =
            Environment::new(home.into_iter().chain(pairs)).with_current_dir(self.dir.clone());
        let installed = Installed {
            env: &env,
            os: self.os,
            toolkit: Some(&self.toolkit),
            cudnn: Some(&self.cudnn),
            driver: self.driver,
            loads: &|name| {
                let mut files = self
                    .searched
                    .iter()
                    .map(|dir| self.dir.join(dir).join(name));
                files.find(|file| file.is_file())
            },
        };
        let resolve = |_: &str| {
            Some(Resolved {
                features: self.features.iter().map(ToString::to_string).collect(),
                required_by: vec!["candle-core 0.9.1".to_string()],
                option: self.option,
            })
        };
        let mut texts = Vec::new();
        for cudarc in locked(lock, &env, &resolve) {
            for refusal in find(&cudarc, &installed) {
                let text = refusal.finding(&cudarc, installed.toolkit).to_string();
                texts.push(text.replace(self.dir.to_str().unwrap(), "$DIR"));
            }
        }
        texts
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

fn lock(version: &str) -> String {
    format!(
        "[[package]]\nname = \"cudarc\"\nversion = \"{version}\"\nsource = \"registry+https://example.org\"\n"
    )
}

fn required(version: &str) -> String {
    format!("needed by   candle-core 0.9.1\n  sources     $DIR/{UNPACKED}/cudarc-{version}")
}
