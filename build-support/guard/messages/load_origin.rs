//! The reasons why the loader uses a cuDNN, and the help that gets another one loaded.

use crate::runtime::binary::CACHE;
use crate::runtime::facts::{Finding, printable};
use crate::runtime::install::package_owner::Owner;
use crate::runtime::loader::file_name::ALL;
use crate::runtime::loader::{LoadOrigin, Opener, PRELOADS};
use crate::runtime::system::platform::LIBRARY_PATH;
use std::fmt;
use std::path::Path;

impl fmt::Display for LoadOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe(cfg!(windows)))
    }
}

impl LoadOrigin {
    /// Returns the reason in words, for a program for Windows or for Linux.
    pub fn describe(&self, is_windows: bool) -> String {
        let dir = printable(&self.folder().to_string_lossy());
        let entry = |list: &str| format!("{list}, its entry `{dir}`");
        match self {
            LoadOrigin::Rpath(_, None) => entry("the program's RPATH"),
            LoadOrigin::LibraryPath(_) if is_windows => entry("PATH"),
            LoadOrigin::LibraryPath(_) => entry("LD_LIBRARY_PATH"),
            LoadOrigin::Runpath(_, None) => entry("the program's RUNPATH"),
            LoadOrigin::Rpath(_, Some(name)) => entry(&format!("the RPATH of {name}")),
            LoadOrigin::Runpath(_, Some(name)) => entry(&format!("the RUNPATH of {name}")),
            LoadOrigin::Preload => "LD_PRELOAD".into(),
            LoadOrigin::Preloads => PRELOADS.into(),
            LoadOrigin::Cache => CACHE.into(),
            LoadOrigin::Configured(_, conf) => {
                let conf = printable(&conf.to_string_lossy());
                format!("{CACHE}, since `{conf}` lists `{dir}`")
            }
            LoadOrigin::OwnCache(file) => printable(&file.to_string_lossy()),
            LoadOrigin::System(_) if is_windows => format!("Windows' own directories, `{dir}`"),
            LoadOrigin::System(_) => format!("the system's library directories, `{dir}`"),
            LoadOrigin::Application(_) => format!("the program's own directory, `{dir}`"),
            LoadOrigin::DllDirectory(_) => format!("SetDllDirectory, `{dir}`"),
            LoadOrigin::AddedDirectory(_) => {
                format!("a directory added by AddDllDirectory, `{dir}`")
            }
            LoadOrigin::WorkingDirectory(_) => format!("the working directory, `{dir}`"),
            LoadOrigin::Library(Opener { path, preloaded }) => {
                let path = printable(&path.to_string_lossy());
                match preloaded {
                    true => format!("LD_PRELOAD: `{path}`, which loads it"),
                    false => format!("`{path}`, a library in this process that searches there"),
                }
            }
            LoadOrigin::Elsewhere => "something in this process that opened it by its path".into(),
            LoadOrigin::Within => "its archives, which are linked into the program".into(),
        }
    }

    /// Returns the help that keeps the loader from this file.
    pub fn removal(&self, file: &Path) -> String {
        let (dir, entry) = (file.parent().unwrap_or(file), self.folder().display());
        let shown = dir.display();
        match self {
            LoadOrigin::LibraryPath(_) => format!("remove `{entry}` from {LIBRARY_PATH}"),
            LoadOrigin::Rpath(_, None) | LoadOrigin::Runpath(_, None) => {
                format!("build the program without `{entry}` in its rpath")
            }
            LoadOrigin::Preload => "remove it from LD_PRELOAD".into(),
            LoadOrigin::Preloads => format!("remove it from {PRELOADS}"),
            // `ldconfig` creates a removed link again.
            LoadOrigin::Configured(_, conf) => {
                let conf = conf.display();
                format!("remove `{entry}` from `{conf}` and run `sudo ldconfig`")
            }
            // It creates links with a number, such as `libcuda.so.1`.
            LoadOrigin::Cache if file.extension().is_some_and(|end| end == "so") => {
                format!("remove `{}` and run `sudo ldconfig`", file.display())
            }
            LoadOrigin::Cache => {
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                let stem = name.split(".so").next().unwrap_or_default();
                format!("remove all `{stem}.so*` files from `{shown}` and run `sudo ldconfig`")
            }
            _ => format!("remove `{}`", file.display()),
        }
    }

