//! The library of this process that brought another one in, where no search path of the program leads to it.

use crate::runtime::binary::elf::Elf;
use crate::runtime::loader::file_name;
use crate::runtime::system::platform;
use std::path::{Path, PathBuf};

/// More constants than a library has that is there to open others.
const MOST_CONSTANTS: u64 = 1 << 20;

/// A library that brought another one in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opener {
    /// Its file.
    pub path: PathBuf,
    /// `true` if LD_PRELOAD names it.
    pub preloaded: bool,
}

/// Whoever has the folder of this file as a search path, first of all one that is linked to it; of those that LD_PRELOAD
/// names, also one that has the folder among its words.
pub fn find(file: &Path) -> Option<Opener> {
    let folder = file.parent()?;
    let name = file.file_name()?.to_str()?;
    let preload = platform::first_environment("LD_PRELOAD").unwrap_or_default();
    let preload = preload.to_string_lossy();
    let is_preloaded = |path: &Path| {
        for name in preload.split([':', ' ']) {
            if Path::new(name) == path || path.file_name() == Some(name.as_ref()) {
                return true;
            }
        }
        false
    };
    let mut found: Option<(Opener, bool)> = None;
    for path in platform::mapped() {
        // cuDNN's own libraries lead to each other.
        let Some(elf) = Elf::read(&path)
            .ok()
            .filter(|_| file_name::parse(&path).is_none())
        else {
            continue;
        };
        let preloaded = is_preloaded(&path);
        let is_linked = elf.needed().iter().any(|needed| needed == name);
        let mut folders = elf.folders(&path).into_iter();
        let leads = folders.any(|one| platform::same_file(&one, folder));
        let has_words = || {
            let folder = folder.as_os_str().as_encoded_bytes();
            elf.constants(MOST_CONSTANTS).is_some_and(|bytes| {
                bytes
                    .windows(folder.len().max(1))
                    .any(|words| words == folder)
            })
        };
        let is_better = found
            .as_ref()
            .is_none_or(|(_, linked)| is_linked && !linked);
        if is_better && (leads || preloaded && (is_linked || has_words())) {
            found = Some((Opener { path, preloaded }, is_linked));
        }
    }
    found.map(|(opener, _)| opener)
}
