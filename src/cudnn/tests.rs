//! Tests of reading a cuDNN, with libraries that the C compiler creates.

use super::*;
use crate::cudnn::parts::OpenFiles;
use crate::model::{Found, Kind, Toolkit, Unresolved};
use crate::search::install_layout;
use std::process::Command;

/// Two sub-libraries, one of which imports versioned functions from the other, like NVIDIA's.
fn pair(dir: &Path, graph: &str) -> Cudnn {
    let lib = dir.join("lib");
    std::fs::create_dir_all(&lib).unwrap();
    let cc = |part: &str, source: &str, more: &[&str]| {
        let file = |end: &str| lib.join(format!("libcudnn{part}.{end}"));
        std::fs::write(file("c"), source).unwrap();
        std::fs::write(
            file("map"),
            format!("libcudnn{part}.so.9 {{ global: *; }};\n"),
        )
        .unwrap();
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-Wl,--hash-style=gnu", "-o"])
            .args([file("so.9"), file("c")])
            .arg(format!("-Wl,-soname,libcudnn{part}.so.9"))
            .arg(format!("-Wl,--version-script={}", file("map").display()))
            .arg("-L")
            .arg(&lib)
            .args(more);
        assert!(cc.status().unwrap().success());
    };
    let complete = "void one(void) {} void two(void) {} void may(void) {}";
    cc("_graph", complete, &[]);
    // A weak symbol may be undefined.
    let needs = "void one(void); void two(void); void may(void) __attribute__((weak)); \
        void f(void) { one(); two(); if (may) may(); }";
    cc("_cnn", needs, &["-l:libcudnn_graph.so.9"]);
    cc("_graph", graph, &[]);
    cc(
        "",
        "void shim(void) {}",
        &["-Wl,-rpath,$ORIGIN", "-Wl,--disable-new-dtags"],
    );
    let platform = Platform::from_triple(&format!("{}-unknown-linux-gnu", std::env::consts::ARCH));
    let tree = install_layout::cudnn(&platform, dir, "");
    let (cudnn, _) = read_install(dir, &tree, Sysroot { root: None }, &platform).unwrap();
    std::fs::remove_dir_all(dir).unwrap();
    cudnn
}

#[test]
fn undefined_functions_of_a_sub_library_are_found() {
    let dir = std::env::temp_dir().join(format!("cudnn-guard-closure-{}", std::process::id()));
    let complete = pair(
        &dir,
        "void one(void) {} void two(void) {} void more(void) {}",
    );
    assert_eq!(complete.files.unresolved, []);
    assert!(
        complete
            .installed
            .files()
            .iter()
            .all(|part| part.defect.is_none())
    );
    assert!(complete.files.own_first, "a DT_RPATH");
    let incomplete = pair(&dir, "void one(void) {}");
    assert_eq!(
        incomplete.files.unresolved,
        [Unresolved {
            part: dir.join("lib/libcudnn_cnn.so.9"),
            sibling: dir.join("lib/libcudnn_graph.so.9"),
            symbols: vec!["two".to_string()],
        }]
    );
}

fn releases(parts: &[(&str, &Path)]) -> Vec<Option<String>> {
    let named = parts
        .iter()
        .map(|(name, path)| (name.to_string(), path.to_path_buf()));
    let platform = Platform::from_triple(&format!("{}-unknown-linux-gnu", std::env::consts::ARCH));
    let parts = OpenFiles::new(Sysroot { root: None }, &platform).read_all(named.collect());
    let versions = parts.into_iter().map(|part| part.version);
    versions.map(|version| Some(version?.to_string())).collect()
}

#[test]
fn a_record_that_contradicts_the_sub_libraries_is_ignored() {
    let site = std::env::temp_dir().join(format!("cudnn-guard-record-{}", std::process::id()));
    let versions_with = |version: &str| {
        let dir = site.join("nvidia/cudnn");
        let wheel = site.join(format!("nvidia_cudnn_cu12-{version}.7.dist-info"));
        std::fs::create_dir_all(&wheel).unwrap();
        let lines = ["", "_cnn", "_graph"].map(|part| {
            let size = 64 + part.len();
            format!("nvidia/cudnn/lib/libcudnn{part}.so.9,sha256=x,{size}\n")
        });
        std::fs::write(wheel.join("RECORD"), lines.concat()).unwrap();
        let lib = dir.join("lib");
        std::fs::create_dir_all(&lib).unwrap();
        let source = site.join("graph.c");
        let symbol = "const unsigned char cudnn_graph_version[4] = {0, 1, 9, 0};";
        std::fs::write(&source, symbol).unwrap();
        let graph = lib.join("libcudnn_graph.so.9");
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-Wl,--hash-style=gnu", "-o"]);
        assert!(cc.args([&graph, &source]).status().unwrap().success());
        let cnn = lib.join("libcudnn_cnn.so.9");
        std::fs::write(&cnn, [0; 68]).unwrap();
        let versions = releases(&[("graph", &graph), ("cnn", &cnn)]);
        std::fs::remove_dir_all(&site).unwrap();
        versions
    };
    assert_eq!(
        versions_with("9.1.0"),
        [Some("9.1.0".into()), Some("9.1.0".into())]
    );
    assert_eq!(versions_with("9.2.0"), [Some("9.1.0".into()), None]);
}

