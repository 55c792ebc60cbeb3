//! A file that is read piece by piece and within bounds: libraries are hundreds of megabytes, and a damaged one may
//! claim any size.

use crate::runtime::binary::defect::Defect;
use std::cell::{OnceCell, RefCell};
use std::fs::File;
use std::io::{self, BufRead, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The most that is read at once.
const MOST: u64 = 128 << 20;
/// A longer name than this is not read.
const LONGEST_NAME: u64 = 4096;
/// Small pieces are cut out of blocks of this size, and so many blocks are kept.
const BLOCK: u64 = 1 << 14;
const MOST_BLOCKS: usize = 1024;

/// An open file.
pub struct BoundedFile {
    file: File,
    length: u64,
    /// Each with where it begins, in that order.
    blocks: RefCell<Vec<(u64, Vec<u8>)>>,
    /// The system's words for the first read that failed.
    failure: OnceCell<String>,
}

impl BoundedFile {
    /// Opens a file.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        Ok(Self {
            length: file.metadata()?.len(),
            file,
            blocks: RefCell::default(),
            failure: OnceCell::new(),
        })
    }

    /// That a read of it has failed, if one has: what it does not seem to hold may be in it all the same.
    pub fn failure(&self) -> Option<Defect> {
        self.failure.get().cloned().map(Defect::Unreadable)
    }

    /// Its size.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// So many bytes from here on, if there are as many and they are no more than anything needs.
    pub fn read(&self, offset: u64, size: u64) -> Option<Vec<u8>> {
        if size > MOST || offset.checked_add(size)? > self.length {
            return None;
        }
        let mut file = &self.file;
        let mut bytes = vec![0; size as usize];
        let sought = file.seek(SeekFrom::Start(offset));
        if let Err(error) = sought.and_then(|_| file.read_exact(&mut bytes)) {
            let _ = self.failure.set(error.to_string());
            return None;
        }
        Some(bytes)
    }

    /// Reads an entry of a table. Its neighbors are likely to be read too, and are kept.
    pub fn entry(&self, offset: u64, size: u64) -> Option<Vec<u8>> {
        if size > BLOCK {
            return self.read(offset, size);
        }
        let end = offset.checked_add(size).filter(|end| *end <= self.length)?;
        let mut bytes = Vec::new();
        let mut at = offset;
        while at < end {
            let block = at / BLOCK * BLOCK;
            let stop = end.min(block + BLOCK);
            // Never held twice; a panic would put this file's path into the program.
            let mut blocks = self.blocks.try_borrow_mut().ok()?;
            let place = match blocks.binary_search_by_key(&block, |held| held.0) {
                Ok(place) => place,
                Err(place) => {
                    let bytes = self.read(block, BLOCK.min(self.length - block))?;
                    if blocks.len() >= MOST_BLOCKS {
                        blocks.clear();
                    }
                    let place = place.min(blocks.len());
                    blocks.insert(place, (block, bytes));
                    place
                }
            };
            let (_, held) = blocks.get(place)?;
            bytes.extend_from_slice(held.get((at - block) as usize..(stop - block) as usize)?);
            at = stop;
        }
        Some(bytes)
    }

    /// The text from here on up to its NUL, which has to come within `most` bytes and within those that a name has.
    pub fn text(&self, offset: u64, most: u64) -> Option<Vec<u8>> {
        let left = self.length.checked_sub(offset)?;
        let most = left.min(most).min(LONGEST_NAME);
        // Nearly all names are short.
        for size in [most.min(128), most] {
            let mut bytes = self.entry(offset, size)?;
            // It comes compiled with optimisation; a loop over bytes in a build script does not.
            let length = bytes.as_slice().skip_until(0).ok()?;
            bytes.truncate(length);
            if bytes.pop() == Some(0) {
                return Some(bytes);
            }
            if size == most {
                break;
            }
        }
        None
    }
}

/// What lies in a folder; nothing where it cannot be read.
pub fn files_in(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    if let Ok(entries) = std::fs::read_dir(folder) {
        for entry in entries.flatten() {
            files.push(entry.path());
        }
    }
    files
}
