//! Unusual paths and processes that are not a fault of cuDNN.

use super::program::{GPU, check, command, run, run_in, startup, version};
use crate::support::installation::{
    Folder, compile, compile_linked, libraries, library_path, sound,
};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::symlink;
use std::path::Path;

#[test]
fn a_program_that_changes_its_directory_keeps_its_cudnn() {
    let folder = Folder::new().with_cudnn_in("deep/lib", "9.14.0");
    let shim = folder.file("deep/lib/libcudnn.so.9");
    let lib = folder.file("deep/lib");
    let out = Folder::new();
    let moved = ("TEST_MOVE", "/");
    // Opened through a relative entry, the empty entry and a relative path, before the program changes its directory.
    for (from, library_path, open, via) in [
        (
            &folder.0,
            "deep/lib",
            "libcudnn.so.9",
            Some("LD_LIBRARY_PATH, its entry `deep/lib`"),
        ),
        (&lib, ":/nowhere", "libcudnn.so.9", None),
        (&lib, "/nowhere", "./libcudnn.so.9", None),
        (
            &folder.0,
            "/nowhere",
            "deep/../deep/lib/libcudnn.so.9",
            None,
        ),
    ] {
        for task in ["check", "version"] {
            let ran = run_in(
                from,
                task,
                &out.0,
                &[
                    GPU,
                    moved,
                    ("LD_LIBRARY_PATH", library_path),
                    ("TEST_OPEN", open),
                ],
            );
            if task == "check" {
                ran.must_be("pass", &[]);
            }
            let path = ran.json["loaded"]["path"].as_str().unwrap();
            assert_eq!(Path::new(path).canonicalize().unwrap(), shim, "{open}");
            assert!(Path::new(path).is_absolute(), "{path}");
            if let Some(via) = via {
                assert_eq!(ran.json["loaded"]["found_via"], via);
            }
        }
    }
    // Without the change the result is the same, and the entry is shown.
    let ran = run_in(
        &lib,
        "check",
        &out.0,
        &[GPU, ("LD_LIBRARY_PATH", ":/nowhere")],
    );
    ran.must_be("pass", &[]);
    assert_eq!(ran.json["loaded"]["path"], shim.to_str().unwrap());
    assert_eq!(
        ran.json["loaded"]["found_via"],
        "LD_LIBRARY_PATH, its entry `.`"
    );
}

#[test]
fn a_path_that_is_not_utf_8_works() {
    let cudnn = sound();
    let place = Folder::new();
    let odd = place.0.join(OsString::from_vec(b"caf\xe9 a\nb".to_vec()));
    symlink(&cudnn.0, &odd).unwrap();
    let report = place.file("json");
    let status = command("check", &odd)
        .envs([GPU, ("TEST_JSON", report.to_str().unwrap())])
        .env("TEST_TEXT", place.file("text"))
        .status()
        .unwrap();
    assert!(status.success());
    let text = std::fs::read_to_string(report).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["verdict"], "pass", "{text}");
    assert_eq!(json["findings"].as_array().unwrap().len(), 0, "{text}");
    let via = json["loaded"]["found_via"].as_str().unwrap();
    assert!(via.starts_with("LD_LIBRARY_PATH"), "{via}");
}

#[test]
fn a_main_library_without_its_sub_libraries_is_reported() {
    // `$ORIGIN` is the folder of the link: neither the loader nor the guard follows it to the parts.
    let cudnn = sound();
    let link = Folder::new().with_link("libcudnn.so.9", cudnn.file("libcudnn.so.9"));
    check(&link, &[GPU]).must_be("fail", &["parts-missing"]);
}

