//! Libraries that the loader finds, skips, or does not find.

use super::image::{Image, ids, linked, one_line};
use crate::support::{cache_of, run};
use serde_json::Value;
use std::fs;
use std::process::Command;

/// The library exists, but is not on the search path.
#[test]
fn a_cudnn_off_the_search_path_is_named() {
    let image = Image::new("off-the-way");
    image.cudnn("usr/local/cuda/lib64", 14);
    image.program(
        &[&linked("9.14.0")],
        &[
            "IMAGE/usr/local/cuda/lib64/libcudnn.so.9",
            "-Wl,-rpath,/opt/lib",
        ],
    );
    let ran = image.inspect(&[]).exits_with(1);
    // The variable is set inside the image, so the path is relative to the image.
    let ran = ran.says("\n      = help: add `/usr/local/cuda/lib64` to LD_LIBRARY_PATH\n");
    assert_eq!(
        image.findings(&ran),
        "  ✗ error: `/app/app` needs libcudnn.so.9, which the loader cannot find  [cudnn-not-loadable]\n      \
         = help: add `/usr/local/cuda/lib64` to LD_LIBRARY_PATH\n      \
         = help: relink the program with that directory as its rpath; `.link()` adds it unless `.rpath(false)` is set\n      \
         searched    the program's RUNPATH, its entry `/opt/lib`\n                  \
         /etc/ld.so.cache\n      \
         also found  9.14.0 /usr/local/cuda/lib64/libcudnn.so.9\n\n\
         verdict: fail (1 error)\n\
         for details and fixes, run `cudnn-guard explain cudnn-not-loadable`\n"
    );
}

/// `.link()` does not write an rpath for a program that opens cuDNN.
#[test]
fn link_is_not_suggested_for_a_program_that_opens_its_cudnn() {
    let image = Image::new("off-the-way-and-opened");
    image.cudnn("usr/local/cuda/lib64", 14);
    let dlopen = "guard 0.1.0\nrequirement >=9\nfrom 9.0.0\npolicy requirement\nloader dlopen\n";
    image.program(&[dlopen], &[]);
    image
        .flat(&[])
        .exits_with(0)
        .says("= help: add `/usr/local/cuda/lib64` to LD_LIBRARY_PATH")
        .does_not_say(".link()");
}

/// The help would select a version that the guard rejects.
#[test]
fn an_incompatible_cudnn_is_not_suggested() {
    let image = Image::new("off-the-way-and-old");
    image.cudnn("usr/local/cuda/lib64", 10);
    let library = "IMAGE/usr/local/cuda/lib64/libcudnn.so.9";
    image.program(&[&linked("9.14.0")], &[library]);
    image
        .flat(&[])
        .exits_with(1)
        .says("= help: install cuDNN 9.14 or later 9.x, or add its directory to LD_LIBRARY_PATH searched")
        .says("also found 9.10.0 ");
}

/// Symlinks may get lost in copies and archives: the library exists, but not under its SONAME.
#[test]
fn a_cudnn_without_its_symlinks_is_reported() {
    let image = Image::new("unlinked");
    let lib = "usr/local/cuda/lib64";
    let library = format!("IMAGE/{lib}/libcudnn.so.9");
    let rpath = "-Wl,-rpath,/usr/local/cuda/lib64";
    let program = |record: &str, flags: &[&str], name: &str| {
        let _ = fs::remove_dir_all(image.at(lib));
        image.cudnn(lib, 14);
        image.program(&[record], flags);
        let moved = |name: &str| image.at(&format!("{lib}/{name}"));
        fs::rename(moved("libcudnn.so.9"), moved(name)).unwrap();
        image.inspect(&[])
    };
    let ldconfig = || {
        let mut ldconfig = Command::new("/sbin/ldconfig");
        run(ldconfig.arg("-n").arg(image.at(lib))).exits_with(0);
    };
    let built = linked("9.14.0");
    // The file may have any name.
    for name in ["libcudnn.so", "libcudnn.so.9.14.0"] {
        let ran = program(&built, &[&library, rpath], name).exits_with(1);
        assert_eq!(
            image.findings(&ran),
            format!(
                "  ✗ error: `/app/app` needs libcudnn.so.9, which the loader cannot find; `/{lib}/{name}` has no link `libcudnn.so.9` next to it  [cudnn-not-loadable]\n      \
                 = help: create its links: `sudo ldconfig -n /{lib}`\n      \
                 found via   the program's RUNPATH, its entry `/{lib}`\n      \
                 searched    the program's RUNPATH, its entry `/{lib}`\n                  \
                 /etc/ld.so.cache\n\n\
                 verdict: fail (1 error)\n\
                 for details and fixes, run `cudnn-guard explain cudnn-not-loadable`\n"
            )
        );
        // Follow the help.
        ldconfig();
        image.inspect(&[]).exits_with(0);
    }
    // Off the search path, both steps are needed.
    one_line(program(&built, &[&library], "libcudnn.so"))
        .exits_with(1)
        .says("= help: run `sudo ldconfig -n /usr/local/cuda/lib64` to create its links, and add `/usr/local/cuda/lib64` to LD_LIBRARY_PATH searched");
    // A program that opens cuDNN gets the same help.
    let dlopen = "guard 0.1.0\nrequirement >=9\nfrom 9.0.0\npolicy requirement\nloader dlopen\n";
    one_line(program(dlopen, &[rpath], "libcudnn.so"))
        .exits_with(0)
        .says("this program opens libcudnn.so.10 or libcudnn.so.9, but the loader cannot find any of them; ")
        .says("libcudnn.so` has no link `libcudnn.so.9` next to it [cudnn-not-loadable] = help: create its links: `sudo ldconfig -n ");
}

