//! The lists that the loader of Linux reads: directories to search, and libraries to preload.

use crate::runtime::binary::elf::Elf;
use crate::runtime::binary::ld_so_cache::lib_folders;
use crate::runtime::loader::search_path::{LoadOrigin, SearchDirectory, SearchPath};
use crate::runtime::system::platform::path_of;
#[cfg(target_arch = "x86_64")]
use crate::runtime::system::proc;
use std::env::consts::ARCH;
use std::path::{Path, PathBuf};

impl Elf {
    /// Returns the directories of the DT_RUNPATH or DT_RPATH of this library, which is the file at this path.
    pub fn folders(&self, path: &Path) -> Vec<PathBuf> {
        let list = self.runpath().or_else(|| self.rpath()).unwrap_or_default();
        let mut folders = directories(list.as_bytes(), b":", path);
        folders.retain(|folder| !folder.as_os_str().is_empty());
        folders
    }
}

impl SearchPath {
    /// Returns the search path for what this library opens, which is the file at this path.
    pub fn of_library(&self, library: &Elf, path: &Path) -> Self {
        let is_runpath = library.runpath().is_some();
        let origin = match is_runpath {
            true => LoadOrigin::LibraryRunpath,
            false => LoadOrigin::LibraryRpath,
        };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let own = library.folders(path).into_iter();
        let own = own.map(|dir| SearchDirectory::from(origin(dir, name.to_string())));
        Self {
            nodeflib: library.is_nodeflib(),
            ..self.with_own(own.collect(), !is_runpath)
        }
    }
}

/// Returns the directories in a list with these separators, as the loader of this process reads it for a file. The
/// empty entry is the working directory.
pub fn directories(list: &[u8], separators: &[u8], file: &Path) -> Vec<PathBuf> {
    let origin = file.parent().unwrap_or(file).as_os_str();
    let libs = lib_folders(ARCH);
    let has_platform = list.windows(8).any(|word| word == b"PLATFORM");
    let platform = if has_platform {
        platform_of(ARCH)
    } else {
        ARCH
    };
    let mut directories = Vec::new();
    for entry in list.split(|byte| separators.contains(byte)) {
        for path in expanded(entry, origin.as_encoded_bytes(), platform, &libs) {
            directories.push(path_of(path));
        }
    }
    directories
}

/// Returns the names in the text of `/etc/ld.so.preload`.
pub fn preloads(text: &str) -> Vec<&str> {
    let gap: fn(char) -> bool = |c| c == ':' || c.is_whitespace();
    let mut names = Vec::new();
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default();
        names.extend(line.split(gap).filter(|name| !name.is_empty()));
    }
    names
}

/// Returns the paths that an entry of a search path may stand for, with the tokens of ld.so(8) expanded: one for each
/// of `libs`. They are bytes, since the loader does not require UTF-8.
pub fn expanded(entry: &[u8], origin: &[u8], platform: &str, libs: &[String]) -> Vec<Vec<u8>> {
    let entry = replace_token(entry, "ORIGIN", origin);
    let entry = replace_token(&entry, "PLATFORM", platform.as_bytes());
    let mut paths = Vec::new();
    for lib in libs {
        let path = replace_token(&entry, "LIB", lib.as_bytes());
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

/// Returns the value of `$PLATFORM`. It is the name of the CPU, except on Intel CPUs with Haswell's instructions
/// (`ld.so --list-diagnostics` of glibc 2.36).
pub fn platform_of(cpu: &str) -> &str {
    #[cfg(target_arch = "x86_64")]
    {
        macro_rules! has {
            ($($feature:tt)*) => { true $(&& std::arch::is_x86_feature_detected!($feature))* };
        }
        let vendor = b"GenuineIntel";
        let is_intel = |text: [u8; 128]| text.windows(vendor.len()).any(|word| word == vendor);
        if cpu == "x86_64"
            && has!("avx2" "fma" "bmi1" "bmi2" "lzcnt" "movbe" "popcnt")
            && proc::beginning("cpuinfo").is_some_and(is_intel)
        {
            return "haswell";
        }
    }
    cpu
}

/// Replaces `$TOKEN` and `${TOKEN}` like the loader: `$TOKENS` is another word.
fn replace_token(entry: &[u8], token: &str, by: &[u8]) -> Vec<u8> {
    let (plain, braced) = (format!("${token}"), format!("${{{token}}}"));
    let ends = |tail: &&[u8]| !matches!(tail.first(), Some(next) if next.is_ascii_alphanumeric() || *next == b'_');
    let mut out = Vec::new();
    let mut rest = entry;
    while let Some((first, others)) = rest.split_first() {
        let bare = rest.strip_prefix(plain.as_bytes()).filter(ends);
        if let Some(tail) = bare.or_else(|| rest.strip_prefix(braced.as_bytes())) {
            out.extend_from_slice(by);
            rest = tail;
        } else {
            out.push(*first);
            rest = others;
        }
    }
    out
}
