//! The only place that touches the machine.
#![allow(clippy::disallowed_methods)] // the bans of clippy.toml are for everybody else

pub mod cargo;
#[cfg(feature = "cli")]
pub mod cpu;
pub mod directive;
pub mod files;
pub mod freshness {
    //! Whether what was made is still what would be made now.

    pub mod build_stamp;
    pub mod fingerprint;
    pub mod header_shadowing;
    pub mod stat_cache;
}
pub mod job_pool;
pub mod job_server;
pub mod library_file;
pub mod out_dir;
pub mod path_encoding;
pub mod probe_cache;
pub mod programs;
pub mod sysroot;

use crate::model::environment::{Environment, Variable};
use crate::model::platform::Platform;
use crate::system::probe_cache::ProbeCache;
use crate::system::sysroot::Sysroot;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The machine, as it was when the build began.
#[derive(Clone, Debug)]
pub struct Host {
    /// The environment.
    pub env: Environment,
    /// The system that is built for.
    pub platform: Platform,
    /// The directory below which everything with a fixed place is looked for.
    pub root: Option<PathBuf>,
    /// What compilers have said.
    pub answers: ProbeCache,
}

impl Host {
    /// Reads the environment. Nothing else reads it, but for the crate that asks pkg-config: whoever looks at the
    /// machine calls this once, and hands on what it gives. What the build script says wins: the target triple, the
    /// root and variables.
    pub fn capture(
        target: Option<&str>,
        root: Option<PathBuf>,
        pairs: &[(String, OsString)],
    ) -> Self {
        let process = std::env::vars_os().filter_map(|(name, value)| {
            let name = name.into_string().ok()?;
            // Windows calls it `Path`, and takes any spelling for the same.
            let same = |known: &&Variable| known.name().eq_ignore_ascii_case(&name);
            let known = Variable::ALL
                .iter()
                .find(|known| cfg!(windows) && same(known));
            let usual = known.map(|known| known.name().to_string());
            Some((usual.unwrap_or(name), value))
        });
        let env = Environment::new(process)
            .with_pairs(pairs)
            .with_current_dir(std::env::current_dir().unwrap_or_default());
        // Outside a build script cargo's TARGET is not set: then it is this machine that is asked about.
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

    /// How its files are seen.
    pub fn sysroot(&self) -> Sysroot<'_> {
        Sysroot {
            root: self.root.as_deref(),
        }
    }

    /// Whether a directory of a search path of this shell is one of the program's: below a root, what the shell of this
    /// machine has in mind is not meant.
    pub fn is_inside(&self, dir: &Path) -> bool {
        let root = self.root.as_ref();
        dir.is_absolute() && root.is_none_or(|root| dir.starts_with(root))
    }

    /// The system that builds: nvcc and the compilers are programs of it.
    pub fn builder(&self) -> Platform {
        let host = self.env.var("HOST").map(Platform::from_triple);
        host.unwrap_or_else(|| self.platform.clone())
    }

    /// Whether what is built runs on this very system.
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
