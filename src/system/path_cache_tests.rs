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

#[cfg(feature = "runtime")]
mod checks {
    use super::*;
    use crate::runtime::check;
    use crate::runtime::child::{Functions, with_large_stack};
    use crate::runtime::convolution::Extent;
    use crate::runtime::driver::DriverProblem;
    use crate::runtime::facts::{Built, Version, sub_libraries};
    use crate::runtime::system::Library;
    use std::collections::BTreeSet;
    use std::process::Command;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn work_on_a_large_stack_knows_the_answers() {
        let work = || {
            let ask = |answer: u32| once("stack", Path::new("/a"), || answer);
            let _cache = PathCache::start();
            assert_eq!(ask(1), 1);
            let there = AtomicU32::new(0);
            with_large_stack(&|| there.store(ask(2), Ordering::Relaxed));
            there.into_inner()
        };
        for (megabytes, answer) in [(8, 1), (1, 2)] {
            let thread = std::thread::Builder::new().stack_size(megabytes << 20);
            assert_eq!(thread.spawn(work).unwrap().join().unwrap(), answer);
        }
    }

    /// `startup` does the same as `check_with`.
    #[test]
    fn a_check_asks_about_each_path_once() {
        let dir = std::env::temp_dir().join(format!("cudnn-guard-check-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let dir = std::fs::canonicalize(dir).unwrap();
        let names = sub_libraries::of_release(Version::new(9, 28, 0));
        let names = names
            .iter()
            .map(|part| format!("libcudnn_{}.so.9", part.name));
        for name in names.chain(["libcudnn.so.9".to_string()]) {
            let mut cc = Command::new("cc");
            cc.args(["-shared", "-xc", "/dev/null"])
                .arg(format!("-Wl,-rpath,$ORIGIN,-soname,{name}"))
                .arg("-o")
                .arg(dir.join(name));
            assert!(cc.status().unwrap().success());
        }
        Library::open_file(&dir.join("libcudnn.so.9")).unwrap();
        let built = Built {
            cudnn: Some(Version::new(9, 28, 0)),
            ..Built::default()
        };
        let functions = Functions {
            driver: || Err(DriverProblem::Missing(Box::default())),
            ..Functions::default()
        };
        for is_version in [true, false] {
            asked::take();
            let _ = match is_version {
                true => check::check_version(&built),
                false => check::check_with(&built, functions, Extent::Quick),
            };
            let asked = asked::take();
            let all: BTreeSet<_> = asked.iter().collect();
            assert_eq!(all.len(), asked.len(), "no question is repeated");
            let paths: BTreeSet<_> = asked.iter().map(|(_, path)| path).collect();
            let own = paths
                .iter()
                .filter(|path| Path::new(path).starts_with(&dir));
            assert!(own.count() > 8, "{paths:?}");
            let (asked, paths) = (asked.len(), paths.len());
            assert!(asked * 2 <= paths * 3, "{asked} questions, {paths} paths");
        }
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
