//! Sub-libraries of different versions.

use crate::runtime::facts::finding::listed;
use crate::runtime::facts::{Finding, FindingId, Severity};
use crate::runtime::install::mixed_folder::{MixedFolder, MixedVersions};
use std::path::Path;

impl MixedFolder<'_> {
    pub fn finding(&self) -> Finding {
        let (most, odd) = self.mixed.odd_ones();
        let other = odd.first().and_then(|file| file.version).unwrap_or(most);
        let mut named = Vec::new();
        for file in odd {
            if file.version == Some(other) {
                named.push(file.path.as_path());
            }
        }
        let summary = format!(
            "{} in `{}` {} version {other}, but the rest of cuDNN is {most}",
            names(&named),
            self.dir,
            if named.len() == 1 { "is" } else { "are" }
        );
        let mut help = Self::replace_all(self.all, &self.dir);
        if let Some(command) = &self.reinstall {
            help += &format!(": `{command}`");
        }
        let finding = Finding::error(FindingId::PartsMixed, summary);
        self.mixed.with_files(finding.help(help))
    }

    /// Returns the help that replaces all files of a cuDNN. `all` is the pattern of their names.
    pub fn replace_all(all: &str, dir: &str) -> String {
        format!("remove all `{all}` files from `{dir}` and reinstall cuDNN")
    }
}

impl MixedVersions<'_> {
    /// Adds the version of each file to an error, which becomes a warning unless a convolution uses such a file.
    pub fn with_files(&self, finding: Finding) -> Finding {
        let lines = self.files.iter().filter_map(|file| file.line());
        let mut finding = finding.with_lines("sub-libs", lines);
        if !self.matters() {
            finding.severity = Severity::Warning;
            finding.summary += "; no convolution uses these files";
        }
        if let Some(main_library) = self.preloaded.map(Path::display) {
            let first = format!("remove `{main_library}` from LD_PRELOAD");
            finding.help.insert(0, first);
        }
        finding
    }
}

/// Returns up to three file names, or the number of files.
pub fn names(files: &[&Path]) -> String {
    if files.len() > 3 {
        return format!("{} libraries", files.len());
    }
    let mut names = Vec::new();
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        names.push(format!("`{name}`"));
    }
    listed(&names)
}
