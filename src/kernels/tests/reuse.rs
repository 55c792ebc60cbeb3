//! Kernels from the cache.

use crate::kernels::tests::package::{Package, cache_off};
use crate::model::{Environment, Os};
use crate::system::ObjectCache;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

const A: [&str; 1] = ["./src/a.cu"];

/// Replaces the output directory by an empty one, as `cargo clean` does.
fn clean(package: &Package) {
    std::fs::remove_dir_all(package.path(package.out)).unwrap();
    std::fs::create_dir(package.path(package.out)).unwrap();
}

/// A package with one kernel in the cache, and nothing else.
fn cached(files: &[(&str, &str)], flags: &[&str]) -> Package {
    let mut package = Package::new(files);
    for flag in flags {
        let dir = package.path(flag.trim_start_matches("-I"));
        package.flags.push(format!("-I{}", dir.display()));
    }
    package.compiles(&A);
    clean(&package);
    package
}

fn entries(package: &Package) -> Vec<PathBuf> {
    let dir = package.path("cache/objects");
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        entries.push(entry.unwrap().path());
    }
    entries
}

#[test]
fn the_same_contents_are_compiled_once() {
    let files = [
        ("src/a.cu", "#include \"a.h\"\n"),
        ("src/b.cu", "b\n"),
        ("src/a.h", "1\n"),
    ];
    let mut package = Package::new(&files);
    let both = ["./src/a.cu", "./src/b.cu"];
    package.compiles(&both);
    let object = format!("cudnn-guard/libk/a-{:016x}.o", package.hash("src/a.cu"));
    let bytes = |package: &Package, name: &str| {
        std::fs::read(package.path(package.out).join(name)).unwrap()
    };
    let (first, archive) = (bytes(&package, &object), bytes(&package, "libk.a"));
    let lines = package.compile().1;
    clean(&package);
    assert_eq!(package.compile().1, lines, "cargo watches the same files");
    package.compiles(&[]);
    assert_eq!(bytes(&package, &object), first);
    assert_eq!(bytes(&package, "libk.a"), archive);
    // Another target directory, and files with new times.
    package.out = "other";
    std::fs::create_dir(package.path("other")).unwrap();
    for (path, text) in files {
        package.write(path, text);
    }
    package.compiles(&[]);
    assert_eq!(bytes(&package, &object), first);
    // Another branch, and back.
    package.write("src/b.cu", "other\n");
    package.compiles(&["./src/b.cu"]);
    package.write("src/b.cu", "b\n");
    package.compiles(&[]);
    package.env.push(cache_off());
    clean(&package);
    package.compiles(&both);
}

#[test]
fn another_input_is_compiled() {
    type Change = fn(&mut Package);
    let changes: [(&str, Change); 8] = [
        ("source", |package| package.write("src/a.cu", "a\n")),
        ("header", |package| package.write("second/a.h", "2\n")),
        ("earlier header", |package| {
            package.write("first/a.h", "1\n")
        }),
        ("header beside the source", |package| {
            package.write("src/a.h", "1\n")
        }),
        ("flag", |package| package.flags.push("-DX".to_string())),
        ("targets", |package| package.archs = "80"),
        ("variable", |package| {
            package.env.push(("CPATH", "/nowhere".to_string()));
        }),
        ("ptxas", |package| package.write("cuda/bin/ptxas", "22")),
    ];
    for (what, change) in changes {
        let files = [
            ("src/a.cu", "#include \"a.h\"\n"),
            ("first/unread.h", ""),
            ("second/a.h", "1\n"),
            ("cuda/bin/ptxas", "1"),
        ];
        let mut package = cached(&files, &["-Ifirst", "-Isecond"]);
        package.compiles(&[]);
        clean(&package);
        change(&mut package);
        package.compile().0.unwrap();
        assert_eq!(package.calls().len(), 1, "{what}");
    }
}

/// A header that a build script generates is another one in each target directory.
#[test]
fn a_generated_header() {
    let mut package = Package::new(&[
        ("src/a.cu", "#include \"made.h\"\n"),
        ("out/made.h", "1\n"),
        ("other/made.h", "2\n"),
    ]);
    package.flags = vec![format!("-I{}", package.path("out").display())];
    package.compiles(&A);
    package.out = "other";
    package.flags = vec![format!("-I{}", package.path("other").display())];
    package.compiles(&A);
}

/// Its directory is inside the source's.
#[test]
fn a_header_beside_the_source_hides_one_further_down() {
    let files = [
        ("src/a.cu", "#include \"a.h\"\n"),
        ("src/include/a.h", "1\n"),
    ];
    let package = cached(&files, &["-Isrc/include"]);
    package.compiles(&[]);
    clean(&package);
    package.write("src/a.h", "1\n");
    package.compiles(&A);
}

