//! Reads the version tables in build-support/compat: one row per line, columns separated by spaces.

pub mod cargo_lock;
pub mod cudarc;
#[cfg(feature = "cli")]
pub mod cudarc_refusals;
#[cfg(feature = "cli")]
pub mod cudarc_sources;
pub mod rules;

#[cfg(test)]
mod tests;

use crate::model::{Os, Platform};
use crate::runtime::facts::{CudnnTargets, EVERY_LATER, KnownBad, Target, Version};

const GPUS: &str = include_str!("../../build-support/compat/cudnn-gpus.txt");
const DRIVERS: &str = include_str!("../../build-support/compat/drivers.txt");
const KNOWN_BAD: &str = include_str!("../../build-support/compat/known-bad.txt");
const FUNCTIONS: &str = include_str!("../../build-support/compat/functions.txt");

/// Returns the GPUs that cuDNN's builds for this platform support.
pub fn gpus(platform: &Platform) -> Vec<CudnnTargets> {
    let build = match platform.os {
        Os::Windows if platform.cpu == "aarch64" => "aarch64-windows",
        _ => &platform.cpu,
    };
    rows(GPUS, &|line| {
        let [first, last, cuda, built_for, code] = columns(line)?;
        let row = CudnnTargets {
            first: Version::parse(first)?,
            last: Version::parse(last)?,
            cuda: cuda.parse().ok()?,
            code: Target::parse_all(code),
        };
        (built_for == build).then_some(row)
    })
}

pub fn known_bad() -> Vec<KnownBad> {
    rows(KNOWN_BAD, &|line| {
        let [from, below, good, when, rest] = columns(line)?;
        let (operation, what) = rest.split_once(' ')?;
        let mut row = KnownBad {
            from: Version::parse(from)?,
            below: Version::parse(below).or((below == "-").then_some(EVERY_LATER))?,
            good: Version::parse(good),
            several_gpus: false,
            cublas: None,
            good_cublas: None,
            operation: (operation != "any").then(|| operation.to_string()),
            partial: false,
            first_gpu: 0,
            last_gpu: u32::MAX,
            what: what.to_string(),
        };
        for condition in when.split(',') {
            let words: Vec<&str> = condition.split('-').collect();
            match words[..] {
                ["always"] => {}
                ["some"] => row.partial = true,
                ["several", "gpus"] => row.several_gpus = true,
                ["cublas", from, ref good @ ..] => {
                    row.cublas = Some(Version::parse(from)?);
                    row.good_cublas = good.first().and_then(|good| Version::parse(good));
                }
                ["sm", first, last] => {
                    row.partial = true;
                    (row.first_gpu, row.last_gpu) = (first.parse().ok()?, last.parse().ok()?);
                }
                _ => return None,
            }
        }
        Some(row)
    })
}

/// Returns the functions of cuDNN that not all versions contain, each with the version that introduced it.
pub fn introduced() -> Vec<(&'static str, Version)> {
    rows(FUNCTIONS, &|line| {
        let [version, function] = columns(line)?;
        Some((function, Version::parse(version)?))
    })
}

pub fn newest_cuda() -> Option<Version> {
    releases().last().map(|(cuda, ..)| *cuda)
}

/// Returns the first driver version for each CUDA major by minor-version compatibility.
pub fn drivers(platform: &Platform) -> Vec<(u32, String)> {
    let (_, majors) = DRIVERS.split_once("\nmajor\n").unwrap_or_default();
    rows(majors, &|line| {
        let [major, _, linux, windows] = columns(line)?;
        let first = for_system(platform, linux, windows)?;
        Some((major.parse().ok()?, first.to_string()))
    })
}

/// Returns the first driver version that supports all of this CUDA version.
pub fn driver_for(cuda: Version, platform: &Platform) -> Option<&'static str> {
    let releases = releases();
    let is_same = |known: &Version| (known.major, known.minor) == (cuda.major, cuda.minor);
    let row = releases.iter().find(|(known, ..)| is_same(known))?;
    for_system(platform, row.2, row.3)
}

/// Returns the first CUDA whose driver supports the PTX of this CUDA's nvcc. A CUDA newer than the table writes PTX
/// that is at least as new as the table's newest.
pub fn ptx_from(cuda: Version) -> Option<Version> {
    let releases = releases();
    let writes = releases.iter().rfind(|(known, ..)| *known <= cuda)?.1;
    let (supports, ..) = releases.iter().find(|(_, ptx, ..)| *ptx >= writes)?;
    Some(*supports)
}

type Release = (Version, Version, &'static str, &'static str);

/// Returns CUDA, PTX, driver for Linux and driver for Windows, the oldest first.
fn releases() -> Vec<Release> {
    let (minors, _) = DRIVERS.split_once("\nmajor\n").unwrap_or((DRIVERS, ""));
    rows(minors, &|line| {
        let [cuda, ptx, linux, windows] = columns(line)?;
        Some((Version::parse(cuda)?, Version::parse(ptx)?, linux, windows))
    })
}

fn for_system<'a>(platform: &Platform, linux: &'a str, windows: &'a str) -> Option<&'a str> {
    let driver = match platform.os {
        Os::Windows => windows,
        _ => linux,
    };
    (driver != "-").then_some(driver)
}

/// Parses the rows of a table. Rows for which `parse` returns `None` are left out.
pub fn rows<T>(table: &'static str, parse: &dyn Fn(&'static str) -> Option<T>) -> Vec<T> {
    let mut rows = Vec::new();
    for line in table.lines() {
        if !line.starts_with('#') && !line.is_empty() {
            if let Some(row) = parse(line) {
                rows.push(row);
            }
        }
    }
    rows
}

/// Splits a row into columns. The last one contains the rest of the line.
pub fn columns<const N: usize>(line: &str) -> Option<[&str; N]> {
    let columns: Vec<&str> = line.splitn(N, ' ').collect();
    columns.try_into().ok()
}
