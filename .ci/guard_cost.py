#!/usr/bin/env python3
"""What the runtime guard costs beside the loader's own work, on NVIDIA's files.

    python3 .ci/guard_cost.py [WHEELS] [--set NAME] [--runs N]      (default: the folder of .ci/wheels.py)

Builds a program in release, then starts it anew for every number, in turn: `first` opens the first library with
dlopen and does nothing else, `loader` also the parts that a convolution needs; `version` calls check_version(), which
opens the first library alone; `startup` calls startup(), whose child opens all. Prints medians of the time inside the
process, and what it keeps resident. Fails when check_version() takes more than 5 ms over `first`, or startup() more
than 150 ms over `loader`. Where startup() passes, on a machine with a GPU, the program keeps what `loader` keeps: the
parts stay open, and are the ones that it would open itself.
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

/// Resident memory of this process in kB: all of it, and what is not a file's.
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
            // What is linked to the driver is refused where there is none, to the guard as well.
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
    # As the guard opens them: the first library by its name, the parts by their paths.
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
                    sys.exit(f"check_version() says {verdict}")
                if run > 0:
                    numbers.append((float(time), int(resident), int(own)))
    medians = {task: [statistics.median(column) for column in zip(*numbers)] for task, numbers in found.items()}
    print(f"{options.set}, median of {options.runs} fresh processes each, release build, warm page cache")
    late = []
    for task, (time, resident, own) in medians.items():
        line = f"{task:8} {time:7.2f} ms, keeps {resident:6.0f} kB, of which {own:6.0f} kB its own"
        if task in BARS:
            beside, bar = BARS[task]
            over = time - medians[beside][0]
            line += f"; {over:.2f} ms over `{beside}`, at most {bar:.0f}"
            late += [task] if over > bar else []
        print(line)
    if late:
        sys.exit(f"over its bar: {', '.join(late)}")


if __name__ == "__main__":
    main()
