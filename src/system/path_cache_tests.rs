//! The cache of the file system's answers.

use crate::runtime::system::path_cache::*;
use std::cell::Cell;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

#[test]
fn a_query_is_asked_once_during_a_check() {
    let count = Cell::new(0);
    let ask = || {
        once("count", Path::new("/a"), || {
            count.set(count.get() + 1);
            count.get()
        })
    };
    assert_eq!([ask(), ask()], [1, 2], "outside of a check");
    let outer = PathCache::start();
    assert_eq!([ask(), ask()], [3, 3]);
    drop(PathCache::start());
    assert_eq!(ask(), 3, "an inner check keeps the answers");
    forget();
    assert_eq!([ask(), ask()], [4, 4]);
    drop(outer);
    assert_eq!(ask(), 5);
}

#[test]
fn an_error_is_kept_with_its_number() {
    let _cache = PathCache::start();
    for path in ["/dev/null/a", "/nowhere", "/nowhere\0"] {
        let expected = std::fs::symlink_metadata(path).unwrap_err();
        let found = [(); 2].map(|()| link_metadata(Path::new(path)).unwrap_err());
        let number = expected.raw_os_error().unwrap_or(2);
        assert_eq!(found.map(|found| found.raw_os_error()), [Some(number); 2]);
    }
}

/// `realpath` is the reference.
#[test]
fn links_are_resolved_like_in_the_system_and_each_directory_once() {
    let top = std::env::temp_dir().join(format!("cudnn-guard-paths-{}", std::process::id()));
    let top = std::fs::canonicalize(std::env::temp_dir())
        .unwrap()
        .join(top.file_name().unwrap());
    std::fs::create_dir_all(top.join("a/b/c")).unwrap();
    for number in 0..100 {
        std::fs::write(top.join(format!("a/b/c/{number}")), "").unwrap();
    }
    for (target, link) in [
        ("a/b", "dir"),
        ("../dir/c/0", "a/file"),
        ("nowhere", "dangling"),
        ("loop", "loop"),
        ("c/../../up", "a/b/up"),
        ("../../../../../../../../../..", "a/root"),
    ] {
        symlink(target, top.join(link)).unwrap();
    }
    symlink(top.join("dir"), top.join("absolute")).unwrap();
    let names = [
        "",
        ".",
        "dir",
        "dir/c/1",
        "dir/../x",
        "dir/..",
        "a/file",
        "absolute/c",
        "dangling",
        "loop/a",
        "a/b/up",
        "a/root/tmp",
        "a/b/c/1/d",
        "absent/..",
    ];
    let all: Vec<PathBuf> = names.iter().map(|name| top.join(name)).collect();
    for _cache in [None, Some(PathCache::start())] {
        for path in &all {
            let found = canonical(path, None);
            let expected = std::fs::canonicalize(path);
            assert_eq!(found.as_ref().ok(), expected.as_ref().ok(), "{path:?}");
        }
    }
    let cache = PathCache::start();
    asked::take();
    for number in 0..100 {
        canonical(&top.join(format!("dir/c/{number}")), None).unwrap();
    }
    let asked = asked::take().len();
    drop(cache);
    std::fs::remove_dir_all(&top).unwrap();
    // The 100 files, their parents, and the link.
    let parents = top.components().count() + 4;
    assert!(asked <= 100 + parents, "{asked} queries");
}
