//! What Windows does not find for a DLL that it refuses: error 126 and 127 name the one that asks, never the one that is
//! missing.

use crate::runtime::binary::Image;
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::loader::search_path::SearchPath;
use crate::runtime::system::names::DRIVER;
use crate::runtime::system::platform::{self, Library};
use std::path::{Path, PathBuf};

/// More DLLs than any of cuDNN's leads to, Windows' own aside.
const MOST: usize = 64;
/// `ERROR_PROC_NOT_FOUND`
const NO_FUNCTION: &str = "(os error 127)";

/// A DLL that is nowhere, or lacks what another one takes from it.
#[derive(Debug, PartialEq, Eq)]
pub struct MissingImport {
    /// The file that asks.
    pub by: PathBuf,
    /// The name that it asks for.
    pub name: String,
    /// The function that this file lacks; none where there is no such file.
    pub function: Option<(PathBuf, String)>,
}

impl MissingImport {
    /// Follows the import tables from this file on.
    pub fn find(path: &Path, search_path: &SearchPath) -> Option<Self> {
        let mut files = vec![path.to_path_buf()];
        let mut next = 0;
        while let Some(by) = files.get(next).cloned() {
            next += 1;
            let Ok(dll) = Image::open(&by) else { continue };
            let taken = dll.named_imports();
            for name in dll.needs() {
                let missing = |function| Self {
                    by: by.clone(),
                    name: name.clone(),
                    function,
                };
                let Some(file) = file(&name, path, search_path) else {
                    // Windows has no files behind these names.
                    if name.to_ascii_lowercase().starts_with("api-ms-") {
                        continue;
                    }
                    return Some(missing(None));
                };
                if is_windows(&file) || files.contains(&file) || files.len() == MOST {
                    continue;
                }
                let of = taken.iter().filter(|(from, _)| *from == name);
                let wanted = of.map(|(_, function)| function.as_slice());
                let lacks = Image::open(&file).ok()?.missing_symbols(wanted);
                if let Some(function) = lacks.into_iter().next() {
                    return Some(missing(Some((file, function))));
                }
                files.push(file);
            }
        }
        None
    }

    /// Returns the finding for a DLL that cannot be loaded without it.
    pub fn finding(&self, words: &str) -> Finding {
        let id = FindingId::CudnnNotLoadable;
        let by = self.by.display();
        let Some((file, function)) = &self.function else {
            let summary = format!("`{}` needs {}, which Windows does not find", by, self.name);
            return Finding::error(id, summary)
                .with("loader", words)
                .help(format!(
                    "install {}, or put its directory into PATH",
                    self.name
                ));
        };
        let summary = format!(
            "`{}` does not fit the {} that Windows finds for it",
            by, self.name
        );
        Finding::error(id, summary)
            .with("loader", words)
            .with("it lacks", function)
            .with("there is", file.display())
            .help(format!(
                "take directories with another {} out of PATH, or install both libraries of one release",
                self.name
            ))
    }
}

/// Returns the finding for a complete DLL that Windows refuses.
pub fn finding(path: &Path, words: &str) -> Finding {
    let missing = MissingImport::find(path, &SearchPath::of_program());
    // Error 126 is of a file, 127 of a function.
    let is_told =
        |missing: &MissingImport| missing.function.is_some() == words.contains(NO_FUNCTION);
    match missing.filter(is_told) {
        Some(missing) => missing.finding(words),
        None => Finding::error(
            FindingId::CudnnNotLoadable,
            format!("`{}` cannot be loaded", path.display()),
        )
        .with("loader", words)
        .help("install that cuDNN again"),
    }
}

/// Returns `true` if Windows refuses a DLL because the driver's is missing.
pub fn wants_driver(path: &Path, _words: &str) -> bool {
    let missing = MissingImport::find(path, &SearchPath::of_program());
    missing.is_some_and(|missing| missing.name.eq_ignore_ascii_case(DRIVER))
}

/// The file that Windows takes for what a DLL imports: what is in the process, then what lies beside the first one.
fn file(name: &str, first: &Path, search_path: &SearchPath) -> Option<PathBuf> {
    let loaded = Library::loaded(name).and_then(|library| library.path());
    let beside = first.with_file_name(name);
    loaded
        .or_else(|| Some(beside).filter(|file| file.is_file()))
        .or_else(|| search_path.program_file(name))
}

fn is_windows(file: &Path) -> bool {
    let folders = platform::system_folders();
    folders.iter().any(|folder| file.starts_with(folder))
}
