//! The file that the loader selects as the driver's library, the reason, and the file that it should select.

use crate::runtime::binary::Image;
use crate::runtime::binary::defect::Defect;
use crate::runtime::driver::driver_missing::MissingDriver;
use crate::runtime::driver::driver_release;
use crate::runtime::driver::query::{Driver, DriverProblem};
use crate::runtime::loader::load_origin::LoadOrigin;
use crate::runtime::loader::not_found::Unfit;
use crate::runtime::loader::search_path::{self, SearchPath};
use crate::runtime::system;
use crate::runtime::system::names::{DRIVER, DRIVER_IN_WSL};
use crate::runtime::system::platform;
use std::path::{Path, PathBuf};

/// `CUDA_ERROR_SYSTEM_DRIVER_MISMATCH` and `CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE`: the library does not match the
/// kernel module.
const OTHER_MODULE: [i32; 2] = [803, 804];

/// A problem of the driver, with the file that causes it.
pub enum LocatedProblem<'a> {
    /// No file is known to cause it.
    Unlocated(&'a DriverProblem),
    /// A file of the driver's name cannot be used.
    Unfit(&'a MissingDriver, Unfit),
    /// A library is loaded in place of the driver's.
    InPlace {
        problem: &'a DriverProblem,
        path: PathBuf,
        /// The reason why the loader selects it.
        origin: LoadOrigin,
        /// The driver's library, later on the search path, and its version.
        behind: Option<(PathBuf, String)>,
    },
}

/// Finds the file that causes a problem. Call it in the process that opened the driver.
pub fn locate(problem: &DriverProblem) -> LocatedProblem<'_> {
    let search_path = SearchPath::of_program();
    let located = match problem {
        DriverProblem::Missing(missing) => {
            unfit(&search_path).map(|unfit| LocatedProblem::Unfit(missing, unfit))
        }
        DriverProblem::Stub(driver) => in_place(&search_path, problem, driver),
        DriverProblem::Failed(failed) if OTHER_MODULE.contains(&failed.code) => {
            in_place(&search_path, problem, &failed.driver)
        }
        _ => None,
    };
    located.unwrap_or(LocatedProblem::Unlocated(problem))
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
    Some(Unfit {
        found_via: search_path.origin_of(&path).to_string(),
        path,
        defect,
    })
}

/// Returns the library that is loaded in place of the driver's, and the driver's later on the search path.
fn in_place<'a>(
    search_path: &SearchPath,
    problem: &'a DriverProblem,
    driver: &Driver,
) -> Option<LocatedProblem<'a>> {
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
    Some(LocatedProblem::InPlace {
        problem,
        origin: search_path.origin_of(&path),
        path,
        behind,
    })
}

/// Returns the version in the name of the file that a link such as `libcuda.so.1` points to.
pub fn release(path: &Path) -> Option<String> {
    let real = std::fs::canonicalize(path).ok()?;
    driver_release::release_in_name(&real.to_string_lossy())
}
