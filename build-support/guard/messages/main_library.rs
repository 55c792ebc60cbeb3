//! The main library of the cuDNN that a program uses: the reason why it is loaded, and the ways to another one.

use crate::runtime::facts::{Finding, FindingId, printable};
use crate::runtime::install::main_library::{MainLibrary, NotLoadedYet};
use crate::runtime::install::mixed_sub_libraries::Replacement;
use crate::runtime::loader::file_name;
use crate::runtime::loader::library_names::FIRST;
use crate::runtime::system::platform::LIBRARY_PATH;
use std::path::PathBuf;

impl NotLoadedYet {
    pub fn finding(&self) -> Finding {
        let (summary, help) = match self {
            NotLoadedYet::LeftOut => (
                "this program is linked against cuDNN, but cuDNN is not loaded",
                "call a function of cuDNN in this program: linkers drop libraries that are not used",
            ),
            NotLoadedYet::Unopened => (
                "no cuDNN was found among the libraries of this process, and the guard of a library does not load one",
                "call `check()` after the first use of cuDNN, to check the loaded one",
            ),
        };
        FindingId::NotLoadedYet.warning(summary).help(help)
    }
}

impl MainLibrary {
    /// Returns the finding for other cuDNNs in the process.
    pub fn others_finding(&self, others: &[PathBuf]) -> Finding {
        let judged = self.path.display();
        let summary = format!("more than one cuDNN is loaded in this process; checking `{judged}`");
        FindingId::DuplicateCudnn
            .warning(summary)
            .with_lines("also", others.iter().map(|other| other.display()))
    }

    /// Returns its file and the reason why it is loaded.
    pub fn evidence(&self) -> Vec<(&'static str, String)> {
        let mut evidence = vec![("loaded", printable(&self.path.to_string_lossy()))];
        let by_file = file_name::parse(&self.path).and_then(|name| name.1);
        if by_file.is_some_and(|major| major != self.major) {
            evidence.push(("own name", file_name::of_main(self.major)));
        }
        evidence.push(("found via", self.origin.to_string()));
        evidence
    }
}

impl Replacement<'_> {
    /// Returns the help that replaces the loaded cuDNN by the required one.
    pub fn help(&self, required: &str) -> String {
        let folder = self.loaded.parent().unwrap_or(self.loaded);
        let entries = self.in_the_way.iter();
        let entries: Vec<String> = entries.map(|dir| format!("`{}`", dir.display())).collect();
        let mut required = match self.compatible {
            Some(version) if entries.is_empty() => format!("cuDNN {version}"),
            _ => required.to_string(),
        };
        let name = self.loaded.file_name().and_then(|name| name.to_str());
        if let Some(name) = name.filter(|name| FIRST.contains(name)) {
            required += &format!(" with a `{name}`");
        }
        let help = self.main.help(folder, &required);
        if entries.is_empty() {
            return help;
        }
        let entries = entries.join(" and ");
        format!("remove {entries} from {LIBRARY_PATH}, and {help}")
    }
}
