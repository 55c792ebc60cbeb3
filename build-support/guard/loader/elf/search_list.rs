//! The lists that the loader of Linux reads: directories to search, and libraries to preload.

use crate::runtime::binary::{Elf, lib_folders};
use crate::runtime::loader::{LoadOrigin, PRELOADS, SearchDirectory, SearchPath, System};
use crate::runtime::system::platform::path_of;
#[cfg(target_arch = "x86_64")]
use crate::runtime::system::proc;
use std::path::{Component, Path, PathBuf};

/// A limit above the number of libraries that any system preloads.
const MOST_PRELOADS: usize = 64;

impl SearchPath {
    /// Returns the search path for what this library opens, which is the file at this path.
    pub fn of_library(&self, library: &Elf, path: &Path) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let home = path.parent().unwrap_or(path);
        Self {
            nodeflib: library.is_nodeflib(),
            ..self.of_opener(library.runpath(), library.rpath(), home, &name)
        }
    }

    /// Returns the search path for what a library of this name in the directory `home` opens. The name of the program
    /// is empty.
    pub fn of_opener(
        &self,
        runpath: Option<String>,
        rpath: Option<String>,
        home: &Path,
        name: &str,
    ) -> Self {
        let is_runpath = runpath.is_some();
        let library = Some(name.to_string()).filter(|name| !name.is_empty());
        let origin = |dir| match is_runpath {
            true => LoadOrigin::Runpath(dir, library.clone()),
            false => LoadOrigin::Rpath(dir, library.clone()),
        };
        let list = runpath.or(rpath).unwrap_or_default();
        let own = self.system.listed(list.as_bytes(), b":", home, &origin);
        self.with_own(own, !is_runpath)
    }
}

impl System {
    /// Returns the directories in a list with these separators, as the loader reads it for a program or library in the
    /// directory `home`. The empty entry is the working directory.
    pub fn listed(
        &self,
        list: &[u8],
        separators: &[u8],
        home: &Path,
        origin: &dyn Fn(PathBuf) -> LoadOrigin,
    ) -> Vec<SearchDirectory> {
        let mut places = Vec::new();
        if list.is_empty() {
            return places;
        }
        for entry in list.split(|byte| separators.contains(byte)) {
            for (shown, dir) in self.expand(entry, home) {
                let origin = origin(shown);
                if !self.is_privileged || !self.is_ignored(entry, &origin, &dir) {
                    places.push(SearchDirectory { origin, dir });
                }
            }
        }
        places
    }

    /// Expands the tokens of ld.so(8) in a path, which may stand for several. Returns each result as it is shown in
    /// messages, and its path on this machine. Relative paths start from the program's current directory, which is
    /// unknown on another system. They are bytes, since the loader does not require UTF-8.
    pub fn expand(&self, entry: &[u8], home: &Path) -> Vec<(PathBuf, PathBuf)> {
        let entry = if entry.is_empty() { b"." } else { entry };
        // The directory of a file is already a path on this machine.
        let starts_here = entry.starts_with(b"$ORIGIN") || entry.starts_with(b"${ORIGIN}");
        let entry = replace_token(entry, "ORIGIN", home.as_os_str().as_encoded_bytes());
        let has_platform = entry.windows(8).any(|word| word == b"PLATFORM");
        let platform = has_platform.then(|| platform_of(&self.cpu));
        let entry = replace_token(&entry, "PLATFORM", platform.unwrap_or_default().as_bytes());
        let known = lib_folders(&self.cpu);
        let libs = match &*self.loader.lib {
            [] => &known[..],
            libs => libs,
        };
        let mut paths = Vec::new();
        for lib in libs {
            let path = path_of(replace_token(&entry, "LIB", lib.as_bytes()));
            let is_known = paths.iter().any(|(known, _)| *known == path);
            if is_known || self.root.is_some() && !starts_here && path.is_relative() {
                continue;
            }
            let dir = match starts_here {
                true => path.clone(),
                false => self.path(&path),
            };
            paths.push((path, dir));
        }
        paths
    }

    /// Returns `true` if the loader ignores an entry with `$ORIGIN` because the program has more privileges than its
    /// user. `$ORIGIN` is then only allowed at the start, and in the program's own paths only if they point into the
    /// system directories.
    fn is_ignored(&self, entry: &[u8], origin: &LoadOrigin, dir: &Path) -> bool {
        let entry = String::from_utf8_lossy(entry);
        let mut tokens = ["$ORIGIN", "${ORIGIN}"].iter();
        let Some((token, at)) = tokens.find_map(|token| Some((token, entry.find(token)?))) else {
            return false;
        };
        let is_separate = matches!(entry.as_bytes().get(token.len()), None | Some(b'/'));
        let (plain, system) = (normalized(dir), self.directories());
        let is_trusted = system.iter().any(|place| plain.starts_with(&place.dir));
        at > 0 || !is_separate || !origin.is_of_library() && !is_trusted
    }

    /// Returns the libraries that the loader loads into every program with this LD_PRELOAD.
    pub fn preloads(&self, variable: &str) -> Vec<(String, LoadOrigin)> {
        let everywhere = self.read(Path::new(PRELOADS));
        let everywhere = preloads(&everywhere).into_iter().take(MOST_PRELOADS);
        let named = variable.split([':', ' ']).filter(|name| !name.is_empty());
        let named = named.map(|name| (name.to_string(), LoadOrigin::Preload));
        let everywhere = everywhere.map(|name| (name.to_string(), LoadOrigin::Preloads));
        named.chain(everywhere).collect()
    }
}

/// Removes `.` and `..` from a path lexically.
pub(super) fn normalized(dir: &Path) -> PathBuf {
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

/// Returns the value of `$PLATFORM`. It is the name of the CPU, except on Intel CPUs with Haswell's instructions
/// (`ld.so --list-diagnostics` of glibc 2.36).
fn platform_of(cpu: &str) -> &str {
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
