#!/usr/bin/env python3
"""Measures the time and memory that the guard adds to the loader's own work, with NVIDIA's files.

    python3 .ci/guard_cost.py [WHEELS] [--set NAME] [--runs N]      (default: the directory of .ci/wheels.py)

Builds a program in release mode, and starts a new process for every measurement, in turn:

    first      opens libcudnn.so.9 with dlopen, and does nothing else
    loader     opens libcudnn.so.9 and the sub-libraries that convolutions need
    version    calls check_version(), which opens only libcudnn.so.9
    startup    calls startup(), whose child process opens all of them

Prints the medians of the time inside the process and of the memory that stays resident. Fails if check_version() takes
more than 5 ms longer than `first`, or startup() more than 150 ms longer than `loader`. If startup() passes on a machine
with a GPU, the program keeps as much memory as `loader`: the sub-libraries that the program would open itself stay open.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent.parent
BARS = {"version": ("first", 5.0), "startup": ("loader", 150.0)}
PARTS = ["graph", "ops", "cnn", "heuristic", "engines_precompiled", "engines_runtime_compiled", "engines_tensor_ir"]
BUILD = """fn main() {
    cudnn_guard::build(|| {
        let gpu = cudnn_guard::Config::new().cudnn(">=9, <10").link(cudnn_guard::Link::Runtime).probe()?;
        gpu.guard().write()
    });
}
"""
MAIN = r"""mod cudnn_guard { include!(concat!(env!("OUT_DIR"), "/cudnn_guard.rs")); }
use std::ffi::{CString, c_char, c_int, c_void};
unsafe extern "C" { fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void; }

/// Returns the resident memory of this process in kB: all of it, and the anonymous memory.
fn resident() -> [i64; 2] {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    ["VmRSS:", "RssAnon:"].map(|name| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    })
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let before = resident();
    let clock = std::time::Instant::now();
    let mut verdict = "none".to_string();
    match arguments[0].as_str() {
        "first" | "loader" => for file in &arguments[1..] {
            let file = CString::new(file.as_str()).unwrap();
            // Libraries that are linked to the driver do not load without a driver, for the guard too.
            // SAFETY: a name that ends in NUL.
            unsafe { dlopen(file.as_ptr(), 1) };
        },
        "version" => verdict = match cudnn_guard::check_version() {
            Ok(report) => report.verdict().to_string(),
            Err(failure) => failure.headline(),
        },
        _ => cudnn_guard::startup(),
    }
    let time = clock.elapsed().as_secs_f64() * 1000.0;
    let after = resident();
    println!("{time} {} {} {verdict}", after[0] - before[0], after[1] - before[1]);
}
"""


def build(folder: pathlib.Path) -> pathlib.Path:
    (folder / "src").mkdir()
    (folder / "src/main.rs").write_text(MAIN)
    (folder / "build.rs").write_text(BUILD)
    (folder / "Cargo.toml").write_text(
        '[package]\nname = "guard-cost"\nversion = "0.0.0"\nedition = "2024"\n'
        f'[dependencies]\ncudnn-guard = {{ path = "{HERE}", default-features = false, features = ["runtime"] }}\n'
        f'[build-dependencies]\ncudnn-guard = {{ path = "{HERE}" }}\n[workspace]\n'
    )
    (folder / "Cargo.lock").write_bytes((HERE / "Cargo.lock").read_bytes())
    target = folder / "target"
    environment = dict(os.environ, CARGO_TARGET_DIR=str(target))
    subprocess.run(["cargo", "build", "--quiet", "--release"], cwd=folder, check=True, env=environment)
    return target / "release/guard-cost"


def main() -> None:
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    options = argparse.ArgumentParser()
    options.add_argument("wheels", nargs="?", default=f"{cache}/cudnn-guard/wheels")
    options.add_argument("--set", default="cudnn-cu13-9.28")
    options.add_argument("--runs", type=int, default=15)
    options = options.parse_args()
    lib = pathlib.Path(options.wheels).resolve() / options.set / "nvidia/cudnn/lib"
    # The guard opens libcudnn.so.9 by name, and the sub-libraries by path.
    files = ["libcudnn.so.9"] + [str(lib / f"libcudnn_{part}.so.9") for part in PARTS]
    environment = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": str(lib)}
    found = {task: [] for task in ("first", "loader", "version", "startup")}
    with tempfile.TemporaryDirectory() as scratch:
        program = build(pathlib.Path(scratch))
        # The first round fills the page cache and does not count.
        for run in range(options.runs + 1):
            for task, numbers in found.items():
                opened = {"first": files[:1], "loader": files}
                command = [program, task] + opened.get(task, [])
                done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
                time, resident, own, verdict = done.stdout.strip().split(" ", 3)
                if task == "version" and verdict != "pass":
                    sys.exit(f"check_version() returned {verdict}")
                if run > 0:
                    numbers.append((float(time), int(resident), int(own)))
    medians = {task: [statistics.median(column) for column in zip(*numbers)] for task, numbers in found.items()}
    print(f"{options.set}, median of {options.runs} fresh processes each, release build, warm page cache")
    late = []
    for task, (time, resident, own) in medians.items():
        line = f"{task:8} {time:7.2f} ms, {resident:6.0f} kB resident, of which {own:6.0f} kB anonymous"
        if task in BARS:
            beside, bar = BARS[task]
            over = time - medians[beside][0]
            ratio = time / medians[beside][0]
            line += f"; {over:.2f} ms more than `{beside}` (limit {bar:.0f} ms), {ratio:.1f} times as long"
            late += [task] if over > bar else []
        print(line)
    if late:
        sys.exit(f"too slow: {', '.join(late)}")


if __name__ == "__main__":
    main()
