//! Which file the loader takes for the driver's library, what makes it so, and which other one there is.

use crate::runtime::binary::Image;
use crate::runtime::binary::defect::{Defect, cpu_name};
use crate::runtime::driver::driver_release;
use crate::runtime::driver::query::{Driver, DriverProblem};
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::loader::search_path::{LoadOrigin, SearchPath};
use crate::runtime::system::names::DRIVER;
use crate::runtime::system::platform::{self, Library};
use std::fmt::Display;
use std::path::{Path, PathBuf};

/// `CUDA_ERROR_SYSTEM_DRIVER_MISMATCH` and `CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE`: the library is not that of the
/// kernel module.
const OTHER_MODULE: [i32; 2] = [803, 804];

/// The problem in words, with the file that it comes from. It is asked where the driver was opened.
pub fn finding(problem: &DriverProblem) -> Finding {
    let finding = problem.finding();
    let search_path = SearchPath::of_program();
    match problem {
        DriverProblem::Missing(_) => match unfit(&search_path) {
            Some((path, defect)) => unfit_finding(finding, &path, &defect, search_path.to(&path)),
            None => finding,
        },
        DriverProblem::Stub(driver) => in_place(&search_path, finding, driver, true),
        DriverProblem::Failed { driver, code, .. } if OTHER_MODULE.contains(code) => {
            in_place(&search_path, finding, driver, false)
        }
        _ => finding,
    }
}

/// What lies in the loader's way under the driver's name and is no library for this program.
fn unfit(search_path: &SearchPath) -> Option<(PathBuf, Defect)> {
    if let Some(path) = search_path.program_file(DRIVER) {
        let defect = Image::open(&path).err()?;
        return Some((path, defect));
    }
    let obstacle = search_path.obstacle(DRIVER);
    obstacle.filter(|(_, defect)| !matches!(defect, Defect::Closed(_)))
}

/// That this file is in the place of the driver's library, where none is found.
pub fn unfit_finding(
    missing: Finding,
    path: &Path,
    defect: &Defect,
    found_via: impl Display,
) -> Finding {
    let summary = format!("`{}` {}, so no GPU can be used", path.display(), defect);
    let mut finding = Finding::warning(FindingId::DriverMissing, summary);
    finding = finding.with("found via", found_via);
    // That it was not opened for that defect is said already.
    let said = defect.to_string();
    let other = |piece: &(&str, String)| !piece.1.contains(&said);
    finding
        .evidence
        .extend(missing.evidence.into_iter().filter(other));
    match defect {
        Defect::Machine(number, own) => {
            let other = cpu_name(*number).unwrap_or("that processor");
            let help = format!(
                "install NVIDIA's driver for {own}, or use a build of this program for {other}"
            );
            finding = finding.help(help);
        }
        Defect::Forbidden => finding = finding.help(defect.help(path)),
        // An empty one is what a container has in its place until the driver's own is mounted over it.
        Defect::CutOff(..) | Defect::Garbled | Defect::Foreign(..) => {
            return finding.help("install NVIDIA's driver again");
        }
        Defect::Empty if cfg!(windows) => return finding.help("install NVIDIA's driver again"),
        _ => {}
    }
    finding.help.extend(missing.help);
    finding
}

/// A library that is in the place of the driver's, and the driver's that lies behind it.
fn in_place(
    search_path: &SearchPath,
    mut finding: Finding,
    driver: &Driver,
    is_stub: bool,
) -> Finding {
    let Some(path) = Library::loaded(DRIVER).and_then(|library| library.path()) else {
        return finding;
    };
    let origin = search_path.to(&path);
    let own = release(&path);
    let behind = search_path.program_files(DRIVER);
    let behind = behind.iter().find_map(|other| {
        let release = release(other)?;
        let is_it = platform::same_file(other, &path) || own.as_ref() == Some(&release);
        let module = driver.version.as_ref().filter(|_| driver.version != own);
        let fits = module.is_none_or(|module| *module == release);
        (!is_it && fits && Image::open(other).is_ok()).then_some((other, release))
    });
    let mut evidence = vec![("found via", origin.to_string())];
    let take_out = match &origin {
        LoadOrigin::LibraryPath(entry) => {
            format!(
                "take `{}` out of {}",
                entry.display(),
                platform::LIBRARY_PATH
            )
        }
        LoadOrigin::Rpath(entry) | LoadOrigin::Runpath(entry) => format!(
            "build the program without `{}` in its rpath",
            entry.display()
        ),
        LoadOrigin::Preload => "take it out of LD_PRELOAD".to_string(),
        _ => format!("remove `{}`", path.display()),
    };
    if let Some((other, release)) = behind {
        evidence.push(("there is", format!("{}, of {}", other.display(), release)));
        finding.help.insert(0, take_out);
    } else if is_stub {
        let help = format!("install NVIDIA's driver, and {take_out}: a stub is for linking alone");
        finding.help = vec![help];
    }
    evidence.append(&mut finding.evidence);
    finding.evidence = evidence;
    finding
}

/// The release in the name of the file that a link such as `libcuda.so.1` leads to.
fn release(path: &Path) -> Option<String> {
    let real = std::fs::canonicalize(path).ok()?;
    driver_release::release_in_name(&real.to_string_lossy())
}
