//! The only module that accesses the machine.
#![allow(clippy::disallowed_methods, unsafe_code)] // these bans are for all other modules

pub mod cargo;
pub mod child_processes;
#[cfg(feature = "cli")]
pub mod cpu;
pub mod directive;
pub mod files;
pub mod freshness {
    //! Checks whether build outputs are up to date.

    pub mod build_stamp;
    pub mod object_cache;
    pub mod stat_cache;
}
pub mod job_pool;
pub mod job_server;
pub mod library_file;
pub mod memory;
pub mod out_dir;
#[cfg(all(test, unix))]
mod path_cache_tests;
pub mod path_encoding;
#[cfg(all(feature = "cli", target_os = "linux"))]
pub mod privileges;
pub mod probe_cache;
pub mod programs;
pub mod sysroot;

pub use directive::Directive;
pub use freshness::{build_stamp::Artifact, object_cache::ObjectCache, stat_cache::StatCache};
pub use library_file::Binary;
pub use path_encoding::{cargo_cannot_take, loader_cannot_take, nvcc_cannot_take};
pub use probe_cache::ProbeCache;
pub use programs::{CAP, Output, ProgramFault, Waiting, on_path, run};
pub use sysroot::Sysroot;

use crate::model::{Environment, Os, Platform, Variable};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A snapshot of the machine at the start of the build.
#[derive(Clone, Debug)]
pub struct Host {
    pub env: Environment,
    pub platform: Platform,
    /// The directory below which all fixed places are searched.
    pub root: Option<PathBuf>,
    pub answers: ProbeCache,
}

impl Host {
    /// Reads the environment, which otherwise only the `pkg-config` crate reads. Values from the build script (target
    /// triple, root, variables) take precedence.
    pub fn capture(
        target: Option<&str>,
        root: Option<PathBuf>,
        pairs: &[(String, OsString)],
    ) -> Self {
        let mut process = Vec::new();
        for (name, value) in std::env::vars_os() {
            let Ok(mut name) = name.into_string() else {
                continue;
            };
            // Windows calls PATH `Path` and ignores case.
            let same =
                |known: &&Variable| cfg!(windows) && known.name().eq_ignore_ascii_case(&name);
            if let Some(known) = Variable::ALL.iter().find(same) {
                name = known.name().to_string();
            }
            process.push((name, value));
        }
        let mut env = Environment::new(process)
            .with_pairs(pairs)
            .with_current_dir(std::env::current_dir().unwrap_or_default());
        // Outside a build script HOST is not set, or the name of the machine. An image contains the system that builds.
        let host = env.var("HOST").map(Platform::from_triple);
        if root.is_none() && host.is_none_or(|host| host.os == Os::Other) {
            env = env.with_pairs(&[("HOST".to_string(), this_machine().into())]);
        }
        // Outside a build script TARGET is not set, and the target is this machine.
        let triple = target
            .or_else(|| env.var("TARGET"))
            .map_or_else(this_machine, String::from);
        Self {
            platform: Platform::from_triple(&triple),
            root,
            answers: ProbeCache::open(&env),
            env: env.for_target(&triple),
        }
    }

    pub fn sysroot(&self) -> Sysroot<'_> {
        Sysroot {
            root: self.root.as_deref(),
        }
    }

    /// Returns `true` if a directory from a variable of this shell belongs to the target. With a root, only directories
    /// below the root do.
    pub fn is_inside(&self, dir: &Path) -> bool {
        let root = self.root.as_ref();
        dir.is_absolute() && root.is_none_or(|root| dir.starts_with(root))
    }

    /// Returns the program of this name on PATH, or the path if the name is one.
    pub fn on_path(&self, name: &str) -> Option<PathBuf> {
        on_path(name, self.env.get(Variable::Path).unwrap_or_default())
    }

    /// Returns the build system, on which nvcc and the compilers run.
    pub fn builder(&self) -> Platform {
        self.env.builder(&self.platform)
    }

    pub fn is_target(&self) -> bool {
        match self.env.var("HOST") {
            Some(host) => host == self.platform.triple,
            None => self.platform.triple == this_machine(),
        }
    }
}

fn this_machine() -> String {
    let system = match std::env::consts::OS {
        "linux" => "unknown-linux-gnu",
        "windows" => "pc-windows-msvc",
        "macos" => "apple-darwin",
        other => other,
    };
    format!("{}-{system}", std::env::consts::ARCH)
}
