//! What makes the loader look in a folder, as messages name it.

use crate::runtime::binary::ld_so_cache::CACHE;
use crate::runtime::facts::finding::Finding;
use crate::runtime::loader::file_name;
use crate::runtime::loader::opener::Opener;
use crate::runtime::system::by_system;
use crate::runtime::system::platform::LIBRARY_PATH;
use std::fmt;
use std::path::{Path, PathBuf};

/// Libraries that the loader puts into every program, as ld.so(8) has it.
pub const PRELOADS: &str = "/etc/ld.so.preload";

/// What made the loader look there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadOrigin {
    /// The program's DT_RPATH, which wins over LD_LIBRARY_PATH.
    Rpath(PathBuf),
    /// LD_LIBRARY_PATH, as it was when the program was started; on Windows PATH, as it is.
    LibraryPath(PathBuf),
    /// The program's DT_RUNPATH.
    Runpath(PathBuf),
    /// LD_PRELOAD.
    Preload,
    /// `/etc/ld.so.preload`.
    Preloads,
    /// `/etc/ld.so.cache`.
    Cache,
    /// The folders that are built into the loader.
    System(PathBuf),
    /// On Windows the program's own directory.
    Application(PathBuf),
    /// On Windows what the program gave to `SetDllDirectory`.
    DllDirectory(PathBuf),
    /// On Windows the working directory.
    WorkingDirectory(PathBuf),
    /// Another library in the process.
    Library(Opener),
    /// A path by which the program or a library in the process opened it.
    Elsewhere,
    /// Nothing: it is linked into the program itself.
    Within,
}

impl fmt::Display for LoadOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadOrigin::Rpath(entry) => {
                write!(f, "the program's RPATH, its entry `{}`", entry.display())
            }
            LoadOrigin::LibraryPath(entry) => {
                write!(f, "{}, its entry `{}`", LIBRARY_PATH, entry.display())
            }
            LoadOrigin::Runpath(entry) => {
                write!(f, "the program's RUNPATH, its entry `{}`", entry.display())
            }
            LoadOrigin::Preload => f.write_str("LD_PRELOAD"),
            LoadOrigin::Preloads => f.write_str(PRELOADS),
            LoadOrigin::Cache => f.write_str(CACHE),
            LoadOrigin::System(folder) => write!(
                f,
                "{}, `{}`",
                by_system!(
                    "the system's library directories",
                    "Windows' own directories"
                ),
                folder.display()
            ),
            LoadOrigin::Application(folder) => {
                write!(f, "the program's own directory, `{}`", folder.display())
            }
            LoadOrigin::DllDirectory(folder) => {
                write!(f, "SetDllDirectory, its `{}`", folder.display())
            }
            LoadOrigin::WorkingDirectory(folder) => {
                write!(f, "the working directory, `{}`", folder.display())
            }
            LoadOrigin::Library(opener) if opener.preloaded => {
                write!(
                    f,
                    "LD_PRELOAD, its `{}`, which brings it in",
                    opener.path.display()
                )
            }
            LoadOrigin::Library(opener) => {
                write!(
                    f,
                    "`{}`, a library of this process, which looks for it there",
                    opener.path.display()
                )
            }
            LoadOrigin::Elsewhere => {
                f.write_str("something in this process, which opened it by its path")
            }
            LoadOrigin::Within => {
                f.write_str("its archives, which are linked into the program itself")
            }
        }
    }
}

impl LoadOrigin {
    /// The folder that it names, if it does.
    pub fn folder(&self) -> &Path {
        match self {
            LoadOrigin::Rpath(folder)
            | LoadOrigin::LibraryPath(folder)
            | LoadOrigin::Runpath(folder)
            | LoadOrigin::Application(folder)
            | LoadOrigin::DllDirectory(folder)
            | LoadOrigin::WorkingDirectory(folder)
            | LoadOrigin::System(folder) => folder,
            _ => Path::new(""),
        }
    }

