//! Changes since the last build.

use crate::kernels::tests::package::{Package, cache_off};
use crate::system::files;
use std::os::unix::fs::symlink;
use std::path::Path;

const A: [&str; 1] = ["./src/a.cu"];

/// A package with one compiled kernel that is up to date.
fn fresh(files: &[(&str, &str)], flags: &[&str]) -> Package {
    let mut package = Package::new(files);
    let flag = |flag: &&str| match flag.strip_prefix("-I") {
        Some(dir) => format!("-I{}", package.path(dir).display()),
        None => flag.to_string(),
    };
    package.flags = flags.iter().map(flag).collect();
    package.compiles(&A);
    package.compiles(&[]);
    package
}

/// Gives a file the date of another one. Nix gives all files the same date.
fn dated_as(path: &Path, other: &Path) {
    let date = std::fs::metadata(other).unwrap().modified().unwrap();
    let file = std::fs::File::options().append(true).open(path).unwrap();
    file.set_modified(date).unwrap();
}

/// As with make and ninja, a new header in an earlier directory does not count.
#[test]
fn a_header_that_was_read_and_then_changed_or_vanished() {
    let kernel = "#include \"common.h\"\n#include \"deep/deep.h\"\n";
    let package = fresh(
        &[
            ("src/a.cu", kernel),
            ("first/other.h", ""),
            ("second/common.h", ""),
            ("second/deep/deep.h", ""),
        ],
        &["-Ifirst", "-Isecond"],
    );
    package.write("second/unread.h", "");
    package.write("first/common.h", "");
    package.compiles(&[]);
    package.write("second/common.h", "changed");
    package.compiles(&A);
    package.compiles(&[]);
    std::fs::remove_file(package.path("first/common.h")).unwrap();
    package.compiles(&A);
    package.compiles(&[]);
    package.write("second/deep/deep.h", "changed");
    package.compiles(&A);
    package.compiles(&[]);
}

/// As after a checkout, or in CI with the files of an earlier build.
#[test]
fn files_whose_times_have_changed() {
    let files = [
        ("src/a.cu", "#include \"a.h\"\n"),
        ("src/b.cu", "#include \"a.h\"\n"),
        ("src/a.h", "1\n"),
        ("src/b.h", "1\n"),
    ];
    let package = Package::new(&files);
    package.compiles(&["./src/a.cu", "./src/b.cu"]);
    let reads = |expected: &[&str]| {
        files::opened::take();
        package.compiles(&[]);
        let mut read = files::opened::take();
        read.retain(|path| files.iter().any(|(file, _)| path.ends_with(file)));
        let expected: Vec<_> = expected.iter().map(|path| package.path(path)).collect();
        assert_eq!(read, expected);
    };
    reads(&[]);
    // Each file is read once, and only in the next build.
    for (path, text) in &files {
        package.write(path, text);
    }
    reads(&["src/a.cu", "src/a.h", "src/b.cu"]);
    reads(&[]);
    let header = package.path("src/a.h");
    dated_as(&header, &package.path("cuda/bin/nvcc"));
    reads(&["src/a.h"]);
    reads(&[]);
    package.write("src/a.h", "2\n");
    package.compiles(&["./src/a.cu", "./src/b.cu"]);
    package.write("src/a.h", "1\n");
    package.compiles(&["./src/a.cu", "./src/b.cu"]);
    // Other headers beside the file may be included through a link.
    std::fs::remove_file(&header).unwrap();
    symlink("b.h", &header).unwrap();
    package.compiles(&["./src/a.cu", "./src/b.cu"]);
    package.compiles(&[]);
}

/// Otherwise the hash of the new header would belong to the object of the old one.
#[test]
fn a_header_of_two_kernels() {
    let mut package = Package::new(&[
        ("src/a.cu", "#include \"common.h\"\n"),
        ("src/b/b.cu", "#include \"common.h\"\n"),
        ("src/c/c.cu", ""),
        ("first/common.h", ""),
    ]);
    package.flags = vec![format!("-I{}", package.path("first").display())];
    package.compiles(&["./src/a.cu", "./src/b/b.cu", "./src/c/c.cu"]);
    package.compiles(&[]);
    package.write("first/common.h", "changed");
    package.compiles(&["./src/a.cu", "./src/b/b.cu"]);
    package.compiles(&[]);
    // Each source has its own search path.
    package.write("src/b/common.h", "");
    package.write("src/common.h", "");
    std::fs::remove_file(package.path("first/common.h")).unwrap();
    package.compiles(&["./src/a.cu", "./src/b/b.cu"]);
    package.compiles(&[]);
    package.write("src/b/common.h", "changed");
    package.compiles(&["./src/b/b.cu"]);
    package.compiles(&[]);
}

