//! The files with `unsafe` code, and the reason why they need it. clippy requires a comment that justifies each block.

use crate::repository::sources::shipped;
use std::collections::BTreeSet;

const FILES: &[(&str, &str)] = &[
    (
        "build-support/guard/child/entry.rs",
        "the child on Windows: its entry, and the variable with its task",
    ),
    (
        "build-support/guard/child/fork.rs",
        "the child on Linux: fork, pipe, kill, waitpid",
    ),
    (
        "build-support/guard/child/in_process.rs",
        "whether CUDA is started here, and a thread that may be left behind",
    ),
    (
        "build-support/guard/child/rdma.rs",
        "asks libibverbs whether a fork is safe",
    ),
    (
        "build-support/guard/child/signals.rs",
        "the child on Linux: handlers of signals",
    ),
    (
        "build-support/guard/child/spawn.rs",
        "the child on Windows: a job that ends with the program",
    ),
    (
        "build-support/guard/child/work.rs",
        "calls functions of cuDNN that take nothing",
    ),
    (
        "build-support/guard/convolution/graph.rs",
        "memory of the GPU, handed to cuDNN",
    ),
    (
        "build-support/guard/convolution/graph_engines.rs",
        "memory of the GPU, handed to cuDNN",
    ),
    (
        "build-support/guard/convolution/run_case.rs",
        "memory of the GPU, handed to cuDNN",
    ),
    ("build-support/guard/cudnn/descriptor.rs", "calls cuDNN"),
    (
        "build-support/guard/lazy.rs",
        "is called by functions in assembly",
    ),
    ("build-support/guard/cudnn/functions.rs", "calls cuDNN"),
    (
        "build-support/guard/cudnn/graph_signatures.rs",
        "calls cuDNN",
    ),
    (
        "build-support/guard/cudnn/owned_descriptor.rs",
        "calls cuDNN",
    ),
    (
        "build-support/guard/cudnn/signatures.rs",
        "the types of cuDNN's functions",
    ),
    (
        "build-support/guard/driver/device_memory.rs",
        "calls the driver",
    ),
    (
        "build-support/guard/driver/call.rs",
        "finds functions of NVIDIA's libraries",
    ),
    ("build-support/guard/driver/query.rs", "calls the driver"),
    (
        "build-support/guard/facts/linked_in.rs",
        "addresses of cuDNN's functions in a program that holds them",
    ),
    (
        "build-support/guard/install/main_library.rs",
        "asks a cuDNN for its release that has no file",
    ),
    (
        "build-support/guard/report/result.rs",
        "a report is dropped once, by hand",
    ),
    (
        "build-support/guard/system/linux/mapped.rs",
        "asks the loader what is mapped",
    ),
    (
        "build-support/guard/system/linux/mod.rs",
        "asks the loader and the C library",
    ),
    (
        "build-support/guard/system/linux/process.rs",
        "asks the C library for limits, and the loader for the program's paths",
    ),
    (
        "build-support/guard/system/linux/stack.rs",
        "asks the C library for the test thread's stack",
    ),
    (
        "build-support/guard/system/linux/stream.rs",
        "writes without a wait or a signal: poll, and the signals of a thread",
    ),
    ("build-support/guard/system/windows.rs", "asks the loader"),
    ("src/guard/linked_in.rs", "text of the generated file"),
    ("src/guard/text.rs", "text of the generated file"),
    (
        "src/system/files.rs",
        "asks the kernel for an attribute of a file",
    ),
    ("src/system/job_server.rs", "cargo's job server on Windows"),
    (
        "src/system/programs.rs",
        "ends a program with all that it started, and keeps the disposition of SIGPIPE",
    ),
    ("src/targets/gpus.rs", "calls the driver through cudarc"),
];

#[test]
fn only_these_files_contain_unsafe_code() {
    let begins = ["{", "fn ", "extern ", "impl "].map(|what| format!("unsafe {what}"));
    let has = |code: &String| begins.iter().any(|begin| code.contains(begin));
    let files = shipped();
    let found: BTreeSet<&str> = files
        .iter()
        .filter(|(_, code)| has(code))
        .map(|(file, _)| file.as_str())
        .collect();
    let named: BTreeSet<&str> = FILES.iter().map(|(file, _)| *file).collect();
    assert_eq!(found, named);
}
