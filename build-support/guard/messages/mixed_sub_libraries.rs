//! Sub-libraries that are missing or of different versions.

use crate::runtime::facts::finding::{after_space, listed};
use crate::runtime::facts::{Finding, FindingId, Severity};
use crate::runtime::install::installed::MissingSubLibraries;
use crate::runtime::install::mixed_folder::{MixedFolder, MixedVersions};
use std::path::Path;

impl MissingSubLibraries<'_> {
    /// Returns the finding, only a warning if it is uncertain. The convolutions show if files are missing.
    pub fn finding(&self) -> Finding {
        let here = self.folder.display().to_string();
        let version = after_space(self.release);
        let mut files = Vec::new();
        for file in self.files {
            files.push(Path::new(file));
        }
        let summary = format!(
            "cuDNN{version} at `{here}` is missing {}, which {}",
            names(&files),
            if self.is_declared {
                "this program needs"
            } else {
                "convolutions need"
            }
        );
        let help = match (self.bundled, &self.reinstall) {
            (Some(major), _) => {
                format!("install cuDNN {major}, and add its directory to LD_LIBRARY_PATH")
            }
            _ if self.jit_only => {
                "replace it with a complete cuDNN: this one only compiles graphs at run time"
                    .to_string()
            }
            (None, Some(command)) => format!("reinstall the package: `{command}`"),
            (None, None) => format!(
                "reinstall cuDNN{version} in `{here}`: the main library opens the others from there"
            ),
        };
        let missing = Some(self.files).filter(|files| files.len() > MOST_NAMES);
        let mut searched = Vec::new();
        for place in &self.looked_at {
            if searched.is_empty() {
                searched.push(&here);
            }
            if *place != here {
                searched.push(place);
            }
        }
        FindingId::PartsMissing
            .error_if(!self.is_uncertain, summary)
            .with_lines("missing", missing.unwrap_or_default())
            .with_lines("searched", &searched[..])
            .help(help)
    }
}

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
        let mut help = Self::replace_all(self.is_dll, &self.dir);
        if let Some(command) = &self.reinstall {
            help += &format!(": `{command}`");
        }
        let finding = FindingId::PartsMixed.error(summary);
        self.mixed.with_files(finding.help(help))
    }

    /// Returns the help that replaces all files of a cuDNN.
    pub fn replace_all(is_dll: bool, dir: &str) -> String {
        let all = if is_dll { "cudnn*.dll" } else { "libcudnn*" };
        format!("remove all `{all}` files from `{dir}` and reinstall cuDNN")
    }
}

impl MixedVersions<'_> {
    /// Adds the version of each file to an error, which becomes a warning unless a convolution uses such a file.
    pub fn with_files(&self, finding: Finding) -> Finding {
        let mut lines = Vec::new();
        for file in &self.files {
            lines.extend(file.line());
        }
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

/// The largest number of files that a headline names.
const MOST_NAMES: usize = 3;

/// Returns the file names, or the number of files if there are many.
pub fn names(files: &[&Path]) -> String {
    if files.len() > MOST_NAMES {
        return format!("{} libraries", files.len());
    }
    let mut names = Vec::new();
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        names.push(format!("`{name}`"));
    }
    listed(&names)
}
