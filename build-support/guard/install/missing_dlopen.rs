//! A library that cuDNN opens by name and that does not exist, from its files or from the output of cuDNN.

use crate::runtime::install::dlopen_dependencies::SuspectLibrary;
use crate::runtime::loader::{Refusal, SearchPath, loader_words};
use crate::runtime::system;
use crate::runtime::system::DRIVER_SO;
use std::path::{Path, PathBuf};

/// glibc's message after the name.
const WORDS: &str = ": cannot open shared object file";
/// The driver's library, by the name that only a toolkit or a developer package contains. cuDNN 8 opens it.
pub const PLAIN_DRIVER: &str = "libcuda.so";

/// A library that exists, but that the loader does not find: under a name with a number, or in another wheel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingLink {
    pub existing: PathBuf,
    /// The link by which the loader would find it. `None` if a file with that name is beside the existing file, or is
    /// that file: WSL has both in its own directory, and only one of them is in the loader's cache.
    pub link: Option<PathBuf>,
}

impl MissingLink {
    /// Finds the link for a name that a library opens with this search path. `cuda`: the CUDA major of the cuDNN.
    pub fn find(name: &str, cuda: Option<u32>, search_path: &SearchPath) -> Option<Self> {
        let existing = search_path.program_file(&numbered(name, cuda)?)?;
        Some(Self::to(existing, name, search_path))
    }

    fn to(existing: PathBuf, name: &str, search_path: &SearchPath) -> Self {
        let dir = search_path.directory_for(&existing);
        let place = dir.map(|dir| dir.join(name));
        let mut missing = Self::beside(existing, name);
        missing.link = missing.link.map(|link| place.unwrap_or(link));
        missing
    }

    pub fn beside(existing: PathBuf, name: &str) -> Self {
        let link = Some(existing.with_file_name(name));
        Self {
            link: link.filter(|link| !system::is_file(link)),
            existing,
        }
    }
}

/// A name that was opened, and a file that exists under another name.
pub struct MissingDlopen {
    /// The file of the sub-library that opens it, if it is known.
    pub part: Option<PathBuf>,
    pub name: String,
    pub link: Option<MissingLink>,
}

impl MissingDlopen {
    /// Parses the output of cuDNN. `driver` is the file of the driver that is in use, `cuda` the CUDA major of the
    /// cuDNN.
    pub fn parse_output(
        output: &str,
        driver: Option<&Path>,
        cuda: Option<u32>,
        search_path: &SearchPath,
    ) -> Option<Self> {
        let name = name_in(output)?;
        let own = driver.filter(|file| file.is_absolute() && name == PLAIN_DRIVER);
        let link = match own {
            Some(driver) => Some(MissingLink::to(driver.into(), &name, search_path)),
            None => MissingLink::find(&name, cuda, search_path),
        };
        let part = None;
        Some(Self { part, name, link })
    }

    /// Returns `true` if another fault names the library: a sub-library opens it, or the loader did not find it for a
    /// file that it refused.
    pub fn is_named_by(&self, suspects: &[SuspectLibrary], refused: &[(PathBuf, String)]) -> bool {
        let is_suspect = |suspect: &SuspectLibrary| match suspect {
            SuspectLibrary::Missing(missing, _) => missing.name == self.name,
            _ => false,
        };
        let is_refused = |(path, words): &(PathBuf, String)| {
            let reason = loader_words::refused(path, words).reason;
            matches!(reason, Refusal::MissingLibrary(_, name) if name == self.name)
        };
        suspects.iter().any(is_suspect) || refused.iter().any(is_refused)
    }
}

/// Returns the last name that the loader did not find, except paths and sub-libraries of cuDNN, which are checked
/// elsewhere.
pub fn name_in(output: &str) -> Option<String> {
    let mut found = None;
    let mut rest = output;
    while let Some((before, after)) = rest.split_once(WORDS) {
        let ends: fn(char) -> bool = |c| !c.is_ascii_alphanumeric() && !"._-+/".contains(c);
        let name = before.rsplit(ends).next();
        let is_other = |name: &&str| {
            name.starts_with("lib") && name.contains(".so") && !name.starts_with("libcudnn")
        };
        found = name.filter(is_other).map(str::to_string).or(found);
        rest = after;
    }
    found
}

/// Returns the name with a number under which a library is installed.
fn numbered(name: &str, cuda: Option<u32>) -> Option<String> {
    match (name, cuda) {
        (PLAIN_DRIVER, _) => Some(DRIVER_SO.to_string()),
        ("libcudart.so", Some(11)) => Some("libcudart.so.11.0".to_string()),
        ("libnvrtc.so", Some(11)) => Some("libnvrtc.so.11.2".to_string()),
        (_, Some(cuda)) if name.ends_with(".so") => Some(format!("{name}.{cuda}")),
        _ => None,
    }
}
