//! The library of this process that loaded another library, if the search path of the program does not explain it.

use crate::runtime::binary::{Elf, contains_word};
use crate::runtime::loader::{LoadOrigin, SearchPath, System, file_name};
use crate::runtime::system::platform;
use std::path::{Path, PathBuf};

/// A limit above the constants of a library that only opens others.
const MOST_CONSTANTS: u64 = 1 << 20;

/// A library that loaded another library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opener {
    pub path: PathBuf,
    /// `true` if LD_PRELOAD names it.
    pub preloaded: bool,
}

/// Returns the library that searches the directory of this file, preferably a library that is linked to the file. A
/// library in LD_PRELOAD also counts if its constants contain the directory. `preloads`: [`System::preloads`].
pub fn find(file: &Path, system: &System, preloads: &[(String, LoadOrigin)]) -> Option<Opener> {
    let dir = file.parent()?;
    let name = file.file_name()?.to_str()?;
    let is_preloaded = |path: &Path| {
        let mut names = preloads.iter();
        names.any(|(name, origin)| *origin == LoadOrigin::Preload && path.ends_with(name))
    };
    let nowhere = SearchPath {
        system: system.clone(),
        ..SearchPath::default()
    };
    let mut found: Option<(Opener, bool)> = None;
    for path in platform::mapped() {
        // cuDNN's own libraries load each other.
        if file_name::parse(&path).is_some() {
            continue;
        }
        let Ok(elf) = Elf::read(&path) else { continue };
        let preloaded = is_preloaded(&path);
        let is_linked = elf.needed().iter().any(|needed| needed == name);
        let searched = nowhere.of_library(&elf, &path).directories;
        let mut searched = searched.iter();
        let searches_dir = searched.any(|place| platform::same_file(&place.dir, dir));
        let has_words = || {
            let dir = dir.as_os_str().as_encoded_bytes();
            let constants = elf.constants(MOST_CONSTANTS).unwrap_or_default();
            contains_word(&constants, dir)
        };
        let known = found.as_ref();
        let is_better = known.is_none_or(|(_, linked)| is_linked && !linked);
        if is_better && (searches_dir || preloaded && (is_linked || has_words())) {
            found = Some((Opener { path, preloaded }, is_linked));
        }
    }
    found.map(|(opener, _)| opener)
}
