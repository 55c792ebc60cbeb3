//! `cudnn-guard fetch --remove`: takes away what `fetch` put into a folder, and nothing else.

use crate::fetch::claims::{self, is_ours};
use crate::fetch::component::Component;
use crate::fetch::installed::failed;
use crate::fetch::lock::{self, Lock};
use crate::fetch::replacement::{leftovers, remove_leftovers};
use crate::fetch::wheels;
use crate::terminal::show;
use cudnn_guard::{Finding, FindingId};
use std::path::Path;
use std::{fs, io};

/// Removes both components and says so. What stops this half-way leaves its folders claimed: the next one goes on.
pub fn remove(home: &Path) -> Result<(), Finding> {
    let lock = Lock::take_existing(home);
    let mut is_there = false;
    if lock.is_some() {
        for left in leftovers(home) {
            is_there = true;
            let size = size_of(&left).map_err(|error| failed("read", &left, &error))?;
            show(format!(
                "  ✓ removed      what a stopped fetch left, {} MB\n",
                size.div_ceil(1_000_000)
            ));
        }
        remove_leftovers(home);
    }
    for any in Component::both().into_iter().rev() {
        let every = any.every();
        let claimed = every.iter().flat_map(|one| &one.folders);
        if !claimed.clone().any(|folder| is_ours(home, folder)) {
            continue;
        }
        is_there = true;
        let release = every.iter().find_map(|one| one.release(home));
        let release = release.map_or(String::new(), |release| format!(" {release}"));
        let size = remove_one(home, &every).map_err(|error| failed("empty", home, &error))?;
        show(format!("  ✓ removed      {}{release}, {size}\n", any.title));
    }
    if !is_there {
        let summary = format!("cudnn-guard has put nothing into `{}`", home.display());
        return Err(Finding::error(FindingId::FetchFailed, summary)
            .help("name the folder that was fetched into with `--to DIR`"));
    }
    let _ = fs::remove_file(home.join(claims::FILE));
    drop(lock);
    let _ = fs::remove_file(home.join(lock::FILE));
    // A folder with something of somebody else's in it stays.
    let _ = fs::remove_dir(home.join("nvidia"));
    let _ = fs::remove_dir(home);
    let config = fs::read_to_string(".cargo/config.toml");
    if config.is_ok_and(|text| text.contains("CUDNN_GUARD_HOME")) {
        show("  – .cargo/config.toml here still sets CUDNN_GUARD_HOME: take its lines out\n");
    }
    Ok(())
}

/// The folders that are claimed, whichever CUDA they are of, what is linked to them, and the records, which go last. The
/// answer is how large that was.
fn remove_one(home: &Path, every: &[Component]) -> io::Result<String> {
    let mut size = 0;
    wheels::remove_neighbours(home)?;
    for folder in every.iter().flat_map(|one| &one.folders) {
        let path = home.join(folder);
        if is_ours(home, folder) && path.exists() {
            size += size_of(&path)?;
            fs::remove_dir_all(path)?;
        }
    }
    // Those for another CUDA may be somebody else's.
    let is_claimed = |one: &&Component| one.folders.iter().all(|folder| is_ours(home, folder));
    let ours = every.iter().filter(is_claimed);
    for wheel in ours.flat_map(|one| one.wheels(home)).flatten() {
        size += size_of(&wheel.info)?;
        fs::remove_dir_all(wheel.info)?;
    }
    // As pip and uv count.
    Ok(format!("{} MB", size.div_ceil(1_000_000)))
}

/// The bytes of the files below a folder. A link counts nothing.
fn size_of(folder: &Path) -> io::Result<u64> {
    let mut size = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        size += match metadata.is_dir() {
            true => size_of(&entry.path())?,
            false if metadata.is_file() => metadata.len(),
            false => 0,
        };
    }
    Ok(size)
}
