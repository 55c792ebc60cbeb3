//! A cuDNN that was not found.

use crate::runtime::binary::defect::Defect;
use crate::runtime::binary::ld_so_cache::CACHE;
use crate::runtime::facts::built::Loader;
use crate::runtime::facts::finding::{Finding, quoted};
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::loader::file_name;
use crate::runtime::loader::library_names::{FIRST, FIRST_CUDARC_WITH_9, HiddenCudnn};
use crate::runtime::loader::misplaced::{EntryFault, Misplaced, Starter, Unsearched};
use crate::runtime::loader::not_found::{MissingCudnn, NotFound, installable};
use crate::runtime::system::by_system;
use crate::runtime::system::names::LOADER;
use crate::runtime::system::platform::LIBRARY_PATH;
use std::path::Path;

impl MissingCudnn<'_> {
    pub fn finding(self) -> Finding {
        let cudarc = self.built.loader == Loader::Cudarc;
        let first = self.names.first().map_or("", String::as_str);
        let mut summary = if cudarc {
            let release = self.built.cudarc;
            let release = release.map_or(String::new(), |cudarc| format!(" {cudarc}"));
            format!("{first} cannot be loaded, nor by any other name that cudarc{release} tries")
        } else {
            format!("{} cannot be loaded", self.names.join(" or "))
        };
        // Most of cudarc's many names belong to no cuDNN.
        let messages = match self.messages.first() {
            Some(first) if cudarc => {
                let more = self.names.len().saturating_sub(1);
                format!("{first}\n(and so for {more} names more)")
            }
            _ => self.messages.join("\n"),
        };
        let (mut elsewhere, mut install) = (Vec::new(), Vec::new());
        if let Some(misplaced) = &self.misplaced {
            match &misplaced.file {
                Some(file) => {
                    let file = file.display();
                    summary += &format!("; `{file}` lies where {LOADER} does not look");
                    elsewhere.push(misplaced.help());
                }
                None => install.push(misplaced.help()),
            }
        }
        if let Some(major) = installable(self.majors) {
            let file = file_name::of_main(major);
            install.push(format!(
                "install cuDNN {major}, or put the directory of its {file} into {LIBRARY_PATH}"
            ));
        }
        if let Some((major, _)) = &self.other {
            summary += &format!("; there is only {}", file_name::of_main(*major));
            install.push(format!(
                "use a build of this program for cuDNN {major}; a link from one name to the other does not help"
            ));
        }
        let finding = Finding::error(FindingId::CudnnNotLoadable, summary)
            .with_lines("reason", self.misplaced.map(|misplaced| misplaced.reason()))
            .with("loader", messages)
            .with_lines(
                "there is",
                self.other.map(|(_, path)| path.display().to_string()),
            )
            .with("looked at", self.looked_at.join("\n"));
        self.not_found.explain(finding, elsewhere, install)
    }
}

impl NotFound {
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
            let is_foreign = matches!(unfit.defect, Defect::Machine(..) | Defect::Class);
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
    let habit = by_system!(", as the -dev packages have it", "");
    let [link, to] = RENAMED;
    let link = format!("put a {link} `{FIRST}` {to} it into `{dir}`{habit}");
    if major != 9 {
        return vec![link];
    }
    let name = file_name::of_main(9);
    let newer = format!(
        "build the program with cudarc {FIRST_CUDARC_WITH_9} or later, which asks for {name} too"
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
            "put a {link} `{FIRST}` {to} `{name}` into `{dir}`: cudarc asks for that name everywhere before it asks for another"
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
                "`{}` names its directory, and {CACHE} does not have it yet",
                conf.display()
            ),
            Unsearched::Variable(variable, value) => format!(
                "{variable} is `{}`, and {LOADER} does not follow that variable",
                value.display()
            ),
            Unsearched::Path if cfg!(windows) => {
                "PATH names its directory, but this program does not search PATH: it called SetDefaultDllDirectories"
                    .to_string()
            }
            Unsearched::Path => {
                "PATH names its directory, but the loader reads LD_LIBRARY_PATH instead".to_string()
            }
            Unsearched::Fetched => {
                format!("`cudnn-guard fetch` installed it, and {LOADER} does not look there")
            }
            Unsearched::Unnamed if cfg!(windows) => "PATH does not name its directory".to_string(),
            Unsearched::Unnamed => {
                format!("neither LD_LIBRARY_PATH nor {CACHE} names its directory")
            }
            Unsearched::Quoted(entry) => format!("PATH has {entry}, with the quotation marks"),
        }
    }

    pub fn help(&self) -> String {
        let file = self.file.as_deref().unwrap_or(Path::new(""));
        let dir = file.parent().unwrap_or(file).display();
        match (&self.cause, &self.library_path) {
            (Unsearched::Entry(..), _) if self.file.is_none() => {
                "write each directory of LD_LIBRARY_PATH out in full, with colons between them"
                    .to_string()
            }
            (Unsearched::Uncached(_), _) => "run `ldconfig` as root".to_string(),
            (Unsearched::Quoted(entry), _) => format!(
                "put `{}` into PATH without quotation marks: it needs none",
                entry.replace('"', "")
            ),
            (_, Some((value, Starter::Shell))) => format!(
                "run `export LD_LIBRARY_PATH={}` before the program",
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
            (_, None) if cfg!(windows) => format!("put `{dir}` into PATH where the program runs"),
            (_, None) => format!("name `{dir}` in /etc/ld.so.conf, and run `ldconfig` as root"),
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
                "is that directory, and the loader ignores the variable for a program with more rights than its user (setuid)"
            }
            EntryFault::File => "is the file, and the loader looks into directories alone",
            EntryFault::Above => "is a directory above it, and the loader looks no deeper",
            EntryFault::Beside => "is another directory beside it",
            EntryFault::Absent => "is not there",
            EntryFault::Relative => "is relative, and the working directory has no such directory",
            EntryFault::Quoted => {
                "has quotation marks, which the loader takes for a part of the name"
            }
            EntryFault::Unexpanded(token) => {
                return format!(
                    "begins with `{token}`, which a shell fills in and the loader does not"
                );
            }
            EntryFault::Joined => {
                "is one directory to the loader: between two it wants a colon, and no blank"
            }
        };
        words.to_string()
    }
}
