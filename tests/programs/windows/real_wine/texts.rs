//! Messages about broken setups, and whether their help works.

use super::farm::Farm;
use super::faults::{
    Fault, alone, installed, of_32_bits_first, older_first, other_major, part_beside_the_program,
    part_cut_short, part_for_another_cpu, part_of_another_8, part_of_another_release, part_removed,
    parts_first, uninstall, unused_part_first,
};
use super::judged::{Start, ids, windows};
use super::{V8_9_5, V8_9_7, V9_10, V9_14, V9_28};
use crate::windows::wine::windows::Windows;

/// Checks the headline and the helps that are printed at startup.
#[track_caller]
fn check_startup(windows: &Windows, start: &Start, code: i32, wanted: &str) {
    let ran = start.run(windows, &["startup", "went-on"]).exits_with(code);
    assert_eq!(ran.stdout, if code == 0 { "went on\n" } else { "" });
    let is_help = |line: &&str| line.starts_with("  = help: ");
    let mut lines = ran.stderr.lines();
    let mut text = format!("{}\n", lines.next().unwrap_or_default());
    for line in lines.take_while(is_help) {
        text += &format!("{line}\n");
    }
    assert_eq!(text, wanted, "{}", ran.stderr);
}

/// Checks that only the missing driver is still reported.
#[track_caller]
fn helps(windows: &Windows, start: &Start) {
    let report = start.json(windows, "check");
    assert_eq!(ids(&report), ["driver-missing"], "{report:#}");
    start.run(windows, &["startup", "went-on"]).exits_with(0);
}

/// Reinstalls the cuDNN of a fault, as it was before the fault.
fn again(windows: &Windows, set: &str) -> Farm {
    Farm::of(windows, "cuDNN", set)
}

/// Windows reports error 126.
#[test]
#[ignore = "needs Wine and real NVIDIA files: .ci/foreign, CUDNN_GUARD_REAL"]
fn a_removed_sub_library_is_named() {
    let windows = windows();
    let windows = windows.as_ref().unwrap();
    let fault = part_removed(windows);
    check_startup(
        windows,
        &fault.start,
        78,
        r"cuDNN 8.9.7 at `C:\cuDNN` is missing `cudnn_cnn_infer64_8.dll`, which convolutions need  [parts-missing]
  = help: reinstall cuDNN 8.9.7 in `C:\cuDNN`: the main library opens the others from there
",
    );
    again(windows, V8_9_7);
    helps(windows, &fault.start);
}

#[test]
#[ignore = "needs Wine and real NVIDIA files: .ci/foreign, CUDNN_GUARD_REAL"]
fn an_older_cudnn_first_on_path_stops_the_program() {
    let windows = windows();
    let windows = windows.as_ref().unwrap();
    let fault = older_first(windows);
    check_startup(
        windows,
        &fault.start,
        78,
        r"loaded cuDNN 9.10.2 does not meet the requirement `>=9.14, <10` of this program  [cudnn-version-mismatch]
  = help: remove `C:\older` from PATH, or add the directory of a cuDNN that meets `>=9.14, <10` before it
",
    );
    let ran = fault.start.run(windows, &["startup"]);
    ran.says("  found via   PATH, its entry `C:\\older`\n");
    same_words(windows, &fault.start);
    helps(windows, &Start::of("nine").path(r"C:\cuDNN;C:\older"));
}

/// Checks that `inspect` reports the first finding of the guard in the same words.
#[track_caller]
fn same_words(windows: &Windows, start: &Start) {
    let (guard, inspect) = (start.json(windows, "check"), start.inspected(windows));
    let first = &guard["findings"][0];
    let id = &first["id"];
    let mut found = inspect["findings"].as_array().unwrap().iter();
    let found = found.find(|finding| finding["id"] == *id);
    let found = found.unwrap_or_else(|| panic!("no {id} in {inspect:#}"));
    for of in ["summary", "help"] {
        assert_eq!(first[of], found[of]);
    }
}

/// The directory of the program is searched before PATH.
#[test]
#[ignore = "needs Wine and real NVIDIA files: .ci/foreign, CUDNN_GUARD_REAL"]
fn an_older_cudnn_beside_the_program_is_reported() {
    let windows = windows();
    let windows = windows.as_ref().unwrap();
    let own = Farm::of(windows, "own", V9_10);
    let newer = Farm::of(windows, "cuDNN", V9_28);
    let start = Start::of("nine").path(&newer.path);
    let start = start.within(windows, &own.path);
    check_startup(
        windows,
        &start,
        78,
        r"loaded cuDNN 9.10.2 does not meet the requirement `>=9.14, <10` of this program  [cudnn-version-mismatch]
  = help: replace the cuDNN in `C:\own` with a cuDNN that meets `>=9.14, <10`: Windows searches that directory before PATH
",
    );
    same_words(windows, &start);
    let own = Farm::empty(windows, "own");
    helps(windows, &start.within(windows, &own.path));
}

