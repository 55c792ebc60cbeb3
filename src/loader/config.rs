//! The properties of a distribution's loader: its built-in directories, `$LIB`, its glibc-hwcaps subdirectories, and
//! the configuration of `ldconfig`.

use crate::runtime::binary::ld_so_cache::{self, CACHE, lib_folders};
use crate::system::files;
use crate::system::sysroot::Sysroot;
use std::path::{Path, PathBuf};

/// The built-in values of a distribution's loader.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loader {
    /// The system directories in search order.
    pub dirs: Vec<String>,
    pub lib: Vec<String>,
}

impl Loader {
    /// Reads the values from the loader's own file. If the file does not contain them, returns all known values. Files
    /// for another CPU or word size are skipped anyway.
    pub fn parse(bytes: &[u8], cpu: &str) -> Self {
        let known = lib_folders(cpu);
        let has = |dir: &&String| {
            let text = format!("/usr/{dir}/\0");
            let mut windows = bytes.windows(text.len());
            windows.any(|window| window == text.as_bytes())
        };
        // The longer one is listed first: Debian's loader also contains `/usr/lib`.
        let found = known.iter().find(has);
        let lib = found.map_or_else(|| known.to_vec(), |lib| vec![lib.clone()]);
        let both = |lib: &String| [format!("/{lib}"), format!("/usr/{lib}")];
        let mut dirs: Vec<String> = lib.iter().flat_map(both).collect();
        if found == known.first() {
            dirs.extend(["/lib".to_string(), "/usr/lib".to_string()]);
        }
        Self { dirs, lib }
    }
}

/// Returns the files of this name in the system's cache, in its order. Without a cache, the directories of the
/// configuration count.
pub fn cached(name: &str, sysroot: Sysroot<'_>) -> Vec<PathBuf> {
    match sysroot.file(&sysroot.at(CACHE)) {
        Some(cache) => {
            let files = ld_so_cache::files_of(&cache, name).into_iter();
            files.map(|file| sysroot.at(file)).collect()
        }
        None => {
            let dirs = configured(sysroot).into_iter();
            dirs.map(|dir| dir.join(name)).collect()
        }
    }
}

/// Returns the glibc-hwcaps subdirectories of the loader, the highest level first: `glibc-hwcaps/x86-64-v3`. Those for
/// architectures without a cuDNN are left out.
#[cfg(feature = "cli")]
pub fn hwcaps_levels(cpu: &str) -> &'static [&'static str] {
    match cpu {
        "x86_64" => &["x86-64-v4", "x86-64-v3", "x86-64-v2"],
        _ => &[],
    }
}

