//! The environment of the loader of Linux, and the directories that programs, libraries and variables name.

use crate::model::linkage::Object;
use crate::runtime::loader::elf::search_list::expanded;
use crate::runtime::loader::search_path::{LoadOrigin, SearchDirectory, SearchPath};
use crate::runtime::loader::system::System;
use std::path::{Component, Path, PathBuf};

/// The loader's environment on the system that runs the program.
#[derive(Clone, Debug, Default)]
pub struct LoaderEnv {
    /// The system whose loader searches.
    pub system: System,
    pub platform: String,
    /// LD_LIBRARY_PATH with only colons as separators. Empty if it is unknown.
    pub library_path: String,
    /// The libraries in LD_PRELOAD, if it is known, and in `/etc/ld.so.preload`.
    pub preload: Vec<(String, LoadOrigin)>,
    /// `true` if the program has more privileges than its user.
    pub is_privileged: bool,
    /// The search path of a program for Windows.
    pub dll_path: SearchPath,
    pub is_cpu_known: bool,
}

impl LoaderEnv {
    /// Returns the search path of a program without directories of its own.
    pub fn search_path(&self, program: &Object) -> SearchPath {
        let mut directories = places(&self.library_path, program, self, &LoadOrigin::LibraryPath);
        directories.extend(self.system.directories());
        SearchPath {
            directories,
            system: self.system.clone(),
            nodeflib: false,
        }
    }
}

/// Returns the directories in the RUNPATH of an object, or else in its RPATH.
pub fn own_directories(object: &Object, env: &LoaderEnv) -> Vec<SearchDirectory> {
    let (list, is_runpath) = match (&object.linkage.runpath, &object.linkage.rpath) {
        (Some(runpath), _) => (runpath, true),
        (None, Some(rpath)) => (rpath, false),
        (None, None) => return Vec::new(),
    };
    places(
        list,
        object,
        env,
        &|dir| match (&*object.name, is_runpath) {
            ("", true) => LoadOrigin::Runpath(dir),
            ("", false) => LoadOrigin::Rpath(dir),
            (name, true) => LoadOrigin::LibraryRunpath(dir, name.into()),
            (name, false) => LoadOrigin::LibraryRpath(dir, name.into()),
        },
    )
}

/// Returns the directories in a list, whose `$ORIGIN` is that of this object.
fn places(
    list: &str,
    owner: &Object,
    env: &LoaderEnv,
    named: &dyn Fn(PathBuf) -> LoadOrigin,
) -> Vec<SearchDirectory> {
    let mut places = Vec::new();
    for entry in list.split(':').filter(|_| !list.is_empty()) {
        for (shown, dir) in expand(entry, &owner.origin, env) {
            if !env.is_privileged || !is_ignored(entry, owner.name.is_empty(), &dir, env) {
                let origin = named(shown);
                places.push(SearchDirectory { origin, dir });
            }
        }
    }
    places
}

/// Returns `true` if the loader ignores an entry with `$ORIGIN` because the program has more privileges than its user.
/// `$ORIGIN` is then only allowed at the start, and in the program's own paths only if they point into the system
/// directories.
fn is_ignored(entry: &str, of_program: bool, dir: &Path, env: &LoaderEnv) -> bool {
    let mut tokens = ["$ORIGIN", "${ORIGIN}"].iter();
    let Some((token, at)) = tokens.find_map(|token| Some((token, entry.find(token)?))) else {
        return false;
    };
    let is_separate = matches!(entry.as_bytes().get(token.len()), None | Some(b'/'));
    let (plain, system) = (normalized(dir), env.system.directories());
    let is_trusted = system.iter().any(|place| plain.starts_with(&place.dir));
    at > 0 || !is_separate || of_program && !is_trusted
}

