//! The versions of the sub-libraries in each real version.

use super::set;
use crate::runtime::guard::farm::library;
use cudnn_guard::internals::facts::{Version, VersionSource};
use cudnn_guard::internals::install::file_reader::FileReader;
use cudnn_guard::internals::install::sub_library_files::ProcessFiles;
use cudnn_guard::internals::loader::file_name;
use std::path::Path;

/// Returns this system's wheels, `cudnn-cu<CUDA>-<version>`, and their versions, except 8.5 and older, which are linked
/// to a missing cuBLAS.
fn wheels() -> Vec<(String, Version)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(set("")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.starts_with("cudnn-cu") && !name.ends_with("-aarch64") {
            let version = recorded(&library(&name));
            found.push((name, version));
        }
    }
    found.retain(|(_, version)| *version >= Version::new(8, 9, 0));
    found.sort();
    assert!(found.len() >= 2, "{found:?}");
    found
}

/// Returns the version in the name of the wheel's record: `nvidia_cudnn_cu13-9.28.0.42.dist-info`.
fn recorded(folder: &Path) -> Version {
    let wheel = folder.ancestors().nth(3).unwrap();
    let names = std::fs::read_dir(wheel)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap());
    let name = names
        .into_iter()
        .find(|name| name.ends_with(".dist-info") && name.contains("cudnn"))
        .unwrap();
    let numbers: Vec<u32> = name
        .split('-')
        .nth(1)
        .unwrap()
        .split('.')
        .filter_map(|n| n.parse().ok())
        .collect();
    Version::new(numbers[0], numbers[1], numbers[2])
}

#[test]
#[ignore = "needs real cuDNN files: CUDNN_GUARD_REAL"]
fn versions_are_read_from_the_sub_libraries() {
    for (set, wanted) in wheels() {
        let folder = library(&set);
        let mut with_symbol = Vec::new();
        for file in std::fs::read_dir(&folder).unwrap() {
            let path = file.unwrap().path();
            let Some((part, _)) = file_name::parse(&path) else {
                continue;
            };
            let files = ProcessFiles::new(&[]);
            let mut open = |name: &str, path: &Path| files.open(name, path);
            let found = FileReader::new(&mut open).read(&part, path.clone());
            let version = found.sourced_version();
            let (release, by) = version.unwrap_or_else(|| panic!("{found:?}"));
            assert_eq!(release, wanted, "{} by {by}", path.display());
            if matches!(by, VersionSource::Symbol(_)) {
                with_symbol.push(part);
            }
        }
        with_symbol.sort();
        let symbols: &[&str] = match wanted.major {
            8 => &["adv_infer", "cnn_infer", "ops_infer", "ops_train"],
            _ => &["adv", "graph", "ops"],
        };
        assert_eq!(with_symbol, symbols, "{}", folder.display());
    }
}