/// cuDNN 9 is installed, but the program needs 8.
#[test]
fn another_major_is_not_suggested() {
    let image = Image::new("another-major");
    image.cudnn("usr/local/cuda/lib64", 14);
    image.library("tmp/libcudnn.so.8", "int x;", &[]);
    image.program(&[&linked("8.9.7")], &["IMAGE/tmp/libcudnn.so.8"]);
    fs::remove_dir_all(image.at("tmp")).unwrap();
    image
        .flat(&[])
        .exits_with(1)
        .says("needs libcudnn.so.8, which the loader cannot find")
        .says("also found 9.14.0 ")
        .says("= help: install cuDNN 8 beside it: another major version is not compatible, even if it is renamed")
        .does_not_say("LD_LIBRARY_PATH");
}

/// The driver does not include toolkit libraries.
#[test]
fn a_missing_toolkit_library_is_reported() {
    // The version numbers of libraries may differ from CUDA's.
    for (library, cuda) in [
        ("libcudart.so.12", "12"),
        ("libcurand.so.10", "10, 11, 12 or 13"),
        ("libcufft.so.11", "12"),
        ("libcusolver.so.12", "13"),
        ("libcusparse.so.12", "12 or 13"),
        ("libcusparse.so.11", "11"),
    ] {
        let image = Image::new("no-toolkit");
        image.library(&format!("tmp/{library}"), "int x;", &[]);
        image.program(&[], &[&format!("IMAGE/tmp/{library}")]);
        fs::remove_dir_all(image.at("tmp")).unwrap();
        image.flat(&[]).exits_with(1).says(&format!(
            "needs {library}, which the loader cannot find [library-not-found] \
             = help: install the libraries of CUDA {cuda}, which the driver does not include"
        ));
    }
}

/// The report names the place in which the loader finds a library.
#[test]
fn the_origin_of_a_library_is_named() {
    let image = Image::new("order");
    for folder in ["app", "variable", "cached", "usr/lib"] {
        image.cudnn(folder, 14);
    }
    fs::create_dir_all(image.at("etc/ld.so.conf.d")).unwrap();
    let write = |file: &str, bytes: &[u8]| fs::write(image.at(&format!("etc/{file}")), bytes);
    let library = "libcudnn.so.9";
    let cache = cache_of(&[(library, "/cached/libcudnn.so.9")]);
    write("ld.so.cache", &cache).unwrap();
    let see = |flags: &[&str], variable: &str, wanted: &str| {
        let with = [&["IMAGE/app/libcudnn.so.9"], flags].concat();
        image.program(&[&linked("9.14.0")], &with);
        let variable = variable.replace("IMAGE", image.0.to_str().unwrap());
        let ran = image.inspect_with(&["--json"], &variable).exits_with(0);
        let json: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(json["cudnn"]["found_via"], wanted, "{json}");
    };
    let runpath = ["-Wl,--enable-new-dtags,-rpath,$ORIGIN"];
    let rpath = ["-Wl,--disable-new-dtags,-rpath,$ORIGIN"];
    let here = format!("its entry `{}`", image.at("app").display());
    see(&rpath, "", &format!("the program's RPATH, {here}"));
    see(&runpath, "", &format!("the program's RUNPATH, {here}"));
    let variable = "LD_LIBRARY_PATH, its entry `/variable`";
    see(&runpath, "IMAGE/variable", variable);
    // Variables of this machine's shell do not apply to the image.
    see(&[], "/variable", "/etc/ld.so.cache");
    fs::remove_file(image.at("etc/ld.so.cache")).unwrap();
    see(&[], "", "the system's library directories, `/usr/lib`");
    // An image in which `ldconfig` has not been run yet. Its files include each other, and themselves.
    let include = b"include /etc/ld.so.conf.d/*.conf\n";
    for number in 0..20 {
        write(&format!("ld.so.conf.d/{number}.conf"), include).unwrap();
    }
    write("ld.so.conf", include).unwrap();
    write("ld.so.conf.d/cudnn.conf", b"# ours\n/cached\n").unwrap();
    see(&[], "", "/etc/ld.so.cache");
}

