//! The number of times that a build script opens the files of an installation.

use crate::support::builds::{check, crate_of, toolkit, wheel};
use crate::support::circumstances::library;
use crate::support::{fresh, run};
use std::collections::BTreeMap;
use std::fs;

/// A library that adds a line to `OPENS` for each file that a build script opens to read it.
const COUNTER: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int open64(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, int) : 0;
    va_end(rest);
    const char *log = getenv("OPENS");
    if (log && !(flags & O_PATH) && strcmp(program_invocation_short_name, "build-script-build") == 0) {
        int file = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND, 0666);
        if (file >= 0) {
            dprintf(file, "%s\n", path);
            close(file);
        }
    }
    return syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
"#;

/// Several steps of the search find the toolkit: CUDA_HOME, the link of the default directory, and the versioned
/// directory.
#[test]
fn a_probe_opens_each_file_once() {
    let tree = fresh("opens-tree");
    let cuda = tree.join("usr/local/cuda-12.4");
    toolkit(&cuda, 12040, false);
    std::os::unix::fs::symlink("cuda-12.4", tree.join("usr/local/cuda")).unwrap();
    let venv = tree.join("venv");
    let cudnn = wheel(&venv, 12, (9, 14, 0));
    let (counter, log) = (tree.join("counter.so"), tree.join("opens"));
    library(COUNTER, &counter);
    let env = [
        ("IMAGE", tree.as_path()),
        ("CUDA_HOME", &cuda),
        ("VIRTUAL_ENV", &venv),
        ("LD_PRELOAD", &counter),
        ("OPENS", &log),
    ];
    let mut command = check(&crate_of("opens"), "cuda=>=12;cudnn=>=9", &env);
    run(&mut command).exits_with(0);
    let mut times: BTreeMap<String, u32> = BTreeMap::new();
    for line in fs::read_to_string(&log).unwrap().lines() {
        // The other files do not exist.
        if let Ok(file) = fs::canonicalize(line) {
            *times.entry(file.display().to_string()).or_default() += 1;
        }
    }
    let is_read = |file: std::path::PathBuf| times.contains_key(file.to_str().unwrap());
    assert!(is_read(cudnn.join("include/cudnn_version.h")), "{times:?}");
    assert!(is_read(cudnn.join("lib/libcudnn_graph.so.9")), "{times:?}");
    assert!(is_read(cuda.join("include/cuda.h")), "{times:?}");
    times.retain(|file, times| file.starts_with(tree.to_str().unwrap()) && *times > 1);
    assert!(times.is_empty(), "opened more than once: {times:#?}");
}
