//! The compression library that cuDNN 8 for Windows opens but does not contain.

use crate::runtime::binary::Image;
use crate::runtime::binary::defect::Defect;
use crate::runtime::facts::sub_libraries::{ZLIB, opens_zlib};
use crate::runtime::facts::version::Version;
use crate::runtime::loader::search_path::SearchPath;
use crate::runtime::system::platform::Library;
use std::path::{Path, PathBuf};

/// A cuDNN that does not find the library, or only one for another CPU. Not every program needs it.
pub enum MissingZlib<'a> {
    OtherCpu(PathBuf, &'static str),
    /// Windows does not find it: the directory of the cuDNN, and the places that are searched.
    NotFound(&'a Path, Vec<String>),
}

impl<'a> MissingZlib<'a> {
    /// Finds the fault of a cuDNN of this version in this directory.
    pub fn find(release: Version, folder: &'a Path, search_path: &SearchPath) -> Option<Self> {
        if !opens_zlib(release) || Library::loaded(ZLIB).is_some() {
            return None;
        }
        let beside = Some(folder.join(ZLIB)).filter(|file| file.is_file());
        match search_path.program_file(ZLIB).or(beside) {
            Some(file) => match Image::open(&file) {
                Err(Defect::Cpu(cpu)) => Some(Self::OtherCpu(file, cpu)),
                _ => None,
            },
            None => Some(Self::NotFound(folder, search_path.looked_at())),
        }
    }
}
