//! A file that is not a usable driver where a program or library opens NVIDIA's driver, or a driver where none should be:
//! in an image.

use crate::cudnn::file_name;
use crate::inspection::InspectionFault;
use crate::loader::LoadGraph;
use crate::model::{Object, pattern};
use crate::runtime::binary::contains;
use crate::runtime::driver::stub::{UnusableDriver, is_stub};
use crate::runtime::driver::{SYSTEM, driver_library, driver_release};
use crate::runtime::facts::{Built, Finding, Loader, Version};
use crate::runtime::install::missing_dlopen::{MissingLink, PLAIN_DRIVER};
use crate::runtime::loader::{LoadOrigin, System};
use crate::runtime::system::DRIVER_SO;
use crate::system::{Sysroot, files};
use crate::toolkit::dependencies::is_of_toolkit;
use std::path::{Path, PathBuf};

/// Returns the finding about a stub or an older library that the program, which has these constants, or its cuDNN gets
/// instead of the driver. In an image, the driver may be mounted over a stub in the system's directories.
pub fn finding(
    graph: &LoadGraph,
    guards: &[Built],
    has_cudarc: bool,
    constants: &[u8],
) -> Option<Finding> {
    let has_guard = guards.iter().any(|guard| guard.loader == Loader::Cudarc);
    let is_cudarc = has_guard || has_cudarc;
    // Other programs do not use the driver.
    let is_user = |object: &Object| {
        let name = &object.name;
        name.starts_with(PLAIN_DRIVER) || name.starts_with("libcudnn") || is_of_toolkit(name)
    };
    let names_driver = is_cudarc || contains(constants, b'l', b"ibcuda.so");
    if guards.is_empty() && !names_driver && !graph.objects.iter().skip(1).any(is_user) {
        return None;
    }
    let names: &[&str] = match is_cudarc {
        true => &[PLAIN_DRIVER, DRIVER_SO],
        false => &[DRIVER_SO],
    };
    // cuDNN 8 opens the driver by its plain name.
    let mut opened = graph.objects.iter();
    let opened = opened.find(|object| object.name == PLAIN_DRIVER);
    let plain: &[&str] = &[PLAIN_DRIVER];
    let by_cudnn = opened.and_then(|driver| Some((driver.requester?, plain)));
    for (opener, names) in by_cudnn.into_iter().chain([(0, names)]) {
        let mut tried = names.iter();
        let Some(library) = tried.find_map(|name| graph.would_open(name, opener)) else {
            continue;
        };
        let origin = library.via.clone().unwrap_or(LoadOrigin::Elsewhere);
        let is_of_system = matches!(
            origin,
            LoadOrigin::System(_)
                | LoadOrigin::Cache
                | LoadOrigin::Configured(..)
                | LoadOrigin::OwnCache(_)
        );
        let system = &graph.path.system;
        let older = older(&library.path, system);
        let is_mounted_over = is_of_system && system.root.is_some();
        if older.is_none() && (is_mounted_over || !is_stub(&library.path)) {
            continue;
        }
        let is_driver = |file: &Path| match &older {
            Some((_, module)) => driver_library::release(file).as_ref() == Some(module),
            None => files::is_file(file) && !is_stub(file),
        };
        // The requester, if the library is already loaded, or else the opener.
        let by = library.requester.unwrap_or(opener);
        let drivers = graph.search_path(by).candidates(DRIVER_SO);
        let mut drivers = drivers.into_iter().map(|(_, file)| file);
        let driver = drivers.find(|file| is_driver(file));
        let fault = UnusableDriver {
            opener: graph.objects.get(by).map(|object| object.path.clone()),
            name: library.name.clone(),
            path: library.path.clone(),
            origin,
            older,
            driver: driver.map(|file| MissingLink::beside(file, &library.name)),
        };
        return Some(fault.finding());
    }
    None
}

/// Returns the versions of the driver library and of the kernel module if the library is older, as in an old
/// cuda-compat package. CUDA then fails with error 803. A newer library may be intended: it makes an old driver support
/// a newer CUDA.
fn older(library: &Path, system: &System) -> Option<(String, String)> {
    let module = files::read(&system.path(Path::new("/proc/driver/nvidia/version"))).ok()?;
    let module = driver_release::parse_release(&module)?;
    let own = driver_library::release(library)?;
    // The version of a Jetson's module is not comparable: NVIDIA/nvidia-container-toolkit#1679.
    let is_comparable = !files::exists(&system.path(Path::new("/dev/nvmap")));
    let is_older = Version::parse(&own)? < Version::parse(&module)?;
    (is_comparable && is_older).then_some((own, module))
}

/// Returns the finding about files of the driver in the system directories of an image. A system with kernel modules is
/// no image, and has a driver of its own.
pub fn in_image(sysroot: Sysroot) -> Option<Finding> {
    let root = sysroot.root.filter(|root| *root != Path::new("/"))?;
    let real = |dir: &str| sysroot.canonical(&root.join(dir));
    let has_modules = |dir| files::list(&real(dir)).is_ok_and(|list| !list.is_empty());
    if has_modules("lib/modules") || has_modules("usr/lib/modules") {
        return None;
    }
    let dirs = SYSTEM.iter().map(|dir| real(dir.trim_start_matches('/')));
    let dirs = files::dedup(dirs).into_iter();
    let found = dirs.flat_map(|dir| files::list(&dir).unwrap_or_default());
    // `libcuda.so.1` is a file in WSL. An image may contain the toolkit's stub under that name. Every driver that supports
    // containers has three digits.
    let name = pattern(r"^lib(cuda|nvidia-ml)\.so\.(1|[1-9][0-9]{2}(\..*)?)$");
    let is_driver = |file: &PathBuf| name.is_match(file_name(file)) && !files::is_link(file);
    let found = found.filter(|file| is_driver(file) && !is_stub(file));
    let inside: Vec<_> = found.map(|file| sysroot.inside(&file)).collect();
    let fault = InspectionFault::DriverInImage(inside.first()?, &inside);
    Some(fault.finding())
}