/// The loader stops at a directory with the library's name, even if the library follows later on the search path.
#[test]
fn a_directory_with_the_name_of_the_library_stops_the_search() {
    let image = Image::new("directory-first");
    image.cudnn("whole", 14);
    fs::create_dir_all(image.at("first/libcudnn.so.9")).unwrap();
    image.program(
        &[&linked("9.14.0")],
        &["IMAGE/whole/libcudnn.so.9", "-Wl,-rpath,/first:/whole"],
    );
    let json = image.json();
    assert_eq!(json["verdict"], "fail", "{json}");
}

/// `-z nodefaultlib` excludes the system's directories, so the finding does not list them as searched.
#[test]
fn excluded_system_directories_are_not_listed_as_searched() {
    let image = Image::new("nodefaultlib");
    image.cudnn("usr/lib", 14);
    let flags = [
        "IMAGE/usr/lib/libcudnn.so.9",
        "-Wl,-rpath,/own,-z,nodefaultlib",
    ];
    image.program(&[&linked("9.14.0")], &flags);
    let json = image.json();
    let finding = &json["findings"][0];
    assert_eq!(finding["id"], "cudnn-not-loadable", "{json}");
    let looked_at = finding["evidence"]["searched"].as_str().unwrap();
    assert!(looked_at.contains("/own"), "{looked_at}");
    assert!(!looked_at.contains("/usr/lib"), "{looked_at}");
}

/// The file is not suggested as a cuDNN, and its CPU is reported, even if cudarc tries other names first.
#[test]
fn a_library_for_another_cpu_is_reported() {
    let image = Image::new("foreign-alone");
    let (byte, own, other) = match cfg!(target_arch = "x86_64") {
        true => (183, "x86_64", "aarch64"),
        false => (62, "aarch64", "x86_64"),
    };
    let foreign = |path: &str| {
        let mut bytes = fs::read(image.at(path)).unwrap();
        bytes[18] = byte;
        fs::write(image.at(path), bytes).unwrap();
    };
    image.library("usr/lib/libcuda.so.1", "int x;", &[]);
    image.cudnn("usr/local/cuda/lib64", 14);
    let libraries = [
        "IMAGE/usr/local/cuda/lib64/libcudnn.so.9",
        "IMAGE/usr/lib/libcuda.so.1",
    ];
    image.program(&[&linked("9.14.0")], &libraries);
    foreign("usr/local/cuda/lib64/libcudnn.so.9");
    foreign("usr/lib/libcuda.so.1");
    let way = image.at("usr/local/cuda/lib64");
    one_line(image.inspect_with(&[], way.to_str().unwrap()))
        .exits_with(1)
        .says(&format!("lib64/libcudnn.so.9` is for {other}, but this program is for {own} [cudnn-not-loadable]"))
        .says(&format!("lib/libcuda.so.1` is for {other}, but this program is for {own}, so no GPU can be used [driver-missing]"))
        .does_not_say("also found");
    let cudarc =
        "guard 0.1.0\nrequirement >=9.11\nfrom 9.11.0\npolicy requirement\nloader cudarc\n";
    image.program(&[cudarc], &["-Wl,-rpath,/usr/local/cuda/lib64"]);
    let headline = "cudarc opens libcudnn.so, but the loader cannot find this or any other name that cudarc tries; ";
    image
        .flat(&[])
        .exits_with(0)
        .says(headline)
        .says(&format!("libcudnn.so.9` is for {other}, but this program is for {own} [cudnn-not-loadable] = help: install the cuDNN for {own} in"));
    // A valid cuDNN elsewhere is suggested.
    image.cudnn("usr/local/cuda-13.0/lib64", 14);
    image
        .flat(&[])
        .exits_with(0)
        .says(headline)
        .says("[cudnn-not-loadable] = help: add `/usr/local/cuda-13.0/lib64` to LD_LIBRARY_PATH");
}

