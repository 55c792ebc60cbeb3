//! The DLL or function that Windows does not find for a DLL that it refuses. Errors 126 and 127 name the importing DLL,
//! but never the missing one.

use crate::runtime::binary::Image;
use crate::runtime::loader::{Refusal, RefusedLibrary, SearchPath};
use crate::runtime::system::{DRIVER, Library, platform};
use std::path::{Path, PathBuf};

/// A limit above the number of DLLs that any DLL of cuDNN loads, apart from Windows' own.
const MOST: usize = 64;
/// `ERROR_PROC_NOT_FOUND`
const NO_FUNCTION: &str = "(os error 127)";

/// Follows the import tables of this file to a DLL that is missing or does not export a function.
fn missing_import(path: &Path) -> Option<Refusal> {
    let (search_path, system) = (SearchPath::of_program(), platform::system_folders());
    let mut files = vec![path.to_path_buf()];
    let mut next = 0;
    while let Some(by) = files.get(next).cloned() {
        next += 1;
        let Ok(dll) = Image::open(&by) else { continue };
        let imports = dll.named_imports();
        for name in dll.needs() {
            let Some(file) = file(&name, path, &search_path) else {
                // Windows has no files behind these names.
                if name.to_ascii_lowercase().starts_with("api-ms-") {
                    continue;
                }
                return Some(Refusal::MissingLibrary(by, name));
            };
            let is_of_windows = system.iter().any(|folder| file.starts_with(folder));
            if is_of_windows || files.contains(&file) || files.len() == MOST {
                continue;
            }
            let required = imports.iter().filter(|(from, _)| *from == name);
            let required = required.map(|(_, function)| function.as_slice());
            let missing = Image::open(&file).ok()?.missing_symbols(required);
            if let Some(function) = missing.into_iter().next() {
                return Some(Refusal::OtherBuild(by, name, Some((file, function))));
            }
            files.push(file);
        }
    }
    None
}

/// Returns the fault of a complete DLL that Windows refuses.
pub fn refused<'a>(path: &Path, words: &'a str) -> RefusedLibrary<'a> {
    // Error 126 is about a missing file, 127 about a missing function.
    let is_reported = |missing: &Refusal| {
        matches!(missing, Refusal::OtherBuild(..)) == words.contains(NO_FUNCTION)
    };
    let missing = missing_import(path).filter(is_reported);
    let reason = missing.unwrap_or_else(|| Refusal::Unknown(path.into()));
    RefusedLibrary::new(words, reason)
}

/// Returns `true` if Windows refuses a DLL because the driver's DLL is missing.
pub fn requires_driver(path: &Path, _words: &str) -> bool {
    match missing_import(path) {
        Some(Refusal::MissingLibrary(_, name) | Refusal::OtherBuild(_, name, _)) => {
            name.eq_ignore_ascii_case(DRIVER)
        }
        _ => false,
    }
}

/// Returns the file that Windows uses for an imported DLL: one in the process, or else beside the first DLL, or else on
/// the search path.
fn file(name: &str, first: &Path, search_path: &SearchPath) -> Option<PathBuf> {
    let loaded = Library::loaded(name).and_then(|library| library.path());
    let beside = first.with_file_name(name);
    loaded
        .or_else(|| Some(beside).filter(|file| file.is_file()))
        .or_else(|| search_path.program_file(name))
}
