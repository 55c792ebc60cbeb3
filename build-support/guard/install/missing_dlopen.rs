//! A library that cuDNN opened by a name under which there is none, as the loader's words tell that it printed.

use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::loader::search_path::SearchPath;
use crate::runtime::system;
use std::path::{Path, PathBuf};

/// glibc's words behind the name.
const WORDS: &str = ": cannot open shared object file";
/// The driver's library, by the name that only a toolkit or a package for developers brings. cuDNN 8 asks for it.
const PLAIN_DRIVER: &str = "libcuda.so";
/// The name that every driver installs.
const DRIVER: &str = "libcuda.so.1";

/// What was asked for, and what there is in place of it.
pub struct MissingDlopen {
    name: String,
    there: Option<PathBuf>,
}

impl MissingDlopen {
    /// Reads what was printed. `driver` is the file of the driver that is in use, `cuda` the major of the cuDNN.
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

    /// What follows a headline.
    pub fn reason(&self) -> String {
        format!("the loader did not find {} for it", self.name)
    }

    /// Whether a finding speaks of it already.
    pub fn is_named_in(&self, finding: &Finding) -> bool {
        let gap: fn(char) -> bool = |c| c.is_whitespace() || c == ',';
        let mut words = finding.summary.split(gap);
        words.any(|word| word == self.name)
    }

    /// A finding of its own, for a cuDNN that went on and refused.
    pub fn finding(&self, said: &str) -> Finding {
        let summary = format!("cuDNN opens {}, which the loader does not find", self.name);
        let finding = Finding::warning(FindingId::CudnnNotLoadable, summary);
        self.with_help(finding.with("it printed", said.trim()))
    }

    /// With what there is, and what the reader can do.
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

/// The last name that the loader is said not to have found; not a path, and not a part of cuDNN itself, which is
/// looked for elsewhere.
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

/// The names with a number under which that library is installed.
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
