//! The environment of a program: LD_PRELOAD, its CPU, findings that are allowed, and damaged files.

use super::image::{Image, linked};
use crate::support::run;
use serde_json::Value;
use std::fs;
use std::process::Command;

/// A link from the name of one major to the library of another: the loader stops the program before `main`.
#[test]
fn a_link_to_another_major_is_reported_without_a_guard() {
    let image = Image::new("symbol-versions");
    let code = "unsigned long cudnnGetVersion(void) { return 8907; }\n";
    let versions = |name: &str| {
        let script = image.at("versions");
        fs::create_dir_all(script.parent().unwrap()).unwrap();
        fs::write(&script, format!("{name} {{ global: *; }};\n")).unwrap();
        format!("-Wl,--version-script={}", script.display())
    };
    let lib = "usr/local/cuda/lib64/libcudnn.so.8";
    image.library(lib, code, &[&versions("libcudnn.so.8")]);
    image.compile(
        "app/app",
        "unsigned long cudnnGetVersion(void);\nvoid _start(void) { cudnnGetVersion(); }\n",
        &[
            "IMAGE/usr/local/cuda/lib64/libcudnn.so.8",
            "-Wl,-rpath,/usr/local/cuda/lib64",
        ],
    );
    image.flat(&[]).does_not_say("does not have its functions");
    let other = ["-shared", "-Wl,-soname,libcudnn.so.9"];
    image.compile(
        lib,
        code,
        &[&other[..], &[&versions("libcudnn.so.9")]].concat(),
    );
    image
        .flat(&[])
        .exits_with(1)
        .says("/libcudnn.so.8` does not define the symbol version libcudnn.so.8, which `")
        .says("= help: install cuDNN 8, or add its directory to LD_LIBRARY_PATH: a link from one name to the other does not help");
}

/// LD_PRELOAD and `/etc/ld.so.preload` take precedence over all directories. A path outside of the image does not count.
#[test]
fn a_preloaded_cudnn_is_used() {
    let image = Image::with_cudnn("preloaded", 14);
    image.cudnn("opt/old", 10);
    let see = |preload: &str| -> Value {
        let ran = run(image.command().arg("--json").env("LD_PRELOAD", preload));
        serde_json::from_str(&ran.stdout).unwrap()
    };
    let json = see("/opt/old/libcudnn.so.9");
    assert_eq!(json["cudnn"]["version"], "9.14.0", "{json}");
    let is_wrong = |json: &Value, via: &str| {
        assert_eq!(json["cudnn"]["found_via"], via, "{json}");
        let help = format!("remove it from {via}, or replace it with cuDNN 9.14 or later 9.x");
        assert_eq!(json["findings"][0]["help"][0], help);
    };
    let inside = image.at("opt/old/libcudnn.so.9");
    is_wrong(&see(inside.to_str().unwrap()), "LD_PRELOAD");
    fs::create_dir_all(image.at("etc")).unwrap();
    let list = "# /opt/lib/libcudnn.so.9\n/opt/gone.so:/opt/old/libcudnn.so.9 # the old one\n";
    fs::write(image.at("etc/ld.so.preload"), list).unwrap();
    is_wrong(&see(""), "/etc/ld.so.preload");
}

/// The subdirectory of `glibc-hwcaps` depends on the CPU, which is not known for an image.
#[test]
fn a_cudnn_for_more_capable_cpus_in_an_image_is_reported() {
    let image = Image::with_cudnn("levels", 14);
    image.cudnn("opt/lib/glibc-hwcaps/x86-64-v3", 20);
    image
        .flat(&[])
        .exits_with(0)
        .says("9.14.0 for CUDA 13 at")
        .says("/opt/lib/glibc-hwcaps/x86-64-v3/libcudnn.so.9` is loaded only on newer CPUs, and the CPU is unknown");
}

