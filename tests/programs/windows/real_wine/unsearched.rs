//! A cuDNN in a directory that Windows does not search for this program, and the help for it.

use super::farm::Farm;
use super::judged::{Start, ids, windows};
use crate::support::{program, run, scratch, write_if_new};
use crate::windows::wine::windows::Windows;
use std::fs;

/// Compiles a program that is linked to cuDNN, without a guard.
fn linked(windows: &Windows) {
    let dir = scratch("wine-linked");
    write_if_new(
        &dir.join("cudnn.def"),
        "LIBRARY cudnn64_9.dll\nEXPORTS\ncudnnGetVersion\n",
    );
    run(program("x86_64-w64-mingw32-dlltool")
        .current_dir(&dir)
        .args(["-d", "cudnn.def", "-l", "libcudnn.a"]))
    .exits_with(0);
    let source = "#include <stdio.h>\nsize_t cudnnGetVersion(void);\n\
                  int main(void) { printf(\"%d\\n\", (int)cudnnGetVersion()); }\n";
    let library = dir.join("libcudnn.a");
    let into = windows.drive().join("linked/linked.exe");
    windows.compile("linked", source, &into, &[library.to_str().unwrap()]);
}

/// cuDNN opens its sub-libraries by name, even if it was opened by path. Without a GPU, the guard opens none of them.
#[test]
#[ignore = "needs Wine and real NVIDIA files: .ci/foreign, CUDNN_GUARD_REAL"]
fn sub_libraries_that_are_not_found_by_name_are_reported() {
    let windows = &*windows();
    Farm::of(windows, "cuDNN", "9.28");
    let library = r"C:\cuDNN\cudnn64_9.dll";
    let start = Start::of("nine");
    assert_ne!(start.run(windows, &["use", library]).code, Some(0));
    let start = start.does(&["load", library]);
    let ran = start.run(windows, &["startup", "went-on"]).exits_with(0);
    let expected = r"cudnn-guard: unknown: Windows cannot find 7 libraries of cuDNN 9.28.0 at `C:\cuDNN`, which cuDNN opens by name  [parts-missing]
  = help: add `C:\cuDNN` to PATH, or open these files by path before you call cuDNN
";
    assert!(ran.stderr.starts_with(expected), "{}", ran.stderr);
    // Follow the help, in both ways.
    let on_path = start.clone().path(r"C:\cuDNN");
    assert_eq!(ids(&on_path.json(windows, "check")), ["driver-missing"]);
    let mut opened = start;
    for part in [
        "graph",
        "ops",
        "cnn",
        "heuristic",
        "engines_precompiled",
        "engines_runtime_compiled",
        "engines_tensor_ir",
        "adv",
        "ext",
    ] {
        opened = opened.does(&["load", &format!(r"C:\cuDNN\cudnn_{part}64_9.dll")]);
    }
    let report = opened.json(windows, "check");
    assert_eq!(ids(&report), ["driver-missing"], "{report:#}");
    opened.run(windows, &["use", library]).exits_with(0);
}

/// `inspect` and `run` suggest the installed cuDNN, because a guard in the program could not run.
#[test]
#[ignore = "needs Wine and real NVIDIA files: .ci/foreign, CUDNN_GUARD_REAL"]
fn a_linked_program_gets_the_installed_cudnn_suggested() {
    let windows = &*windows();
    linked(windows);
    let dir = r"Program Files\NVIDIA\CUDNN\v9.28\bin\13.0\x64";
    let installed = &Farm::of(windows, dir, "9.28").path;
    let guard = r"C:\cudnn-guard.exe";
    for (command, code) in [("inspect", 1), ("run", 78)] {
        let arguments = [command, r"C:\linked\linked.exe"];
        let ran = windows.start(guard, &arguments, &[("COLUMNS", "400")]);
        let help = format!("= help: add `{installed}` to PATH where the program runs\n");
        ran.exits_with(code)
            .says(&help)
            .says(&format!("available   {installed}\\cudnn64_9.dll\n"));
    }
    let path = [("WINEPATH", &installed[..])];
    windows
        .start(guard, &["inspect", r"C:\linked\linked.exe"], &path)
        .exits_with(0);
    let ran = windows.start(guard, &["run", r"C:\linked\linked.exe"], &path);
    assert_eq!(ran.exits_with(0).stdout.trim(), "92800");
    fs::remove_dir_all(windows.unix(installed)).unwrap();
}

/// Only the CUDA installer provides these libraries. The guard and `inspect` report them without a driver too.
#[test]
#[ignore = "needs Wine and real NVIDIA files: .ci/foreign, CUDNN_GUARD_REAL"]
fn a_missing_cuda_library_is_reported_without_a_driver() {
    let windows = &*windows();
    Farm::of(windows, "cuDNN", "9.28");
    let start = Start::of("nine").path(r"C:\cuDNN");
    for (library, part) in [
        ("cublasLt64_13.dll", "cudnn_engines_precompiled64_9.dll"),
        ("nvrtc64_130_0.dll", "cudnn_graph64_9.dll"),
    ] {
        let there = windows.system(library);
        let cuda = Farm::of(windows, "cuda", "nothing");
        let builtins = "nvrtc-builtins64_130.dll";
        fs::copy(windows.system(builtins), cuda.file(builtins)).unwrap();
        let elsewhere = cuda.file(library);
        fs::rename(&there, &elsewhere).unwrap();
        let (checked, inspected) = (start.json(windows, "check"), start.inspected(windows));
        let path = r"C:\cuDNN;C:\cuda";
        let helped = Start::of("nine").path(path).json(windows, "check");
        fs::rename(&elsewhere, &there).unwrap();
        assert!(ids(&checked).contains(&"cudnn-not-loadable"), "{checked:#}");
        assert!(
            ids(&inspected).contains(&"cudnn-not-loadable"),
            "{inspected:#}"
        );
        for report in [&checked, &inspected] {
            let text = report.to_string();
            assert!(text.contains(library) && text.contains(part), "{report:#}");
        }
        assert_eq!(ids(&helped), ["driver-missing"], "{helped:#}");
    }
}