    /// What the reader can do to get another cuDNN loaded.
    pub fn help(&self, folder: &Path, wanted: &str) -> String {
        match self {
            LoadOrigin::LibraryPath(entry) => format!(
                "take `{}` out of {}, or put the directory of {} before it",
                entry.display(),
                LIBRARY_PATH,
                wanted
            ),
            LoadOrigin::Application(folder) | LoadOrigin::DllDirectory(folder) => format!(
                "install {} in `{}`, in the place of the one there: Windows looks there before PATH",
                wanted,
                folder.display()
            ),
            LoadOrigin::WorkingDirectory(folder) => format!(
                "start the program in another directory than `{}`, and put that of {} into PATH",
                folder.display(),
                wanted
            ),
            LoadOrigin::System(folder) if cfg!(windows) => format!(
                "remove the `{}` files from `{}`, and put the directory of {} into PATH",
                file_name::ALL,
                folder.display(),
                wanted
            ),
            LoadOrigin::Rpath(entry) => format!("install {} in `{}`", wanted, entry.display()),
            LoadOrigin::Runpath(entry) => format!(
                "install {} in `{}`, or put its directory into LD_LIBRARY_PATH",
                wanted,
                entry.display()
            ),
            LoadOrigin::Preload => format!("take it out of LD_PRELOAD, or put {wanted} there"),
            LoadOrigin::Preloads => format!("take it out of {PRELOADS}, or put {wanted} there"),
            LoadOrigin::Cache | LoadOrigin::System(_) => {
                format!("install {wanted}, or put its directory into {LIBRARY_PATH}")
            }
            LoadOrigin::Library(opener) if opener.preloaded => format!(
                "take `{}` out of LD_PRELOAD, or let it use {}: the first one loaded serves everybody",
                opener.path.display(),
                wanted
            ),
            LoadOrigin::Library(opener) => format!(
                "install {} in `{}`, where `{}` looks for it: the first one loaded serves everybody",
                wanted,
                folder.display(),
                opener.path.display()
            ),
            LoadOrigin::Elsewhere => format!(
                "let whatever opened the one in `{}` use {}, as the first one loaded serves everybody",
                folder.display(),
                wanted
            ),
            LoadOrigin::Within => {
                format!("build the program again, with the archives of {wanted}")
            }
        }
    }
}

/// For a program that the loader reads no LD_LIBRARY_PATH for: what does the same.
pub fn without_library_path(finding: &mut Finding) {
    let mut is_meant = false;
    for help in &mut finding.help {
        let other = help.replace(
            "into LD_LIBRARY_PATH",
            "into /etc/ld.so.conf and run `ldconfig`",
        );
        is_meant |= other != *help;
        *help = other;
    }
    if is_meant {
        let reason = "this program has more rights than its user (setuid, capabilities): the loader ignores \
                      LD_LIBRARY_PATH, LD_PRELOAD and `$ORIGIN` in its rpath";
        finding.evidence.insert(0, ("setuid", reason.to_string()));
    }
}

/// The names in the text of `/etc/ld.so.preload`.
pub fn preloads(text: &str) -> Vec<&str> {
    let gap: fn(char) -> bool = |c| c == ':' || c.is_whitespace();
    let mut names = Vec::new();
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default();
        for name in line.split(gap) {
            if !name.is_empty() {
                names.push(name);
            }
        }
    }
    names
}

/// The folders below `/usr` that a loader may put for `$LIB`; which it is, is compiled into it.
pub fn lib_folders(cpu: &str) -> [String; 3] {
    let multiarch = if cpu == "i686" { "i386" } else { cpu };
    [
        format!("lib/{multiarch}-linux-gnu"),
        "lib64".to_string(),
        "lib".to_string(),
    ]
}

/// What an entry of a search path may stand for, with the tokens of ld.so(8) filled in: one path for each of `libs`.
/// Bytes, since the loader does not ask whether a path is UTF-8.
pub fn expanded(entry: &[u8], origin: &[u8], cpu: &str, libs: &[String]) -> Vec<Vec<u8>> {
    let entry = replace_token(entry, "ORIGIN", origin);
    let entry = replace_token(&entry, "PLATFORM", cpu.as_bytes());
    let mut paths = Vec::new();
    for lib in libs {
        let path = replace_token(&entry, "LIB", lib.as_bytes());
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

/// With `$TOKEN` and `${TOKEN}` replaced, as the loader does it: `$TOKENS` is another word.
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
