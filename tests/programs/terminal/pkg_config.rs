//! Search through `.pc` files. The tests require versions that do not exist, so that no real installation is used.
#![cfg(unix)]

use super::doctor::library;
use super::{file, folder, text};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const FAR: [&str; 4] = ["--cuda", ">=99.2", "--cudnn", ">=99.2"];

/// Writes a package's file in the form of NVIDIA's packages.
fn package(dir: &Path, name: &str, variables: &str, libs: &str) {
    let text = format!(
        "{variables}\nName: {name}\nDescription: a package\nVersion: 99.2\n\
         Libs: {libs}\nCflags: -I${{includedir}}\n"
    );
    file(dir, &format!("{name}.pc"), &text);
}

fn toolkit(root: &Path, minor: u32) {
    let top = format!("cuda-99.{minor}");
    let header = format!("#define CUDA_VERSION {}\n", 99_000 + minor * 10);
    let targets = format!("{top}/targets/x86_64-linux");
    file(root, &format!("{targets}/include/cuda.h"), &header);
    file(root, &format!("{targets}/lib/libcudart.so"), "");
    file(root, &format!("{top}/bin/nvcc"), "");
}

/// Returns the directory of the .pc files of two toolkits and a cuDNN.
fn packages(root: &Path) -> PathBuf {
    let dir = root.join("share/pkgconfig");
    for minor in [9, 10] {
        toolkit(root, minor);
        let top = root.join(format!("cuda-99.{minor}"));
        let variables = format!(
            "cudaroot={}\nlibdir=${{cudaroot}}/targets/x86_64-linux/lib\n\
             includedir=${{cudaroot}}/targets/x86_64-linux/include",
            top.display()
        );
        let libs = "-L${libdir} -lcudart";
        package(&dir, &format!("cudart-99.{minor}"), &variables, libs);
        package(&dir, &format!("cublas-99.{minor}"), &variables, libs);
    }
    // A package that can be moved.
    let variables = "prefix=${pcfiledir}/../../dnn\nincludedir=${prefix}/include";
    package(&dir, "cudnn", variables, "-L${prefix}/lib -lcudnn");
    let header = "#define CUDNN_MAJOR 99\n#define CUDNN_MINOR 3\n#define CUDNN_PATCHLEVEL 0\n";
    file(root, "dnn/include/cudnn_version.h", header);
    file(root, "dnn/include/cudnn.h", "");
    library(root, "dnn/lib/libcudnn.so.99");
    dir
}

/// Runs the doctor with these .pc files, PATH, and these variables.
fn doctor(dir: &Path, arguments: &[&str], env: &[(&str, &Path)]) -> String {
    let mut doctor = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
    doctor.arg("doctor").args(arguments).env_clear();
    doctor.env("PATH", std::env::var_os("PATH").expect("a PATH"));
    doctor.env("PKG_CONFIG_PATH", dir);
    doctor.envs(env.iter().copied());
    text(&doctor.output().expect("cudnn-guard runs"))
}

