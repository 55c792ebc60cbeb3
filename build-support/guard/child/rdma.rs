//! Detection of memory that is registered with an RDMA device. After a `fork`, a write by either process may go to a
//! copy of the page that the device does not see (man 3 ibv_fork_init).

use crate::runtime::loader::search_path;
use std::ffi::c_int;
use std::path::Path;

/// Returns `true` if this process has opened an RDMA device and libibverbs was not configured to allow `fork`.
/// `open_files` is /proc/self/fd.
pub fn forbids_fork(open_files: &Path) -> bool {
    let Some(library) = search_path::loaded("libibverbs.so.1") else {
        return false;
    };
    if !has_device(open_files) {
        return false;
    }
    let Some(address) = library.symbol("ibv_is_fork_initialized") else {
        // Before rdma-core 35 only the variables show it.
        let is_set = |name| std::env::var_os(name).is_some();
        return !is_set("RDMAV_FORK_SAFE") && !is_set("IBV_FORK_SAFE");
    };
    // SAFETY: infiniband/verbs.h declares it as `enum ibv_fork_status (void)`, an enum of an int's size.
    let status: unsafe extern "C" fn() -> c_int = unsafe { std::mem::transmute(address) };
    // SAFETY: it has no arguments, and reads a number.
    let status = unsafe { status() };
    // IBV_FORK_DISABLED; the others are ENABLED and UNNEEDED.
    status == 0
}

/// Returns `true` if a link in /proc/self/fd points to an RDMA device.
pub fn has_device(open_files: &Path) -> bool {
    let Ok(links) = std::fs::read_dir(open_files) else {
        return false;
    };
    links.flatten().any(|link| {
        let target = std::fs::read_link(link.path()).unwrap_or_default();
        target
            .to_string_lossy()
            .starts_with("/dev/infiniband/uverbs")
    })
}
