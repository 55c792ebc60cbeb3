#!/usr/bin/env python3
"""Checks that the ports in fixtures/ports build the same as the original build scripts of published crates.

    CUDNN_GUARD_REAL=<directory> python3 .ci/ports.py [--few] [--crate NAME]... [--time]

Builds each crate twice with the same nvcc: with its own build script, and with the port of it. Both builds leave out the
crate's Rust sources, and some of the kernels if the crate has many. The steps:

    cold       a clean build: the global symbols, the GPU targets and the directives for rustc must be the same
    nothing    a second build: no file may change
    file       a .cu file was changed
    header     a header was changed that this file includes
    target     sm_90 instead of sm_80, set by the variable that the script reads, or by nvidia-smi if it reads none

Then the port is built from nothing again. All of its output must come from the cache, and be the same.

Prints the seconds that `cargo build` takes with the original and with the port. A build is `stale` if its output does not
contain the change, and `fails` if it does not succeed. The global symbols include the functions of the CUDA runtime that
the library calls, because these depend on the default stream (`cudaLaunchKernel`, `cudaLaunchKernel_ptsz`). The script
fails if a port is not right in every step.

With `--time`, runs each step five times, alternating between both builds, and prints medians. In the step `cold`, the
build script is already compiled. The script then also fails if a port takes longer than an original that is right, by
more than 10% and 0.2 s.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

sys.dont_write_bytecode = True  # leaves nothing in the tree
import compat

HERE = pathlib.Path(__file__).resolve().parent.parent
STEPS = ["cold", "nothing", "file", "header", "target"]
ROUNDS = 5
# The variables that name the target. openvm-cuda-builder reads the second.
TARGET = ("CUDA_COMPUTE_CAP", "CUDA_ARCH")
# A program that only the original scripts call. Some require a GPU even if a variable names the target, or read no variable.
SMI = """#!/bin/sh
case "$*" in *noheader*) ;; *) echo compute_cap ;; esac
echo "${CUDA_COMPUTE_CAP%?}.${CUDA_COMPUTE_CAP#?}"
"""


def only(*names: str) -> Callable[[pathlib.Path], None]:
    """Deletes the other kernels."""
    def cut(folder: pathlib.Path) -> None:
        for path in folder.rglob("*.cu"):
            if path.name not in names:
                path.unlink()
    return cut


def emptied(*names: str) -> Callable[[pathlib.Path], None]:
    """Empties the other kernels, because the script lists each file by name."""
    def cut(folder: pathlib.Path) -> None:
        for path in folder.rglob("*.cu"):
            if path.name not in names:
                path.write_text("")
    return cut


def added_header(name: str) -> Callable[[pathlib.Path], None]:
    """Adds an empty header, because the file includes none of the crate's own headers."""
    def cut(folder: pathlib.Path) -> None:
        file = folder / name
        (file.parent / "added.h").write_text("")
        file.write_text('#include "added.h"\n' + file.read_text())
    return cut


class Crate:
    """A published crate, the function that reduces it, and the two files that the steps change."""

    def __init__(
        self, name: str, version: str, file: str, header: str, cut: Callable[[pathlib.Path], None] = lambda _: None,
        features: tuple[str, ...] = (), variables: tuple[str, ...] = (),
    ):
        self.name, self.version, self.file, self.header, self.cut = name, version, file, header, cut
        self.script = HERE / "fixtures/ports" / f"{name}.rs"
        # The features that the script requires, and the variables that the crate's sources read with `env!`.
        self.features, self.variables = features, variables


CRATES = [
    Crate("candle-rotary", "0.0.1", "kernels/rotary.cu", "kernels/cuda_compat.h"),
    Crate(
        "dfdx", "0.13.0", "src/tensor_ops/abs/abs.cu", "src/tensor_ops/utilities/unary_op_macros.cuh",
        only("abs.cu", "binary_add.cu", "sum_to.cu", "pool2d.cu"), features=("cuda",),
        variables=("CUDA_COMPUTE_CAP", "CUDA_INCLUDE_DIR"),
    ),
    Crate(
        "mistralrs-paged-attn", "0.8.1", "src/cuda/gather_mla_cache_kernel.cu", "src/cuda/cuda_compat.h",
        only("copy_blocks_kernel.cu", "gather_mla_cache_kernel.cu", "update_kvscales.cu"), features=("cuda",),
    ),
    Crate(
        "openvm-cuda-common", "2.0.1", "cuda/src/vpmm_shim.cu", "cuda/src/added.h",
        added_header("cuda/src/vpmm_shim.cu"),
    ),
    Crate(
        "candle-kernels", "0.11.1", "src/fill.cu", "src/cuda_utils.cuh",
        emptied("fill.cu", "ternary.cu", "mmq_quantize.cu", "moe_gguf.cu"),
    ),
]
FEW = ["candle-rotary", "openvm-cuda-common"]