#[test]
#[ignore = "needs Wine and real NVIDIA files: .ci/foreign, CUDNN_GUARD_REAL"]
fn a_sub_library_of_another_version_is_named() {
    let windows = windows();
    let windows = windows.as_ref().unwrap();
    let fault = part_of_another_release(windows);
    check_startup(
        windows,
        &fault.start,
        78,
        r"`cudnn_ops64_9.dll` in `C:\cuDNN` is version 9.14.0, but the rest of cuDNN is 9.28.0  [parts-mixed]
  = help: remove all `cudnn*.dll` files from `C:\cuDNN` and reinstall cuDNN
",
    );
    same_words(windows, &fault.start);
    again(windows, V9_28);
    helps(windows, &fault.start);
    let fault = part_of_another_8(windows);
    check_startup(
        windows,
        &fault.start,
        78,
        r"`cudnn_cnn_infer64_8.dll` in `C:\cuDNN` is version 8.9.5, but the rest of cuDNN is 8.9.7  [parts-mixed]
  = help: remove all `cudnn*.dll` files from `C:\cuDNN` and reinstall cuDNN
",
    );
    again(windows, V8_9_7);
    helps(windows, &fault.start);
}

#[test]
#[ignore = "needs Wine and real NVIDIA files: .ci/foreign, CUDNN_GUARD_REAL"]
fn a_sub_library_that_windows_cannot_load_is_named() {
    let windows = windows();
    let windows = windows.as_ref().unwrap();
    for (made, wanted) in [
        (
            part_cut_short as fn(&Windows) -> Fault,
            r"`C:\cuDNN\cudnn_ops64_9.dll` is truncated: its size is 1000000 bytes, but its sections extend to byte 33088512  [library-damaged]
  = help: reinstall that cuDNN in `C:\cuDNN`, and check that the disk is not full
",
        ),
        (
            part_for_another_cpu,
            r"`C:\cuDNN\cudnn_ops64_9.dll` is for aarch64  [wrong-architecture]
  = help: install the cuDNN for x86_64 in `C:\cuDNN`
",
        ),
    ] {
        let fault = made(windows);
        check_startup(windows, &fault.start, 78, wanted);
        again(windows, V9_28);
        helps(windows, &fault.start);
    }
}

#[test]
#[ignore = "needs Wine and real NVIDIA files: .ci/foreign, CUDNN_GUARD_REAL"]
fn a_main_library_with_sub_libraries_of_another_cudnn_is_reported() {
    let windows = windows();
    let windows = windows.as_ref().unwrap();
    let fault = alone(windows);
    check_startup(
        windows,
        &fault.start,
        78,
        r"cuDNN 9.28.0 at `C:\own` loads 5 libraries (version 9.14.0) from `C:\older`  [parts-mixed]
  = help: install a complete cuDNN 9.28.0 in `C:\own`
",
    );
    let own = Farm::of(windows, "own", V9_28);
    helps(windows, &fault.start.clone().within(windows, &own.path));
}

/// The behavior of cuDNN itself, without a guard: `cudnn64_9.dll` asks Windows for the sub-libraries by name only.
#[test]
#[ignore = "needs Wine and real NVIDIA files: .ci/foreign, CUDNN_GUARD_REAL"]
fn cudnn_uses_the_first_sub_libraries_on_path() {
    let windows = windows();
    let windows = windows.as_ref().unwrap();
    for (set, stale, part, major, answers) in [
        (
            V8_9_5,
            V8_9_7,
            "cudnn_ops_infer64_8.dll",
            8,
            ["8907", "8905"],
        ),
        (V9_28, V9_14, "cudnn_graph64_9.dll", 9, ["91400", "92800"]),
    ] {
        let farm = Farm::of(windows, "cuDNN", set);
        let stale = Farm::empty(windows, "stale").from(stale, part);
        let paths = [[&stale.path, &farm.path], [&farm.path, &stale.path]];
        for (path, answer) in paths.into_iter().zip(answers) {
            let start = Start::of("nine").path(&format!("{};{}", path[0], path[1]));
            let library = format!("cudnn64_{major}.dll");
            let ran = start.run(windows, &["cudnn-answers", &library]);
            assert_eq!(ran.exits_with(0).stdout.trim(), answer);
        }
    }
}