    /// Returns the Debian packages of this file and of the configuration because of which the loader finds it.
    pub fn packages(&self, file: &Path) -> Vec<String> {
        let LoadOrigin::Configured(_, conf) = self else {
            return Vec::new();
        };
        let package = |file: &Path| {
            let Owner { name, version, .. } = Owner::of_debian(file)?;
            Some(format!("{name} {version}: {}", file.display()))
        };
        [file, conf].into_iter().filter_map(package).collect()
    }

    /// Returns the help that makes the loader search this directory before that of the file.
    pub fn precede(&self, dir: &Path, file: &Path) -> Option<String> {
        let (entry, found_in) = (self.folder().display(), file.parent()?.display());
        let place = match self {
            LoadOrigin::LibraryPath(_) => format!("before `{entry}` to {LIBRARY_PATH}"),
            LoadOrigin::Rpath(_, None) => format!("before `{entry}` to the program's rpath"),
            LoadOrigin::Runpath(..)
            | LoadOrigin::Cache
            | LoadOrigin::Configured(..)
            | LoadOrigin::OwnCache(_)
            | LoadOrigin::System(_)
                if !cfg!(windows) =>
            {
                format!("to {LIBRARY_PATH}, which is searched before `{found_in}`")
            }
            _ => return None,
        };
        Some(format!("add `{}` {place}", dir.display()))
    }

    /// Returns the help that makes the loader use the `required` cuDNN instead of the cuDNN in this directory.
    pub fn help(&self, folder: &Path, required: &str) -> String {
        let removal = self.removal(folder);
        let (folder, dir) = (folder.display(), self.folder().display());
        match self {
            LoadOrigin::LibraryPath(_) => {
                format!("{removal}, or add the directory of {required} before it")
            }
            LoadOrigin::Application(_)
            | LoadOrigin::DllDirectory(_)
            | LoadOrigin::AddedDirectory(_) => format!(
                "replace the cuDNN in `{dir}` with {required}: Windows searches that directory before PATH"
            ),
            LoadOrigin::WorkingDirectory(_) => format!(
                "start the program in a directory other than `{dir}`, and add the directory of {required} to PATH"
            ),
            LoadOrigin::System(_) if cfg!(windows) => format!(
                "remove the `{ALL}` files from `{dir}`, and add the directory of {required} to PATH"
            ),
            LoadOrigin::Rpath(..) => {
                format!("install {required} in `{dir}`")
            }
            LoadOrigin::Runpath(..) => {
                format!("install {required} in `{dir}`, or add its directory to LD_LIBRARY_PATH")
            }
            LoadOrigin::Preload | LoadOrigin::Preloads => {
                format!("{removal}, or replace it with {required}")
            }
            LoadOrigin::Cache
            | LoadOrigin::Configured(..)
            | LoadOrigin::OwnCache(_)
            | LoadOrigin::System(_) => {
                format!("install {required}, or add its directory to {LIBRARY_PATH}")
            }
            LoadOrigin::Library(Opener { path, preloaded }) => {
                let path = path.display();
                match preloaded {
                    true => format!(
                        "remove `{path}` from LD_PRELOAD, or make it use {required}: the whole process uses the first cuDNN that is loaded"
                    ),
                    false => format!(
                        "install {required} in `{folder}`, which `{path}` searches: the whole process uses the first cuDNN that is loaded"
                    ),
                }
            }
            LoadOrigin::Elsewhere => format!(
                "make the code that opened the cuDNN in `{folder}` use {required}: the whole process uses the first cuDNN that is loaded"
            ),
            LoadOrigin::Within => {
                format!("rebuild the program with the archives of {required}")
            }
        }
    }
}

impl Finding {
    /// Replaces help for LD_LIBRARY_PATH, which the loader ignores for a program with more rights than its user.
    pub(crate) fn without_library_path(&mut self) {
        let mut is_meant = false;
        for help in &mut self.help {
            let other = help.replace(
                " to LD_LIBRARY_PATH",
                " to /etc/ld.so.conf and run `ldconfig`",
            );
            is_meant |= other != *help;
            *help = other;
        }
        if is_meant {
            let reason = "this program runs with elevated privileges (setuid, capabilities): the loader ignores \
                          LD_LIBRARY_PATH, LD_PRELOAD and `$ORIGIN` in its rpath";
            self.evidence.insert(0, ("setuid", reason.to_string()));
        }
    }
}
