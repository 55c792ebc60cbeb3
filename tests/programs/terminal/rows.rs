//! The marks of the rows of `doctor` and `inspect`. A tick means that every fact in its row is known and good.

use super::doctor::library;
use super::inspect::image::{Image, linked};
use super::machine::{Variables, driver, everything};
use crate::support::{fresh, run};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the labels of the rows with a tick, the verdict, and the whole output.
fn ticked(command: &mut Command, dirs: &[PathBuf], variables: Variables) -> (Vec<String>, String) {
    let dirs = std::env::join_paths(dirs).unwrap();
    command.env_clear().env("PATH", "/usr/bin:/bin");
    command.env("LD_LIBRARY_PATH", dirs);
    let output = run(command.envs(variables.iter().copied())).stdout;
    let rows = output.lines().filter_map(|line| line.strip_prefix("  ✓ "));
    let labels = rows.map(|row| row.chars().take(9).collect::<String>());
    let labels = labels.map(|label| label.trim().to_string());
    (labels.collect(), output)
}

/// Compares the rows without a tick and the verdict of each layout.
fn compare(all: &[&str], found: &[(&str, Vec<String>, String)], wanted: &[(&str, &[&str], &str)]) {
    let mut wrong = String::new();
    for ((name, ticked, output), (_, without, verdict)) in found.iter().zip(wanted) {
        let has_tick = |row: &&str| !without.contains(row);
        let rows: Vec<&str> = all.iter().copied().filter(has_tick).collect();
        let verdict = format!("\nverdict: {verdict} ");
        if *ticked != rows || !output.contains(&verdict) {
            wrong += &format!("{name}: {rows:?} and{verdict}expected\n{output}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Gives the libraries of a cuDNN 9.14.0 names with their version, as in NVIDIA's archives, and links for the loader.
fn name_fully(dir: &Path) {
    for file in fs::read_dir(dir).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        if name.starts_with("libcudnn") && name.ends_with(".so.9") {
            let full = format!("{name}.14.0");
            fs::rename(dir.join(&name), dir.join(&full)).unwrap();
            symlink(full, dir.join(name)).unwrap();
        }
    }
}

type Change<'a> = &'a dyn Fn(&Path);

#[test]
fn a_row_of_doctor_has_a_tick_only_if_all_of_it_is_known_and_good() {
    let all = [
        "toolkit",
        "nvcc",
        "host code",
        "cuDNN",
        "header",
        "library",
        "sub-libs",
        "driver",
        "GPUs",
        "targets",
    ];
    let none: Change = &|_| {};
    let cnn = "lib64/libcudnn_cnn.so.9";
    let replace = |root: &Path| {
        for file in [cnn, "lib64/libcudnn_cnn.so", "lib64/libcudnn_cnn.so.9.14.0"] {
            fs::remove_file(root.join(file)).unwrap();
        }
    };
    let layouts: [(&str, Change, Variables, &[&str], &str); 7] = [
        ("complete", none, &[], &[], "pass"),
        (
            "unversioned-part",
            &|root| {
                replace(root);
                library(root, cnn);
            },
            &[],
            &["sub-libs"],
            "pass",
        ),
        (
            "damaged-part",
            &|root| {
                replace(root);
                fs::write(root.join(cnn), "").unwrap();
            },
            &[],
            &["sub-libs"],
            "fail",
        ),
        (
            "part-elsewhere",
            &|root| {
                fs::copy(root.join(cnn), root.join("driver/libcudnn_cnn.so.9")).unwrap();
                replace(root);
            },
            &[],
            &["sub-libs"],
            "pass",
        ),
        (
            "unknown-cuda",
            &|root| fs::write(root.join("include/cuda.h"), "#define CUDA_VERSION 13990\n").unwrap(),
            &[("FAKE_NVCC_RELEASE", "13.99"), ("SIM_CUDA", "13990")],
            &["host code"],
            "unknown",
        ),
        (
            "stub",
            none,
            &[("SIM_CUINIT", "34")],
            &["driver", "GPUs"],
            "unknown",
        ),
        (
            "unversioned-driver",
            none,
            &[("SIM_CUDA", "0")],
            &["driver"],
            "unknown",
        ),
    ];
    let (mut found, mut wanted) = (Vec::new(), Vec::new());
    for (name, change, variables, without, verdict) in &layouts {
        let root = everything(&format!("rows-{name}"));
        name_fully(&root.join("lib64"));
        change(&root);
        let text = root.to_str().unwrap();
        let own = [("CUDA_HOME", text), ("CUDNN_PATH", text)];
        let dirs = ["driver", "lib64"].map(|dir| root.join(dir));
        let mut doctor = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
        doctor.arg("doctor").current_dir(fresh("rows-directory"));
        let (rows, output) = ticked(&mut doctor, &dirs, &[&own, *variables].concat());
        found.push((*name, rows, output));
        wanted.push((*name, *without, *verdict));
    }
    compare(&all, &found, &wanted);
}

#[test]
fn a_row_of_inspect_has_a_tick_only_if_all_of_it_is_known_and_good() {
    let all = ["program", "cuDNN", "sub-libs", "libraries", "driver", "GPU"];
    let none: &dyn Fn(&Image) = &|_| {};
    let blas = "opt/lib/libcublasLt.so.13";
    let from_lib = "-Wl,-rpath,IMAGE/opt/lib";
    let musl = format!(
        "-Wl,--dynamic-linker=/lib/ld-musl-{}.so.1",
        std::env::consts::ARCH
    );
    type Row<'a> = (
        &'a str,
        &'a dyn Fn(&Image),
        &'a [&'a str],
        Variables<'a>,
        &'a [&'a str],
        &'a str,
    );
    let layouts: [Row; 9] = [
        ("complete", none, &[from_lib], &[], &[], "pass"),
        (
            "unversioned",
            &|image| {
                for file in fs::read_dir(image.at("opt/lib")).unwrap() {
                    let full = file.unwrap().path().into_os_string().into_string().unwrap();
                    if let Some(own) = full.strip_suffix(".14.0") {
                        fs::rename(&full, own).unwrap();
                    }
                }
                image.library("opt/lib/libcudnn_graph.so.9", "int nothing;", &[]);
            },
            &[from_lib],
            &[],
            &["cuDNN", "sub-libs"],
            "unknown",
        ),
        (
            "unversioned-part",
            &|image| {
                // cuDNN opens the full name first.
                fs::remove_file(image.at("opt/lib/libcudnn_ops.so.9.14.0")).unwrap();
                fs::remove_file(image.at("opt/lib/libcudnn_ops.so.9")).unwrap();
                image.library("opt/lib/libcudnn_ops.so.9", "int nothing;", &[]);
            },
            &[from_lib],
            &[],
            &["sub-libs"],
            "pass",
        ),
        (
            "damaged-part",
            &|image| fs::write(image.at("opt/lib/libcudnn_ops.so.9"), "").unwrap(),
            &[from_lib],
            &[],
            &["sub-libs", "libraries"],
            "fail",
        ),
        (
            "damaged",
            &|image| {
                let bytes = fs::read(image.at(blas)).unwrap();
                fs::write(image.at(blas), &bytes[..bytes.len() / 2]).unwrap();
            },
            &[from_lib],
            &[],
            &["sub-libs", "libraries"],
            "pass",
        ),
        (
            "other-driver",
            &|image| {
                fs::create_dir_all(image.at("opt/driver")).unwrap();
                let other = image.at("opt/driver/libcuda.so.1");
                fs::copy(driver().join("libcuda.so.1"), other).unwrap();
            },
            &["-Wl,--disable-new-dtags,-rpath,IMAGE/opt/driver:IMAGE/opt/lib"],
            &[],
            &["driver"],
            "unknown",
        ),
        (
            "new-gpu",
            none,
            &[from_lib],
            &[("SIM_CAPABILITY", "13.0")],
            &["GPU"],
            "pass",
        ),
        (
            "musl",
            none,
            &[from_lib, &musl],
            &[],
            &["cuDNN", "sub-libs", "libraries", "driver"],
            "unknown",
        ),
        (
            "no-loader",
            none,
            &[from_lib, "-Wl,--dynamic-linker=/nowhere/ld.so"],
            &[],
            &["cuDNN", "sub-libs", "libraries", "driver"],
            "fail",
        ),
    ];
    let (mut found, mut wanted) = (Vec::new(), Vec::new());
    for (name, change, flags, variables, without, verdict) in &layouts {
        let image = Image::new(&format!("rows-{name}"));
        image.cudnn("opt/lib", 14);
        for library in ["libcublasLt.so.13", "libnvrtc.so.13"] {
            image.library(&format!("opt/lib/{library}"), "int nothing;", &[]);
        }
        let cudnn = ["IMAGE/opt/lib/libcudnn.so.9"];
        image.program(&[&linked("9.14.0")], &[&cudnn, *flags].concat());
        name_fully(&image.at("opt/lib"));
        change(&image);
        let mut inspect = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
        inspect.arg("inspect").arg(image.at("app/app"));
        let dirs = [driver(), image.at("opt/lib")];
        let (rows, output) = ticked(&mut inspect, &dirs, variables);
        found.push((*name, rows, output));
        wanted.push((*name, *without, *verdict));
    }
    compare(&all, &found, &wanted);
    let (_, _, output) = found.iter().find(|(name, ..)| *name == "musl").unwrap();
    assert!(!output.contains("does not depend on cuDNN"), "{output}");
    assert!(output.contains("  ? cuDNN     not checked\n"), "{output}");
}