/// cudarc opens `libcudnn.so` first, which may differ in version from any `libcudnn.so.9`.
#[test]
fn the_library_that_cudarc_opens_is_checked() {
    let cudarc = ("TEST_CUDARC", "1");
    let new = Folder::new().with_cudnn("9.14.0");
    // As in runtime packages and wheels, which do not include `libcudnn.so`.
    let ran = check(&new, &[GPU, cudarc]);
    ran.must_be("pass", &[]);
    assert_eq!(ran.json["loaded"]["path"], new.at("libcudnn.so.9"));
    let old = Folder::new().with_cudnn("9.10.2");
    symlink(old.file("libcudnn.so.9"), new.file("libcudnn.so")).unwrap();
    let ran = version(&new, &[GPU, cudarc]);
    assert_eq!(ran.json["loaded"]["path"], new.at("libcudnn.so"));
    // No name of cuDNN 8 is among those that cudarc tries.
    let eight = Folder::new().with_cudnn("8.9.7");
    let path = eight.text();
    startup(&eight, &[GPU, cudarc]).must_stop(&format!(
            "\
cannot load `libcudnn.so` or any other name that cudarc tries; only `libcudnn.so.8` was found  [cudnn-not-loadable]
  = help: install cuDNN 9, or add the directory of its libcudnn.so.9 to LD_LIBRARY_PATH
  = help: use a build of this program for cuDNN 8; linking one name to the other does not help
  loader      libcudnn.so: cannot open shared object file: No such file or directory
              (and 16 more names)
  available   {path}/libcudnn.so.8
  searched    LD_LIBRARY_PATH, its entry `{path}`
"
    ));
    // Nor is that of cuDNN 9 in an older cudarc.
    let old_cudarc = ("TEST_CUDARC", "0.19.1");
    let nothing = Folder::new();
    startup(&nothing, &[GPU, old_cudarc]).must_stop(
        "\
cannot load `libcudnn.so` or any other name that cudarc 0.19.1 tries  [cudnn-not-loadable]
  = help: install cuDNN 9 with a `libcudnn.so`, or add its directory to LD_LIBRARY_PATH
",
    );
    // The file that cudarc has opened is checked.
    let open = ("TEST_OPEN", old.at("libcudnn.so.9"));
    version(&old, &[GPU, cudarc, open]).must_be("fail", &["cudnn-version-mismatch"]);
}

/// If cudarc's first name resolves to another file, cudarc does not use the cuDNN in the process.
#[test]
fn the_library_that_cudarc_will_open_is_checked_instead_of_another_one() {
    let there = Folder::new().with_cudnn("9.14.0");
    let old = Folder::new().with_cudnn("9.10.2");
    symlink(old.file("libcudnn.so.9"), old.file("libcudnn.so")).unwrap();
    let open = there.file("libcudnn.so.9");
    let (cudarc, open) = (("TEST_CUDARC", "1"), ("TEST_OPEN", open.to_str().unwrap()));
    let ran = version(&old, &[GPU, cudarc, open]);
    ran.must_be("fail", &["cudnn-version-mismatch", "duplicate-cudnn"]);
    assert_eq!(ran.json["loaded"]["path"], old.at("libcudnn.so"));
    // A library loaded under the requested name is what every later caller gets, whatever the directories contain.
    let bytes = std::fs::read(there.file("libcudnn.so.9")).unwrap();
    let cut = Folder::new();
    std::fs::write(cut.file("libcudnn.so.9"), &bytes[..5000]).unwrap();
    let ran = version(&cut, &[GPU, cudarc, open]);
    assert_eq!(ran.json["loaded"]["path"], there.at("libcudnn.so.9"));
    assert_eq!(ran.json["findings"], serde_json::json!([]));
}

