#!/usr/bin/env python3
"""What the generated guard costs the compiler of a program that includes it.

    python3 .ci/guard_compile.py [--runs N]

Has a build script write the guard, then runs rustc on a program with and without it, in turn. Prints medians of the CPU
seconds, and what the guard adds. A bar would measure the machine: numbers alone.
"""

import argparse
import os
import pathlib
import resource
import statistics
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent.parent
MODES = {"debug": [], "release": ["-Copt-level=3"]}
BUILD = """fn main() {
    cudnn_guard::build(|| {
        let gpu = cudnn_guard::Config::new().cudnn(">=9, <10").link(cudnn_guard::Link::Runtime).probe()?;
        gpu.guard().write()
    });
}
"""
WITHOUT = 'fn main() { println!("done"); }\n'
WITH = """mod cudnn_guard { include!(concat!(env!("OUT_DIR"), "/cudnn_guard.rs")); }
fn main() { cudnn_guard::startup(); println!("{:?}", cudnn_guard::check().is_ok()); }
"""


def generated(folder: pathlib.Path) -> pathlib.Path:
    """The folder of a guard that was written for this crate."""
    (folder / "src").mkdir()
    (folder / "src/main.rs").write_text(WITH)
    (folder / "build.rs").write_text(BUILD)
    (folder / "Cargo.toml").write_text(
        '[package]\nname = "guard-compile"\nversion = "0.0.0"\nedition = "2024"\n'
        f'[build-dependencies]\ncudnn-guard = {{ path = "{HERE}" }}\n[workspace]\n'
    )
    (folder / "Cargo.lock").write_bytes((HERE / "Cargo.lock").read_bytes())
    environment = dict(os.environ, CARGO_TARGET_DIR=str(folder / "target"))
    subprocess.run(["cargo", "check", "--quiet"], cwd=folder, check=True, env=environment)
    (file,) = folder.glob("target/debug/build/*/out/cudnn_guard.rs")
    return file.parent


def seconds(command: list[str], environment: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--runs", type=int, default=5)
    options = options.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        out = generated(folder)
        size = (out / "cudnn_guard.rs").stat().st_size
        environment = dict(os.environ, OUT_DIR=str(out))
        sources = {"without": WITHOUT, "with": WITH}
        for name, text in sources.items():
            (folder / f"{name}.rs").write_text(text)
        found = {(mode, name): [] for mode in MODES for name in sources}
        # The first round fills the page cache and does not count.
        for run in range(options.runs + 1):
            for (mode, name), numbers in found.items():
                source, program = folder / f"{name}.rs", folder / f"{name}-{mode}"
                command = ["rustc", "--edition=2024", *MODES[mode], str(source), "-o", str(program)]
                time = seconds(command, environment)
                if run > 0:
                    numbers.append(time)
    print(f"the generated guard: {size} bytes; median of {options.runs} runs of rustc, CPU seconds")
    for mode in MODES:
        without, with_guard = (statistics.median(found[mode, name]) for name in sources)
        print(f"{mode:8} {without:5.2f} without, {with_guard:5.2f} with: {with_guard - without:5.2f} for the guard")


if __name__ == "__main__":
    main()