#[test]
fn a_program_that_is_replaced_while_nvcc_runs() {
    let replaces = "// nvcc runs printf 22 >\"$here/ptxas\"\n";
    let package = Package::new(&[("src/a.cu", replaces), ("cuda/bin/ptxas", "1")]);
    package.compiles(&A);
    assert_eq!(entries(&package), Vec::<PathBuf>::new());
}

#[test]
fn a_header_that_changes_while_nvcc_runs() {
    let package = Package::new(&[("src/a.h", "1\n")]);
    let kernel = "#include \"a.h\"\n// nvcc runs echo 2 >\"${source%/*}/a.h\"\n";
    package.write("src/a.cu", kernel);
    package.compiles(&A);
    assert_eq!(entries(&package), Vec::<PathBuf>::new());
    package.write("src/a.h", "2\n");
    package.compiles(&A);
}

/// A later build could not tell if it has changed.
#[test]
fn a_header_that_is_too_large_for_a_hash() {
    let package = Package::new(&[("src/a.cu", "#include \"a.h\"\n"), ("src/a.h", "1\n")]);
    let path = package.path("src/a.h");
    let header = std::fs::File::options().append(true).open(&path).unwrap();
    header.set_len(17 << 20).unwrap();
    header
        .set_modified(SystemTime::now() - Duration::from_secs(60))
        .unwrap();
    package.compiles(&A);
    package.compiles(&[]);
    assert_eq!(entries(&package), Vec::<PathBuf>::new());
}

#[test]
fn damaged_entries_are_replaced() {
    let package = cached(&[("src/a.cu", "")], &[]);
    let [entry] = <[PathBuf; 1]>::try_from(entries(&package)).unwrap();
    let whole = std::fs::read(&entry).unwrap();
    let mut flipped = whole.clone();
    *flipped.last_mut().unwrap() ^= 1;
    let long = [b"0 99999999999999999999\n", &whole[..]].concat();
    for damaged in [&whole[..whole.len() - 1], &flipped, &long, b"", b"\n", b"x"] {
        std::fs::write(&entry, damaged).unwrap();
        package.compiles(&A);
        clean(&package);
        package.compiles(&[]);
        clean(&package);
    }
}

/// Its objects would become a part of this program.
#[test]
fn a_directory_that_others_can_write_to_is_not_used() {
    let package = cached(&[("src/a.cu", "")], &[]);
    let dir = package.path("cache/objects");
    let set = |mode| {
        std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    set(0o777);
    package.compiles(&A);
    clean(&package);
    set(0o775);
    package.compiles(&[]);
    clean(&package);
    // Only root can give a directory to another user.
    if std::fs::metadata(&dir).unwrap().uid() == 0 {
        std::os::unix::fs::chown(&dir, Some(65534), None).unwrap();
        package.compiles(&A);
    }
}

/// `fetch` accepts only its own files in `cudnn-guard`, which is for all of a user's data on Windows.
#[test]
fn the_directory_is_not_that_of_fetch() {
    let package = Package::new(&[]);
    let user = package.dir.to_str().unwrap();
    for (builder, variable, name) in [
        (Os::Windows, "LOCALAPPDATA", "cudnn-guard-cache"),
        (Os::Linux, "XDG_CACHE_HOME", "cudnn-guard"),
    ] {
        let pairs = [("OUT_DIR", user), (variable, user)];
        let pairs = pairs.map(|(name, value)| (name.to_string(), value.into()));
        let cache = ObjectCache::open(&Environment::new(pairs), builder).unwrap();
        let entry = cache.entry("a");
        assert_eq!(entry.parent().unwrap(), package.path(name).join("objects"));
    }
}

#[test]
fn a_cache_that_cannot_be_written_changes_nothing() {
    let package = Package::new(&[("src/a.cu", ""), ("cache", "a file")]);
    package.compiles(&A);
    package.compiles(&[]);
}

#[test]
fn the_entries_that_were_used_last_are_kept() {
    let package = cached(&[("src/a.cu", "")], &[]);
    let [entry] = <[PathBuf; 1]>::try_from(entries(&package)).unwrap();
    let sized = |name: &str, gigabytes: u64, age: u64| {
        let path = entry.with_file_name(name);
        let file = std::fs::File::create(&path).unwrap();
        file.set_len(gigabytes << 30).unwrap();
        let date = SystemTime::now() - Duration::from_secs(age);
        file.set_modified(date).unwrap();
        path
    };
    let old = SystemTime::now() - Duration::from_secs(5000);
    let file = std::fs::File::options().append(true).open(&entry).unwrap();
    file.set_modified(old).unwrap();
    // Using it makes it newer than the others.
    package.compiles(&[]);
    let (older, newer) = (sized("older", 3, 3000), sized("newer", 4, 2000));
    package.write("src/b.cu", "");
    package.compiles(&["./src/b.cu"]);
    assert!(entry.exists() && newer.exists() && !older.exists());
    assert_eq!(entries(&package).len(), 3);
}