/// Wheels do not include `libcudnn.so`, which cudarc opens first in all directories, so moving the wheel's directory to
/// the front does not help.
#[test]
fn a_wheel_before_another_cudnn_is_skipped_by_cudarc() {
    let (wheel, old) = (sound(), Folder::new().with_cudnn("9.10.2"));
    symlink("libcudnn.so.9", old.file("libcudnn.so")).unwrap();
    let (path, taken) = (wheel.text(), old.text());
    let way = format!("{path}:{taken}");
    let instead = format!(
        "  = help: remove `{taken}` from LD_LIBRARY_PATH, or add the directory of cuDNN 9.14.0 with a \
         `libcudnn.so` before it\n"
    );
    // A cudarc that never opens libcudnn.so.9 would then find nothing.
    for (release, instead) in [("0.19.1", ""), ("0.19.2", &*instead)] {
        let variables = [("TEST_CUDARC", release), GPU, ("LD_LIBRARY_PATH", &way)];
        startup(&wheel, &variables).must_stop(&format!(
            "\
loaded cuDNN 9.10.2 is older than 9.14.0, which this program was built with  [cudnn-version-mismatch]
  = help: create a link `libcudnn.so` to `libcudnn.so.9` in `{path}`: cudarc searches all directories for that name before any other
{instead}  loaded      {taken}/libcudnn.so
  found via   LD_LIBRARY_PATH, its entry `{taken}`
  available   {path}/libcudnn.so.9
"
        ));
    }
    // Behind the other cuDNN, a link would not be used either.
    let behind = format!("{taken}:{path}");
    let cudarc = ("TEST_CUDARC", "1");
    let startup = |way: &str| startup(&wheel, &[cudarc, GPU, ("LD_LIBRARY_PATH", way)]);
    startup(&behind).must_stop(&format!(
        "\
loaded cuDNN 9.10.2 is older than 9.14.0, which this program was built with  [cudnn-version-mismatch]
  = help: remove `{taken}` from LD_LIBRARY_PATH, or add the directory of cuDNN 9.14 or later 9.x with a `libcudnn.so` before it
  loaded      {taken}/libcudnn.so
"
    ));
    // Nor is a link used if the cuDNN in front has no other name.
    let plain = Folder::new().with_cudnn("9.10.2");
    std::fs::rename(plain.file("libcudnn.so.9"), plain.file("libcudnn.so")).unwrap();
    let behind = format!("{}:{path}", plain.text());
    startup(&behind).must_stop(&format!(
        "\
loaded cuDNN 9.10.2 is older than 9.14.0, which this program was built with  [cudnn-version-mismatch]
  = help: remove `{}` from LD_LIBRARY_PATH",
        plain.text()
    ));
    startup(path).must_be_silent();
    // Follow the first help.
    symlink("libcudnn.so.9", wheel.file("libcudnn.so")).unwrap();
    startup(&way).must_be_silent();
}

/// cudarc before 0.19.2 does not know `libcudnn.so.9`, and panics if no other name exists.
#[test]
fn an_old_cudarc_does_not_open_libcudnn_so_9() {
    let cudnn = sound();
    let path = cudnn.text();
    let cudarc = |release| ("TEST_CUDARC", release);
    startup(&cudnn, &[GPU, cudarc("0.19.1")]).must_stop(&format!(
            "cannot load `\
libcudnn.so` or any other name that cudarc 0.19.1 tries; only `libcudnn.so.9` was found  [cudnn-not-loadable]
  = help: build the program with cudarc 0.19.2 or later, which also searches for libcudnn.so.9
  = help: create a link `libcudnn.so` to it in `{path}`, as the -dev packages do
  loader      libcudnn.so: cannot open shared object file: No such file or directory
              (and 13 more names)
  available   {path}/libcudnn.so.9
  searched    LD_LIBRARY_PATH, its entry `{path}`
"
    ));
    check(&cudnn, &[GPU, cudarc("0.19.2")]).must_be("pass", &[]);
    // Follow the help.
    symlink(cudnn.file("libcudnn.so.9"), cudnn.file("libcudnn.so")).unwrap();
    check(&cudnn, &[GPU, cudarc("0.19.1")]).must_be("pass", &[]);
}

