//! A main library that another program has opened exclusively, such as an installer. Windows reports error 32.

use super::V9_28;
use super::farm::{Farm, real};
use super::judged::{Start, ids, windows};
use std::fs;

const MAIN: &str = "cudnn64_9.dll";

#[test]
#[ignore = "needs Wine and real NVIDIA files: .ci/foreign, CUDNN_GUARD_REAL"]
fn a_main_library_in_use_is_not_reported_as_damaged() {
    let windows = windows();
    let windows = windows.as_ref().unwrap();
    let farm = Farm::of(windows, "cuDNN", V9_28);
    // A copy instead of a link, or the original would be held open too.
    let farm = farm.with(MAIN, &fs::read(real(V9_28).join(MAIN)).unwrap());
    let start = Start::of("nine").path(&farm.path);
    let held = start.clone().does(&["hold", r"C:\cuDNN\cudnn64_9.dll"]);
    let ran = held.run(windows, &["startup", "went-on"]).exits_with(0);
    assert!(
        ran.stderr.starts_with(
            r"cudnn-guard: unknown: cannot load `cudnn64_9.dll`; `C:\cuDNN\cudnn64_9.dll` is in use by another program (os error 32)  [cudnn-not-loadable]
  = help: close the program that uses it, such as an installer, and restart this program
"
        ),
        "{}",
        ran.stderr
    );
    let helped = held.does_not("hold").json(windows, "check");
    assert_eq!(ids(&helped), ["driver-missing"], "{helped:#}");
}