#[test]
fn a_header_that_is_created_while_nvcc_runs() {
    let package = Package::new(&[("src/late.h", "")]);
    let late = package.path("src/late.h");
    let kernel = format!("#include \"late.h\"\n// nvcc brings {}\n", late.display());
    package.write("src/a.cu", &kernel);
    package.compiles(&A);
    package.compiles(&[]);
    std::fs::remove_file(late).unwrap();
    let lines = package.compile().1;
    let line = "cargo::rerun-if-changed=./src/late.h".to_string();
    assert!(lines.contains(&line), "{lines:?}");
    assert_eq!(package.calls().len(), 1);
}

#[test]
fn cargo_watches_nvcc_the_programs_that_it_runs_and_the_headers_that_it_reads() {
    let files = [
        "cuda/bin/nvcc.profile",
        "cuda/bin/cudafe++",
        "cuda/bin/ptxas",
        "cuda/bin/nvlink",
        "cuda/nvvm/bin/cicc",
        "cuda/nvvm/libdevice/libdevice.10.bc",
        "cuda/include/cub/cub.cuh",
        "gcc/gcc",
    ];
    let mut package = Package::new(&files.map(|file| (file, "1")));
    package.write("src/a.cu", "#include \"cub/cub.cuh\"\n");
    package.write("src/b.cu", "#include \"cub/cub.cuh\"\n");
    std::fs::create_dir(package.path("cuda/bin/fatbinary")).unwrap();
    symlink(package.path("gcc/gcc"), package.path("gcc/g++")).unwrap();
    package.env = vec![("CXX", package.path("gcc/g++").display().to_string())];
    let include = package.path("cuda/include");
    package.flags = vec![format!("-I{}", include.display())];
    let nvcc = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/nvcc/nvcc");
    let nvcc = package.shown(&nvcc.canonicalize().unwrap().display().to_string());
    for _ in 0..2 {
        let lines = package.compile().1;
        let mut watched = Vec::new();
        for line in &lines {
            watched.extend(line.strip_prefix("cargo::rerun-if-changed="));
        }
        let real = |path: &str| package.path(path).canonicalize().unwrap();
        for file in files {
            let is_it =
                |path: &&&str| Path::new(path).ends_with(&file[file.rfind('/').unwrap() + 1..]);
            let named = watched.iter().filter(is_it).map(|path| real(path));
            assert!(
                named.clone().any(|path| path == real(file)),
                "{file}: {watched:#?}"
            );
        }
        for file in ["./cuda/bin/nvcc", "./gcc/g++", &nvcc] {
            assert!(watched.contains(&file), "{file}: {watched:#?}");
        }
        let mut once = watched.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), watched.len(), "{watched:#?}");
        let missing = |path: &&&str| !package.path(path).exists();
        assert_eq!(watched.iter().find(missing), None);
        assert!(!watched.iter().any(|path| path.contains("fatbinary")));
    }
}

#[test]
fn a_link_with_another_target() {
    let package = Package::new(&[
        ("src/a.cu", "#include \"link.h\"\n#include \"linked/b.h\"\n"),
        ("one/b.h", "1\n"),
        ("two/b.h", "2\n"),
    ]);
    dated_as(&package.path("one/b.h"), &package.path("two/b.h"));
    let lead = |link: &str, to: &str| {
        let _ = std::fs::remove_file(package.path(link));
        symlink(package.path(to), package.path(link)).unwrap();
    };
    lead("src/link.h", "one/b.h");
    lead("src/linked", "one");
    package.compiles(&A);
    package.compiles(&[]);
    lead("src/link.h", "two/b.h");
    package.compiles(&A);
    package.compiles(&[]);
    lead("src/linked", "two");
    package.compiles(&A);
    package.compiles(&[]);
}

#[test]
fn an_added_and_a_removed_kernel() {
    let package = fresh(&[("src/a.cu", "")], &[]);
    let holds = |stem: &str| {
        let archive = std::fs::read(package.path("out/libk.a")).unwrap();
        let object = format!("{stem}-{:016x}.o", package.hash(&format!("src/{stem}.cu")));
        String::from_utf8_lossy(&archive).contains(&object)
    };
    package.write("src/b.cu", "");
    package.compiles(&["./src/b.cu"]);
    assert!(holds("a") && holds("b"));
    std::fs::remove_file(package.path("src/a.cu")).unwrap();
    package.compiles(&[]);
    assert!(!holds("a") && holds("b"));
}

