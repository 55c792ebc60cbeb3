//! A file that the loader finds and refuses, or will refuse.

use crate::runtime::binary::{Defect, Image};
use crate::runtime::facts::Finding;
use crate::runtime::install::UnusableFile;
use crate::runtime::loader::{SearchPath, loader_words, refused_library};
use std::path::Path;

/// Returns the finding about a file that the program would open, if opening it could kill or block the process.
pub fn unsafe_file(path: &Path, defect: &Defect, search_path: &SearchPath) -> Option<Finding> {
    defect.is_unsafe().then(|| {
        let evidence = vec![("found via", search_path.origin_of(path).to_string())];
        UnusableFile::new(path, defect, evidence).finding()
    })
}

/// Returns the finding for the loader's message about a file. The message begins with the file that it did not find.
pub fn finding(path: &Path, message: &str) -> Finding {
    let named = message.split(": ").next().unwrap_or(message);
    if let Some(failure) = refused_library::find(message, &|_| None) {
        return failure.finding();
    }
    let words = vec![("loader", message.to_string())];
    let file = Path::new(named);
    let file = if file.is_absolute() { file } else { path };
    if let Some(reason) = refused_library::unread(message) {
        let defect = Defect::Unreadable(reason.into());
        let fault = UnusableFile::new(file, &defect, words);
        return fault.needed_if(true).finding();
    }
    match Image::open(file) {
        // A file that does not exist proves nothing.
        Err(defect) if !matches!(defect, Defect::Unreadable(_)) => {
            UnusableFile::new(file, &defect, words).finding()
        }
        _ => loader_words::refused(path, message).finding(),
    }
}
