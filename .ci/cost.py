#!/usr/bin/env python3
"""What it costs to compile cudnn-guard as a build-dependency, beside cudaforge, in one run.

    python3 .ci/cost.py [--pairs N] [--limit RATIO]

Builds an empty program with the one, then with the other as its only build-dependency, N times in turn, each from
nothing, downloads aside. Prints CPU seconds (user and system, all processes) and the ratio of the least of each, since
what else runs on the machine only adds to them; fails from RATIO on.
Both without incremental compilation, as cargo compiles what comes from a registry: this one comes from a folder here.
"""

import argparse
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile

BAR = 0.65
HERE = pathlib.Path(__file__).resolve().parent.parent
DEPENDENCIES = {
    "cudnn-guard": f'cudnn-guard = {{ path = "{HERE}" }}',
    "cudaforge": 'cudaforge = "=0.1.6"',
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


def cpu_seconds(folder: pathlib.Path) -> float:
    shutil.rmtree(folder / "target", ignore_errors=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {name: value for name, value in os.environ.items() if name != "CARGO_TARGET_DIR"}
    environment["CARGO_INCREMENTAL"] = "0"
    subprocess.run(["cargo", "build", "--quiet", "--offline"], cwd=folder, env=environment, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--pairs", type=int, default=5)
    options.add_argument("--limit", type=float, default=BAR)
    options = options.parse_args()
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as scratch:
        folders = {name: pathlib.Path(scratch) / name for name in DEPENDENCIES}
        for name, folder in folders.items():
            project(folder, DEPENDENCIES[name])
        for _ in range(options.pairs):
            for seconds, folder in zip((ours, theirs), folders.values()):
                seconds.append(cpu_seconds(folder))
            print(f"cudnn-guard {ours[-1]:5.2f} CPU s   cudaforge {theirs[-1]:5.2f} CPU s   ratio {ours[-1] / theirs[-1]:.3f}")
    ratio = min(ours) / min(theirs)
    print(f"least {min(ours):.2f} and {min(theirs):.2f} CPU s, ratio {ratio:.3f}, bar {BAR}, limit {options.limit}")
    if ratio >= options.limit:
        sys.exit("cudnn-guard costs too much")


if __name__ == "__main__":
    main()
