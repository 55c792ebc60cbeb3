//! The rows of the version tables for a program.

use crate::compat;
use crate::model::Platform;
use crate::runtime::facts::{Built, CONV, Tables, Version};

/// Returns the rows for a program that may load cuDNN from this version on. Earlier versions of the major are left out
/// because the program rejects them, as are partial bugs in operations that it does not need. A program that tests
/// convolutions is expected to need them.
pub fn tables(platform: &Platform, from: Version, cuda: Option<Version>, built: &Built) -> Tables {
    let mut tables = of_driver(platform, cuda);
    for row in compat::gpus(platform) {
        if row.last.major >= from.major {
            tables.gpus.push(row);
        }
    }
    for row in compat::known_bad() {
        let is_expected = built.convolution && row.operation.as_deref() == Some(CONV);
        let is_needed = is_expected || row.operation.iter().any(|word| built.needs.contains(word));
        if row.below.major >= from.major && (is_needed || !row.partial) {
            tables.known_bad.push(row);
        }
    }
    tables
}

/// Returns the rows about the driver, for a program that was built with this CUDA.
pub fn of_driver(platform: &Platform, cuda: Option<Version>) -> Tables {
    Tables {
        drivers: compat::drivers(platform),
        ptx: cuda.and_then(compat::ptx_from),
        ..Tables::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_contains_the_rows_for_its_major_and_cpu() {
        let platform = Platform::from_triple("aarch64-unknown-linux-gnu");
        let cuda = Version::new(12, 6, 0);
        let mut built = Built {
            convolution: false,
            ..Built::default()
        };
        let rows = tables(&platform, Version::new(9, 1, 0), Some(cuda), &built);
        let gpus: Vec<(Version, u32)> = rows.gpus.iter().map(|row| (row.last, row.cuda)).collect();
        assert_eq!(
            gpus,
            [(Version::new(9, 10, 2), 12), (Version::new(9, 28, 1), 13)]
        );
        assert_eq!(rows.known_bad.len(), 3);
        built.needs = vec!["conv3d-tf32".to_string()];
        let rows_of_need = tables(&platform, Version::new(9, 1, 0), Some(cuda), &built);
        assert_eq!(rows_of_need.known_bad.len(), 4);
        // A program that tests convolutions is expected to use them.
        built.convolution = true;
        let rows_of_conv = tables(&platform, Version::new(9, 1, 0), Some(cuda), &built);
        assert_eq!(rows_of_conv.known_bad.len(), 6);
        assert_eq!(rows.drivers[0], (11, "450.80.02".to_string()));
        assert_eq!(rows.ptx, Some(Version::new(12, 5, 0)));
        let platform = Platform::from_triple("x86_64-unknown-linux-gnu");
        let rows = |major| tables(&platform, Version::new(major, 0, 0), None, &built);
        let count = |major| rows(major).gpus.len();
        assert_eq!((count(8), count(9), count(10)), (15, 12, 0));
        assert_eq!(rows(9).ptx, None);
    }
}