/// The names as in cudarc's sources, compiled for CUDA 11.4.
#[test]
fn the_names_that_cudarc_opens_are_known_in_order() {
    use cudnn_guard::internals::facts::Version;
    let names = |cudarc| {
        let names = cudnn_guard::internals::loader::library_names::of_cudarc(
            cudarc,
            Some(Version::new(11, 4, 0)),
        );
        // The CUDA version of the cudarc feature that this crate enables.
        #[cfg(feature = "cudarc")]
        if cudarc.is_none() {
            assert_eq!(names, cudarc::get_lib_name_candidates("cudnn"));
        }
        names.join(" ").replace("libcudnn", "")
    };
    let newest = ".so 64.so 64_11.so 64_114.so 64_114_0.so 64_110_4.so 64_10.so 64_11.so 64_12.so 64_110_0.so 64_9.so \
        .so.11 .so.12 .so.11 .so.10 .so.9 .so.1";
    assert_eq!(names(None), newest);
    assert_eq!(names(Some(Version::new(0, 19, 2))), newest);
    let before = ".so 64.so 64_11.so 64_114.so 64_114_0.so 64_110_4.so 64_10.so 64_11.so 64_110_0.so 64_9.so \
        .so.11 .so.11 .so.10 .so.1";
    assert_eq!(names(Some(Version::new(0, 19, 1))), before);
    assert_eq!(names(Some(Version::new(0, 18, 2))), before);
}

#[test]
fn files_that_the_loader_skips_are_skipped() {
    let cudnn = sound();
    let other = if cfg!(target_arch = "x86_64") {
        183
    } else {
        62
    };
    // A directory of libraries for another CPU and one of 32-bit libraries precede the right one.
    let foreign = [(18, other), (4, 1)].map(|(at, byte)| {
        let names = libraries(&cudnn.0);
        let change = |folder: Folder, name: &String| folder.with_byte(name, at, byte);
        names.iter().fold(sound(), change)
    });
    let way = library_path(&[&foreign[0], &foreign[1], &cudnn]);
    for task in ["check", "version"] {
        let ran = run(task, &cudnn.0, &[GPU, ("LD_LIBRARY_PATH", way)]);
        ran.must_be("pass", &[]);
        assert_eq!(ran.json["loaded"]["parts"][0]["version"], "9.14.0");
    }
    // The loader uses the damaged file behind them, and would crash.
    let cut = Folder::new()
        .with_cudnn("9.14.0")
        .cut("libcudnn.so.9", 5000);
    let way = library_path(&[&foreign[0], &cut]);
    check(&cudnn, &[GPU, ("LD_LIBRARY_PATH", way)]).must_be("fail", &["library-damaged"]);
    // If there is no other file, the foreign one is reported.
    let whole = foreign[0].file("libcudnn.so.9");
    std::fs::copy(cudnn.file("libcudnn.so.9"), whole).unwrap();
    let [foreign, _] = &foreign;
    check(foreign, &[GPU]).must_be("fail", &["wrong-architecture"; 7]);
}

/// The loader skips a broken link, and fails on the next file because of its missing dependency.
#[test]
fn a_missing_dependency_of_the_main_library_is_named() {
    let cudnn = sound();
    let gone = cudnn.file("libgone.so.1");
    compile("int gone;", &gone, &[]);
    let first = cudnn.file("libcudnn.so.9");
    compile_linked("int here;", &first, &gone);
    std::fs::remove_file(gone).unwrap();
    let foreign = Folder::new().with_link("libcudnn.so.9", "nowhere");
    let ran = check(
        &cudnn,
        &[GPU, ("LD_LIBRARY_PATH", library_path(&[&foreign, &cudnn]))],
    );
    ran.must_be("fail", &["cudnn-not-loadable"]);
    let finding = &ran.json["findings"][0];
    assert_eq!(
        finding["summary"],
        format!(
            "`{}` needs libgone.so.1, which the loader cannot find",
            first.display()
        )
    );
    assert_eq!(
        finding["help"],
        serde_json::json!(["install libgone.so.1, or add its directory to LD_LIBRARY_PATH"])
    );
}
