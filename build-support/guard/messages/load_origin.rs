//! The reasons why the loader uses a cuDNN, and the help that gets another one loaded.

use crate::runtime::binary::ld_so_cache::CACHE;
use crate::runtime::facts::finding::Finding;
use crate::runtime::loader::file_name;
use crate::runtime::loader::load_origin::{LoadOrigin, PRELOADS};
use crate::runtime::system::by_system;
use crate::runtime::system::platform::LIBRARY_PATH;
use std::fmt;
use std::path::Path;

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
            LoadOrigin::LibraryRpath(entry, name) => {
                write!(f, "the RPATH of {}, its entry `{}`", name, entry.display())
            }
            LoadOrigin::LibraryRunpath(entry, name) => {
                write!(
                    f,
                    "the RUNPATH of {}, its entry `{}`",
                    name,
                    entry.display()
                )
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
    /// Returns the help that gets another cuDNN loaded.
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
            LoadOrigin::Rpath(entry) | LoadOrigin::LibraryRpath(entry, _) => {
                format!("install {} in `{}`", wanted, entry.display())
            }
            LoadOrigin::Runpath(entry) | LoadOrigin::LibraryRunpath(entry, _) => format!(
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

impl Finding {
    /// Replaces help for LD_LIBRARY_PATH, which the loader ignores for a program with more rights than its user.
    pub fn without_library_path(&mut self) {
        let mut is_meant = false;
        for help in &mut self.help {
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
            self.evidence.insert(0, ("setuid", reason.to_string()));
        }
    }
}
