//! The system whose loader searches: its root directory, and the values that are compiled into the loader.

use crate::runtime::binary::defect::target;
use crate::runtime::binary::{BoundedFile, CACHE, Elf, lib_folders};
use crate::runtime::loader::{LoadOrigin, SearchDirectory, ld_so_conf};
use crate::runtime::system::{self, platform};
use std::env::consts::ARCH;
use std::path::{Path, PathBuf};
use std::slice::from_ref;

/// A limit above the size of any configuration.
const MOST: u64 = 1 << 14;

/// The paths of the loaders of distributions.
const DISTRIBUTIONS: [&str; 3] = [
    "/lib64/ld-linux-x86-64.so.2",
    "/lib/ld-linux-aarch64.so.1",
    "/lib/ld-linux.so.2",
];

/// A system. Default: the system of this process, with a distribution's loader.
#[derive(Clone, Debug, Default)]
pub struct System {
    pub is_windows: bool,
    /// The architecture as in target triples.
    pub cpu: String,
    /// The root directory of another system.
    pub root: Option<PathBuf>,
    pub loader: Loader,
    /// The libraries that the loader loads into the program first. Those of this process are read when needed.
    pub preload: Vec<(String, LoadOrigin)>,
    /// `true` if the program has more privileges than its user.
    pub is_privileged: bool,
    /// The subdirectories of `glibc-hwcaps` in the order in which they are tried, `None` for the directory itself. The
    /// loader of this process does not report them.
    pub levels: Option<Vec<Option<&'static str>>>,
    /// The directories of its configuration, if `ldconfig` has not created a cache yet.
    pub configured: Option<Vec<PathBuf>>,
}

/// The values that are compiled into a loader.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loader {
    /// The system directories in search order.
    pub dirs: Vec<String>,
    /// The values that `$LIB` may have.
    pub lib: Vec<String>,
    /// The cache of a loader that does not read the distribution's.
    pub own_cache: Option<PathBuf>,
}

impl System {
    /// Returns the system of this process, which runs this program. A loader at an unusual path may read another cache.
    pub fn of_process(program: &Path) -> Self {
        let name = program.file_name().unwrap_or_default().as_encoded_bytes();
        // After `ld.so ./program`, the loader is the program.
        let path = match name.starts_with(b"ld-") {
            true => Some(program.display().to_string()),
            false => Elf::read(program).ok().and_then(|elf| elf.interpreter()),
        };
        let path = path.filter(|path| !DISTRIBUTIONS.contains(&path.as_str()));
        let loader = path.map(|path| {
            let file = system::canonical(Path::new(&path), None).unwrap_or(path.into());
            Loader::parse(&std::fs::read(&file).unwrap_or_default(), &file, ARCH)
        });
        Self {
            cpu: ARCH.into(),
            loader: loader.unwrap_or_default(),
            ..Self::default()
        }
    }

    /// Returns the system below a root directory whose programs have this CPU and loader.
    pub fn at(root: Option<&Path>, cpu: &str, loader: Loader) -> Self {
        let mut system = Self {
            cpu: cpu.into(),
            root: root.map(Path::to_path_buf),
            loader,
            ..Self::default()
        };
        let has_cache = || system.cache().is_some_and(|cache| system::is_file(&cache));
        if root.is_some() && system.loader.own_cache.is_none() && !has_cache() {
            let mut dirs = Vec::new();
            for (_, dir) in ld_so_conf::read(&system) {
                dirs.push(system.path(&dir));
            }
            system.configured = Some(dirs);
        }
        system
    }

    /// Returns the path on this machine of a path of that system.
    pub fn path(&self, path: &Path) -> PathBuf {
        match (&self.root, path.strip_prefix("/")) {
            (Some(root), Ok(inside)) => root.join(inside),
            _ => path.to_path_buf(),
        }
    }

    /// Returns the beginning of a configuration file of the system; nothing if it cannot be read.
    pub fn read(&self, file: &Path) -> String {
        let real = target(&self.path(file), self.root.as_deref());
        let opened = real.and_then(|real| BoundedFile::open(&real).ok());
        let bytes = opened.and_then(|opened| opened.read(0, opened.length().min(MOST)));
        String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
    }

    /// Returns the directories that are built into the loader.
    pub fn directories(&self) -> Vec<SearchDirectory> {
        let mut places = Vec::new();
        for name in &self.loader.dirs {
            let dir = self.path(Path::new(name));
            let origin = LoadOrigin::System(name.into());
            places.push(SearchDirectory { origin, dir });
        }
        places
    }

    /// Returns the file of the loader's cache.
    pub fn cache(&self) -> Option<PathBuf> {
        target(&self.cache_path(), self.root.as_deref())
    }

    /// Returns the reason for the files in the cache.
    pub fn cache_origin(&self) -> LoadOrigin {
        let own = self.loader.own_cache.clone();
        own.map_or(LoadOrigin::Cache, LoadOrigin::OwnCache)
    }

    pub fn cache_path(&self) -> PathBuf {
        self.path(self.loader.own_cache.as_deref().unwrap_or(Path::new(CACHE)))
    }
}

impl Loader {
    /// Reads the values from the loader's own file at this path, with links resolved. If the file does not contain
    /// them, returns all known values. Files for another CPU or word size are skipped anyway.
    ///
    /// Loaders such as Nix's contain the path of their own cache, and search their own directory instead of the system's.
    pub fn parse(bytes: &[u8], path: &Path, cpu: &str) -> Self {
        let known = lib_folders(cpu);
        let mut paths = Vec::new();
        for text in bytes.split(|byte| *byte == 0) {
            if text.starts_with(b"/") {
                paths.push(text);
            }
        }
        let has = |dir: &&String| paths.contains(&format!("/usr/{dir}/").as_bytes());
        let is_own = |text: &&&[u8]| text.ends_with(CACHE.as_bytes()) && **text != CACHE.as_bytes();
        // The longer one is listed first: Debian's loader also contains `/usr/lib`.
        let found = known.iter().find(has);
        let lib = found.map_or(&known[..], from_ref).to_vec();
        let own_cache = paths.iter().find(is_own);
        let own_cache = own_cache.map(|text| platform::path_of(text.to_vec()));
        let mut dirs = Vec::new();
        if let (Some(_), Some(dir)) = (&own_cache, path.parent()) {
            dirs.push(dir.display().to_string());
        } else {
            let plain = Some("lib".to_string()).filter(|_| found == known.first());
            for lib in lib.iter().chain(&plain) {
                dirs.push(format!("/{lib}"));
                dirs.push(format!("/usr/{lib}"));
            }
        }
        Self {
            dirs,
            lib,
            own_cache,
        }
    }
}

/// The `glibc-hwcaps` subdirectories for x86_64, the highest level first. Those for CPUs without a cuDNN are left out.
const LEVELS: &[&str] = &["x86-64-v4", "x86-64-v3", "x86-64-v2"];

/// Returns the levels in search order; those of the CPU, if they are known. `None` stands for the file for all CPUs,
/// which comes first if the CPU is unknown.
pub fn hwcaps_order(known: Option<&[&'static str]>) -> Vec<Option<&'static str>> {
    let levels = known.unwrap_or(LEVELS).iter();
    let mut order: Vec<_> = levels.copied().map(Some).collect();
    order.push(None);
    if known.is_none() {
        order.reverse();
    }
    order
}
