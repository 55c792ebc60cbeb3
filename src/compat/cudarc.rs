//! The crate cudarc in a `Cargo.lock`, and its feature for the CUDA version.

use crate::compat::cargo_lock::{Package, packages};
use crate::runtime::facts::Version;

/// Returns each cudarc in a `Cargo.lock`, in which cargo sorts them by version.
pub fn in_lock(lock: &str) -> Vec<Package<'_>> {
    let mut cudarcs = packages(lock);
    cudarcs.retain(|package| package.name == "cudarc");
    cudarcs
}

/// Returns the version of the only cudarc in a `Cargo.lock`. A fork may open other libraries.
pub fn only_in_lock(lock: &str) -> Option<Version> {
    match in_lock(lock)[..] {
        [
            Package {
                version,
                is_published: true,
                ..
            },
        ] => Version::parse(version),
        _ => None,
    }
}

/// Returns the number of a CUDA version in features and variables of cudarc: `12090`.
#[cfg(feature = "cli")]
pub fn number(cuda: Version) -> String {
    format!("{}{:02}0", cuda.major, cuda.minor)
}

/// Describes the feature to enable: the one for the toolkit, or for the driver if that is older. With the toolkit's
/// feature, the program would then call functions that the driver does not have. `all` contains the versions for
/// which this cudarc is known to have features, in ascending order.
#[cfg(feature = "cli")]
pub fn advice(
    all: &[Version],
    toolkit: Option<Version>,
    driver: Option<Version>,
) -> Option<String> {
    let is_newer = |toolkit: Version| driver.is_some_and(|driver| driver < toolkit);
    let (version, of) = match toolkit {
        Some(toolkit) if !is_newer(toolkit) => (toolkit, "toolkit"),
        _ => (driver?, "driver"),
    };
    let wanted = format!("CUDA {} of the {of}", version.short());
    Some(match all.iter().rfind(|one| **one <= version) {
        Some(newest) => format!(
            "enable its feature cuda-{} for {wanted}; choose an older feature to support older drivers",
            number(*newest)
        ),
        None if all.is_empty() => {
            "its features are unknown: its source is not in cargo's registry".into()
        }
        None => format!("it has no feature for {wanted}, or for an older CUDA"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = "version = 4\n\n[[package]]\nname = \"app\"\nversion = \"0.1.0\"\ndependencies = [\n \"cudarc\",\n]\n\n\
        [[package]]\nname = \"cudarc\"\nversion = \"0.18.2\"\nsource = \"registry+https://example.org\"\n";

    #[test]
    fn the_one_cudarc_of_a_lock() {
        let of = only_in_lock;
        assert_eq!(of(LOCK), Some(Version::new(0, 18, 2)));
        assert_eq!(of(&LOCK.replace('\n', "\r\n")), of(LOCK));
        assert_eq!(of(&LOCK.replace("0.18.2", "0.19.0-rc.1")), None);
        // A fork may open other names.
        assert_eq!(of(&LOCK.replace("registry+", "git+")), None);
        let (_, another) = LOCK.split_at(LOCK.rfind("[[package]]").unwrap());
        let two = format!("{LOCK}\n{}", another.replace("0.18.2", "0.19.10"));
        assert_eq!(of(&two), None);
        assert_eq!(of(""), None);
    }

    /// 12.8 is `cuda-12080`, and never newer than the driver. Only features in the manifest are named.
    #[test]
    fn the_feature_of_the_older_of_toolkit_and_driver() {
        let version = |major, minor| Some(Version::new(major, minor, 0));
        let listed = [(11, 4), (12, 8), (12, 9), (13, 1)];
        let listed = listed.map(|(major, minor)| Version::new(major, minor, 0));
        let old = "; choose an older feature to support older drivers";
        for (toolkit, driver, expected) in [
            (
                version(12, 8),
                None,
                "enable its feature cuda-12080 for CUDA 12.8 of the toolkit",
            ),
            (
                version(12, 8),
                version(13, 0),
                "enable its feature cuda-12080 for CUDA 12.8 of the toolkit",
            ),
            (
                version(12, 8),
                version(12, 8),
                "enable its feature cuda-12080 for CUDA 12.8 of the toolkit",
            ),
            (
                version(13, 0),
                version(12, 10),
                "enable its feature cuda-12090 for CUDA 12.10 of the driver",
            ),
            (
                version(13, 10),
                None,
                "enable its feature cuda-13010 for CUDA 13.10 of the toolkit",
            ),
            (
                None,
                version(11, 4),
                "enable its feature cuda-11040 for CUDA 11.4 of the driver",
            ),
        ] {
            let text = advice(&listed, toolkit, driver);
            assert_eq!(text, Some(format!("{expected}{old}")));
        }
        assert_eq!(advice(&listed, None, None), None);
        let none = "it has no feature for CUDA 11.3 of the toolkit, or for an older CUDA";
        let unread = "its features are unknown: its source is not in cargo's registry";
        for (listed, expected) in [(&listed[..], none), (&[], unread)] {
            let text = advice(listed, version(11, 3), None);
            assert_eq!(text.as_deref(), Some(expected));
        }
    }

    #[test]
    fn a_lock_shows_whether_cudarc_is_used() {
        let lock = "[[package]]\nname = \"cc\"\nversion = \"1.0.0\"\n\n[[package]]\nname = \"cudarc\"\nversion = \"0.17.3\"\n\
            dependencies = [\n \"libloading\",\n]\n";
        assert_eq!(in_lock(lock)[0].version, "0.17.3");
        assert!(in_lock(&lock.replace("cudarc", "cudarc-like")).is_empty());
        assert!(in_lock("[[package]]\nname = \"cudarc\"\n").is_empty());
    }
}
