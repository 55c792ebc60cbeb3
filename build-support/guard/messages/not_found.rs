//! A cuDNN that was not found.

use crate::runtime::binary::CACHE;
use crate::runtime::facts::{Finding, FindingId, after_space, cudnn_file, quoted};
use crate::runtime::loader::file_name::{FIRST_CUDARC_WITH_9, first_name};
use crate::runtime::loader::misplaced::{EntryFault, LibraryPath, Misplaced, Starter, Unsearched};
use crate::runtime::loader::{FoundFile, MissingCudnn, Reach, ReachStep};
use crate::runtime::system::LOADER;
use std::path::Path;

impl MissingCudnn<'_> {
    pub fn finding(self) -> Finding {
        let (path, loader) = match self.is_dll {
            true => ("PATH", "Windows"),
            false => ("LD_LIBRARY_PATH", "the loader"),
        };
        let first = self.names.first().map_or("", String::as_str);
        let mut summary = match (self.user, self.cudarc) {
            (Some(user), _) => {
                let (user, names) = (user.display(), self.names.join(" or "));
                format!("`{user}` needs {names}, which the loader cannot find")
            }
            (None, Some(version)) => {
                let version = after_space(version);
                format!("cannot load `{first}` or any other name that cudarc{version} tries")
            }
            (None, None) => format!("cannot load `{}`", self.names.join("` or `")),
        };
        // Most of cudarc's many names belong to no cuDNN.
        let messages = match self.messages.first() {
            Some(first) if self.cudarc.is_some() => {
                let more = self.names.len().saturating_sub(1);
                format!("{first}\n(and {more} more names)")
            }
            _ => self.messages.join("\n"),
        };
        let (mut elsewhere, mut install) = (Vec::new(), Vec::new());
        let mut file = None;
        if let Some(misplaced) = &self.misplaced {
            file = misplaced.file.as_ref();
            match file {
                Some(_) => elsewhere.push(misplaced.help()),
                None => install.push(misplaced.help()),
            }
        }
        if let Some(reach) = &self.reach {
            file = Some(&reach.file);
            elsewhere = reach.helps(self.is_dll);
        }
        let mut required = match &self.mismatch {
            Some(mismatch) => mismatch.required_cudnn(),
            None => format!("cuDNN{}", after_space(self.major)),
        };
        let name = cudnn_file("", self.major.unwrap_or_default(), self.is_dll);
        let plain = first_name(self.is_dll);
        if self.cudarc.is_some() && !self.names.contains(&name) {
            required += &format!(" with a `{plain}`");
        }
        install.push(format!(
            "install {required}, or add its directory to {path}"
        ));
        if let Some(major) = self.other {
            let name = cudnn_file("", major, self.is_dll);
            summary += &format!("; only `{name}` was found");
            install.push(format!(
                "use a build of this program for cuDNN {major}; linking one name to the other does not help"
            ));
        }
        match (&self.unfit, file) {
            (Some(unfit), _) => {
                summary += &format!("; `{}` {}", unfit.path.display(), unfit.defect);
            }
            (None, Some(file)) => {
                let file = file.display();
                summary += &format!("; `{file}` exists, but {loader} does not search there");
            }
            (None, None) => {}
        }
        let helps = match (&self.unfit, self.untried) {
            (None, Some(dir)) => by_another_name(self.other, &dir, self.is_dll),
            _ if !elsewhere.is_empty() => elsewhere,
            (Some(unfit), _) => vec![unfit.defect.help(&unfit.path)],
            (None, None) => install,
        };
        FindingId::CudnnNotLoadable
            .error_if(self.is_needed, summary)
            .with_some("found via", self.unfit.map(|unfit| unfit.found_via))
            .with_some("reason", self.misplaced.map(|misplaced| misplaced.reason()))
            .with_some(
                "loader",
                Some(messages).filter(|messages| !messages.is_empty()),
            )
            .with_lines("available", self.available.iter().map(found_file))
            .with("searched", self.looked_at.join("\n"))
            .helps(helps)
    }
}

/// Returns the line of a file, with its version if known.
pub fn found_file((version, path): &FoundFile) -> String {
    let version = version.map_or_else(String::new, |version| format!("{version}  "));
    format!("{version}{}", path.display())
}

impl Reach {
    /// Returns the ways to make the loader, or Windows for a DLL, find the file.
    fn helps(&self, is_dll: bool) -> Vec<String> {
        let dir = &self.dir;
        let path = match is_dll {
            true => "PATH where the program runs",
            false => "LD_LIBRARY_PATH",
        };
        let first = match self.step {
            ReachStep::Links => format!(
                "run `sudo ldconfig -n {}` to create its links, and ",
                quoted(dir)
            ),
            ReachStep::Rename => format!("create a link `libcudnn.so` to it in `{dir}`, and "),
            ReachStep::Search | ReachStep::Rpath => String::new(),
        };
        let mut helps = vec![format!("{first}add `{dir}` to {path}")];
        if self.step == ReachStep::Rpath {
            helps.push(
                "relink the program with that directory as its rpath; `.link()` adds it unless `.rpath(false)` is set".to_string()
            );
        }
        helps
    }
}