#[test]
fn other_arguments_and_variables() {
    let mut package = fresh(&[("src/a.cu", "")], &[]);
    for flag in ["-DX=1", "-DY", "--use_fast_math"] {
        package.flags.push(flag.to_string());
        package.compiles(&A);
    }
    package.flags.swap(0, 1);
    package.compiles(&A);
    package.env.push(cache_off());
    let steering = [
        "NVCC_PREPEND_FLAGS",
        "NVCC_APPEND_FLAGS",
        "CPATH",
        "CPLUS_INCLUDE_PATH",
        "NVCC_CCBIN",
    ];
    for name in steering {
        package.env.push((name, "/nowhere".to_string()));
        package.compiles(&A);
        package.compiles(&[]);
        package.env.truncate(1);
        package.compiles(&A);
    }
}

#[test]
fn another_compiler_of_the_same_name() {
    let mut package = Package::new(&[
        ("src/a.cu", ""),
        ("cuda/bin/ptxas", "1"),
        ("cuda/bin/cudafe++", "1"),
        ("cuda/nvvm/bin/cicc", "1"),
        ("cuda/nvvm/libdevice/libdevice.10.bc", "1"),
        ("one/gcc", "1"),
        ("two/gcc", "22"),
        ("g++", "1"),
    ]);
    let gcc = |dir: &str| vec![("PATH", package.path(dir).display().to_string())];
    let (one, two) = (gcc("one"), gcc("two"));
    package.env = one;
    package.compiles(&A);
    for program in [
        "cuda/bin/ptxas",
        "cuda/bin/cudafe++",
        "cuda/nvvm/bin/cicc",
        "cuda/nvvm/libdevice/libdevice.10.bc",
        "one/gcc",
    ] {
        package.compiles(&[]);
        package.write(program, "333");
        package.compiles(&A);
    }
    package.compiles(&[]);
    package.env = two;
    package.compiles(&A);
    // A compiler that a variable names and that is then replaced.
    let named = package.path("g++").display().to_string();
    package.env.push(("CXX", named));
    package.compiles(&A);
    package.compiles(&[]);
    package.write("g++", "333");
    package.compiles(&A);
    // ptxas is replaced while nvcc runs.
    let replace =
        "// nvcc runs [ $(wc -c <\"$here/ptxas\") = 4 ] || printf 4444 >\"$here/ptxas\"\n";
    package.write("src/a.cu", replace);
    package.compiles(&A);
    package.compiles(&A);
    package.compiles(&[]);
}

#[test]
fn a_missing_or_truncated_output() {
    let mut package = fresh(&[("src/a.cu", "")], &[]);
    package.env.push(cache_off());
    let made = format!("out/cudnn-guard/libk/a-{:016x}", package.hash("src/a.cu"));
    let cut = |extension: &str, by: u64| {
        let file = package.path(&format!("{made}.{extension}"));
        let file = std::fs::File::options().write(true).open(file).unwrap();
        let length = file.metadata().unwrap().len();
        file.set_len(length.saturating_sub(by)).unwrap();
    };
    cut("o", 1);
    package.compiles(&A);
    package.compiles(&[]);
    // After a full disk, the list of files is missing its last entry.
    let stamp = package.path(&format!("{made}.stamp"));
    let last = std::fs::read_to_string(stamp).unwrap();
    let last = last.lines().last().unwrap().len() as u64 + 1;
    for by in [1, last, 10_000] {
        cut("stamp", by);
        package.compiles(&A);
        package.compiles(&[]);
    }
    std::fs::remove_file(package.path(&format!("{made}.o"))).unwrap();
    package.compiles(&A);
}

#[test]
fn a_library_is_rebuilt_if_an_object_has_changed() {
    let package = fresh(&[("src/a.cu", "")], &[]);
    let archive = package.path("out/libk.a");
    // Compiles, and checks whether the archive was updated.
    let update_archive = || {
        dated_as(&archive, &package.path("src/a.cu"));
        let dated = || std::fs::metadata(&archive).unwrap().modified().unwrap();
        let first = dated();
        package.compile().0.unwrap();
        dated() != first
    };
    assert!(!update_archive());
    package.write("src/a.cu", "careless");
    assert!(update_archive());
    assert!(!update_archive());
    package.write("src/b.cu", "");
    assert!(update_archive());
    assert!(!update_archive());
    std::fs::remove_file(package.path("src/b.cu")).unwrap();
    assert!(update_archive());
    assert!(!update_archive());
    let file = std::fs::File::options().write(true).open(&archive).unwrap();
    file.set_len(9).unwrap();
    assert!(update_archive());
    assert!(!update_archive());
}

#[test]
fn an_output_directory_that_was_moved() {
    let mut package = fresh(&[("src/a.cu", "")], &[]);
    package.env.push(cache_off());
    std::fs::rename(package.path("out"), package.path("moved")).unwrap();
    package.out = "moved";
    package.compiles(&[]);
}
