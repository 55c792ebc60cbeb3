//! Programs that do not link cuDNN dynamically: cudarc opens it for them, or it is linked statically.

use super::image::{Image, ids, linked};
use serde_json::Value;
use std::fs;

/// cudarc tries `libcudnn.so` first, in all directories. Versions before 0.19.2 never try `libcudnn.so.9`.
#[test]
fn the_names_that_cudarc_opens_are_searched_in_its_order() {
    let image = Image::new("cudarc");
    let program = |cudarc: &str| {
        let text = format!(
            "guard 0.1.0\nrequirement >=9.11\nfrom 9.11.0\npolicy requirement\nloader cudarc\n{cudarc}"
        );
        image.program(&[&text], &["-Wl,-rpath,/opt/lib:/opt/first"]);
    };
    let missing = || {
        let json = image.json();
        let missing = json["missing"].as_array().unwrap().iter();
        let names = missing.map(|one| one["name"].as_str().unwrap().to_string());
        names
            .filter(|name| name.starts_with("libcudnn"))
            .collect::<Vec<_>>()
    };
    program("");
    image
        .flat(&[])
        .exits_with(0)
        .says("! warning: cudarc opens libcudnn.so, but the loader cannot find this or any other name that cudarc tries [cudnn-not-loadable] = help: install cuDNN 9, or add its directory to LD_LIBRARY_PATH searched the program's RUNPATH, its entry `/opt/lib` the program's RUNPATH, its entry `/opt/first`");
    assert_eq!(missing(), ["libcudnn.so"]);
    // This cudarc would not open the `libcudnn.so.9` of a wheel.
    program("cudarc 0.19.1\n");
    image
        .flat(&[])
        .says("= help: install cuDNN 9 with a `libcudnn.so`, or add its directory to LD_LIBRARY_PATH searched");

    // A cuDNN off the search path has only the other name.
    image.cudnn("usr/local/cuda/lib64", 14);
    program("cudarc 0.19.1\n");
    let link = "= help: create a link `libcudnn.so` to it in `/usr/local/cuda/lib64`, and add `/usr/local/cuda/lib64` to LD_LIBRARY_PATH";
    image.flat(&[]).exits_with(0).says(link);
    program("");
    fs::create_dir_all(image.at("opt")).unwrap();
    fs::rename(image.at("usr/local/cuda/lib64"), image.at("opt/lib")).unwrap();
    let json = image.json();
    let library = |json: &Value| json["cudnn"]["library"].as_str().unwrap().to_string();
    assert!(library(&json).ends_with("/opt/lib/libcudnn.so.9"), "{json}");
    assert_eq!(missing(), [""; 0]);
    program("cudarc 0.19.1\n");
    image
        .flat(&[])
        .exits_with(0)
        .says("cudarc 0.19.1 opens libcudnn.so, but the loader cannot find this or any other name that cudarc tries")
        .says("[cudnn-not-loadable] = help: build the program with cudarc 0.19.2 or later, which also searches for libcudnn.so.9 = help: create a link `libcudnn.so` to it in `/opt/lib`, as the -dev packages do searched ")
        .says("/opt/lib/libcudnn.so.9 verdict: unknown (")
        .says("available ");
    assert_eq!(image.json()["program"]["guards"][0]["cudarc"], "0.19.1");

    image.cudnn("opt/first", 10);
    let link = image.at("opt/first/libcudnn.so");
    fs::rename(image.at("opt/first/libcudnn.so.9"), link).unwrap();
    for cudarc in ["", "cudarc 0.19.1\n"] {
        program(cudarc);
        let json = image.json();
        assert!(library(&json).ends_with("/opt/first/libcudnn.so"), "{json}");
        assert_eq!(json["cudnn"]["version"], "9.10.0");
        assert_eq!(ids(&json)[0], "cudnn-version-mismatch");
        assert_eq!(missing(), [""; 0]);
    }
}

/// Like the guard: moving the wheel before another cuDNN does not help.
#[test]
fn cudarc_skips_a_wheel_before_another_cudnn() {
    let image = Image::new("cudarc-wheel");
    image.cudnn("opt/wheel", 14);
    image.cudnn("opt/old", 10);
    let link = |folder: &str| {
        let link = image.at(folder).join("libcudnn.so");
        std::os::unix::fs::symlink("libcudnn.so.9", link).unwrap();
    };
    link("opt/old");
    let program = |rpath: &str| {
        let record = linked("9.14.0").replace("loader linked", "loader cudarc");
        image.program(&[&record], &[&format!("-Wl,-rpath,{rpath}")]);
    };
    program("/opt/wheel:/opt/old");
    image
        .flat(&[])
        .exits_with(1)
        .says("= help: create a link `libcudnn.so` to `libcudnn.so.9` in `")
        .says("available ");
    // In a later directory, a link would not be used either.
    program("/opt/old:/opt/wheel");
    image.flat(&[]).exits_with(1).does_not_say("create a link");
    // Follow the help.
    link("opt/wheel");
    program("/opt/wheel:/opt/old");
    image.inspect(&[]).exits_with(0);
}

/// A cuDNN that is part of the program does not have to be found: its version is in the record.
#[test]
fn a_statically_linked_cudnn_is_read_from_the_record() {
    let image = Image::new("holds");
    let text = linked("9.10.2").replace("loader linked", "loader static");
    let line = "cuDNN 9.10.2 for CUDA 13, linked into the program itself";
    image.program(&[&text], &[]);
    let ran = image.flat(&[]).exits_with(0).says(line);
    let verdict = "verdict: unknown (driver and GPUs not queried)";
    ran.says(verdict);
    // Known bugs are still reported.
    image.program(&[&format!("{text}needs conv3d-bf16\n")], &[]);
    image
        .flat(&[])
        .exits_with(1)
        .says(line)
        .says("[known-bad-release]");
    // The program does not call another cuDNN that is loaded with it.
    image.cudnn("opt/lib", 1);
    let flags = ["IMAGE/opt/lib/libcudnn.so.9", "-Wl,-rpath,/opt/lib"];
    image.program(&[&text], &flags);
    image
        .flat(&[])
        .exits_with(0)
        .says(line)
        .says("9.1.0 for CUDA 13 at");
    let unknown = text.replace("cudnn 9.10.2\n", "");
    image.program(&[&unknown], &[]);
    image
        .flat(&[])
        .exits_with(0)
        .says("the version of the cuDNN in app 0.1.0 is unknown");
}
