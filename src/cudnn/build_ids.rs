//! The build IDs of cuDNN's sub-libraries.

use crate::runtime::facts::Version;
use crate::runtime::facts::tables::BUILD_ID_DIGITS;

const TABLE: &str = include_str!("../../build-support/compat/build-ids.txt");

/// Returns the versions in which NVIDIA shipped this build of a sub-library: usually one, and none if the build is
/// unknown.
pub fn releases(build_id: &str) -> Vec<Version> {
    if build_id.len() < 16 {
        return Vec::new();
    }
    let row = TABLE.lines().find(|row| row.starts_with(build_id));
    versions(row.unwrap_or_default())
}

/// Returns the versions at the end of a row.
fn versions(row: &str) -> Vec<Version> {
    let mut versions = Vec::new();
    for word in row.split(' ').skip(2) {
        versions.extend(Version::parse(word));
    }
    versions
}

/// Returns the build IDs of these majors that are embedded in a program: for each version, their first digits.
pub fn embedded_in(majors: &[u32]) -> Vec<(Version, String)> {
    let mut rows: Vec<(Version, String)> = Vec::new();
    for row in TABLE.lines() {
        if row.starts_with('#') {
            continue;
        }
        let digits = &row[..BUILD_ID_DIGITS];
        for version in versions(row) {
            let at = rows.partition_point(|(known, _)| *known < version);
            match rows.get_mut(at) {
                _ if !majors.contains(&version.major) => {}
                Some((known, ids)) if *known == version => *ids += &format!(" {digits}"),
                _ => rows.insert(at, (version, digits.to_string())),
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::facts::sub_libraries;

    #[test]
    fn a_build_identifies_the_versions_that_shipped_it() {
        let versions = |id| releases(id);
        assert_eq!(
            versions("7e3e3ea4087de05fd75005d9ecb50667db9391fc"),
            [4, 5, 6, 7].map(|patch| Version::new(8, 9, patch))
        );
        assert_eq!(
            versions("f62fed595300c2f0736b79ab3201648fdae7e49a"),
            [Version::new(9, 14, 0)]
        );
        assert_eq!(versions("f62fed595300c2f0736b79ab3201648fdae7e49b"), []);
        assert_eq!(versions(""), []);
        // A short build-id of another kind.
        assert_eq!(versions("f62fed59"), []);
    }

    #[test]
    fn a_program_contains_only_the_builds_of_its_majors() {
        let rows = embedded_in(&[8]);
        let releases: Vec<_> = rows.iter().map(|row| row.0.to_string()).collect();
        assert_eq!(
            (releases.len(), &*releases[0], &*releases[11]),
            (12, "8.5.0", "8.9.7")
        );
        // One build may belong to several versions.
        assert!(rows[8..].iter().all(|row| row.1.contains("7e3e3ea4")));
        let rows = embedded_in(&[9]);
        let of = |minor, id| {
            rows.iter()
                .any(|(version, ids)| version.minor == minor && ids.contains(id))
        };
        assert!(of(14, "f62fed59"), "libcudnn_cnn.so.9");
        let size: usize = rows.iter().map(|row| row.1.len()).sum();
        assert!(size < 4000, "{size}");
    }

    #[test]
    fn every_row_is_complete() {
        let rows = TABLE.lines().filter(|line| !line.starts_with('#'));
        let mut known: Vec<&str> = Vec::new();
        for row in rows {
            let mut words = row.split(' ');
            let id = words.next().unwrap();
            assert!(
                id.len() == 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit()),
                "{row}"
            );
            let part = words.next().unwrap();
            let library = sub_libraries::find(part);
            let has_no_symbol = library.is_some_and(|it| it.version_symbol.is_none());
            assert!(part == "cudnn" || has_no_symbol, "{row}");
            let releases: Vec<_> = words.map(Version::parse).collect();
            assert!(
                !releases.is_empty() && releases.iter().all(Option::is_some),
                "{row}"
            );
            known.push(id);
        }
        assert!(known.len() > 150 && known.is_sorted(), "{}", known.len());
    }
}
