//! The rows of the version tables that a program may need, as constants.

use crate::compat;
use crate::guard::text::{list, option, version};
use crate::model::platform::Platform;
use crate::runtime::facts::version::Version;

/// The value of `tables::Tables` for a program that may load cuDNN from this release on. Releases of a major before
/// that are not its own: it refuses them.
pub fn tables(platform: &Platform, from: Version, cuda: Option<Version>) -> String {
    let gpus = compat::gpus(&platform.cpu).into_iter();
    let gpus = gpus.filter(|row| row.last.major >= from.major).map(|row| {
        format!(
            "Gpus {{ first: {}, last: {}, cuda: {}, code: {:?} }}",
            version(row.first),
            version(row.last),
            row.cuda,
            row.code
        )
    });
    let bad = compat::known_bad().into_iter();
    let bad = bad.filter(|row| row.below.major >= from.major).map(|row| {
        format!(
            "KnownBad {{ from: {}, below: {}, good: {}, cublas: {}, operation: {:?}, what: {:?} }}",
            version(row.from),
            version(row.below),
            version(row.good),
            option(row.cublas.map(version)),
            row.operation,
            row.what
        )
    });
    let drivers = compat::drivers(platform).into_iter();
    let drivers = drivers.map(|(major, first)| format!("({major}, {first:?})"));
    format!(
        "Tables {{ gpus: {}, known_bad: {}, drivers: {}, ptx: {} }}",
        list(gpus),
        list(bad),
        list(drivers),
        option(cuda.and_then(compat::ptx_from).map(version))
    )
}

/// The same without a row.
pub const NONE: &str = "Tables::NONE";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_carries_the_rows_of_its_own_major_and_processor() {
        let platform = Platform::from_triple("aarch64-unknown-linux-gnu");
        assert_eq!(
            tables(
                &platform,
                Version::new(9, 1, 0),
                Some(Version::new(12, 6, 0))
            ),
            "Tables { gpus: &[\
             Gpus { first: Version::new(9, 10, 2), last: Version::new(9, 10, 2), cuda: 12, \
             code: \"sm_50 sm_60 sm_61 sm_70 sm_80 sm_90a sm_100 sm_120 compute_120\" }, \
             Gpus { first: Version::new(9, 28, 0), last: Version::new(9, 28, 0), cuda: 13, \
             code: \"sm_75 sm_80 sm_90a sm_100f sm_110f sm_120f compute_120f\" }], \
             known_bad: &[\
             KnownBad { from: Version::new(9, 10, 0), below: Version::new(9, 10, 1), good: Version::new(9, 10, 1), \
             cublas: None, operation: None, what: \"number its enumerations otherwise than every other 9.x\" }, \
             KnownBad { from: Version::new(9, 0, 0), below: Version::new(9, 10, 1), good: Version::new(9, 10, 1), \
             cublas: Some(Version::new(12, 9, 0)), operation: None, \
             what: \"compute wrong numbers on several GPUs beside cuBLAS 12.9 or later\" }, \
             KnownBad { from: Version::new(9, 8, 0), below: Version::new(9, 11, 0), good: Version::new(9, 13, 0), \
             cublas: None, operation: Some(\"conv3d-bf16\"), what: \"compute wrong numbers in three-dimensional bf16 convolutions\" }], \
             drivers: &[(11, \"450.80.02\"), (12, \"525.60.13\"), (13, \"580.65.06\")], \
             ptx: Some(Version::new(12, 5, 0)) }"
        );
        let platform = Platform::from_triple("x86_64-unknown-linux-gnu");
        let rows = |major| {
            let text = tables(&platform, Version::new(major, 0, 0), None);
            assert!(text.ends_with("ptx: None }"), "{text}");
            text.matches("Gpus {").count()
        };
        assert_eq!((rows(8), rows(9), rows(10)), (13, 10, 0));
    }
}
