//! The guard in a library that Python loads. It checks the cuDNN in the process, and loads none itself.

use crate::support::circumstances::installed;
use crate::support::{cargo, consumers, program, run, target};
use std::path::PathBuf;

/// Returns the result that the extension gives to Python after these lines. It finds libraries in these directories.
fn ask(before: &str, folders: &[PathBuf]) -> (serde_json::Value, String) {
    run(&mut cargo(consumers(), &["build", "-p", "extension"])).exits_with(0);
    let extension = target().join("debug/libextension.so");
    let script = format!(
        "import ctypes\n{before}\n\
         guard = ctypes.CDLL({:?})\n\
         guard.guard_check.restype = ctypes.c_char_p\n\
         print(guard.guard_check().decode())\n\
         print([line.split()[-1] for line in open('/proc/self/maps') if 'libcu' in line])\n",
        extension.to_str().unwrap()
    );
    let mut python = program("python3");
    python
        .args(["-c", &script])
        .env("LD_LIBRARY_PATH", std::env::join_paths(folders).unwrap());
    let ran = run(&mut python).exits_with(0);
    let (json, mapped) = ran.stdout.split_once('\n').unwrap();
    (serde_json::from_str(json).unwrap(), mapped.to_string())
}

#[test]
fn an_extension_loads_no_cudnn() {
    let tree = installed((9, 14, 0));
    let (json, mapped) = ask("", &[tree.join("lib64"), tree.join("driver")]);
    assert_eq!(json["verdict"], "unknown");
    assert_eq!(json["findings"][0]["id"], "not-loaded-yet");
    assert_eq!(mapped, "[]\n");
}

/// LOD-11: a cuDNN that another package has loaded is used by all, whatever the library path is.
#[test]
fn the_cudnn_of_another_package_is_checked() {
    let (first, other) = (installed((9, 14, 0)), installed((9, 28, 0)));
    let theirs = first.join("lib64/libcudnn.so.9");
    let before = format!("ctypes.CDLL({:?})", theirs.to_str().unwrap());
    let (json, mapped) = ask(&before, &[other.join("lib64"), other.join("driver")]);
    assert_eq!(json["loaded"]["path"], theirs.to_str().unwrap());
    assert_eq!(json["loaded"]["version"], "9.14.0");
    assert!(
        !mapped.contains(other.join("lib64").to_str().unwrap()),
        "{mapped}"
    );
    assert!(!mapped.contains("libcuda.so"), "{mapped}");
}