/// If LD_LIBRARY_PATH replaces the sub-libraries of the wrong cuDNN, it also replaces those of the right one in the same
/// directory.
#[test]
fn a_third_version_in_ld_library_path_is_removed_together_with_the_wrong_one() {
    let image = Image::new("third");
    for (folder, minor) in [("opt/old", 10), ("opt/parts", 12), ("opt/right", 14)] {
        image.cudnn(folder, minor);
    }
    fs::remove_file(image.at("opt/parts/libcudnn.so.9")).unwrap();
    fs::remove_file(image.at("opt/right/libcudnn.so.9")).unwrap();
    let library = "IMAGE/opt/old/libcudnn.so.9";
    let path = |folder: &str| image.at(folder).to_str().unwrap().to_string();
    let first = |tags: &str, way: &str, help: &str| {
        let flag = format!("-Wl,{tags},-rpath,/opt/old");
        image.program(&[&linked("9.14.0")], &[library, &flag]);
        let ran = image.inspect_with(&["--json"], way).exits_with(1);
        let json: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(ids(&json)[0], "cudnn-version-mismatch", "{json}");
        assert_eq!(json["findings"][0]["help"][0], help);
    };
    let (rpath, runpath) = ("--disable-new-dtags", "--enable-new-dtags");
    let wanted = "cuDNN 9.14 or later 9.x";
    let take = "remove `/opt/parts` from LD_LIBRARY_PATH, and";
    let parts = path("opt/parts");
    let there = format!("{take} install {wanted} in `/opt/old`");
    first(rpath, &parts, &there);
    let there = there + ", or add its directory to LD_LIBRARY_PATH";
    first(runpath, &parts, &there);
    // Compatible sub-libraries stay, and determine the version to install.
    let there = "install cuDNN 9.14.0 in `/opt/old`";
    first(rpath, &path("opt/right"), there);
    // Follow the helps.
    fs::remove_dir_all(image.at("opt/old")).unwrap();
    image.cudnn("opt/old", 14);
    image.inspect_with(&[], &path("opt/right")).exits_with(0);
    image
        .inspect_with(&[], &path("opt/parts"))
        .exits_with(1)
        .says("[parts-mixed]");
}

/// 9.20 opens a sub-library that only later versions contain. 9.20 also works without that sub-library.
#[test]
fn the_absent_sub_library_of_9_20_may_be_found_elsewhere() {
    let file = "libcudnn_engines_tensor_ir.so.9";
    for (minor, is_stray) in [(20, true), (14, false)] {
        let image = Image::new(&format!("stray-{minor}"));
        image.cudnn("opt/lib", minor);
        let library = "IMAGE/opt/lib/libcudnn.so.9";
        image.program(&[], &[library, "-Wl,-rpath,/opt/lib"]);
        image.inspect(&[]).does_not_say("tensor_ir");
        image.library(&format!("other/{file}.23.2"), "int nothing;", &[]);
        std::os::unix::fs::symlink(format!("{file}.23.2"), image.at(&format!("other/{file}")))
            .unwrap();
        let other = image.at("other");
        let ran = image
            .inspect_with(&[], other.to_str().unwrap())
            .exits_with(0);
        if !is_stray {
            ran.does_not_say("tensor_ir");
            continue;
        }
        let output = image.findings(&ran);
        assert!(
            output.contains(&format!(
                "  ! warning: cuDNN 9.20.0 at `/opt/lib` does not include `{file}` and loads version 9.23.2 from elsewhere  [parts-mixed]\n      \
                 = help: install cuDNN 9.21 or later, which includes this file\n      \
                 = help: remove `/other` from LD_LIBRARY_PATH\n      \
                 found via   the program's RUNPATH, its entry `/opt/lib`\n      \
                 other file  /other/{file}, version from its file name\n      \
                 origin      LD_LIBRARY_PATH, its entry `/other`\n"
            )),
            "{output}"
        );
    }
}