/// Returns the levels in search order. `None` stands for the file for all CPUs, which comes first if the CPU is
/// unknown.
#[cfg(feature = "cli")]
pub fn hwcaps_order(known: Option<&[&'static str]>, cpu: &str) -> Vec<Option<&'static str>> {
    let levels = known.unwrap_or(hwcaps_levels(cpu)).iter();
    let mut order: Vec<_> = levels.copied().map(Some).collect();
    order.push(None);
    if known.is_none() {
        order.reverse();
    }
    order
}

/// Returns the directories in the configuration of a system without an `ldconfig` cache.
pub fn configured(sysroot: Sysroot<'_>) -> Vec<PathBuf> {
    let (mut known, mut dirs) = (Vec::new(), Vec::new());
    read(Path::new("/etc/ld.so.conf"), sysroot, &mut known, &mut dirs);
    dirs
}

/// Reads a configuration file and its includes, each once. The number of directories is limited to a thousand.
fn read(file: &Path, sysroot: Sysroot<'_>, known: &mut Vec<PathBuf>, dirs: &mut Vec<PathBuf>) {
    if known.iter().any(|known| known == file) {
        return;
    }
    known.push(file.to_path_buf());
    let existing = sysroot.file(&sysroot.at(file));
    let text = existing.and_then(|file| files::read_start(&file, 1 << 14).ok());
    for line in text.unwrap_or_default().lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.starts_with('/') && dirs.len() < 1 << 10 {
            dirs.push(sysroot.at(line));
        }
        let mut words = line.split([' ', '\t']);
        if words.next() != Some("include") {
            continue;
        }
        for pattern in words.flat_map(str::split_whitespace) {
            let inside = sysroot.at(file.parent().unwrap_or(file).join(pattern));
            for found in files::glob(&inside.to_string_lossy()).unwrap_or_default() {
                let below = sysroot.root.and_then(|root| found.strip_prefix(root).ok());
                let found = Path::new("/").join(below.unwrap_or(&found));
                read(&found, sysroot, known, dirs);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::loader::elf::candidates::View;

    fn view(known: Option<&[&'static str]>, cpu: &str) -> View {
        View {
            levels: Some(hwcaps_order(known, cpu)),
            ..View::default()
        }
    }

    fn paths(files: &[&str]) -> Vec<PathBuf> {
        files.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn a_loader_contains_its_directories() {
        let debian =
            b"\x01/lib/x86_64-linux-gnu/\0/usr/lib/x86_64-linux-gnu/\0/lib/\0/usr/lib/\0\0";
        let debian = Loader::parse(debian, "x86_64");
        assert_eq!(
            debian.dirs,
            [
                "/lib/x86_64-linux-gnu",
                "/usr/lib/x86_64-linux-gnu",
                "/lib",
                "/usr/lib"
            ]
        );
        assert_eq!(debian.lib, ["lib/x86_64-linux-gnu"]);
        let fedora = Loader::parse(b"\0/lib64/\0/usr/lib64/\0\0", "x86_64");
        assert_eq!(fedora.dirs, ["/lib64", "/usr/lib64"]);
        assert_eq!(fedora.lib, ["lib64"]);
        let plain = Loader::parse(b"\0/lib/\0/usr/lib/\0\0", "aarch64");
        assert_eq!(plain.dirs, ["/lib", "/usr/lib"]);
        let unknown = Loader::parse(b"\0/nix/store/x-glibc/lib/\0", "aarch64");
        assert_eq!(unknown.lib, ["lib/aarch64-linux-gnu", "lib64", "lib"]);
        assert_eq!(unknown.dirs.len(), 6);
    }

    /// `ldconfig` creates a removed link again.
    #[test]
    fn a_library_in_the_cache_is_removed_so_that_ldconfig_does_not_restore_it() {
        use crate::runtime::loader::load_origin::LoadOrigin;
        let help = |file| LoadOrigin::Cache.removal(Path::new(file));
        assert_eq!(
            help("/usr/local/cuda/compat/libcuda.so.1"),
            "remove `/usr/local/cuda/compat` from /etc/ld.so.conf or the file in /etc/ld.so.conf.d that lists it, and run \
             `sudo ldconfig`"
        );
        // The other libraries in the directory may be needed.
        assert_eq!(
            help("/usr/local/cuda/lib64/libcuda.so.1"),
            "remove all `libcuda.so*` files from `/usr/local/cuda/lib64` and run `sudo ldconfig`"
        );
        // The driver may be beside a link without a number, which `ldconfig` does not create.
        assert_eq!(
            help("/usr/lib/nvidia/libcuda.so"),
            "remove `/usr/lib/nvidia/libcuda.so` and run `sudo ldconfig`"
        );
    }

    #[test]
    fn subdirectories_for_more_capable_cpus() {
        let known: &[&str] = &["x86-64-v3", "x86-64-v2"];
        let file = Path::new("/l/libx.so");
        assert_eq!(
            view(Some(known), "x86_64").variants(file),
            paths(&[
                "/l/glibc-hwcaps/x86-64-v3/libx.so",
                "/l/glibc-hwcaps/x86-64-v2/libx.so",
                "/l/libx.so"
            ])
        );
        assert_eq!(
            view(Some(&[]), "x86_64").variants(file),
            paths(&["/l/libx.so"])
        );
        assert_eq!(view(None, "aarch64").variants(file), paths(&["/l/libx.so"]));
        let unknown = view(None, "x86_64").variants(file);
        assert_eq!(unknown.first(), Some(&PathBuf::from("/l/libx.so")));
        assert_eq!(
            unknown.last(),
            Some(&PathBuf::from("/l/glibc-hwcaps/x86-64-v4/libx.so"))
        );
        let cached = paths(&[
            "/l/glibc-hwcaps/x86-64-v2/libx.so",
            "/l/glibc-hwcaps/x86-64-v4/libx.so",
            "/l/glibc-hwcaps/x86-64-v3/libx.so",
            "/l/libx.so",
            "/m/libx.so",
        ]);
        assert_eq!(
            view(Some(known), "x86_64").preferred(cached.clone()),
            paths(&[
                "/l/glibc-hwcaps/x86-64-v3/libx.so",
                "/l/glibc-hwcaps/x86-64-v2/libx.so",
                "/l/libx.so",
                "/m/libx.so"
            ])
        );
        let unknown = view(None, "x86_64").preferred(cached);
        assert_eq!(unknown.first(), Some(&PathBuf::from("/l/libx.so")));
        assert_eq!(unknown.len(), 5);
    }
}
