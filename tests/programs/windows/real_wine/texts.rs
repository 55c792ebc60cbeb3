//! Messages about broken setups, and whether their help works.

use super::farm::{Farm, with_zlib};
use super::faults::{
    Fault, alone, installed, no_zlib, of_32_bits_first, older_first, other_major,
    part_beside_the_program, part_cut_short, part_for_another_cpu, part_of_another_8,
    part_of_another_release, part_removed, parts_first, small_zlib, uninstall, unused_part_first,
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
    with_zlib(windows, again(windows, V8_9_7));
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
  = help: move `C:\cuDNN`, which contains cuDNN 9.28.0, before `C:\older` in PATH
",
    );
    let ran = fault.start.run(windows, &["startup"]);
    ran.says("  found via   PATH, its entry `C:\\older`\n")
        .says("  available   C:\\cuDNN\\cudnn64_9.dll (version 9.28.0), which Windows searches later\n");
    same_words(windows, &fault.start);
    helps(windows, &Start::of("nine").path(r"C:\cuDNN;C:\older"));
    // An incomplete cuDNN would not help, nor would a cuDNN whose sub-libraries come from a directory before both.
    let start = &fault.start;
    let elsewhere = "remove `C:\\older` from PATH, or add the directory of a cuDNN that meets `>=9.14, <10` before it";
    again(windows, V9_28).without("cudnn_ops64_9.dll");
    assert_eq!(first_help(windows, start), elsewhere);
    same_words(windows, start);
    again(windows, V9_28);
    Farm::empty(windows, "stale").from(V9_14, "cudnn_ops64_9.dll");
    let start = Start::of("nine").path(r"C:\stale;C:\older;C:\cuDNN");
    assert!(!first_help(windows, &start).contains(r"C:\cuDNN"));
}

#[track_caller]
fn first_help(windows: &Windows, start: &Start) -> String {
    let report = start.json(windows, "check");
    report["findings"][0]["help"][0]
        .as_str()
        .unwrap()
        .to_string()
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
    assert_eq!(
        first["evidence"]["available"],
        found["evidence"]["available"]
    );
}

/// The directory of the program is searched before PATH.
#[test]
#[ignore = "needs Wine and real NVIDIA files: .ci/foreign, CUDNN_GUARD_REAL"]
fn an_older_cudnn_beside_the_program_is_reported_with_the_right_one() {
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
  = help: remove the `cudnn*.dll` files from `C:\own`: Windows then uses cuDNN 9.28.0 from `C:\cuDNN`
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
    with_zlib(windows, again(windows, V8_9_7));
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

/// The finding is a warning, since not every program needs the library.
#[test]
#[ignore = "needs Wine and real NVIDIA files: .ci/foreign, CUDNN_GUARD_REAL"]
fn a_missing_zlibwapi_is_reported() {
    let windows = windows();
    let windows = windows.as_ref().unwrap();
    let fault = no_zlib(windows);
    let report = fault.start.json(windows, "version");
    let finding = &report["findings"][0];
    assert_eq!(finding["severity"], "warning");
    assert_eq!(
        finding["summary"],
        "cuDNN 8.9.7 for Windows opens `zlibwapi.dll`, which cuDNN does not include and Windows cannot find"
    );
    assert_eq!(
        finding["help"],
        serde_json::json!([
            r"copy the `zlibwapi.dll` that NVIDIA's installation guide for cuDNN 8 links to into `C:\cuDNN`, or upgrade to cuDNN 9, which does not need it"
        ])
    );
    with_zlib(windows, again(windows, V8_9_7));
    helps(windows, &fault.start);
    again(windows, V9_28);
    helps(windows, &fault.start);
    let fault = small_zlib(windows);
    let report = fault.start.json(windows, "version");
    let finding = &report["findings"][0];
    assert_eq!(
        finding["summary"],
        r"`C:\cuDNN\zlibwapi.dll`, which cuDNN 8.9.7 opens, is for i686: Windows reports this as error 193"
    );
    assert_eq!(
        finding["help"],
        serde_json::json!([
            r"replace `C:\cuDNN\zlibwapi.dll` with the 64-bit `zlibwapi.dll` that NVIDIA's installation guide for cuDNN 8 links to"
        ])
    );
    with_zlib(windows, again(windows, V8_9_7));
    helps(windows, &fault.start);
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

/// `cmd` removes quotation marks, but Wine's loader does not.
#[test]
#[ignore = "needs Wine and real NVIDIA files: .ci/foreign, CUDNN_GUARD_REAL"]
fn quotation_marks_in_path_are_reported() {
    let windows = windows();
    let windows = windows.as_ref().unwrap();
    let farm = Farm::of(windows, "with spaces", V9_28);
    let start = Start::of("nine").path(&format!("\"{}\"", farm.path));
    check_startup(
        windows,
        &start,
        0,
        r"cudnn-guard: unknown: cannot load `cudnn64_9.dll`; `C:\with spaces\cudnn64_9.dll` exists, but Windows does not search there  [cudnn-not-loadable]
  = help: add `C:\with spaces` to PATH without quotation marks
",
    );
    let ran = start.run(windows, &["startup"]);
    ran.says("  reason      PATH contains \"C:\\with spaces\", including the quotation marks\n");
    let (checked, inspected) = (start.json(windows, "check"), start.inspected(windows));
    let (checked, inspected) = (&checked["findings"][0], &inspected["findings"][0]);
    assert_eq!(checked["help"], inspected["help"]);
    assert_eq!(
        checked["evidence"]["reason"],
        inspected["evidence"]["reason"]
    );
    let looked_in = inspected["evidence"]["searched"].as_str().unwrap();
    let entry = "\"C:\\with spaces\"";
    assert!(looked_in.lines().any(|dir| dir == entry), "{looked_in}");
    helps(windows, &Start::of("nine").path(&farm.path));
    // Behind a cuDNN that is found, the quoted entry hides nothing and adds nothing.
    let other = Farm::of(windows, "older", V9_14);
    let path = format!("\"{}\";{}", farm.path, other.path);
    let start = Start::of("nine").path(&path);
    let report = start.json(windows, "version");
    let found = |report: &serde_json::Value| report["loaded"]["found_via"].clone();
    assert_eq!(found(&report), "PATH, its entry `C:\\older`", "{report:#}");
    assert_eq!(report["findings"], serde_json::json!([]));
    let inspected = start.inspected(windows);
    assert_eq!(inspected["cudnn"]["version"], "9.14.0", "{inspected:#}");
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
    with_zlib(windows, again(windows, V8_9_7));
    helps(windows, &Start::of("eight").path(r"C:\cuDNN"));
}
