//! Device code that an earlier build wrote and that this build script does not ask for. An `include_bytes!` of it would
//! go on building until the next clean, with a kernel whose source is gone.

#[cfg(all(test, unix))]
pub mod tests;

use crate::system::{files, out_dir};
use crate::toolkit::nvcc_command::Product;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What the build script has asked for so far, in each output directory: one toolchain must not remove what another one
/// made.
static ASKED: Mutex<BTreeMap<PathBuf, Asked>> = Mutex::new(BTreeMap::new());

#[derive(Debug, Default)]
struct Asked {
    files: BTreeSet<PathBuf>,
    /// A build script may have stopped there, before it asked for the rest.
    failed: bool,
}

/// They are removed when the toolchain goes: then the build script has asked for everything.
#[derive(Debug, Default)]
pub struct Leftovers(RefCell<Option<PathBuf>>);

impl Leftovers {
    /// Notes what a call asks for.
    pub fn ask(&self, out_dir: &Path, files: impl IntoIterator<Item = PathBuf>) {
        *self.0.borrow_mut() = Some(out_dir.to_path_buf());
        let mut asked = asked();
        let asked = asked.entry(out_dir.to_path_buf()).or_default();
        asked.files.extend(files);
    }

    /// Notes that a call has failed.
    pub fn fail(&self, out_dir: &Path) {
        asked().entry(out_dir.to_path_buf()).or_default().failed = true;
    }
}

impl Drop for Leftovers {
    fn drop(&mut self) {
        let Some(out_dir) = self.0.take() else {
            return;
        };
        let asked = asked();
        let whole = asked.get(&out_dir).filter(|asked| !asked.failed);
        if let (Some(asked), false) = (whole, std::thread::panicking()) {
            remove(&out_dir, &asked.files);
        }
    }
}

fn asked() -> MutexGuard<'static, BTreeMap<PathBuf, Asked>> {
    ASKED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Only what a stamp names is ours.
fn remove(out_dir: &Path, asked: &BTreeSet<PathBuf>) {
    for kind in [Product::Ptx, Product::Fatbin, Product::Cubin].map(Product::extension) {
        let folder = out_dir.join("cudnn-guard").join(kind);
        for stamp in files::list(&folder).unwrap_or_default() {
            let name = stamp.file_name().unwrap_or_default().to_string_lossy();
            let Some(name) = name.strip_suffix(".stamp") else {
                continue;
            };
            let output = out_dir.join(format!("{name}.{kind}"));
            if asked.contains(&output) {
                continue;
            }
            // What was written after its stamp somebody else has put there.
            if !out_dir::is_newer(&output, &stamp) {
                out_dir::remove(&output);
            }
            out_dir::remove(&folder.join(format!("{name}.d")));
            out_dir::remove(&stamp);
        }
    }
}
