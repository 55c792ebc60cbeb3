//! Which CUDA feature of cudarc fits: it has one for each release, and one has to be chosen.

use crate::model::text::pattern::{Pattern, pattern, release};
use crate::runtime::facts::version::Version;

/// The release of cudarc that a `Cargo.lock` holds; the last, where there are several.
#[cfg(feature = "cli")]
pub fn in_lock(lock: &str) -> Option<&str> {
    let of_cudarc = packages(lock).filter(|package| package.name == "cudarc");
    Some(of_cudarc.last()?.version)
}

/// The release of cudarc that the programs of this `Cargo.lock` are built with; none where there are several, or where
/// it is not the one of that number which everybody has.
pub fn only_in_lock(lock: &str) -> Option<Version> {
    static NUMBERS: Pattern = Pattern::new(|| pattern(r"^([0-9]+)\.([0-9]+)\.([0-9]+)$"));
    let mut of_cudarc = packages(lock).filter(|package| package.name == "cudarc");
    match (of_cudarc.next()?, of_cudarc.next()) {
        (package, None) if package.is_published => release(&NUMBERS, package.version),
        _ => None,
    }
}

/// Whether this package is among those of a `Cargo.lock`.
pub fn holds(lock: &str, name: &str, version: &str) -> bool {
    packages(lock).any(|package| (package.name, package.version) == (name, version))
}

struct Package<'a> {
    name: &'a str,
    version: &'a str,
    is_published: bool,
}

/// The packages of a `Cargo.lock`, each of which begins with the name and the release.
fn packages(lock: &str) -> impl Iterator<Item = Package<'_>> {
    let packages = lock.split("[[package]]").skip(1);
    packages.filter_map(|package| {
        let mut lines = package.trim_start().lines();
        let mut value = |key| lines.next()?.strip_prefix(key)?.strip_suffix('"');
        Some(Package {
            name: value("name = \"")?,
            version: value("version = \"")?,
            is_published: lines.any(|line| line.starts_with("source = \"registry+")),
        })
    })
}

/// What to enable, in words: that of the toolkit, or of the driver where that is older. The program calls what the
/// driver here does not have, otherwise.
pub fn advice(toolkit: Option<Version>, driver: Option<Version>) -> Option<String> {
    let number = |one: Version| (one.major, one.minor);
    let older = toolkit
        .zip(driver)
        .is_none_or(|(toolkit, driver)| number(driver) < number(toolkit));
    let (version, of) = match (toolkit, driver) {
        (_, Some(driver)) if older => (driver, "driver"),
        (Some(toolkit), _) => (toolkit, "toolkit"),
        (None, _) => return None,
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
        assert!(holds(LOCK, "app", "0.1.0"));
        assert!(!holds(LOCK, "app", "0.1.1"));
        assert!(!holds(LOCK, "registry", "0.18.2"));
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
        for (toolkit, driver, wanted) in [
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
            assert_eq!(feature(toolkit, driver), wanted);
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
