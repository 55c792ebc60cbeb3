//! `cudnn-guard fetch --remove`: removes the files of `fetch` from a directory.

use crate::cli::fetch::fault::{FetchFault, failed};
use crate::cli::fetch::home::{clean_up, is_claimed, is_ours, leftovers};
use crate::cli::fetch::{links, lock};
use crate::cli::terminal::{show, show_step};
use crate::model::kind::Kind;
use crate::system::files;
use crate::toolkit::package_names::FETCH_CLAIMS;
use glob::Pattern;
use std::fs::{self, Metadata};
use std::io;
use std::path::Path;

/// Removes both components. After an interruption their directories stay claimed, and the next call continues.
pub fn remove(home: &Path) -> Result<(), FetchFault> {
    let lock = lock::take_existing(home);
    let mut found = false;
    if lock.is_some() {
        for left in leftovers(home) {
            found = true;
            show_removed("files of an interrupted fetch", size_of(&left));
            clean_up(home, &left);
        }
    }
    for kind in Kind::BOTH.into_iter().rev() {
        if !kind.dirs().iter().any(|dir| is_ours(home, dir)) {
            continue;
        }
        found = true;
        let release = kind.every().iter().find_map(|one| one.release(home));
        let release = release.map_or(String::new(), |release| format!(" {release}"));
        let size = remove_one(home, kind).map_err(failed("empty", home))?;
        show_removed(&format!("{}{release}", kind.product()), size);
    }
    if !found {
        return Err(FetchFault::NothingToRemove(home.to_path_buf()));
    }
    let _ = fs::remove_file(home.join(FETCH_CLAIMS));
    drop(lock);
    let _ = fs::remove_file(home.join(lock::FILE));
    // Fails for a directory that contains other files.
    let _ = fs::remove_dir(home.join("nvidia"));
    let _ = fs::remove_dir(home);
    let config = fs::read_to_string(".cargo/config.toml");
    if config.is_ok_and(|text| text.contains("CUDNN_GUARD_HOME")) {
        show("  i ./.cargo/config.toml still sets CUDNN_GUARD_HOME: remove these lines\n");
    }
    Ok(())
}

/// Removes the claimed directories for any CUDA, the links to them, and then their records. Returns the size.
fn remove_one(home: &Path, kind: Kind) -> io::Result<u64> {
    links::remove_neighbors(home)?;
    let dirs = kind.dirs().into_iter();
    let claimed = dirs.filter(|dir| is_ours(home, dir));
    let mut to_remove: Vec<_> = claimed.map(|dir| home.join(dir)).collect();
    // Records for another CUDA may belong to another installation.
    let every = kind.every();
    let ours = every.into_iter().filter(|one| is_claimed(home, one));
    let wheels = ours.flat_map(|one| one.with_installed(home).wheels(home));
    let wheels = wheels.flatten();
    to_remove.extend(wheels.map(|wheel| wheel.info));
    let mut size = 0;
    for dir in to_remove.iter().filter(|dir| dir.exists()) {
        size += size_of(dir);
        fs::remove_dir_all(dir)?;
    }
    Ok(size)
}

/// Returns the size of the files below a directory in bytes, without links.
fn size_of(dir: &Path) -> u64 {
    let all = Pattern::escape(&dir.to_string_lossy()) + "/**/*";
    let all = files::glob(&all).unwrap_or_default().into_iter();
    let all = all.filter_map(|path| path.symlink_metadata().ok());
    let files = all.filter(Metadata::is_file);
    files.map(|file| file.len()).sum()
}

/// Prints what was removed, with its size, like pip and uv.
fn show_removed(what: &str, size: u64) {
    let megabytes = size.div_ceil(1_000_000);
    show_step("✓", "removed", format!("{what}, {megabytes} MB"));
}