/// The verdict stays, and the report says that the guard would not stop the program.
#[test]
fn a_guard_that_does_not_stop_the_program_is_mentioned() {
    let image = Image::with_cudnn("lenient", 10);
    let ends = |mode: &str, wanted: &str| {
        run(image.command().env("CUDNN_GUARD", mode))
            .exits_with(1)
            .says(wanted);
    };
    for mode in ["deny", "", "other"] {
        ends(mode, "\nverdict: fail (1 error)\n");
    }
    ends(
        " warn ",
        "\nverdict: fail (1 error; with CUDNN_GUARD=warn, the guard only warns)\n",
    );
    ends(
        "off",
        "\nverdict: fail (1 error; with CUDNN_GUARD=off, the guard checks nothing)\n",
    );
}

/// Allowed findings are printed, but not as errors. Programs that the loader refuses to start cannot be allowed.
#[test]
fn allowed_findings_are_not_errors() {
    let image = Image::with_cudnn("allowed", 10);
    let see = |allow: &str| run(image.command().env("CUDNN_GUARD_ALLOW", allow));
    see("no-gpu,cudnn-version-mismatch")
        .exits_with(0)
        .says("\n  ! warning: loaded cuDNN 9.10.0 is older than 9.14.0, which this program was\n    built with")
        .says("\n      built with  9.14.0 (compatible: 9.14 or later 9.x)\n      allowed     by CUDNN_GUARD_ALLOW\n");
    see("no-gpu").exits_with(1);
    // The loader stops the program before a guard runs.
    let bytes = fs::read(image.at("opt/lib/libcudnn.so.9")).unwrap();
    fs::write(image.at("opt/lib/libcudnn.so.9"), &bytes[..bytes.len() / 2]).unwrap();
    see("library-damaged,cudnn-version-mismatch").exits_with(1);
    fs::remove_file(image.at("opt/lib/libcudnn.so.9")).unwrap();
    see("cudnn-not-loadable,library-not-found").exits_with(1);
}

/// The loader stops at an invalid library, and does not search for another.
#[test]
fn a_damaged_toolkit_library_is_reported() {
    let image = Image::new("damaged");
    image.library("usr/lib/libcudart.so.13", "int x;", &[]);
    image.program(
        &[],
        &["IMAGE/usr/lib/libcudart.so.13", "-Wl,-rpath,/opt/lib"],
    );
    fs::create_dir_all(image.at("opt/lib")).unwrap();
    fs::write(image.at("opt/lib/libcudart.so.13"), "INPUT(libcudart.so)").unwrap();
    image
        .flat(&[])
        .exits_with(1)
        .says("/opt/lib/libcudart.so.13` is not an ELF library but text that begins with \"INPUT(libcudart.so)\" [library-damaged] = help: reinstall the package that contains it, and check that the disk is not full needed by /");
}

/// cuDNN 8 under the name of 9 is reported, but the sub-libraries of 9 are not reported as missing.
#[test]
fn another_major_under_the_name_of_this_one_is_reported() {
    let image = Image::with_cudnn("misnamed", 14);
    fs::remove_dir_all(image.at("opt/lib")).unwrap();
    image.library("opt/lib/libcudnn.so.8", "int x;", &["-Wl,-rpath,$ORIGIN"]);
    let code = "const unsigned char cudnn_ops_infer_version[4] = { 7, 9, 8, 0 };";
    let part = "opt/lib/libcudnn_ops_infer.so.8";
    image.library(part, code, &["-Wl,--hash-style=gnu"]);
    std::os::unix::fs::symlink("libcudnn.so.8", image.at("opt/lib/libcudnn.so.9")).unwrap();
    image
        .flat(&[])
        .exits_with(1)
        .says("loaded cuDNN 8.9.7 has a different major version than 9.14.0")
        .does_not_say("parts-missing");
}

