//! Which releases of cuDNN a build-id stands for.

use crate::runtime::facts::version::Version;

const TABLE: &str = include_str!("../../build-support/compat/build-ids.txt");

/// The releases in which NVIDIA shipped this very build of a part: mostly one, none where it is not in the table.
pub fn releases(build_id: &str) -> Vec<Version> {
    if build_id.len() < 16 {
        return Vec::new();
    }
    let row = TABLE
        .find(build_id)
        .and_then(|at| TABLE[at..].lines().next());
    let releases = row.unwrap_or_default().split(' ').skip(2);
    releases.filter_map(release).collect()
}

/// 9.14.0 of `9.14.0`.
fn release(text: &str) -> Option<Version> {
    let mut numbers = text.split('.').map(|number| number.parse().ok());
    Some(Version::new(
        numbers.next()??,
        numbers.next()??,
        numbers.next()??,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_stands_for_the_releases_that_shipped_it() {
        let told = |id| releases(id);
        assert_eq!(
            told("7e3e3ea4087de05fd75005d9ecb50667db9391fc"),
            [Version::new(8, 9, 6), Version::new(8, 9, 7)]
        );
        assert_eq!(
            told("f62fed595300c2f0736b79ab3201648fdae7e49a"),
            [Version::new(9, 14, 0)]
        );
        assert_eq!(told("f62fed595300c2f0736b79ab3201648fdae7e49b"), []);
        assert_eq!(told(""), []);
    }

    #[test]
    fn every_row_is_whole() {
        let rows = TABLE.lines().filter(|line| !line.starts_with('#'));
        let mut known: Vec<&str> = Vec::new();
        for row in rows {
            let mut words = row.split(' ');
            let id = words.next().unwrap();
            assert!(
                id.len() == 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit()),
                "{row}"
            );
            assert!(!words.next().unwrap().is_empty(), "{row}");
            let releases: Vec<_> = words.map(release).collect();
            assert!(
                !releases.is_empty() && releases.iter().all(Option::is_some),
                "{row}"
            );
            known.push(id);
        }
        assert!(known.len() > 150 && known.is_sorted(), "{}", known.len());
    }
}
