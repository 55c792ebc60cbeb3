//! A cuDNN that was not found.

use crate::runtime::binary::defect::Defect;
use crate::runtime::binary::ld_so_cache::CACHE;
use crate::runtime::facts::finding::after_space;
use crate::runtime::facts::{Finding, FindingId, Loader, Version, quoted};
use crate::runtime::loader::file_name;
use crate::runtime::loader::library_names::{FIRST, FIRST_CUDARC_WITH_9, HiddenCudnn};
use crate::runtime::loader::misplaced::{EntryFault, Misplaced, Starter, Unsearched};
use crate::runtime::loader::not_found::{MissingCudnn, NotFound, installable};
use crate::runtime::system::by_system;
use crate::runtime::system::names::LOADER;
use crate::runtime::system::platform::LIBRARY_PATH;
use std::borrow::Borrow;
use std::path::Path;

impl MissingCudnn<'_> {
    pub fn finding(self) -> Finding {
        let cudarc = self.built.loader == Loader::Cudarc;
        let mut summary = NotFound::headline(self.names, cudarc.then_some(self.built.cudarc));
        // Most of cudarc's many names belong to no cuDNN.
        let messages = match self.messages.first() {
            Some(first) if cudarc => {
                let more = self.names.len().saturating_sub(1);
                format!("{first}\n(and {more} more names)")
            }
            _ => self.messages.join("\n"),
        };
        let (mut elsewhere, mut install) = (Vec::new(), Vec::new());
        if let Some(misplaced) = &self.misplaced {
            match &misplaced.file {
                Some(file) => {
                    let file = file.display();
                    summary += &format!("; `{file}` exists, but {LOADER} does not search there");
                    elsewhere.push(misplaced.help());
                }
                None => install.push(misplaced.help()),
            }
        }
        if let Some(major) = installable(self.majors) {
            let is_named = self.names.contains(&file_name::of_main(major));
            install.push(install_cudnn(Some(major), !is_named, LIBRARY_PATH));
        }
        if let Some((major, _)) = &self.other {
            summary += &format!("; only `{}` was found", file_name::of_main(*major));
            install.push(format!(
                "use a build of this program for cuDNN {major}; linking one name to the other does not help"
            ));
        }
        let available = self.other.map(|(_, path)| path.display().to_string());
        let finding = FindingId::CudnnNotLoadable
            .error(summary)
            .with_some("reason", self.misplaced.map(|misplaced| misplaced.reason()))
            .with("loader", messages)
            .with_some("available", available)
            .with("searched", self.looked_at.join("\n"));
        self.not_found.explain(finding, elsewhere, install)
    }
}

/// Returns the help that installs this major of cuDNN. `with_link`: only its name without a number is tried.
pub fn install_cudnn(major: Option<u32>, with_link: bool, path: &str) -> String {
    let (major, link) = (after_space(major), format!(" with a `{FIRST}`"));
    let link = if with_link { &link } else { "" };
    format!("install cuDNN{major}{link}, or add its directory to {path}")
}

impl NotFound {
    /// Returns the headline for a program that opens none of these names. `cudarc` is the version of the cudarc that
    /// opens them, if known.
    pub fn headline<S: Borrow<str>>(names: &[S], cudarc: Option<Option<Version>>) -> String {
        let first = names.first().map_or("", S::borrow);
        match cudarc {
            Some(version) => {
                let version = after_space(version);
                format!("cannot load `{first}` or any other name that cudarc{version} tries")
            }
            None => format!("cannot load `{}`", names.join("` or `")),
        }
    }

    /// Adds the help for the most specific cause to a finding: the ways to a cuDNN `elsewhere`, if one exists, else the
    /// ways to `install` one.
    pub fn explain(
        self,
        mut finding: Finding,
        elsewhere: Vec<String>,
        install: Vec<String>,
    ) -> Finding {
        let is_elsewhere = !elsewhere.is_empty();
        if let Some(unfit) = self.unfit {
            // The contents of a directory without permission are unknown.
            let is_closed = matches!(unfit.defect, Defect::Closed(_));
            let is_foreign = matches!(unfit.defect, Defect::Machine(..) | Defect::Class(_));
            if !(is_closed && is_elsewhere) {
                finding = finding.with_unfit(&unfit.path, &unfit.defect, unfit.found_via);
                if !(is_foreign && is_elsewhere) {
                    return finding;
                }
                finding.help.clear();
            }
        }
        finding.help.extend(match self.untried {
            Some((major, dir)) => by_another_name(major, &dir),
            None if is_elsewhere => elsewhere,
            None => install,
        });
        finding
    }
}

/// The words for giving a library another name. On Windows, few users have the rights to create a link.
const RENAMED: [&str; 2] = by_system!(["link", "to"], ["copy", "of"]);

/// Returns the help for a cuDNN in this directory whose name cudarc does not try.
fn by_another_name(major: u32, dir: &str) -> Vec<String> {
    let habit = by_system!(", as the -dev packages do", "");
    let [link, to] = RENAMED;
    let link = format!("create a {link} `{FIRST}` {to} it in `{dir}`{habit}");
    if major != 9 {
        return vec![link];
    }
    let name = file_name::of_main(9);
    let newer = format!(
        "build the program with cudarc {FIRST_CUDARC_WITH_9} or later, which also searches for {name}"
    );
    vec![newer, link]
}

impl HiddenCudnn {
    /// Returns the help that makes cudarc load it. `otherwise`: the help for another cuDNN.
    pub fn help(&self, otherwise: &str) -> Vec<String> {
        let dir = self.path.parent().unwrap_or(&self.path).display();
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let [link, to] = RENAMED;
        let mut help = vec![format!(
            "create a {link} `{FIRST}` {to} `{name}` in `{dir}`: cudarc searches all directories for that name before any other"
        )];
        if self.is_tried {
            help.push(otherwise.to_string());
        }
        help
    }
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
            (_, Some((value, Starter::Shell))) => format!(
                "run `export LD_LIBRARY_PATH={}` before you start the program",
                quoted(value)
            ),
            (_, Some((value, Starter::Sudo))) => format!(
                "run `sudo env LD_LIBRARY_PATH={} PROGRAM`: sudo drops the variable of your shell",
                quoted(value)
            ),
            (_, Some((value, Starter::Systemd))) => format!(
                "add `Environment=\"LD_LIBRARY_PATH={}\"` to `[Service]` in the unit, run `systemctl daemon-reload`, and restart the service",
                in_unit(value)
            ),
            (_, None) if self.ignores_path => {
                format!("call `AddDllDirectory` with `{dir}` in this program before it opens cuDNN")
            }
            (_, None) if cfg!(windows) => format!("add `{dir}` to PATH where the program runs"),
            (_, None) => format!("add `{dir}` to /etc/ld.so.conf, and run `ldconfig` as root"),
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
