//! A package with kernels and a toolkit, for tests.

use crate::choice::requirement::Requirements;
use crate::config::Config;
use crate::kernels::{Kernels, job};
use crate::model::{Candidate, Environment, Found, FoundVia, Platform, Toolkit};
use crate::runtime::facts::Version;
use crate::system::{Directive, Host, ProbeCache};
use crate::toolchain::{Archives, Needs, Toolchain};
use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

/// A package with kernels, a toolkit with a fake nvcc that records its calls, and an output directory.
pub struct Package {
    pub dir: PathBuf,
    pub archs: &'static str,
    /// The output directory.
    pub out: &'static str,
    /// Additional variables.
    pub env: Vec<(&'static str, String)>,
    /// Additional arguments for nvcc.
    pub flags: Vec<String>,
}

impl Package {
    pub fn new(files: &[(&str, &str)]) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!(
            "cudnn-guard-kernels-{}-{count}",
            std::process::id()
        ));
        let package = Self {
            dir: dir.canonicalize().unwrap_or(dir),
            archs: "80 90",
            out: "out",
            env: Vec::new(),
            flags: Vec::new(),
        };
        for dir in ["out", "cuda/bin", "cuda/include", "cuda/lib64"] {
            std::fs::create_dir_all(package.path(dir)).unwrap();
        }
        package.write("cuda/include/cuda.h", "#define CUDA_VERSION 13000\n");
        package.write("cuda/lib64/libcudart_static.a", "!<arch>\n");
        // A link, since a script that this process wrote may still be open for writing when it is started.
        let nvcc = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/nvcc/nvcc");
        std::os::unix::fs::symlink(nvcc, package.path("cuda/bin/nvcc")).unwrap();
        for (path, text) in files {
            package.write(path, text);
        }
        package
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.dir.join(path)
    }

    /// Writes a file with a date of one minute ago, since a file as new as the build is never considered unchanged.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        let old = SystemTime::now() - Duration::from_secs(60);
        let file = std::fs::File::options().append(true).open(&path).unwrap();
        file.set_modified(old).unwrap();
    }

    pub fn toolchain(&self) -> Toolchain {
        let cuda = self.path("cuda");
        let env = [
            ("OUT_DIR", self.path(self.out)),
            ("CARGO_MANIFEST_DIR", self.dir.clone()),
            ("CUDNN_GUARD_ARCHS", self.archs.into()),
            ("CUDNN_GUARD_CACHE", self.path("cache")),
        ];
        let env = env.map(|(name, value)| (name.to_string(), value.into_os_string()));
        let more_env = self.env.iter();
        let more_env = more_env.map(|(name, value)| (name.to_string(), value.into()));
        let env = Environment::new(env.into_iter().chain(more_env));
        let mut toolchain = Toolchain {
            allowed: Config::new().allowed(&env),
            needs: Needs {
                toolkit: true,
                cudnn: false,
            },
            config: Config::new(),
            host: Host {
                answers: ProbeCache::open(&env),
                env,
                platform: Platform::from_triple("x86_64-unknown-linux-gnu"),
                root: None,
            },
            candidates: Vec::new(),
            findings: Vec::new(),
            read: Vec::new(),
            absent: None,
            toolkit_fault: None,
            requirements: Requirements::default(),
            archives: Archives::default(),
            lazy: Default::default(),
            selection: OnceCell::new(),
            build_system: OnceCell::new(),
            guard: std::cell::RefCell::default(),
            written: std::cell::RefCell::default(),
        };
        toolchain.set(Found::Toolkit(Toolkit {
            nvcc: Some(cuda.join("bin/nvcc")),
            include_dirs: vec![cuda.join("include")],
            link_dirs: vec![cuda.join("lib64")],
            root: cuda,
            ..Toolkit::default()
        }));
        toolchain
    }

    /// Returns the suffix that distinguishes files of the same name, for a path within the package.
    pub fn hash(&self, path: &str) -> u64 {
        job::hash(self.dir.to_str(), &self.path(path))
    }

    pub fn pattern(&self) -> String {
        self.path("src/**/*.cu").to_string_lossy().into_owned()
    }

    /// Compiles `src/**/*.cu`; paths below the package are shown as `.`.
    pub fn compile(&self) -> (Result<(), String>, Vec<String>) {
        self.compile_with(&self.toolchain())
    }

    pub fn compile_with(&self, toolchain: &Toolchain) -> (Result<(), String>, Vec<String>) {
        self.run(toolchain, |kernels| {
            let kernels = kernels.define("N", "4").define("M", None);
            kernels.flags(&self.flags)
        })
    }

    /// Like [`compile`](Self::compile), but with these options.
    pub fn run(
        &self,
        toolchain: &Toolchain,
        options: impl FnOnce(Kernels<'_>) -> Kernels<'_>,
    ) -> (Result<(), String>, Vec<String>) {
        let mut lines = Vec::new();
        let kernels = options(toolchain.kernels().files(self.pattern()));
        let result = kernels.library("k", &mut lines);
        let shown = lines
            .iter()
            .filter(|line| !matches!(line, Directive::Text(_)))
            .map(|line| self.shown(&line.to_string()))
            .collect();
        (
            result.map_err(|error| self.shown(&error.to_string())),
            shown,
        )
    }

    pub fn shown(&self, text: &str) -> String {
        text.replace(self.dir.to_str().unwrap(), ".")
    }

    /// Returns the calls of nvcc since the last call of this function.
    pub fn calls(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.path("cuda/calls")).unwrap_or_default();
        let _ = std::fs::remove_file(self.path("cuda/calls"));
        let mut calls: Vec<String> = text.lines().map(|line| self.shown(line)).collect();
        calls.sort();
        calls
    }

    /// Returns the sources that were compiled since the last call.
    #[track_caller]
    pub fn compiles(&self, expected: &[&str]) {
        self.compile().0.unwrap();
        let calls = self.calls();
        let sources: Vec<&str> = calls
            .iter()
            .filter_map(|call| call.split(' ').nth(1))
            .collect();
        assert_eq!(sources, expected);
    }
}

/// The variable that turns off the cache, for tests that compile the same contents twice.
pub fn cache_off() -> (&'static str, String) {
    ("CUDNN_GUARD_CACHE", "off".to_string())
}

/// Returns the warnings in the lines for cargo.
pub fn warned(lines: &[String]) -> Vec<&str> {
    let lines = lines.iter();
    lines
        .filter_map(|line| line.strip_prefix("cargo::warning="))
        .collect()
}

impl Drop for Package {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

impl Toolchain {
    /// Replaces the chosen candidate of the same kind.
    pub(crate) fn set(&mut self, found: Found) {
        let chosen = Candidate {
            found,
            via: FoundVia::variable("CUDA_HOME"),
            rejected: None,
            request: None,
        };
        self.candidates
            .retain(|one| !one.is_chosen() || one.kind() != chosen.kind());
        self.candidates.push(chosen);
    }

    /// Sets the version of the chosen toolkit.
    pub(crate) fn set_cuda(&mut self, version: Version) {
        for candidate in self.candidates.iter_mut().filter(|one| one.is_chosen()) {
            if let Found::Toolkit(toolkit) = &mut candidate.found {
                toolkit.version = Some(version);
            }
        }
    }
}