/// Removes `.` and `..` from a path lexically.
fn normalized(dir: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in dir.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

/// Expands the tokens of a path. Returns each result as it is shown in messages, and its path on this machine. Relative
/// paths start from the program's current directory, which is unknown on another system.
pub fn expand(entry: &str, origin: &Path, env: &LoaderEnv) -> Vec<(PathBuf, PathBuf)> {
    let entry = if entry.is_empty() { "." } else { entry };
    let origin = origin.to_string_lossy();
    // The directory of a file is already a path on this machine.
    let starts_here = entry.starts_with("$ORIGIN") || entry.starts_with("${ORIGIN}");
    let libs = &env.system.loader.lib;
    expanded(entry.as_bytes(), origin.as_bytes(), &env.platform, libs)
        .iter()
        .map(|path| PathBuf::from(String::from_utf8_lossy(path).into_owned()))
        .filter(|path| env.system.root.is_none() || starts_here || path.is_absolute())
        .map(|path| {
            let dir = match starts_here {
                true => path.clone(),
                false => env.system.path(&path),
            };
            (path, dir)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::linkage::Linkage;
    use crate::runtime::loader::elf::search_list::preloads;
    use crate::runtime::loader::system::{Loader, hwcaps_order};

    #[test]
    fn preloaded_files_are_listed_without_comments() {
        let text = "/a.so\t/b.so # /c.so\n#/d.so\n /e.so:/f.so\n";
        assert_eq!(preloads(text), ["/a.so", "/b.so", "/e.so", "/f.so"]);
    }

    #[test]
    fn absolute_directories_are_below_the_root() {
        let env = LoaderEnv {
            system: System::at(
                Some(Path::new("/image")),
                Loader::parse(b"", Path::new(""), "aarch64"),
            ),
            platform: "aarch64".into(),
            ..LoaderEnv::default()
        };
        let inside = Object {
            origin: "/image/app".into(),
            linkage: Linkage {
                runpath: Some("$ORIGIN/lib:relative::/opt/$LIB".into()),
                ..Linkage::default()
            },
            ..Object::default()
        };
        let places = own_directories(&inside, &env);
        let shown: Vec<String> = places
            .iter()
            .map(|place| place.origin.to_string())
            .collect();
        let dirs: Vec<&Path> = places.iter().map(|place| &*place.dir).collect();
        assert_eq!(
            dirs,
            [
                Path::new("/image/app/lib"),
                Path::new("/image/opt/lib/aarch64-linux-gnu"),
                Path::new("/image/opt/lib64"),
                Path::new("/image/opt/lib"),
            ]
        );
        assert_eq!(
            shown[1],
            "the program's RUNPATH, its entry `/opt/lib/aarch64-linux-gnu`"
        );
        assert!(
            env.system
                .directories()
                .iter()
                .any(|place| place.dir == Path::new("/image/usr/lib/aarch64-linux-gnu"))
        );
    }

    fn system(known: Option<&[&'static str]>) -> System {
        System {
            levels: Some(hwcaps_order(known)),
            ..System::default()
        }
    }

    fn paths(files: &[&str]) -> Vec<PathBuf> {
        files.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn a_loader_contains_its_directories() {
        let debian =
            b"\x01/lib/x86_64-linux-gnu/\0/usr/lib/x86_64-linux-gnu/\0/lib/\0/usr/lib/\0\0";
        let debian = Loader::parse(debian, Path::new("/l"), "x86_64");
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
        let fedora = Loader::parse(b"\0/lib64/\0/usr/lib64/\0\0", Path::new("/l"), "x86_64");
        assert_eq!(fedora.dirs, ["/lib64", "/usr/lib64"]);
        assert_eq!(fedora.lib, ["lib64"]);
        let plain = Loader::parse(b"\0/lib/\0/usr/lib/\0\0", Path::new("/l"), "aarch64");
        assert_eq!(plain.dirs, ["/lib", "/usr/lib"]);
        let unknown = Loader::parse(b"\0/nix/store/x-glibc/lib/\0", Path::new("/l"), "aarch64");
        assert_eq!(unknown.lib, ["lib/aarch64-linux-gnu", "lib64", "lib"]);
        assert_eq!(unknown.dirs.len(), 6);
        // Nix's loader neither reads the distribution's cache nor searches the system's directories.
        let cache = "/nix/store/x-glibc/etc/ld.so.cache";
        let bytes = format!("\0/etc/x\0{cache}\0/nix/store/x-glibc/lib/\0");
        let path = Path::new("/nix/store/x-glibc/lib/ld-linux-x86-64.so.2");
        let nix = Loader::parse(bytes.as_bytes(), path, "x86_64");
        assert_eq!(nix.dirs, ["/nix/store/x-glibc/lib"]);
        assert_eq!(nix.own_cache.as_deref(), Some(Path::new(cache)));
        assert_eq!(System::at(None, nix).cache_path(), Path::new(cache));
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
            system(Some(known)).variants(file),
            paths(&[
                "/l/glibc-hwcaps/x86-64-v3/libx.so",
                "/l/glibc-hwcaps/x86-64-v2/libx.so",
                "/l/libx.so"
            ])
        );
        assert_eq!(system(Some(&[])).variants(file), paths(&["/l/libx.so"]));
        let unknown = system(None).variants(file);
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
            system(Some(known)).preferred(cached.clone()),
            paths(&[
                "/l/glibc-hwcaps/x86-64-v3/libx.so",
                "/l/glibc-hwcaps/x86-64-v2/libx.so",
                "/l/libx.so",
                "/m/libx.so"
            ])
        );
        let unknown = system(None).preferred(cached);
        assert_eq!(unknown.first(), Some(&PathBuf::from("/l/libx.so")));
        assert_eq!(unknown.len(), 5);
    }
}
