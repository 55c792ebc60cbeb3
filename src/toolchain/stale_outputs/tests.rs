//! What an earlier build has left, with an nvcc that only writes down how it is called.

use crate::kernels::package::Package;
use crate::toolchain::Toolchain;
use crate::toolchain::stale_outputs::asked;
use std::time::{Duration, SystemTime};

/// A build script: these kinds of every kernel of the package.
fn build(package: &Package, kinds: &[&str]) {
    let toolchain = begin(package);
    for kind in kinds {
        make(package, &toolchain, kind).unwrap();
    }
}

fn begin(package: &Package) -> Toolchain {
    asked().remove(&package.path(package.out));
    package.toolchain()
}

fn make(package: &Package, toolchain: &Toolchain, kind: &str) -> Result<(), ()> {
    let kernels = toolchain.kernels().files(package.pattern());
    let made = match kind {
        "ptx" => kernels.ptx().map(drop),
        "fatbin" => kernels.fatbin().map(drop),
        "cubin" => kernels.cubin().map(drop),
        name => kernels.compile(name),
    };
    made.map_err(drop)
}

/// The files in the output directory, those with a stamp behind a `+`.
fn outputs(package: &Package) -> Vec<String> {
    let names = |dir: &str| {
        let entries = std::fs::read_dir(package.path(dir)).into_iter().flatten();
        let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name();
        let names = entries.map(|entry| name(entry).to_string_lossy().into_owned());
        names.collect::<Vec<_>>()
    };
    let mut found = Vec::new();
    for name in names("out") {
        let (stem, kind) = name.rsplit_once('.').unwrap_or_default();
        if !["ptx", "fatbin", "cubin"].contains(&kind) {
            continue;
        }
        let known = names(&format!("out/cudnn-guard/{kind}"));
        let beside = |ending: &str| known.contains(&format!("{stem}.{ending}"));
        let mark = match (beside("stamp"), beside("d")) {
            (true, true) => "+",
            _ => "",
        };
        found.push(format!("{mark}{name}"));
    }
    found.sort();
    found
}

const ALL: [&str; 4] = ["ptx", "fatbin", "cubin", "k"];

#[test]
fn what_is_no_longer_asked_for_is_removed() {
    let mut package = Package::new(&[("src/a.cu", ""), ("src/gone.cu", "")]);
    build(&package, &ALL);
    let of = |stem: &str, targets: &[&str]| {
        let ends = ["fatbin", "ptx"].into_iter().chain(targets.iter().copied());
        ends.map(|end| format!("+{stem}.{end}")).collect::<Vec<_>>()
    };
    let both = ["sm_80.cubin", "sm_90.cubin"];
    assert_eq!(
        outputs(&package),
        [of("a", &both), of("gone", &both)].concat()
    );
    std::fs::remove_file(package.path("src/gone.cu")).unwrap();
    package.calls();
    build(&package, &ALL);
    assert_eq!(outputs(&package), of("a", &both));
    package.archs = "80";
    build(&package, &ALL);
    assert_eq!(outputs(&package), of("a", &["sm_80.cubin"]));
    package.calls();
    // A build script that was changed, and no longer makes two of the kinds.
    build(&package, &["k", "ptx"]);
    assert_eq!(outputs(&package), ["+a.ptx"]);
    assert_eq!(package.calls(), [""; 0]);
    let beside = std::fs::read_dir(package.path("out/cudnn-guard/fatbin")).unwrap();
    assert_eq!(beside.count(), 0, "they are forgotten, too");
}

#[test]
fn what_others_put_there_stays() {
    let package = Package::new(&[("src/a.cu", ""), ("src/b.cu", "")]);
    build(&package, &["ptx"]);
    package.write("out/own.ptx", "no stamp");
    package.write("out/cudnn-guard/ptx/notes.txt", "no stamp either");
    std::fs::remove_file(package.path("src/b.cu")).unwrap();
    // This build script now makes it itself.
    std::fs::write(package.path("out/b.ptx"), "its own").unwrap();
    let later = SystemTime::now() + Duration::from_secs(5);
    let file = std::fs::File::options()
        .append(true)
        .open(package.path("out/b.ptx"));
    file.unwrap().set_modified(later).unwrap();
    for _ in 0..2 {
        build(&package, &["ptx"]);
        assert_eq!(outputs(&package), ["+a.ptx", "b.ptx", "own.ptx"]);
    }
    assert!(package.path("out/cudnn-guard/ptx/notes.txt").is_file());
}

#[test]
fn what_another_toolchain_of_the_build_script_made_stays() {
    let mut package = Package::new(&[("src/a.cu", "")]);
    let all = ["+a.ptx", "+a.sm_80.cubin", "+a.sm_90.cubin"];
    for _ in 0..2 {
        package.archs = "80";
        let first = begin(&package);
        package.archs = "90";
        let second = package.toolchain();
        make(&package, &first, "cubin").unwrap();
        make(&package, &second, "cubin").unwrap();
        drop(second);
        make(&package, &first, "ptx").unwrap();
        drop(first);
        assert_eq!(outputs(&package), all);
    }
}

#[test]
fn a_build_that_fails_removes_nothing() {
    let package = Package::new(&[("src/a.cu", "")]);
    build(&package, &["cubin", "ptx"]);
    let all = outputs(&package);
    package.write("src/a.cu", "mistake");
    let toolchain = begin(&package);
    make(&package, &toolchain, "cubin").unwrap_err();
    drop(toolchain);
    assert!(outputs(&package).contains(&"+a.ptx".to_string()));
    // One that cannot even begin, nor one that ends in a panic.
    package.write("src/a.cu", "");
    build(&package, &["cubin", "ptx"]);
    let toolchain = begin(&package);
    make(&package, &toolchain, "not a name").unwrap_err();
    make(&package, &toolchain, "ptx").unwrap();
    drop(toolchain);
    assert_eq!(outputs(&package), all);
    let panics = std::panic::catch_unwind(|| {
        let toolchain = begin(&package);
        make(&package, &toolchain, "ptx").unwrap();
        panic!("as a build script does");
    });
    panics.unwrap_err();
    assert_eq!(outputs(&package), all);
    // Without a toolkit nothing is asked for.
    let mut toolchain = begin(&package);
    toolchain.absent = Some(crate::model::finding::Finding::error("cuda-not-found", "none").into());
    make(&package, &toolchain, "ptx").unwrap();
    drop(toolchain);
    assert_eq!(outputs(&package), all);
    build(&package, &["ptx"]);
    assert_eq!(outputs(&package), ["+a.ptx"]);
}
