//! The version tables of build-support/compat, read: one row a line, its columns between spaces.

pub mod cargo_lock;
pub mod cudarc;
#[cfg(feature = "cli")]
pub mod fitting;
#[cfg(feature = "cli")]
pub mod image_driver;
pub mod rules;

#[cfg(test)]
mod tests;

use crate::model::platform::{Os, Platform};
use crate::runtime::facts::compute_capability::Target;
use crate::runtime::facts::tables::{CudnnTargets, KnownBad};
use crate::runtime::facts::version::Version;

const GPUS: &str = include_str!("../../build-support/compat/cudnn-gpus.txt");
const TOOLKITS: &str = include_str!("../../build-support/compat/toolkits.txt");
const DRIVERS: &str = include_str!("../../build-support/compat/drivers.txt");
const KNOWN_BAD: &str = include_str!("../../build-support/compat/known-bad.txt");

/// Which GPUs the builds of cuDNN for this processor serve.
pub fn gpus(cpu: &str) -> Vec<CudnnTargets> {
    let row = |line: &'static str| {
        let [first, last, cuda, of, code] = columns(line)?;
        let row = CudnnTargets {
            first: Version::parse(first)?,
            last: Version::parse(last)?,
            cuda: cuda.parse().ok()?,
            code: Target::parse_all(code),
        };
        (of == cpu).then_some(row)
    };
    rows(GPUS).filter_map(row).collect()
}

/// The releases of cuDNN that are known to be bad.
pub fn known_bad() -> Vec<KnownBad> {
    let row = |line: &'static str| {
        let [from, below, good, when, rest] = columns(line)?;
        let (operation, what) = rest.split_once(' ')?;
        Some(KnownBad {
            from: Version::parse(from)?,
            below: Version::parse(below)?,
            good: Version::parse(good)?,
            cublas: when.strip_prefix("cublas-").and_then(Version::parse),
            operation: (operation != "any").then(|| operation.to_string()),
            what: what.to_string(),
        })
    };
    rows(KNOWN_BAD).filter_map(row).collect()
}

/// The newest toolkit that this cuDNN is documented for. Of a release that the documents leave out, the next one's
/// counts.
pub fn newest_toolkit(cudnn: Version, cuda_major: u32) -> Option<Version> {
    let row = |line: &'static str| {
        let [release, cuda, _, last] = columns(line)?;
        let of_major = cuda.parse() == Ok(cuda_major);
        Some((Version::parse(release)?, Version::parse(last)?))
            .filter(|(release, _)| of_major && *release >= cudnn)
    };
    let next = rows(TOOLKITS).filter_map(row).min();
    Some(next?.1)
}

/// The newest release of cuDNN that the tables know.
pub fn newest_cudnn(cpu: &str) -> Option<Version> {
    gpus(cpu).into_iter().map(|row| row.last).max()
}

/// The newest CUDA that the tables know.
pub fn newest_cuda() -> Option<Version> {
    releases().last().map(|(cuda, ..)| *cuda)
}

/// The first driver that serves programs of a CUDA major at all: minor-version compatibility.
pub fn drivers(platform: &Platform) -> Vec<(u32, String)> {
    let (_, majors) = DRIVERS.split_once("\nmajor\n").unwrap_or_default();
    let row = |line: &'static str| {
        let [major, _, linux, windows] = columns(line)?;
        let first = of_system(platform, linux, windows)?;
        Some((major.parse().ok()?, first.to_string()))
    };
    rows(majors).filter_map(row).collect()
}

/// The first driver that serves all of this CUDA.
pub fn driver_for(cuda: Version, platform: &Platform) -> Option<&'static str> {
    let releases = releases();
    let is_it = |known: &Version| (known.major, known.minor) == (cuda.major, cuda.minor);
    let row = releases.iter().find(|(known, ..)| is_it(known))?;
    of_system(platform, row.2, row.3)
}

/// The first CUDA whose driver takes the PTX that this CUDA's nvcc writes. Of one that is newer than the table it is
/// known that it writes no older PTX than the newest of the table.
pub fn ptx_from(cuda: Version) -> Option<Version> {
    let releases = releases();
    let writes = releases.iter().rfind(|(known, ..)| *known <= cuda)?.1;
    let (takes, ..) = releases.iter().find(|(_, ptx, ..)| *ptx >= writes)?;
    Some(*takes)
}

type Release = (Version, Version, &'static str, &'static str);

/// CUDA, PTX, driver for Linux, driver for Windows: the oldest first.
fn releases() -> Vec<Release> {
    let (minors, _) = DRIVERS.split_once("\nmajor\n").unwrap_or((DRIVERS, ""));
    let row = |line: &'static str| {
        let [cuda, ptx, linux, windows] = columns(line)?;
        Some((Version::parse(cuda)?, Version::parse(ptx)?, linux, windows))
    };
    rows(minors).filter_map(row).collect()
}

fn of_system<'a>(platform: &Platform, linux: &'a str, windows: &'a str) -> Option<&'a str> {
    let driver = match platform.os {
        Os::Windows => windows,
        _ => linux,
    };
    (driver != "-").then_some(driver)
}

/// The rows of a table.
pub fn rows(table: &'static str) -> std::vec::IntoIter<&'static str> {
    let is_row = |line: &&str| !line.starts_with('#') && !line.is_empty();
    let rows: Vec<&str> = table.lines().filter(is_row).collect();
    rows.into_iter()
}

/// The last column takes the rest of the line.
pub fn columns<const N: usize>(line: &str) -> Option<[&str; N]> {
    let columns: Vec<&str> = line.splitn(N, ' ').collect();
    columns.try_into().ok()
}
