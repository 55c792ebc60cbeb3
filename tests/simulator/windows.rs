//! Simulators for Windows, which has no compiler: they are built elsewhere, below the directory in `SIMULATED`.

use cudnn_guard::internals::loader::loader_words;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::atomic::{AtomicU32, Ordering};

type Release = (u32, u32, u32);

/// Returns the simulated installation of this version, with all sub-libraries.
pub fn simulated((major, minor, patch): Release) -> PathBuf {
    let folder = std::env::var_os("SIMULATED")
        .expect("set SIMULATED to the directory that contains the simulators");
    PathBuf::from(folder).join(format!("{major}.{minor}.{patch}"))
}

/// Like [`simulated`], but without these sub-libraries.
pub fn without(release: Release, parts: &[&str]) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let into = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("simulator-trees/{number}"));
    let _ = fs::remove_dir_all(&into);
    fs::create_dir_all(into.join("bin")).unwrap();
    for file in fs::read_dir(simulated(release).join("bin")).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), into.join("bin").join(file.file_name())).unwrap();
    }
    for part in parts {
        let name = crate::file_name::of_part(part, release.0);
        fs::remove_file(into.join("bin").join(name)).unwrap();
    }
    into
}

/// Returns the way a process ended, in one word, if a library or a test crashed it.
pub fn ending(status: ExitStatus) -> Option<&'static str> {
    match status.code()? as u32 {
        1 => Some("kill"),
        0xc000_0005 => Some("segv"),
        0xc000_0409 => Some("abort"),
        _ => None,
    }
}

mod made_dll {
    #![allow(dead_code, reason = "this test uses some of it")]
    include!("../../src/system/library_file/made_dll.rs");
}

/// Windows rejects a DLL if another DLL does not export a function that it imports (error 127), and names neither
/// the function nor the DLL. Wine loads such a DLL, so the message of Windows is a constant here.
#[test]
fn a_function_that_another_dll_does_not_export_is_named() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("simulator-imports");
    fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, lines: &str| {
        let file = folder.join(name);
        fs::write(&file, made_dll::DllSpec::from_lines(lines, "x86_64")).unwrap();
        file
    };
    let part = write("cudnn_cnn64_9.dll", "imports cublas64_13.dll one two");
    let blas = write("cublas64_13.dll", "exports one");
    let report = |number: u32| {
        let words = format!("cudnn_cnn64_9.dll: Procedure not found. (os error {number})");
        loader_words::refused(&part, &words).finding().to_string()
    };
    let (part, blas) = (part.display(), blas.display());
    let expected = format!(
        "`{part}` is incompatible with the cublas64_13.dll that Windows finds for it  [cudnn-not-loadable]\n  \
         = help: remove directories with another cublas64_13.dll from PATH, or install both libraries of the same version\n  \
         loader      cudnn_cnn64_9.dll: Procedure not found. (os error 127)\n  \
         missing     two\n  \
         available   {blas}"
    );
    assert_eq!(report(127), expected);
    // Error 126 is about a file, and all of them exist.
    assert!(!report(126).contains("two"), "{}", report(126));
    write("cublas64_13.dll", "exports one two");
    assert!(!report(127).contains("is incompatible"), "{}", report(127));
}