/// Returns the help for a cuDNN in this directory whose name cudarc does not try. On Windows, few users have the rights
/// to create a link.
fn by_another_name(major: Option<u32>, dir: &str, is_dll: bool) -> Vec<String> {
    let plain = first_name(is_dll);
    let link = match is_dll {
        true => format!("create a copy `{plain}` of it in `{dir}`"),
        false => format!("create a link `{plain}` to it in `{dir}`, as the -dev packages do"),
    };
    if major != Some(9) {
        return vec![link];
    }
    let name = cudnn_file("", 9, is_dll);
    let newer = format!(
        "build the program with cudarc {FIRST_CUDARC_WITH_9} or later, which also searches for {name}"
    );
    vec![newer, link]
}

/// Returns the help that makes cudarc load this cuDNN.
pub fn by_first_name(path: &Path) -> String {
    let dir = path.parent().unwrap_or(path).display();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let end = path.extension().unwrap_or_default();
    let is_dll = end.eq_ignore_ascii_case("dll");
    let plain = first_name(is_dll);
    let link = match is_dll {
        true => format!("create a copy `{plain}` of"),
        false => format!("create a link `{plain}` to"),
    };
    format!(
        "{link} `{name}` in `{dir}`: cudarc searches all directories for that name before any other"
    )
}

impl Misplaced {
    /// Returns the reason why the loader does not search there.
    pub fn reason(&self) -> String {
        match &self.cause {
            Unsearched::Entry(entry, fault) => {
                format!("the entry `{entry}` of LD_LIBRARY_PATH {}", fault.words())
            }
            Unsearched::Uncached(conf) => format!(
                "`{}` lists its directory, but {CACHE} does not contain it yet",
                conf.display()
            ),
            Unsearched::Variable(variable, value) => format!(
                "{variable} is `{}`, but {LOADER} ignores that variable",
                value.display()
            ),
            Unsearched::Path if cfg!(windows) => {
                "PATH contains its directory, but this program does not search PATH: it called SetDefaultDllDirectories"
                    .to_string()
            }
            Unsearched::Path => {
                "PATH contains its directory, but the loader reads LD_LIBRARY_PATH instead".to_string()
            }
            Unsearched::Fetched => {
                format!("`cudnn-guard fetch` installed it, but {LOADER} does not search there")
            }
            Unsearched::Unnamed if cfg!(windows) => "PATH does not contain its directory".to_string(),
            Unsearched::Unnamed => {
                format!("neither LD_LIBRARY_PATH nor {CACHE} contains its directory")
            }
        }
    }

    pub fn help(&self) -> String {
        let file = self.file.as_deref().unwrap_or(Path::new(""));
        let dir = file.parent().unwrap_or(file).display();
        match (&self.cause, &self.library_path) {
            (Unsearched::Entry(..), _) if self.file.is_none() => {
                "write full paths in LD_LIBRARY_PATH, separated by colons".to_string()
            }
            (Unsearched::Uncached(_), _) => "run `ldconfig` as root".to_string(),
            (_, Some(path)) => path.help(),
            (_, None) if self.ignores_path => {
                format!("call `AddDllDirectory` with `{dir}` in this program before it opens cuDNN")
            }
            (_, None) if cfg!(windows) => format!("add `{dir}` to PATH where the program runs"),
            (_, None) => format!("add `{dir}` to /etc/ld.so.conf, and run `ldconfig` as root"),
        }
    }
}

impl LibraryPath {
    fn help(&self) -> String {
        let colon = if self.kept.is_empty() { "" } else { ":" };
        let value = format!("{}{colon}{}", self.dirs, self.kept);
        match self.starter {
            Starter::Shell => {
                let mut dirs = quoted(&self.dirs);
                if !self.kept.is_empty() {
                    // `cargo run` adds directories, which the variable of the shell does not contain.
                    dirs += "${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}";
                }
                format!("run `export LD_LIBRARY_PATH={dirs}` before you start the program")
            }
            Starter::Sudo => format!(
                "run `sudo env LD_LIBRARY_PATH={} PROGRAM`: sudo drops the variable of your shell",
                quoted(&value)
            ),
            Starter::Systemd => format!(
                "add `Environment=\"LD_LIBRARY_PATH={}\"` to `[Service]` in the unit, run `systemctl daemon-reload`, and restart the service",
                in_unit(&value)
            ),
        }
    }
}

/// Escapes a value between quotation marks in a unit of systemd, which also expands `%`.
fn in_unit(value: &str) -> String {
    let value = value.replace('\\', r"\\").replace('"', "\\\"");
    value.replace('%', "%%")
}

impl EntryFault {
    fn words(&self) -> String {
        let words = match self {
            EntryFault::Ignored => {
                "is that directory, but the loader ignores the variable for a program with elevated privileges (setuid)"
            }
            EntryFault::File => "is the file itself, but the loader only searches directories",
            EntryFault::Above => {
                "is a parent directory, and the loader does not search subdirectories"
            }
            EntryFault::Beside => "is a different directory next to it",
            EntryFault::Absent => "does not exist",
            EntryFault::Relative => "is relative and does not exist in the working directory",
            EntryFault::Quoted => {
                "has quotation marks, which the loader treats as part of the name"
            }
            EntryFault::Unexpanded(token) => {
                return format!(
                    "begins with `{token}`, which a shell expands but the loader does not"
                );
            }
            EntryFault::Joined => {
                "is a single directory to the loader: separate directories with a colon and no space"
            }
        };
        words.to_string()
    }
}