/// The files are complete and come from one wheel.
#[test]
fn wheels_that_overwrote_each_other_are_named() {
    let image = Image::new("two-wheels");
    let site = "opt/venv/lib/python3.12/site-packages";
    let lib = format!("{site}/nvidia/cudnn/lib");
    image.cudnn(&lib, 14);
    let library = format!("IMAGE/{lib}/libcudnn.so.9");
    let built = linked("9.14.0").replace("cudnn-cuda 13", "cudnn-cuda 12");
    image.program(&[&built], &[&library, &format!("-Wl,-rpath,/{lib}")]);
    let wheel = |name: &str| {
        let info = image.at(&format!("{site}/{name}.dist-info"));
        fs::create_dir_all(&info).unwrap();
        fs::write(info.join("RECORD"), "").unwrap();
    };
    fs::write(image.at("opt/venv/pyvenv.cfg"), "uv = 0.13.9\n").unwrap();
    wheel("nvidia_cudnn_cu12-9.14.0.64");
    image.inspect(&[]).does_not_say("overwritten");
    wheel("nvidia_cudnn_cu13-9.14.0.64");
    let both = "uv pip uninstall nvidia-cudnn-cu12 nvidia-cudnn-cu13 && uv pip install --no-deps nvidia-cudnn-";
    let ran = image.flat(&[]).says(&format!(
        "[cuda-flavour-mismatch] = help: keep only the wheel for CUDA 12: `{both}cu12==9.14.0.64`"
    ));
    ran.says(&format!(
        "the wheels nvidia-cudnn-cu12 9.14.0.64 and nvidia-cudnn-cu13 9.14.0.64 have overwritten each other's files in \
         `{}` [duplicate-cudnn] = help: keep nvidia-cudnn-cu12: `{both}cu12==9.14.0.64` = help: keep \
         nvidia-cudnn-cu13: `{both}cu13==9.14.0.64`",
        image.at(&lib).display()
    ));
}

/// The version of a cuDNN is not that of the sub-libraries that LD_LIBRARY_PATH provides.
#[test]
fn sub_libraries_in_ld_library_path_do_not_determine_the_version() {
    let image = Image::new("version-8");
    let code =
        |patch| format!("const unsigned char cudnn_ops_infer_version[4] = {{ {patch}, 9, 8, 0 }};");
    let hash = ["-Wl,--hash-style=gnu"];
    image.library(
        "opt/lib/libcudnn.so.8",
        "int x;",
        &["-Wl,--enable-new-dtags,-rpath,$ORIGIN"],
    );
    for (folder, patch) in [("opt/lib", 2), ("opt/first", 7)] {
        image.library(
            &format!("{folder}/libcudnn_ops_infer.so.8"),
            &code(patch),
            &hash,
        );
    }
    image.library("opt/lib/libcudnn_cnn_infer.so.8", "int x;", &[]);
    image.program(&[], &["IMAGE/opt/lib/libcudnn.so.8", "-Wl,-rpath,/opt/lib"]);
    let first = image.at("opt/first");
    let json = image
        .inspect_with(&["--json"], first.to_str().unwrap())
        .exits_with(1);
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["cudnn"]["version"], "8.9.2", "{json}");
    let finding = &json["findings"][0];
    let summary = "cuDNN 8.9.2 at `/opt/lib` loads `libcudnn_ops_infer.so.8` (version 8.9.7) from `/opt/first`";
    let root = image.0.to_str().unwrap();
    assert_eq!(
        finding["summary"].as_str().unwrap().replace(root, ""),
        summary
    );
    let help = finding["help"][0].as_str().unwrap().replace(root, "");
    assert_eq!(
        help,
        "remove `/opt/first` from LD_LIBRARY_PATH, or add `/opt/lib` before it"
    );
}

/// The loader does not skip a damaged file, so the help for a valid cuDNN behind it is to search that first.
#[test]
fn a_damaged_sub_library_before_a_valid_one_is_removed_from_the_search_path() {
    let image = Image::with_cudnn("damaged-first", 14);
    let file = "libcudnn_ops.so.9";
    let bytes = fs::read(image.at(&format!("opt/lib/{file}"))).unwrap();
    fs::create_dir_all(image.at("opt/first")).unwrap();
    fs::write(
        image.at(&format!("opt/first/{file}")),
        &bytes[..bytes.len() / 2],
    )
    .unwrap();
    let first = image.at("opt/first");
    let ran = image
        .inspect_with(&["--json"], first.to_str().unwrap())
        .exits_with(1);
    let json: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(json["findings"][0]["id"], "library-damaged", "{json}");
    let help = json["findings"][0]["help"][0].as_str().unwrap();
    let help = help.replace(image.0.to_str().unwrap(), "");
    assert_eq!(
        help,
        "remove `/opt/first` from LD_LIBRARY_PATH, or add `/opt/lib` before it"
    );
}