/// `cudnn64_9.dll` asks Windows for the sub-libraries by name only.
#[test]
#[ignore = "needs Wine and real NVIDIA files: .ci/foreign, CUDNN_GUARD_REAL"]
fn sub_libraries_found_before_the_main_library_are_reported() {
    let windows = windows();
    let windows = windows.as_ref().unwrap();
    let fault = parts_first(windows);
    check_startup(
        windows,
        &fault.start,
        78,
        r"cuDNN 9.28.0 at `C:\cuDNN` loads `cudnn_ops64_9.dll` and `cudnn_cnn64_9.dll` (version 9.14.0) from `C:\stale`  [parts-mixed]
  = help: remove `C:\stale` from PATH, or add `C:\cuDNN` before it
",
    );
    helps(windows, &Start::of("nine").path(r"C:\cuDNN"));
    helps(windows, &Start::of("nine").path(r"C:\cuDNN;C:\stale"));
    let fault = unused_part_first(windows);
    let report = fault.start.json(windows, "version");
    let first = &report["findings"][0];
    assert_eq!(report["verdict"], "pass");
    assert_eq!(first["severity"], "warning");
    assert_eq!(
        first["summary"],
        r"cuDNN 9.28.0 at `C:\cuDNN` loads `cudnn_adv64_9.dll` (version 9.14.0) from `C:\stale`; no convolution uses these files"
    );
    let fault = part_beside_the_program(windows);
    check_startup(
        windows,
        &fault.start,
        78,
        r"cuDNN 9.28.0 at `C:\cuDNN` loads `cudnn_ops64_9.dll` (version 9.14.0) from `C:\own`  [parts-mixed]
  = help: remove the `cudnn*.dll` files from `C:\own`, which Windows searches before `C:\cuDNN`
",
    );
    let own = Farm::empty(windows, "own");
    helps(windows, &fault.start.within(windows, &own.path));
}

#[test]
#[ignore = "needs Wine and real NVIDIA files: .ci/foreign, CUDNN_GUARD_REAL"]
fn a_32_bit_main_library_is_reported() {
    let windows = windows();
    let windows = windows.as_ref().unwrap();
    let fault = of_32_bits_first(windows);
    check_startup(
        windows,
        &fault.start,
        0,
        r"cudnn-guard: unknown: cannot load `cudnn64_9.dll`; `C:\small\cudnn64_9.dll` is for i686  [cudnn-not-loadable]
  = help: install the cuDNN for x86_64 in `C:\small`
",
    );
    Farm::of(windows, "small", V9_28);
    helps(windows, &fault.start);
}

#[test]
#[ignore = "needs Wine and real NVIDIA files: .ci/foreign, CUDNN_GUARD_REAL"]
fn a_cudnn_that_windows_does_not_search_is_reported() {
    let windows = windows();
    let windows = windows.as_ref().unwrap();
    let fault = installed(windows);
    check_startup(
        windows,
        &fault.start,
        0,
        r"cudnn-guard: unknown: cannot load `cudnn64_9.dll`; `C:\Program Files\NVIDIA\CUDNN\v9.28\bin\13.0\x64\cudnn64_9.dll` exists, but Windows does not search there  [cudnn-not-loadable]
  = help: add `C:\Program Files\NVIDIA\CUDNN\v9.28\bin\13.0\x64` to PATH where the program runs
",
    );
    let ran = fault.start.run(windows, &["startup"]);
    ran.says("  reason      PATH does not contain its directory\n");
    helps(
        windows,
        &Start::of("nine").path(r"C:\Program Files\NVIDIA\CUDNN\v9.28\bin\13.0\x64"),
    );
    uninstall(windows);
}

#[test]
#[ignore = "needs Wine and real NVIDIA files: .ci/foreign, CUDNN_GUARD_REAL"]
fn a_cudnn_of_the_other_major_is_reported() {
    let windows = windows();
    let windows = windows.as_ref().unwrap();
    let fault = other_major(windows);
    check_startup(
        windows,
        &fault.start,
        0,
        "cudnn-guard: unknown: cannot load `cudnn64_9.dll`; only `cudnn64_8.dll` was found  [cudnn-not-loadable]\n  \
         = help: install cuDNN 9, or add the directory of its cudnn64_9.dll to PATH\n",
    );
    let nine = Farm::of(windows, "nine", V9_28);
    helps(
        windows,
        &Start::of("nine").path(&format!(r"C:\cuDNN;{}", nine.path)),
    );
    // Follow the other help: a build of the program for cuDNN 8.
    again(windows, V8_9_7);
    helps(windows, &Start::of("eight").path(r"C:\cuDNN"));
}