def run(command: list[str], folder: pathlib.Path, environment: dict[str, str]) -> subprocess.CompletedProcess:
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def must_run(command: list[str], folder: pathlib.Path, environment: dict[str, str]) -> str:
    done = run(command, folder, environment)
    if done.returncode != 0:
        sys.exit(f"{folder}: {' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def published(scratch: pathlib.Path, crate: Crate) -> dict:
    """Fetches the crate, and returns its `cargo metadata`."""
    folder = scratch / "fetched"
    (folder / "src").mkdir(parents=True)
    (folder / "src/lib.rs").write_text("")
    (folder / "Cargo.toml").write_text(
        '[package]\nname = "fetched"\nversion = "0.0.0"\nedition = "2024"\n'
        f'[dependencies]\n{crate.name} = "={crate.version}"\n[workspace]\n'
    )
    must_run(["cargo", "fetch", "--quiet"], folder, dict(os.environ))
    metadata = must_run(["cargo", "metadata", "--format-version", "1", "--offline"], folder, dict(os.environ))
    shutil.rmtree(folder)
    [package] = [one for one in json.loads(metadata)["packages"] if one["name"] == crate.name]
    return package


def requirement(dependency: dict) -> str:
    """Returns a build-dependency of the crate as a line of Cargo.toml, but never optional: no feature enables it here."""
    features = json.dumps(dependency["features"])
    default = json.dumps(dependency["uses_default_features"])
    name, version = dependency["name"], dependency["req"]
    return f'{name} = {{ version = "{version}", features = {features}, default-features = {default} }}\n'


def library_symbols(file: pathlib.Path) -> set[str]:
    """Returns the global symbols of a static library, and the symbols of the CUDA runtime that it needs."""
    listing = must_run(["nm", "-g", str(file)], file.parent, dict(os.environ))
    symbols = set()
    for kind, name in re.findall(r"(?m)^[0-9a-f ]{16} (\w) (\S+)$", listing):
        # nvcc derives hashes from paths and sources.
        name = re.sub(r"[0-9a-f]{32}|(?<=_)[0-9a-f]{8}(?=_)", "HASH", name)
        if kind != "U" or name.startswith("cuda"):
            symbols.add(f"{'needs' if kind == 'U' else 'has'} {name}")
    return symbols


def library_targets(file: pathlib.Path) -> set[str]:
    """Returns the targets in the fatbins of a static library."""
    with open(file, "rb") as library:
        return compat.device_code(library)


class Made:
    """The output of a build."""

    def __init__(self, out: pathlib.Path, crate: Crate):
        self.times = {}
        self.symbols, self.targets = set(), set()
        for file in out.rglob("*"):
            # cudnn-guard puts the runtimes that it links next to the library.
            if file.suffix == ".a" and not file.name.endswith(("_cudart.a", "_cudadevrt.a")):
                self.symbols |= library_symbols(file)
                self.targets |= library_targets(file)
            elif file.suffix == ".ptx":
                text = file.read_text()
                self.symbols |= set(re.findall(r"(?m)^\s*\.visible\s+\.(?:entry|func)[^(]*?(\w+)\s*\(", text))
                self.targets |= {f"ptx {one}" for one in re.findall(r"(?m)^\.target (\w+)", text)}
            if file.suffix in (".a", ".ptx"):
                self.times[file] = file.stat().st_mtime_ns
        lines = (out.parent / "output").read_text().splitlines()
        self.has_run_nvcc = any(re.match(r"cudnn-guard: .* s, .* KiB: ", line) for line in lines)
        directives = [line.replace("cargo::", "cargo:").removeprefix("cargo:") for line in lines if line.startswith("cargo:")]
        wanted = ("rustc-cfg=", *(f"rustc-env={name}=" for name in crate.variables))
        # `gpu.link()` describes the toolkit too.
        own = ("rustc-cfg=has_cuda", "rustc-cfg=cuda_major=")
        self.lines = {line for line in directives if line.startswith(wanted) and not line.startswith(own)}
        runtimes = [line for line in directives if line.startswith("rustc-link-lib=") and "cudart" in line]
        # openvm-cuda-builder links both, and the linker resolves the library's calls with the first.
        self.lines |= {f"{'static' if 'static' in line else 'shared'} runtime" for line in runtimes[:1]}

    def differs(self, other: "Made") -> str:
        """Returns the differences between the port (`self`) and the original, or an empty string."""
        parts = []
        for field in ("symbols", "targets", "lines"):
            port, original = getattr(self, field), getattr(other, field)
            if field == "targets":
                # cudaforge adds an `a` to 90. In cudnn-guard, the script has to: see docs/migration.md.
                original = {one.removesuffix("a") for one in original}
            more, less = port - original, original - port
            if more or less:
                parts.append(f"{field} only in the port {sorted(more)[:5]}, only in the original {sorted(less)[:5]}")
        return "; ".join(parts)


class Project:
    """The crate with the original script or the port."""

    def __init__(self, scratch: pathlib.Path, crate: Crate, package: dict, ported: bool, environment: dict[str, str]):
        source = pathlib.Path(package["manifest_path"]).parent
        self.crate, self.folder = crate, scratch / ("port" if ported else "original")
        shutil.copytree(source, self.folder, ignore=shutil.ignore_patterns("*.rs", "Cargo.*", ".cargo*"))
        crate.cut(self.folder)
        (self.folder / "src").mkdir(exist_ok=True)
        (self.folder / "src/lib.rs").write_text("")
        shutil.copy(crate.script if ported else source / "build.rs", self.folder / "build.rs")
        needed = [one for one in package["dependencies"] if one["kind"] == "build"]
        lines = f'cudnn-guard = {{ path = "{HERE}" }}\n' if ported else "".join(map(requirement, needed))
        features = "".join(f"{name} = []\n" for name in package["features"] if name != "default")
        (self.folder / "Cargo.toml").write_text(
            f'[package]\nname = "{crate.name}"\nversion = "{crate.version}"\nedition = "{package["edition"]}"\n'
            f"[features]\ndefault = {json.dumps(crate.features)}\n{features}"
            f"[build-dependencies]\n{lines}[workspace]\n"
        )
        self.environment = environment | {"CARGO_TARGET_DIR": str(self.folder / "target")} | dict.fromkeys(TARGET, "80")
        must_run(["cargo", "fetch", "--quiet"], self.folder, self.environment)
        self.output = ""

    def build(self) -> Made | None:
        began = time.monotonic()
        done = run(["cargo", "build", "--quiet", "--offline"], self.folder, self.environment)
        self.seconds = time.monotonic() - began
        self.output = done.stdout + done.stderr
        if done.returncode != 0:
            return None
        outs = list(self.folder.glob(f"target/debug/build/{self.crate.name}-*/out"))
        if len(outs) != 1:
            sys.exit(f"{self.folder}: {outs}")
        return Made(outs[0], self.crate)

    def forget(self) -> None:
        for out in self.folder.glob(f"target/debug/build/{self.crate.name}-*/out"):
            shutil.rmtree(out.parent)
        for fingerprint in self.folder.glob(f"target/debug/.fingerprint/{self.crate.name}-*/run-build-script-*"):
            fingerprint.unlink()

    def append(self, name: str, kernel: str) -> None:
        with open(self.folder / name, "a", encoding="utf-8") as file:
            file.write(
                f"\n#ifndef HAS_{kernel}\n#define HAS_{kernel}\n"
                f'extern "C" __global__ void {kernel}(int *x) {{ *x = 1; }}\n#endif\n'
            )


def has(made: Made, kernel: str) -> bool:
    return bool({kernel, f"has {kernel}"} & made.symbols)


def step(project: Project, name: str, before: Made | None, round: int = 0) -> tuple[str, Made | None]:
    """Makes the change, builds, and returns `right`, `stale` or `fails` with the output."""
    kernel = f"ports_py_{round}_in_{name}"
    if name == "cold":
        project.forget()
    elif name in ("file", "header"):
        project.append(project.crate.file if name == "file" else project.crate.header, kernel)
    elif name == "target":
        project.environment |= dict.fromkeys(TARGET, "90")
    made = project.build()
    if made is None:
        return "fails", None
    follows = {
        "cold": lambda: made.symbols and {re.sub(r"\D", "", one) for one in made.targets} == {"80"},
        "nothing": lambda: made.times == before.times,
        "file": lambda: has(made, kernel),
        "header": lambda: has(made, kernel),
        "target": lambda: {re.sub(r"\D", "", one) for one in made.targets} == {"90"},
    }
    return "right" if follows[name]() else "stale", made


def compare(crate: Crate, scratch: pathlib.Path, environment: dict[str, str], rounds: int) -> list[str]:
    package = published(scratch, crate)
    port, original = projects = [Project(scratch, crate, package, ported, environment) for ported in (True, False)]
    # Several rounds do not measure the compilation of the build script.
    made = {project: project.build() if rounds > 1 else None for project in projects}
    seconds, states, faults = {}, {}, []
    for round in range(rounds):
        for project in projects:
            project.environment |= dict.fromkeys(TARGET, "80")
        for name in STEPS:
            for project in projects if round % 2 else projects[::-1]:
                state, new = step(project, name, made[project], round)
                seconds.setdefault((project, name), []).append(project.seconds)
                states.setdefault((project, name), set()).add(state)
                if state != "right":
                    # The next step starts from an output that contains this change.
                    project.forget()
                    new = project.build()
                    if new is None or not new.symbols or not new.targets:
                        sys.exit(f"{project.folder.name} of {crate.name} produces no output\n{project.output}")
                made[project] = new
            if differs := made[port].differs(made[original]):
                faults.append(f"{crate.name}, {name}: {differs}")
    if rounds == 1:
        port.forget()
        again = port.build()
        if again is None:
            faults.append(f"{crate.name}, from the cache: {port.output}")
        elif again.has_run_nvcc or again.differs(made[port]):
            faults.append(f"{crate.name}, from the cache: {again.differs(made[port]) or 'nvcc has run'}")
    cells = []
    for name in STEPS:
        ours, theirs = (statistics.median(seconds[project, name]) for project in projects)
        is_right = states[original, name] == {"right"}
        was = f"{theirs:.1f}" if is_right else " ".join(states[original, name] - {"right"})
        cells.append(f"{was} → {ours:.1f}")
        is_slow = rounds > 1 and is_right and ours > theirs * 1.1 + 0.2
        if states[port, name] != {"right"} or is_slow:
            faults.append(f"{crate.name}, {name}: {ours:.1f} s, original {theirs:.1f} s, {states[port, name]}")
    print(f"| {crate.name} {crate.version} | {' | '.join(cells)} |", flush=True)
    return faults


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--few", action="store_true")
    options.add_argument("--time", action="store_true")
    options.add_argument("--crate", action="append", choices=[crate.name for crate in CRATES])
    options = options.parse_args()
    wanted = options.crate or (FEW if options.few else [crate.name for crate in CRATES])
    cuda = pathlib.Path(os.environ["CUDNN_GUARD_REAL"]).expanduser() / "cuda-cu13-13.0/nvidia/cu13"
    faults = []
    for crate in (crate for crate in CRATES if crate.name in wanted):
        with tempfile.TemporaryDirectory() as scratch:
            scratch = pathlib.Path(scratch)
            (scratch / "bin").mkdir()
            smi = scratch / "bin/nvidia-smi"
            smi.write_text(SMI)
            smi.chmod(0o755)
            dropped = ("CARGO_TARGET", "CUD", "NVCC", "RUSTC_WRAPPER")
            environment = {key: value for key, value in os.environ.items() if not key.startswith(dropped)} | {
                "CUDA_HOME": str(cuda),
                "CUDA_PATH": str(cuda),
                "NVCC": str(cuda / "bin/nvcc"),
                "PATH": f"{cuda / 'bin'}:{scratch / 'bin'}:{os.environ['PATH']}",
                "CUDNN_GUARD_CACHE": "off" if options.time else str(scratch / "cache"),
            }
            faults += compare(crate, scratch, environment, ROUNDS if options.time else 1)
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