/// 8.9.6 and 8.9.7 share some sub-libraries.
#[test]
fn a_build_of_two_versions_has_the_version_of_its_neighbors() {
    let dir = std::env::temp_dir().join(format!("cudnn-guard-builds-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let cc = |name: &str, code: &str, more: &[&str]| {
        let (source, file) = (dir.join("part.c"), dir.join(name));
        std::fs::write(&source, code).unwrap();
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-Wl,--hash-style=gnu", "-o"])
            .args([&file, &source]);
        assert!(cc.args(more).status().unwrap().success());
        file.canonicalize().unwrap()
    };
    let build = "-Wl,--build-id=0x7e3e3ea4087de05fd75005d9ecb50667db9391fc";
    let shared = cc("libcudnn_adv_train.so.8", "int shared;", &[build]);
    let alone = releases(&[("adv_train", &shared)]);
    let symbol = "const unsigned char cudnn_ops_infer_version[4] = {7, 9, 8, 0};";
    let certain = cc("libcudnn_ops_infer.so.8", symbol, &[]);
    let both = releases(&[("adv_train", &shared), ("ops_infer", &certain)]);
    std::fs::remove_dir_all(&dir).unwrap();
    assert_eq!(both, [Some("8.9.7".into()), Some("8.9.7".into())]);
    assert_eq!(alone, [None]);
}

/// NVIDIA's packages on Debian keep `cudnn_version_v9.h` in one directory and `cudnn.h` in another.
#[test]
fn the_directory_of_headers_is_the_one_that_a_program_can_include_from() {
    let usr = std::env::temp_dir().join(format!("cudnn-guard-headers-{}", std::process::id()));
    let macros = "#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 6\n#define CUDNN_PATCHLEVEL 0\n";
    for (file, text) in [
        ("include/cudnn.h", ""),
        ("include/cudnn_version.h", macros),
        ("include/x86_64-linux-gnu/cudnn_v9.h", ""),
        ("include/x86_64-linux-gnu/cudnn_version_v9.h", macros),
    ] {
        std::fs::create_dir_all(usr.join(file).parent().unwrap()).unwrap();
        std::fs::write(usr.join(file), text).unwrap();
    }
    let platform = Platform::from_triple("x86_64-unknown-linux-gnu");
    let tree = install_layout::system(Kind::Cudnn, &platform, &usr);
    let (cudnn, _) = read_install(&usr, &tree, Sysroot { root: None }, &platform).unwrap();
    assert_eq!(cudnn.include_dir, Some(usr.join("include")));
    std::fs::remove_dir_all(&usr).unwrap();
}

/// A package manager gives the new files the dates of the package.
#[test]
fn the_records_of_every_package_with_a_part_of_the_toolkit() {
    let top = std::env::temp_dir().join(format!("cudnn-guard-records-{}", std::process::id()));
    let records = [
        "site/nvidia_cuda_nvcc-13.0.88.dist-info/RECORD",
        "site/nvidia_nvvm-13.0.88.dist-info/RECORD",
        "var/lib/dpkg/info/cuda-nvcc-13-0.list",
        "var/lib/dpkg/info/libnvvm-13-0.list",
        "var/lib/dpkg/alternatives/cuda",
    ];
    let others = [
        "site/nvidia_cudnn_cu13-9.14.0.64.dist-info/RECORD",
        "var/lib/dpkg/info/gcc.list",
        "var/lib/dpkg/alternatives/cpp",
    ];
    for path in records.iter().chain(&others) {
        let path = top.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
    }
    let records_of = |root: &str| {
        let toolkit = Toolkit {
            root: top.join(root),
            ..Toolkit::default()
        };
        package_owner::records(&Found::Toolkit(toolkit), &top)
    };
    let of_wheels = records_of("site/nvidia/cu13");
    let of_debian = records_of("usr/local/cuda-13.0");
    std::fs::remove_dir_all(&top).unwrap();
    let all = records.map(|path| top.join(path));
    assert_eq!([of_wheels, of_debian], [&all[..2], &all[2..]]);
}