/// If a program has more rights than its user, the loader ignores LD_LIBRARY_PATH, LD_PRELOAD and the program's
/// `$ORIGIN`, but not that of a library.
#[test]
#[ignore = "needs root: creates a program that another user owns"]
fn variables_do_not_apply_to_a_program_with_more_rights_than_its_user() {
    let image = Image::new("privileged");
    for folder in ["usr/lib", "opt/old"] {
        image.cudnn(folder, if folder == "opt/old" { 10 } else { 14 });
    }
    let old = image.at("opt/old");
    let old = old.to_str().unwrap();
    let with = |rpath: &str, rights: &[&str]| {
        let flags = ["IMAGE/opt/old/libcudnn.so.9", "-Wl,--enable-new-dtags"];
        image.program(&[&linked("9.14.0")], &[&flags[..], &[rpath]].concat());
        let app = image.at("app/app");
        let mut give = Command::new(rights[0]);
        run(give.args(&rights[1..]).arg(&app)).exits_with(0);
        if rights[0] == "chown" {
            run(Command::new("chmod").arg("u+s").arg(&app)).exits_with(0);
        }
        let mut command = image.command();
        command.env("LD_LIBRARY_PATH", old);
        run(command.env("LD_PRELOAD", format!("{old}/libcudnn.so.9")))
    };
    let rpath = "-Wl,-rpath,$ORIGIN/../opt/old";
    let wrong = "  ✗ error: loaded cuDNN 9.10.0 is older than 9.14.0";
    // A program of root gives root no additional rights, and neither does a capability.
    with(rpath, &["chown", "0"]).exits_with(1).says(wrong);
    with(rpath, &["setcap", "cap_net_raw+p"])
        .exits_with(1)
        .says(wrong);
    let sound = "9.14.0 for CUDA 13 at";
    with(rpath, &["chown", "65534"]).exits_with(0).says(sound);
    fs::create_dir_all(image.at("usr/local/cuda")).unwrap();
    fs::rename(image.at("usr/lib"), image.at("usr/local/cuda/lib64")).unwrap();
    let ran = with(
        "-Wl,-rpath,$ORIGIN/../usr/local/cuda/lib64",
        &["chown", "65534"],
    )
    .exits_with(1);
    // A long path is printed in a line of its own after the version.
    let output = image.findings(&ran).replace("9.14.0  /", "9.14.0 /");
    assert_eq!(
        output,
        "  ✗ error: `/app/app` needs libcudnn.so.9, which the loader cannot find  [cudnn-not-loadable]\n      \
         = help: add `/usr/local/cuda/lib64` to /etc/ld.so.conf and run `ldconfig`\n      \
         = help: relink the program with that directory as its rpath; `.link()` adds it unless `.rpath(false)` is set\n      \
         setuid      this program runs with elevated privileges (setuid, capabilities): the loader ignores \
         LD_LIBRARY_PATH, LD_PRELOAD and `$ORIGIN` in its rpath\n      \
         searched    /etc/ld.so.cache\n      \
         also found  9.14.0 /usr/local/cuda/lib64/libcudnn.so.9\n\n\
         verdict: fail (1 error)\n\
         for details and fixes, run `cudnn-guard explain cudnn-not-loadable`\n"
    );
    // Follow the help.
    fs::create_dir_all(image.at("etc")).unwrap();
    fs::write(image.at("etc/ld.so.conf"), "/usr/local/cuda/lib64\n").unwrap();
    with(rpath, &["chown", "65534"]).exits_with(0).says(sound);
}

/// Mesh-LLM/mesh-llm#931: a slim image without a library of GCC.
#[test]
fn the_package_of_a_missing_gcc_library_is_named() {
    let image = Image::new("slim");
    let help = |name: &str, wanted: &str| {
        let path = format!("tmp/{name}");
        image.library(&path, "int nothing;", &[]);
        image.program(&[], &[&format!("IMAGE/{path}")]);
        fs::remove_file(image.at(&path)).unwrap();
        let finding = &image.json()["findings"][0];
        assert_eq!(finding["id"], "library-not-found");
        assert_eq!(finding["help"], serde_json::json!([wanted]));
    };
    let wanted = "install libgomp1 (Debian, Ubuntu) or libgomp (Fedora, RHEL)";
    help("libgomp.so.1", wanted);
    let other =
        "install the package that contains libgomp-x.so.1, or add its directory to LD_LIBRARY_PATH";
    help("libgomp-x.so.1", other);
}
