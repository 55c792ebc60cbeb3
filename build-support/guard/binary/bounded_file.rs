//! A file reader with size limits: libraries are hundreds of megabytes long, and a damaged library may claim any size.

use crate::runtime::binary::defect::{Defect, target};
use crate::runtime::system::{self, path_cache, platform};
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The largest number of bytes to read at once.
const MOST: u64 = 128 << 20;
const LONGEST_NAME: u64 = 4096;
/// More entries than any directory of libraries or packages has.
const MOST_ENTRIES: usize = 1 << 16;
/// The size of the blocks that small reads go through, and the largest number of cached blocks.
const BLOCK: u64 = 1 << 12;
const MOST_BLOCKS: usize = 1024;

pub struct BoundedFile {
    file: File,
    length: u64,
    /// The blocks with their offsets, sorted by offset.
    blocks: RefCell<Vec<(u64, Vec<u8>)>>,
    /// The system's message about the first read that failed.
    failure: OnceCell<String>,
}

impl BoundedFile {
    pub fn open(path: &Path) -> io::Result<Self> {
        // Opening a pipe would wait for a writer.
        if !system::metadata(path)?.is_file() {
            return Err(io::Error::other("not a regular file"));
        }
        let file = File::open(path)?;
        Ok(Self {
            length: file.metadata()?.len(),
            file,
            blocks: RefCell::default(),
            failure: OnceCell::new(),
        })
    }

    /// Opens a library, which stays open during a check unless the process is close to its limit on open files.
    pub fn open_library(path: &Path) -> io::Result<Rc<Self>> {
        let real = target(path, None).unwrap_or_else(|| path.to_path_buf());
        let open = |path: &Path| Self::open(path).map(Rc::new);
        // Only the number of an error is kept.
        let library = path_cache::call("open", &real, open).or_else(|_| open(&real))?;
        if !platform::can_stay_open(&library.file) {
            path_cache::forget();
        }
        Ok(library)
    }

    /// Returns the first read error. After an error, data that was not found may still be in the file.
    pub fn failure(&self) -> Option<Defect> {
        self.failure.get().cloned().map(Defect::Unreadable)
    }

    pub fn length(&self) -> u64 {
        self.length
    }

    /// Reads `size` bytes. Returns `None` if the file has fewer, or if the range exceeds the limits.
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

    /// Reads an entry of a table. Its block is cached, since the neighboring entries are usually read too.
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
            // Never borrowed twice. `borrow_mut` could panic, and a panic would put this file's path into the program.
            let mut blocks = self.blocks.try_borrow_mut().ok()?;
            let place = match blocks.binary_search_by_key(&block, |cached| cached.0) {
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
            let (_, cached) = blocks.get(place)?;
            bytes.extend_from_slice(cached.get((at - block) as usize..(stop - block) as usize)?);
            at = stop;
        }
        Some(bytes)
    }

    /// Reads a string up to its NUL, which must be within `most` bytes and within the limit on names.
    pub fn text(&self, offset: u64, most: u64) -> Option<Vec<u8>> {
        let left = self.length.checked_sub(offset)?;
        let most = left.min(most).min(LONGEST_NAME);
        // Nearly all names are short.
        for size in [most.min(128), most] {
            let mut bytes = self.entry(offset, size)?;
            // `skip_until` is optimized even in debug builds, unlike a loop over bytes.
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

/// Returns the first 65,536 paths in a directory, sorted; empty if it cannot be read.
pub fn files_in(dir: &Path) -> Vec<PathBuf> {
    path_cache::once("files", dir, || files_named(dir, ""))
}

/// Like [`files_in`], but only the paths whose file name begins with `start`.
pub fn files_named(dir: &Path, start: &str) -> Vec<PathBuf> {
    // Names are compared faster than paths.
    let mut names = BTreeSet::new();
    if let Ok(entries) = std::fs::read_dir(dir) {
        for entry in entries.flatten().take(MOST_ENTRIES) {
            let name = entry.file_name();
            if name.as_encoded_bytes().starts_with(start.as_bytes()) {
                names.insert(name);
            }
        }
    }
    names.iter().map(|name| dir.join(name)).collect()
}