/// Returns the output of a search in one line.
fn search(dir: &Path, env: &[(&str, &Path)]) -> String {
    let shown = doctor(dir, &FAR, env);
    shown.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
#[ignore = "needs pkg-config"]
fn a_package_points_to_its_directories() {
    let root = folder("pkg-config");
    let dir = packages(&root);
    let output = doctor(&dir, &[&["--json"][..], &FAR].concat(), &[]);
    // In a build, the directives for cargo would precede the JSON.
    let json: Value = serde_json::from_str(&output).expect("JSON alone");
    let via = |name: &str| format!("pkg-config ({}/{name}.pc)", dir.display());
    let inside = |path: &str| root.join(path).display().to_string();
    let toolkit = &json["toolkit"];
    assert_eq!(toolkit["found_via"], via("cudart-99.10"));
    assert_eq!(toolkit["root"], inside("cuda-99.10"));
    assert_eq!(
        toolkit["link_dirs"][0],
        inside("cuda-99.10/targets/x86_64-linux/lib")
    );
    let cudnn = &json["cudnn"];
    assert_eq!(cudnn["found_via"], via("cudnn"));
    assert_eq!(cudnn["version"], "99.3.0");
    assert_eq!(cudnn["include_dir"], inside("dnn/include"));
    // The newest is enough: the other toolkit is not queried.
    let known = json["candidates"].as_array().expect("candidates");
    let asked = known
        .iter()
        .filter(|one| one["found_via"] == via("cudart-99.9"));
    assert_eq!(asked.count(), 0);
}

#[test]
#[ignore = "needs pkg-config"]
fn a_package_that_points_nowhere_or_is_refused_is_named() {
    for (name, libs, other) in [
        ("cudart-99.4", "-lcudart", "cudnn"),
        ("cudnn", "-lcudnn", "cudart-99.4"),
    ] {
        let root = folder("pkg-config-gone");
        let dir = root.join("pkgconfig");
        let gone = root.join("gone");
        let variables = format!("includedir={}/include", gone.display());
        package(&dir, name, &variables, libs);
        let requires = "Requires: nothing-of-this-name\n";
        file(&dir, &format!("{other}.pc"), requires);
        let shown = search(&dir, &[]);
        let file = |name: &str| dir.join(name).display().to_string();
        let leads = format!(
            "pkg-config ({}) points to `{}`, which does not exist",
            file(&format!("{name}.pc")),
            gone.display()
        );
        assert!(shown.contains(&leads), "{shown}");
        let refused = format!(
            "`{}`, which pkg-config rejects: Package",
            file(&format!("{other}.pc"))
        );
        assert!(shown.contains(&refused), "{shown}");
    }
}

#[test]
fn files_that_pkg_config_does_not_read_are_named() {
    let root = folder("pkg-config-none");
    let dir = packages(&root);
    for (variable, value, reason) in [
        (
            "PATH",
            "/nowhere",
            "it cannot be read because pkg-config is not installed",
        ),
        // An empty output does not stop the search.
        (
            "PKG_CONFIG",
            "true",
            "the output of pkg-config for it cannot be parsed",
        ),
    ] {
        let shown = search(&dir, &[(variable, Path::new(value))]);
        for name in ["cudart-99.10.pc", "cudnn.pc"] {
            let named = format!("`{}`: {reason}", dir.join(name).display());
            assert!(shown.contains(&named), "{shown}");
        }
    }
}

#[test]
fn a_cross_build_only_runs_pkg_config_if_configured() {
    let root = folder("pkg-config-cross");
    let dir = packages(&root);
    let mark = root.join("called");
    let program = root.join("pkg-config");
    let script = format!("#!/bin/sh\n: >'{}'\nexit 1\n", mark.display());
    file(&root, "script", &script);
    // Copied by another program: if this process wrote it, a child of another test could hold it open, and an open file
    // cannot be executed.
    let copied = Command::new("install")
        .arg("-m755")
        .args([root.join("script"), program.clone()])
        .status();
    assert!(copied.expect("install runs").success());
    let other = "aarch64-unknown-linux-gnu";
    let host = Path::new("x86_64-unknown-linux-gnu");
    let base = [("PATH", root.as_path()), ("HOST", host)];
    let calls = |arguments: &[&str], env: &[(&str, &Path)]| {
        let _ = fs::remove_file(&mark);
        let shown = doctor(&dir, arguments, &[&base[..], env].concat());
        let named = shown.contains("pkg-config:");
        assert_eq!(named, mark.exists(), "{shown}");
        named
    };
    let target = ("TARGET", Path::new(other));
    let here = ("TARGET", host);
    assert!(calls(&[], &[here]));
    assert!(!calls(&[], &[target]));
    assert!(calls(&[], &[target, ("PKG_CONFIG", &program)]));
    // The crate pkg-config does not know a target given on the command line.
    assert!(!calls(&["--target", other], &[here]));
}

#[test]
fn a_pkg_config_that_hangs_or_prints_too_much_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let root = folder("pkg-config-hangs");
    let dir = root.join("pkgconfig");
    let pc = dir.join("cudart-99.4.pc");
    file(&dir, "cudart-99.4.pc", "");
    for (script, expected) in [
        ("exec sleep 20", "did not finish within 1 s and was stopped"),
        (
            "head -c 2000000 /dev/zero | tr '\\0' a",
            "the output of pkg-config for it cannot be parsed",
        ),
    ] {
        let program = root.join("pkg-config");
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let limit = ("CUDNN_GUARD_PROGRAM_DEADLINE", Path::new("1"));
        let begun = std::time::Instant::now();
        let shown = search(&dir, &[("PKG_CONFIG", &program), limit]);
        assert!(begun.elapsed().as_secs() < 15, "{:?}", begun.elapsed());
        assert!(shown.contains(expected), "{shown}");
        assert!(shown.contains(&format!("`{}`", pc.display())), "{shown}");
    }
}
