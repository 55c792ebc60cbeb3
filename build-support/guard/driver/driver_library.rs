//! The file that the loader selects as the driver's library, the reason, and the file that it should select.

use crate::runtime::binary::{Defect, Image};
use crate::runtime::driver::{Driver, DriverProblem, MissingDriver, driver_release};
use crate::runtime::facts::Finding;
use crate::runtime::loader::{SearchPath, Unfit, search_path};
use crate::runtime::system::{self, DRIVER, DRIVER_IN_WSL, platform};
use std::path::Path;

/// `CUDA_ERROR_SYSTEM_DRIVER_MISMATCH` and `CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE`: the library does not match the
/// kernel module.
const OTHER_MODULE: [i32; 2] = [803, 804];

/// Returns the finding about a problem, with the file that causes it. Call it in the process that opened the driver.
pub fn finding(problem: &DriverProblem) -> Finding {
    let search_path = SearchPath::of_program();
    let located = match problem {
        DriverProblem::Missing(missing) => {
            unfit(&search_path).map(|unfit| missing.with_unfit(&unfit))
        }
        DriverProblem::Stub(driver) => in_place(&search_path, problem, driver),
        DriverProblem::Failed(failed) if OTHER_MODULE.contains(&failed.code) => {
            in_place(&search_path, problem, &failed.driver)
        }
        _ => None,
    };
    located.unwrap_or_else(|| problem.finding())
}

/// Returns the fault of a driver in WSL's directory, which is opened by its path, if the loader does not search that
/// directory: programs do not find it. Call it before the driver is opened.
pub fn unsearched(root: &Path, read_path: impl FnOnce() -> SearchPath) -> Option<MissingDriver> {
    let in_wsl = root.join(DRIVER_IN_WSL?.trim_start_matches('/'));
    if !system::is_there(&in_wsl)
        || search_path::loaded(DRIVER).is_some()
        || read_path().program_file(DRIVER).is_some()
    {
        return None;
    }
    let message = format!("{DRIVER}: cannot open shared object file: No such file or directory");
    Some(MissingDriver::detect(root, message, None))
}

/// Returns the first file on the search path that has the driver's name and is not a library for this program.
fn unfit(search_path: &SearchPath) -> Option<Unfit> {
    let (path, defect) = match search_path.program_file(DRIVER) {
        Some(path) => Image::open(&path).err().map(|defect| (path, defect)),
        None => {
            let obstacle = search_path.obstacle(DRIVER);
            obstacle.filter(|(_, defect)| !matches!(defect, Defect::Closed(_)))
        }
    }?;
    let found_via = search_path.origin_of(&path);
    Some(Unfit::new(path, defect, found_via))
}

/// Returns the finding about the library that is loaded in place of the driver's. The driver's own library may be later
/// on the search path.
fn in_place(search_path: &SearchPath, problem: &DriverProblem, driver: &Driver) -> Option<Finding> {
    let path = search_path::loaded(DRIVER)?.path()?;
    let own = release(&path);
    let mut behind = search_path.program_files(DRIVER).into_iter();
    let behind = behind.find_map(|other| {
        let version = release(&other)?;
        let is_same = platform::same_file(&other, &path) || own.as_ref() == Some(&version);
        let module = driver.version.as_ref().filter(|_| driver.version != own);
        let is_compatible = module.is_none_or(|module| *module == version);
        let is_usable = !is_same && is_compatible && Image::open(&other).is_ok();
        is_usable.then_some((other, version))
    });
    Some(problem.in_place_finding(&path, &search_path.origin_of(&path), behind))
}

/// Returns the version in the name of the file that a link such as `libcuda.so.1` points to.
pub fn release(path: &Path) -> Option<String> {
    let real = system::canonical(path, None).ok()?;
    driver_release::release_in_name(&real.to_string_lossy())
}
