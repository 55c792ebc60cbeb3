//! The guard in a library that another program opens, as Python does. It checks the cuDNN in the process, and loads none
//! itself.

use crate::support::circumstances::installed;
use crate::support::{cargo, consumers, fresh, program, run, target};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A program that opens the libraries that its arguments name, the first of two from memory if TEST_MEMORY is set, calls the guard in the last one, and prints its result and
/// the CUDA libraries in the process.
const PROGRAM: &str = r#"#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char *in_memory(const char *path) {
    static char name[64], bytes[4096];
    int memory = memfd_create("unnamed", 0);
    FILE *file = fopen(path, "rb");
    for (size_t length; (length = fread(bytes, 1, sizeof bytes, file)) > 0;)
        if (write(memory, bytes, length) < 0)
            abort();
    sprintf(name, "/proc/self/fd/%d", memory);
    return name;
}

int main(int count, char **all) {
    void *guard = 0;
    memset(malloc(100 << 20), 1, 100 << 20);
    FILE *starts = fopen(getenv("TEST_STARTS"), "a");
    fputs("x", starts);
    fclose(starts);
    if (count > 2 && getenv("TEST_MEMORY"))
        all[1] = in_memory(all[1]);
    for (int at = 1; at < count; at++)
        if (!(guard = dlopen(all[at], RTLD_NOW)))
            return puts(dlerror());
    puts(((const char *(*)(void))dlsym(guard, "guard_check"))());
    char line[4096];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps))
        if (strstr(line, "libcu"))
            fputs(strchr(line, '/'), stdout);
    return 0;
}
"#;

/// Returns the result of the extension in a program that opens this library first, and the CUDA libraries in the process.
/// The program finds libraries in these directories.
fn ask(before: Option<&Path>, folders: &[PathBuf], in_memory: bool) -> (serde_json::Value, String) {
    run(&mut cargo(consumers(), &["build", "-p", "extension"])).exits_with(0);
    static OPENER: OnceLock<PathBuf> = OnceLock::new();
    let opener = OPENER.get_or_init(|| {
        let dir = fresh("extension-opener");
        let source = dir.join("opener.c");
        std::fs::write(&source, PROGRAM).unwrap();
        let mut cc = Command::new("cc");
        run(cc.arg("-o").arg(dir.join("opener")).arg(source).arg("-ldl")).exits_with(0);
        dir.join("opener")
    });
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let number = ASKED.fetch_add(1, Ordering::Relaxed);
    let starts = fresh(&format!("extension-starts-{number}")).join("starts");
    let mut program = program(opener);
    program
        .args(before)
        .env("TEST_STARTS", &starts)
        .arg(target().join("debug/libextension.so"))
        .env("LD_LIBRARY_PATH", std::env::join_paths(folders).unwrap());
    if in_memory {
        program.env("TEST_MEMORY", "1");
    }
    let ran = run(&mut program).exits_with(0);
    // A library cannot start the program again, whatever its memory.
    assert_eq!(std::fs::read_to_string(starts).unwrap(), "x");
    let (json, mapped) = ran.stdout.split_once('\n').unwrap();
    (serde_json::from_str(json).unwrap(), mapped.to_string())
}

#[test]
fn an_extension_loads_no_cudnn() {
    let tree = installed((9, 14, 0));
    let cudnn = tree.join("lib64/libcudnn.so.9");
    // A cuDNN in memory has no name, so the guard does not recognize it.
    for before in [None, Some(&*cudnn)] {
        let dirs = [tree.join("lib64"), tree.join("driver")];
        let (json, mapped) = ask(before, &dirs, before.is_some());
        assert_eq!(json["verdict"], "unknown");
        assert_eq!(json["findings"][0]["id"], "not-loaded-yet");
        assert_eq!(
            json["findings"][0]["summary"],
            "no cuDNN was found among the libraries of this process, and the guard of a library does not load one"
        );
        assert_eq!(mapped, "");
    }
}

/// A cuDNN that another package has loaded is used by all, whatever the library path is.
#[test]
fn the_cudnn_of_another_package_is_checked() {
    let (first, other) = (installed((9, 14, 0)), installed((9, 28, 0)));
    let theirs = first.join("lib64/libcudnn.so.9");
    let (json, mapped) = ask(
        Some(&theirs),
        &[other.join("lib64"), other.join("driver")],
        false,
    );
    assert_eq!(json["loaded"]["path"], theirs.to_str().unwrap());
    assert_eq!(json["loaded"]["version"], "9.14.0");
    assert!(
        !mapped.contains(other.join("lib64").to_str().unwrap()),
        "{mapped}"
    );
    assert!(!mapped.contains("libcuda.so"), "{mapped}");
}
