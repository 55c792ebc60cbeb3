//! The CUDA feature of cudarc, which has one for each CUDA version.

use crate::model::text::pattern::{Pattern, pattern, release};
use crate::runtime::facts::version::Version;

/// Returns the version of cudarc in a `Cargo.lock`; the last if there are several.
#[cfg(feature = "cli")]
pub fn in_lock(lock: &str) -> Option<&str> {
    let cudarcs = packages(lock).filter(|package| package.name == "cudarc");
    Some(cudarcs.last()?.version)
}

/// Returns the only version of cudarc in a `Cargo.lock`; none if there are several, or if it is not from a registry.
pub fn only_in_lock(lock: &str) -> Option<Version> {
    static NUMBERS: Pattern = Pattern::new(|| pattern(r"^([0-9]+)\.([0-9]+)\.([0-9]+)$"));
    let mut cudarcs = packages(lock).filter(|package| package.name == "cudarc");
    match (cudarcs.next()?, cudarcs.next()) {
        (package, None) if package.is_published => release(&NUMBERS, package.version),
        _ => None,
    }
}

/// Returns `true` if a `Cargo.lock` contains this package.
pub fn contains(lock: &str, name: &str, version: &str) -> bool {
    packages(lock).any(|package| (package.name, package.version) == (name, version))
}

/// A package of a `Cargo.lock`.
pub(super) struct Package<'a> {
    pub(super) name: &'a str,
    pub(super) version: &'a str,
    pub(super) is_published: bool,
    #[cfg(feature = "cli")]
    text: &'a str,
}

#[cfg(feature = "cli")]
impl Package<'_> {
    /// Returns `true` if it depends on this package. The version is in the lock only if there are several.
    pub(super) fn requires(&self, other: &Package) -> bool {
        let mut lines = self.text.lines();
        lines.any(|line| {
            let dependency = line
                .strip_prefix(" \"")
                .and_then(|line| line.split('"').next());
            let mut words = dependency.unwrap_or_default().split(' ');
            words.next() == Some(other.name)
                && words.next().is_none_or(|version| version == other.version)
        })
    }
}

/// Parses the packages of a `Cargo.lock`, each of which begins with the name and the version.
pub(super) fn packages(lock: &str) -> impl Iterator<Item = Package<'_>> {
    let packages = lock.split("[[package]]").skip(1);
    packages.filter_map(|package| {
        let mut lines = package.trim_start().lines();
        let mut value = |key| lines.next()?.strip_prefix(key)?.strip_suffix('"');
        Some(Package {
            name: value("name = \"")?,
            version: value("version = \"")?,
            is_published: lines.any(|line| line.starts_with("source = \"registry+")),
            #[cfg(feature = "cli")]
            text: package,
        })
    })
}

/// Describes the feature to enable: the one of the toolkit, or of the driver if it is older. Otherwise the program
/// calls functions that the driver does not have.
pub fn advice(toolkit: Option<Version>, driver: Option<Version>) -> Option<String> {
    let number = |version: Version| (version.major, version.minor);
    let (version, of) = match (toolkit, driver) {
        (Some(toolkit), Some(driver)) if number(toolkit) <= number(driver) => (toolkit, "toolkit"),
        (_, Some(driver)) => (driver, "driver"),
        (Some(toolkit), None) => (toolkit, "toolkit"),
        (None, None) => return None,
    };
    let feature = format!("cuda-{}{:02}0", version.major, version.minor);
    Some(format!(
        "its feature {feature}, or the newest before it that it has, fits CUDA {} of the {of} here; choose an older \
         one to run with older drivers",
        version.short()
    ))
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
        // A fork may ask for other names.
        assert_eq!(of(&LOCK.replace("registry+", "git+")), None);
        let (_, another) = LOCK.split_at(LOCK.rfind("[[package]]").unwrap());
        let two = format!("{LOCK}\n{}", another.replace("0.18.2", "0.19.10"));
        assert_eq!(of(&two), None);
        assert_eq!(of(""), None);
    }

    #[test]
    fn the_lock_of_a_package() {
        assert!(contains(LOCK, "app", "0.1.0"));
        assert!(!contains(LOCK, "app", "0.1.1"));
        assert!(!contains(LOCK, "registry", "0.18.2"));
    }

    /// CFG-08: 12.8 is `cuda-12080`, and never newer than the driver.
    #[test]
    fn the_feature_of_the_older_of_toolkit_and_driver() {
        let version = |major, minor| Some(Version::new(major, minor, 0));
        let feature = |toolkit, driver| {
            let text = advice(toolkit, driver).unwrap_or_default();
            let text = text.replace(", or the newest before it that it has,", "");
            let text = text.strip_prefix("its feature ").unwrap_or_default();
            text.split(" here").next().unwrap_or_default().to_string()
        };
        for (toolkit, driver, expected) in [
            (
                version(12, 8),
                None,
                "cuda-12080 fits CUDA 12.8 of the toolkit",
            ),
            (
                version(12, 8),
                version(13, 0),
                "cuda-12080 fits CUDA 12.8 of the toolkit",
            ),
            (
                version(12, 8),
                version(12, 8),
                "cuda-12080 fits CUDA 12.8 of the toolkit",
            ),
            (
                version(12, 10),
                version(12, 9),
                "cuda-12090 fits CUDA 12.9 of the driver",
            ),
            (
                version(13, 10),
                None,
                "cuda-13100 fits CUDA 13.10 of the toolkit",
            ),
            (
                None,
                version(11, 4),
                "cuda-11040 fits CUDA 11.4 of the driver",
            ),
            (None, None, ""),
        ] {
            assert_eq!(feature(toolkit, driver), expected);
        }
    }

    #[test]
    fn a_lock_tells_whether_cudarc_is_there() {
        let lock = "[[package]]\nname = \"cc\"\nversion = \"1.0.0\"\n\n[[package]]\nname = \"cudarc\"\nversion = \"0.17.3\"\n\
            dependencies = [\n \"libloading\",\n]\n";
        assert_eq!(in_lock(lock), Some("0.17.3"));
        assert_eq!(
            in_lock("name = \"cudarc-like\"\nversion = \"1.0.0\"\n"),
            None
        );
        assert_eq!(in_lock("name = \"cudarc\"\n"), None);
    }
}
