//! Libraries of NVIDIA's driver in an image.

use crate::inspection::fault::InspectionFault;
use crate::runtime::driver::driver_missing::SYSTEM;
use crate::runtime::driver::stub::is_stub;
use crate::runtime::facts::Finding;
use crate::system::files;
use crate::system::sysroot::Sysroot;
use std::path::Path;

/// Returns the finding about files of the driver in the system directories of an image. A system with kernel modules is
/// no image, and has a driver of its own.
pub fn find(sysroot: Sysroot) -> Option<Finding> {
    let root = sysroot.root.filter(|root| *root != Path::new("/"))?;
    let real = |dir: &str| sysroot.canonical(&root.join(dir));
    let has_modules = |dir| files::list(&real(dir)).is_ok_and(|list| !list.is_empty());
    if has_modules("lib/modules") || has_modules("usr/lib/modules") {
        return None;
    }
    let dirs = SYSTEM.iter().map(|dir| real(dir.trim_start_matches('/')));
    let mut found = Vec::new();
    for dir in files::dedup(dirs) {
        found.extend(files::list(&dir).unwrap_or_default());
    }
    files::keep(&mut found, &is_of_driver);
    let mut inside = Vec::new();
    for file in found {
        inside.push(sysroot.inside(&file));
    }
    let fault = InspectionFault::DriverInImage(inside.first()?, &inside);
    Some(fault.finding())
}

/// Returns `true` for a file with a driver's version in its name, such as `libcuda.so.535.104.05`, and for `libcuda.so.1`
/// if it is a file, as in WSL. An image may contain the toolkit's stub under that name.
fn is_of_driver(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let mut starts = ["libcuda.so.", "libnvidia-ml.so."].into_iter();
    let version = starts.find_map(|start| name.strip_prefix(start));
    let major = version.and_then(|version| version.split('.').next()?.parse().ok());
    let is_kept = match major {
        // Every driver that supports containers has three digits.
        Some(100..1000) => true,
        Some(1) => version == Some("1") && !is_stub(file),
        _ => false,
    };
    is_kept && !files::is_link(file)
}
