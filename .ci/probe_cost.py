#!/usr/bin/env python3
"""Measures how long a probe takes on a machine with many installations, and how many files it accesses.

    CUDNN_GUARD_REAL=<directory> python3 .ci/probe_cost.py [--limit MILLISECONDS]

Creates the file system of a machine with 12 toolkits, 6 cuDNNs and a site-packages of 100,000 files, and probes it with
the crate compiled without optimization, as in a build script. The probe runs no programs, because it can read every
toolkit from its files. The cuDNNs are NVIDIA's own, from .ci/wheels.py. Prints the fastest of 20 probes, or of up to 400
on a busy machine. If strace is installed, also prints the number of system calls with a path, and of different paths.
Fails if the fastest probe exceeds the limit.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent.parent
MAIN = """use std::time::Instant;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let root = arguments.next().unwrap();
    let times = arguments.next().unwrap().parse().unwrap();
    let config = cudnn_guard::Config::new().cuda(">=11").cudnn(">=9").root(root);
    for _ in 0..times {
        let start = Instant::now();
        let found = config.probe().unwrap();
        let time = start.elapsed();
        assert!(found.cuda_version().is_some() && found.cudnn_version().is_some());
        // Standard output contains the directives for cargo.
        eprintln!("milliseconds {}", time.as_secs_f64() * 1e3);
    }
}
"""
REAL = ["cudnn-cu13-9.28", "cudnn-cu13-9.14", "cudnn-cu12-9.10", "cudnn-cu12-9.1.0"]


def write(path: pathlib.Path, text: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def toolkit(folder: pathlib.Path, major: int, minor: int) -> None:
    # As long as the real header, which has its version in line 270.
    head = " * a licence of many words, in many lines\n" * 270
    text = f"/*\n{head} */\n#define CUDA_VERSION {major * 1000 + minor * 10}\n"
    write(folder / "include/cuda.h", text + "typedef struct something_of_cuda something;\n" * 30_000)
    write(folder / "bin/nvcc")
    for name in ["cudart", "cublas", "nvrtc"]:
        write(folder / f"lib64/lib{name}.so")
    write(folder / "lib64/stubs/libcuda.so")


def cudnn(include: pathlib.Path, lib: pathlib.Path, number: int, real: pathlib.Path) -> None:
    wheel = real / REAL[number % len(REAL)] / "nvidia/cudnn"
    for source, folder in [(wheel / "include", include), (wheel / "lib", lib)]:
        folder.mkdir(parents=True, exist_ok=True)
        for file in source.iterdir():
            if file.is_file():
                (folder / file.name).symlink_to(file)


def machine(root: pathlib.Path, real: pathlib.Path) -> dict[str, str]:
    local = root / "usr/local"
    for number in range(10):
        toolkit(local / f"cuda-12.{number}", 12, number)
    (local / "cuda").symlink_to("cuda-12.9")
    toolkit(root / "conda", 12, 4)
    toolkit(root / "opt/asked", 13, 0)
    for number in range(3):
        folder = local / f"cuda-12.{number}"
        cudnn(folder / "include", folder / "lib64", number, real)
    multiarch = "x86_64-linux-gnu"
    cudnn(root / "usr/include" / multiarch, root / "usr/lib" / multiarch, 3, real)
    cudnn(root / "conda/include", root / "conda/lib", 4, real)
    site = root / "venv/lib/python3.12/site-packages"
    cudnn(site / "nvidia/cudnn/include", site / "nvidia/cudnn/lib", 5, real)
    # A thousand packages, each with its record next to it.
    for package in range(1000):
        for file in range(98):
            write(site / f"package_{package}/module_{file}.py")
        write(site / f"package_{package}-1.0.dist-info/RECORD")
        write(site / f"package_{package}-1.0.dist-info/METADATA")
    return {
        "PATH": os.environ["PATH"],
        "CUDA_HOME": str(root / "opt/asked"),
        "VIRTUAL_ENV": str(root / "venv"),
        "CONDA_PREFIX": str(root / "conda"),
    }


def touched(command: list[str], env: dict[str, str], scratch: pathlib.Path) -> tuple[int, int] | None:
    if not shutil.which("strace"):
        return None
    lists = []
    for times in ["0", "1"]:
        log = scratch / f"strace-{times}"
        subprocess.run(["strace", "-f", "-e", "trace=%file", "-o", log, *command, times], env=env, check=True, capture_output=True)
        paths = [found.group(1) for line in log.read_text().splitlines() if (found := re.search(r'"([^"]*)"', line))]
        lists.append(paths)
    # The system calls at program start do not count.
    start, whole = lists
    return len(whole) - len(start), len(set(whole) - set(start))


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--limit", type=float, default=30)
    options = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        write(scratch / "crate/src/main.rs", MAIN)
        manifest = '[package]\nname = "probe"\nversion = "0.0.0"\nedition = "2024"\n'
        manifest += f'[dependencies]\ncudnn-guard = {{ path = "{HERE}" }}\n[workspace]\n'
        write(scratch / "crate/Cargo.toml", manifest)
        shutil.copy(HERE / "Cargo.lock", scratch / "crate/Cargo.lock")
        build = {**os.environ, "CARGO_TARGET_DIR": str(scratch / "target")}
        subprocess.run(["cargo", "build", "--quiet"], cwd=scratch / "crate", env=build, check=True)
        real = pathlib.Path(os.environ["CUDNN_GUARD_REAL"]).expanduser()
        env = machine(scratch / "root", real)
        command = [str(scratch / "target/debug/probe"), str(scratch / "root")]
        times = []
        # The fastest probe is used because other programs only add time.
        while len(times) < 400 and min(times, default=options.limit) >= options.limit:
            stderr = subprocess.run([*command, "20"], env=env, check=True, capture_output=True, text=True).stderr
            times += [float(line.split()[1]) for line in stderr.splitlines() if line.startswith("milliseconds ")]
        times.sort()
        middle = times[len(times) // 2]
        print(f"a probe takes {times[0]:.1f} ms at best, {middle:.1f} ms median, {len(times)} runs, limit {options.limit:g} ms")
        counts = touched(command, env, scratch)
        print(f"{counts[0]} system calls on {counts[1]} paths" if counts else "strace is not installed; files were not counted")
    if times[0] >= options.limit:
        sys.exit("the probe is too slow")


if __name__ == "__main__":
    main()
