#!/usr/bin/env python3
"""Measures how much the guard slows down rebuilds of the crate that includes it, and how much it adds to a program.

    python3 .ci/guard_compile.py [--runs N] [--size]

Builds two crates that differ only in their guard. Each is built once. Then a line of its main.rs is changed, and cargo
builds it again, with `cargo build`, `cargo build --release` and `cargo check` in turn. Prints the medians of the CPU
seconds of all processes, and marks a cost above 0.1 s. Exits with 1 if the guard costs more than 0.15 s.
Then prints how many kB the guard adds to the stripped release program. With --size, does only this.
"""

import argparse
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent.parent
BAR = 0.1
# The limit above which the script fails: machines differ, and linking debug information is close to BAR.
LIMIT = 0.15
MODES = {"debug": ["build"], "release": ["build", "--release"], "check": ["check"]}
FORMS = ["without", "guarded"]
BUILD = """fn main() {
    cudnn_guard::build(|| {
        let gpu = cudnn_guard::Config::new().cudnn(">=9, <10").link(cudnn_guard::Link::Runtime).probe()?;
        GUARD
    });
}
"""
GUARDS = {
    "without": "drop(gpu); Ok(())",
    "guarded": "gpu.guard().write()",
}
WITHOUT = 'fn main() { println!("run RUN"); }\n'
WITH = """mod gpu { include!(concat!(env!("OUT_DIR"), "/cudnn_guard.rs")); }
fn main() { gpu::startup(); if gpu::check().is_ok() { println!("run RUN"); } }
"""


def crate(folder: pathlib.Path, form: str) -> pathlib.Path:
    home = folder / form
    (home / "src").mkdir(parents=True)
    (home / "build.rs").write_text(BUILD.replace("GUARD", GUARDS[form]))
    (home / "Cargo.toml").write_text(
        f'[package]\nname = "{form}"\nversion = "0.0.0"\nedition = "2024"\n'
        f'[dependencies]\ncudnn-guard = {{ path = "{HERE}", default-features = false, features = ["runtime"] }}\n'
        f'[build-dependencies]\ncudnn-guard = {{ path = "{HERE}" }}\n[workspace]\n'
        # cargo compiles crates from a registry without `incremental`. This one comes from a directory.
        "[profile.dev.package.cudnn-guard]\nincremental = false\n"
    )
    (home / "Cargo.lock").write_bytes((HERE / "Cargo.lock").read_bytes())
    return home


def edited(home: pathlib.Path, run: int, mode: str) -> None:
    text = WITHOUT if home.name == "without" else WITH
    (home / "src/main.rs").write_text(text.replace("RUN", f"{run} {mode}"))


def seconds(home: pathlib.Path, arguments: list[str], target: pathlib.Path) -> float:
    environment = dict(os.environ, CARGO_TARGET_DIR=str(target))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(["cargo", *arguments, "--quiet"], cwd=home, check=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def print_size(homes: dict[str, pathlib.Path], target: pathlib.Path) -> None:
    sizes = {}
    for form, home in homes.items():
        edited(home, 0, "size")
        seconds(home, ["build", "--release"], target)
        subprocess.run(["strip", target / "release" / form], check=True)
        sizes[form] = (target / "release" / form).stat().st_size
    without, guarded = sizes.values()
    print(f"stripped {without / 1000:,.0f} kB without a guard, {(guarded - without) / 1000:,.0f} kB more with one")


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--runs", type=int, default=9)
    options.add_argument("--size", action="store_true")
    options = options.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        homes = {form: crate(folder, form) for form in FORMS}
        if options.size:
            return print_size(homes, folder / "target")
        found = {(mode, form): [] for mode in MODES for form in FORMS}
        # The first round compiles the dependencies and does not count, and the second fills the caches.
        for run in range(options.runs + 2):
            for mode, arguments in MODES.items():
                for form in FORMS:
                    edited(homes[form], run, mode)
                    time = seconds(homes[form], arguments, folder / "target")
                    if run > 1:
                        found[mode, form].append(time)
        print_size(homes, folder / "target")
    print(f"CPU seconds of an edit of main.rs, median of {options.runs} runs")
    over = False
    for mode in MODES:
        without, guarded = (statistics.median(found[mode, form]) for form in FORMS)
        over |= guarded - without > LIMIT
        print(
            f"{mode:8} {without:5.2f} without a guard, {guarded:5.2f} with one ({guarded - without:+.2f})"
            + (f"   more than {BAR} s" if guarded - without > BAR else "")
        )
    if over:
        sys.exit(f"the guard costs more than {LIMIT} s")


if __name__ == "__main__":
    main()
