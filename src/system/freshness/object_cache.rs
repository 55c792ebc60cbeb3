//! A cache of compiled kernels, for `cargo clean`, a second target directory, and CI.
//!
//! Each file in the directory `objects` is an output with the hashes of the files that were read for it: see
//! [`Artifact::save`](crate::system::Artifact::save). Its name is a hash of everything else that determines the output.

use crate::model::{Environment, Os, Variable};
use crate::runtime::facts::fetch_dir::user_dir;
use crate::system::freshness::stat_cache;
use crate::system::{files, out_dir};
use std::path::{Path, PathBuf};

/// The size of the directory, in bytes. The files that were not used for the longest time are removed first.
const LIMIT: u64 = 5 << 30;

/// The directory of the cache.
pub struct ObjectCache(PathBuf);

impl ObjectCache {
    /// Opens the cache in `CUDNN_GUARD_CACHE`, or else in the user's cache directory. Returns `None` if it is off, or if it
    /// belongs to another user or everyone can write to it: a file there would become a part of this program.
    pub fn open(env: &Environment, builder: Os) -> Option<Self> {
        let out_dir = Path::new(env.os_var("OUT_DIR")?);
        let is_windows = builder == Os::Windows;
        let variable = |name: &str| env.os_var(name).map(Into::into);
        let dir = match env.path(Variable::GuardCache) {
            Some(_) if env.get(Variable::GuardCache)? == "off" => return None,
            Some(dir) => dir,
            // On Windows, `cudnn-guard` belongs to `fetch`, which accepts no other files there.
            None if is_windows => {
                user_dir("", "", true, &variable)?.with_file_name("cudnn-guard-cache")
            }
            None => user_dir("XDG_CACHE_HOME", ".cache", false, &variable)?,
        };
        let dir = dir.join("objects");
        out_dir::create_dir(&dir).ok()?;
        is_private(&dir, out_dir).then_some(Self(dir))
    }

    /// Returns the file for an output with this description.
    pub fn entry(&self, how: &str) -> PathBuf {
        self.0.join(stat_cache::hash(how.as_bytes()))
    }

    /// Removes old files above the limit.
    pub fn trim(&self) {
        let mut entries = Vec::new();
        for path in files::list(&self.0).unwrap_or_default() {
            if let Ok(data) = std::fs::metadata(&path) {
                entries.push((data.modified().ok(), data.len(), path));
            }
        }
        entries.sort();
        let mut size = 0;
        for (_, bytes, path) in entries.iter().rev() {
            size += bytes;
            if size > LIMIT {
                out_dir::remove(path);
            }
        }
    }
}

/// Returns `true` if only the owner of OUT_DIR can write to the directory.
#[cfg(unix)]
fn is_private(dir: &Path, out_dir: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let (Ok(dir), Ok(own)) = (std::fs::metadata(dir), std::fs::metadata(out_dir)) else {
        return false;
    };
    dir.uid() == own.uid() && dir.mode() & 0o002 == 0
}

#[cfg(not(unix))]
fn is_private(_: &Path, _: &Path) -> bool {
    true
}
