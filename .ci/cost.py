#!/usr/bin/env python3
"""Measures what cudnn-guard costs to compile as a build-dependency, beside cudaforge and bindgen_cuda, in one run.

    python3 .ci/cost.py [--times N] [--limit RATIO] [--before COMMIT]

Builds an empty program with each of them as its only build-dependency, N times in turn, each from nothing, without the
downloads. Prints CPU seconds (user and system, all processes) and the ratios of the medians. The script fails if the
ratio to cudaforge is RATIO or more. With --before, an earlier commit of cudnn-guard is measured too.
The CPU time of the same build varies by a quarter, in both directions: with the load of the machine, and with what else
runs on the same core. So a build runs on one CPU with one job, and single builds, the least included, decide nothing.
All without incremental compilation, as cargo compiles what comes from a registry: this one comes from a directory here.
"""

import argparse
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

BAR = 0.6
HERE = pathlib.Path(__file__).resolve().parent.parent
DEPENDENCIES = {
    "cudnn-guard": f'cudnn-guard = {{ path = "{HERE}" }}',
    "cudaforge": 'cudaforge = "=0.1.6"',
    "bindgen_cuda": 'bindgen_cuda = "=0.1.6"',
}


def project(folder: pathlib.Path, dependency: str) -> None:
    (folder / "src").mkdir(parents=True)
    (folder / "src/main.rs").write_text("fn main() {}\n")
    (folder / "build.rs").write_text("fn main() {}\n")
    (folder / "Cargo.toml").write_text(
        '[package]\nname = "cost"\nversion = "0.0.0"\nedition = "2024"\n'
        f"[build-dependencies]\n{dependency}\n[workspace]\n"
    )
    subprocess.run(["cargo", "fetch", "--quiet"], cwd=folder, check=True)


def on_one_cpu() -> None:
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def cpu_seconds(folder: pathlib.Path) -> float:
    shutil.rmtree(folder / "target", ignore_errors=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {name: value for name, value in os.environ.items() if name != "CARGO_TARGET_DIR"}
    environment["CARGO_INCREMENTAL"] = "0"
    command = ["cargo", "build", "--quiet", "--offline", "--jobs", "1"]
    subprocess.run(command, cwd=folder, env=environment, check=True, preexec_fn=on_one_cpu)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--times", type=int, default=9)
    options.add_argument("--limit", type=float, default=BAR)
    options.add_argument("--before", metavar="COMMIT")
    options = options.parse_args()
    dependencies = dict(DEPENDENCIES)
    with tempfile.TemporaryDirectory() as scratch:
        if options.before:
            earlier = pathlib.Path(scratch) / "earlier"
            subprocess.run(["git", "clone", "--quiet", HERE, earlier], check=True)
            subprocess.run(["git", "checkout", "--quiet", options.before], cwd=earlier, check=True)
            dependencies["before"] = f'cudnn-guard = {{ path = "{earlier}" }}'
        measured = {name: [] for name in dependencies}
        folders = {name: pathlib.Path(scratch) / f"of-{name}" for name in dependencies}
        for name, folder in folders.items():
            project(folder, dependencies[name])
        for _ in range(options.times):
            for name, folder in folders.items():
                measured[name].append(cpu_seconds(folder))
            print("   ".join(f"{name} {seconds[-1]:5.2f} CPU s" for name, seconds in measured.items()))
    ours, cudaforge, bindgen_cuda, *before = (statistics.median(seconds) for seconds in measured.values())
    ratio = ours / cudaforge
    print(f"median {ours:.2f} CPU s: {ratio:.3f} of cudaforge's, limit {options.limit}; {ours / bindgen_cuda:.1f} of bindgen_cuda's")
    for before in before:
        print(f"{ours / before:.3f} of {options.before}, which took {before:.2f} CPU s")
    if ratio >= options.limit:
        sys.exit("cudnn-guard costs too much")


if __name__ == "__main__":
    main()
