//! A library that cuDNN opened by name and that does not exist, from the loader's message that cuDNN printed.

use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::loader::search_path::SearchPath;
use crate::runtime::system;
use std::path::{Path, PathBuf};

/// glibc's words after the name.
const WORDS: &str = ": cannot open shared object file";
/// The driver's library, by the name that only a toolkit or a developer package contains. cuDNN 8 opens it.
const PLAIN_DRIVER: &str = "libcuda.so";
/// The name that every driver installs.
const DRIVER: &str = "libcuda.so.1";

/// The name that was opened, and the file that exists in place of it.
pub struct MissingDlopen {
    name: String,
    there: Option<PathBuf>,
}

impl MissingDlopen {
    /// Reads the printed text. `driver` is the file of the driver that is in use, `cuda` the major of the cuDNN.
    pub fn parse_output(
        said: &str,
        driver: Option<&Path>,
        cuda: Option<u32>,
        search_path: &SearchPath,
    ) -> Option<Self> {
        let name = name_in(said)?;
        let own = driver.filter(|file| file.is_absolute() && name == PLAIN_DRIVER);
        let there = own.map(Path::to_path_buf).or_else(|| {
            let others = numbered(&name, cuda);
            others
                .iter()
                .find_map(|other| search_path.program_file(other))
        });
        Some(Self { name, there })
    }

    /// Returns the clause that follows a headline.
    pub fn reason(&self) -> String {
        format!("the loader did not find {} for it", self.name)
    }

    /// Returns `true` if a finding names it already.
    pub fn is_named_in(&self, finding: &Finding) -> bool {
        let gap: fn(char) -> bool = |c| c.is_whitespace() || c == ',';
        let mut words = finding.summary.split(gap);
        words.any(|word| word == self.name)
    }

    /// Returns a finding of its own, for a cuDNN that continued and then failed.
    pub fn finding(&self, said: &str) -> Finding {
        let summary = format!("cuDNN opens {}, which the loader does not find", self.name);
        let finding = Finding::warning(FindingId::CudnnNotLoadable, summary);
        self.with_help(finding.with("it printed", said.trim()))
    }

    /// Adds the file that exists and the help.
    pub fn with_help(&self, finding: Finding) -> Finding {
        let name = &self.name;
        let Some(there) = &self.there else {
            return finding.help(if name == PLAIN_DRIVER {
                format!(
                    "make `{name}` a link to the driver's {DRIVER}, in a directory of LD_LIBRARY_PATH, and never to the toolkit's stub"
                )
            } else {
                format!("install {name}, or put its directory into LD_LIBRARY_PATH")
            });
        };
        let finding = finding.with("there is", there.display());
        let folder = there.parent().unwrap_or(there);
        // WSL has both names in a directory of its own, and only one of them in the loader's cache.
        if system::is_file(&folder.join(name)) {
            return finding.help(format!("put `{}` into LD_LIBRARY_PATH", folder.display()));
        }
        let finding = finding.help(format!(
            "make a link of that name in a directory of LD_LIBRARY_PATH: `ln -s {} DIRECTORY/{}`",
            there.display(),
            name
        ));
        if name == PLAIN_DRIVER {
            finding
                .help("and do not take the toolkit's `stubs` for it, which are for linking alone")
        } else {
            finding
        }
    }
}

/// Returns the last name that the loader did not find: no path, and no sub-library of cuDNN, which is checked
/// elsewhere.
pub fn name_in(said: &str) -> Option<String> {
    let mut found = None;
    let mut rest = said;
    while let Some((before, after)) = rest.split_once(WORDS) {
        let ends: fn(char) -> bool = |c| !c.is_ascii_alphanumeric() && !"._-+/".contains(c);
        let name = before.rsplit(ends).next();
        let fits = |name: &&str| {
            name.starts_with("lib") && name.contains(".so") && !name.starts_with("libcudnn")
        };
        found = name.filter(fits).map(str::to_string).or(found);
        rest = after;
    }
    found
}

/// Returns the names with a number under which a library is installed.
fn numbered(name: &str, cuda: Option<u32>) -> Vec<String> {
    let with = |number: String| format!("{name}.{number}");
    match (name, cuda) {
        (PLAIN_DRIVER, _) => vec![DRIVER.to_string()],
        ("libcudart.so", Some(11)) => vec![with("11.0".to_string())],
        ("libnvrtc.so", Some(11)) => vec![with("11.2".to_string())],
        (_, Some(cuda)) if name.ends_with(".so") => vec![with(cuda.to_string())],
        _ => Vec::new(),
    }
}
