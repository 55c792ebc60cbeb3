//! Decisions between files of several versions, with literal inputs.

use cudnn_guard::internals::facts::{Version, VersionSource};
use cudnn_guard::internals::install::installed::Installed;
use cudnn_guard::internals::install::mixed_sub_libraries::{Foreign, lasting_folders};
use cudnn_guard::internals::install::sub_library_file::SubLibraryFile;
use cudnn_guard::internals::loader::LoadOrigin;
use std::path::Path;

#[test]
fn the_sub_libraries_beside_the_main_library_show_its_version() {
    let file = |name: &str, dir: &str, minor| {
        let path = Path::new(dir).join(format!("libcudnn_{name}.so.9"));
        let version = (Version::new(9, minor, 0), VersionSource::FileName);
        SubLibraryFile::new(name, path, Some(version), true)
    };
    let main = SubLibraryFile::new("cudnn", "/own/libcudnn.so.9".into(), None, true);
    let installed = Installed {
        // cudnnGetVersion is in the first sub-library.
        list: vec![file("graph", "/elsewhere", 10), file("cnn", "/own", 14)],
        main,
        ..Installed::default()
    };
    assert_eq!(installed.version().unwrap().0, Version::new(9, 14, 0));
}

/// A later LD_LIBRARY_PATH entry can stay if a complete cuDNN replaces the main library's directory.
#[test]
fn a_directory_behind_that_of_the_main_library_can_stay() {
    let version = Some(Version::new(9, 10, 0));
    let behind = LoadOrigin::LibraryPath("/behind".into());
    let foreign = |has_own, yields| Foreign {
        path: Path::new("/behind/libcudnn_ops.so.9"),
        version,
        origin: &behind,
        has_own,
        yields,
    };
    let by_variable = LoadOrigin::LibraryPath("/own".into());
    let stays = vec![("/behind".into(), version)];
    assert_eq!(lasting_folders(&[foreign(false, true)], &by_variable), []);
    assert_eq!(
        lasting_folders(&[foreign(false, false)], &by_variable),
        stays
    );
    assert_eq!(lasting_folders(&[foreign(true, true)], &by_variable), stays);
    let by_rpath = LoadOrigin::Rpath("/own".into(), None);
    assert_eq!(lasting_folders(&[foreign(false, true)], &by_rpath), stays);
}
