#!/usr/bin/env python3
"""Measures how long it takes to compile real kernels with cudnn-guard and with other crates, in the same run.

    CUDNN_GUARD_REAL=<directory> python3 .ci/kernels_cost.py [--rounds N] [--few] [--step NAME]...

The kernels are those of the published crate candle-kernels: ten files to PTX and fifteen (with `--few` one) to a static
library. Each crate builds its own copy of them, with the same nvcc, flags and one target, through cargo:

    cold            nothing exists except the compiled build script
    nothing         a second build
    one file        a .cu file was changed
    one header      a header was changed that most files include
    target          sm_90 instead of sm_80
    folder          a second target directory, with sccache's results of the first one. The other crates call nvcc without
                    sccache, so their second target directory takes as long as the first

Prints the wall and CPU seconds. Each is the minimum of N rounds; the steps that take about a second run five times in a
round. The minimum is used because other load on the machine only adds time, to the wall time far more than to the CPU
time. `stale` after a time means that the output does not contain the change. Fails if cudnn-guard is stale in any step,
or if both its wall and its CPU time exceed those of the fastest other crate that is not stale, by more than 10% and
0.1 s. Nearly all of the time is nvcc's own, which is the same for all crates.
"""

import argparse
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable

HERE = pathlib.Path(__file__).resolve().parent.parent
FEW = ["moe/moe_wmma.cu"]
FLAGS = ["--expt-relaxed-constexpr", "-std=c++17", "-O3"]
# Lets a build compile only the build script, whose compilation is measured elsewhere.
NOTHING = '    if std::env::var_os("KERNELS_COST_NOTHING").is_some() { return; }\n'
STEPS = ["cold", "nothing", "one file", "one header", "target", "folder"]
SHORT = 5


def ours(ptx: list[str], library: list[str]) -> str:
    flags = "".join(f".flag({flag!r})".replace("'", '"') for flag in FLAGS)
    def kernels(files):
        return "gpu.kernels()" + "".join(f'.file("src/{name}")' for name in files) + flags
    return (
        "fn main() {\n" + NOTHING + "    cudnn_guard::build(|| {\n"
        '        let gpu = cudnn_guard::Config::new().cuda(">=11").probe()?;\n'
        f"        {kernels(ptx)}.ptx()?;\n"
        f'        {kernels(library)}.compile("moe")\n'
        "    });\n}\n"
    )


def listed(names: list[str]) -> str:
    return ", ".join(f'"src/{name}"' for name in names)


def cudaforge(ptx: list[str], library: list[str]) -> str:
    flags = "".join(f'.arg("{flag}")' for flag in FLAGS)
    return (
        "fn main() {\n" + NOTHING +
        '    println!("cargo::rerun-if-changed=src");\n'
        '    let out = std::path::PathBuf::from(std::env::var("OUT_DIR").unwrap());\n'
        f"    cudaforge::KernelBuilder::new().source_files(vec![{listed(ptx)}]){flags}"
        '.build_ptx().unwrap().write(out.join("ptx.rs")).unwrap();\n'
        f"    cudaforge::KernelBuilder::new().source_files(vec![{listed(library)}]){flags}"
        '.arg("-Xcompiler").arg("-fPIC").build_lib(out.join("libmoe.a")).unwrap();\n'
        "}\n"
    )


def bindgen_cuda(ptx: list[str], library: list[str]) -> str:
    flags = "".join(f'.arg("{flag}")' for flag in FLAGS)
    builder = "let mut builder = bindgen_cuda::Builder::default(); builder.cuda_root(&cuda);"
    return (
        "fn main() {\n" + NOTHING +
        '    println!("cargo::rerun-if-changed=src");\n'
        '    let out = std::path::PathBuf::from(std::env::var("OUT_DIR").unwrap());\n'
        '    let cuda = std::env::var("CUDA_HOME").unwrap();\n'
        f"    {builder}\n"
        f"    builder.kernel_paths(vec![{listed(ptx)}]){flags}"
        '.build_ptx().unwrap().write(out.join("ptx.rs")).unwrap();\n'
        f"    {builder}\n"
        f"    builder.kernel_paths(vec![{listed(library)}]){flags}"
        '.arg("-Xcompiler").arg("-fPIC").build_lib(out.join("libmoe.a"));\n'
        "}\n"
    )


BUILDERS = {
    "cudnn-guard": (f'cudnn-guard = {{ path = "{HERE}" }}', ours),
    "cudaforge": ('cudaforge = "=0.1.6"', cudaforge),
    "bindgen_cuda": ('bindgen_cuda = "=0.1.6"', bindgen_cuda),
}


def run(command: list[str], folder: pathlib.Path, environment: dict[str, str]) -> None:
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{folder.name}: {' '.join(command)}\n{done.stdout}{done.stderr}")


def sources(scratch: pathlib.Path) -> pathlib.Path:
    """Returns the directory of the published crate's kernels, as fetched by cargo."""
    folder = scratch / "fetched"
    (folder / "src").mkdir(parents=True)
    (folder / "src/lib.rs").write_text("")
    (folder / "Cargo.toml").write_text(
        '[package]\nname = "fetched"\nversion = "0.0.0"\nedition = "2024"\n'
        '[dependencies]\ncandle-kernels = "=0.11.1"\n[workspace]\n'
    )
    run(["cargo", "fetch", "--quiet"], folder, dict(os.environ))
    metadata = subprocess.run(
        ["cargo", "metadata", "--format-version", "1", "--offline"], cwd=folder, check=True, capture_output=True
    )
    packages = json.loads(metadata.stdout)["packages"]
    manifest = next(one["manifest_path"] for one in packages if one["name"] == "candle-kernels")
    return pathlib.Path(manifest).parent / "src"


def least(times: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """Returns the minimum of the wall seconds and the minimum of the CPU seconds."""
    wall, cpu = zip(*times)
    return min(wall), min(cpu)


def children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Project:
    """A crate that compiles the kernels with one of the builders."""

    def __init__(self, scratch: pathlib.Path, name: str, kernels: pathlib.Path, library: list[str], real: pathlib.Path):
        dependency, script = BUILDERS[name]
        # sccache 0.16.0 does not work with later versions of nvcc.
        cuda = real / "cuda-cu13-13.0/nvidia/cu13"
        self.sccache = real / "sccache/bin/sccache" if name == "cudnn-guard" else None
        self.name = name
        self.folder = scratch / name
        shutil.copytree(kernels, self.folder / "src", ignore=shutil.ignore_patterns("*.rs"))
        self.ptx = sorted(
            path.name for path in kernels.glob("*.cu") if path.name not in ("mmvq_gguf.cu", "quantized.cu")
        )
        self.library = library
        self.target = self.folder / "target"
        (self.folder / "src/lib.rs").write_text("")
        (self.folder / "build.rs").write_text(script(self.ptx, self.library))
        (self.folder / "Cargo.toml").write_text(
            '[package]\nname = "kernels-cost"\nversion = "0.0.0"\nedition = "2024"\n'
            f"[build-dependencies]\n{dependency}\n[workspace]\n"
        )
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("CARGO_TARGET", "CUD"))}
        self.environment = kept | {
            "CUDA_HOME": str(cuda),
            "NVCC": str(cuda / "bin/nvcc"),
            "PATH": f"{cuda / 'bin'}:{os.environ['PATH']}",
            "CUDA_COMPUTE_CAP": "80",
            "CARGO_TARGET_DIR": str(self.target),
        }
        run(["cargo", "fetch", "--quiet"], self.folder, self.environment)

    def build(self, only_script: bool = False) -> tuple[float, float]:
        """Returns the wall and CPU seconds of everything that cargo starts."""
        begun, spent = time.monotonic(), children()
        environment = self.environment | ({"KERNELS_COST_NOTHING": "1"} if only_script else {})
        run(["cargo", "build", "--quiet", "--offline"], self.folder, environment)
        return time.monotonic() - begun, children() - spent

    def outputs(self) -> list[pathlib.Path]:
        out = [path for path in self.target.glob("debug/build/kernels-cost-*/out/**/*") if path.is_file()]
        return [path for path in out if path.suffix in (".ptx", ".a")]

    def forget(self) -> None:
        """Deletes the output of the build script, but keeps the compiled build script, which is measured elsewhere."""
        for out in self.target.glob("debug/build/kernels-cost-*/out"):
            shutil.rmtree(out.parent)
        for fingerprint in self.target.glob("debug/.fingerprint/kernels-cost-*/run-build-script-*"):
            fingerprint.unlink()

    def say(self, number: int, step: str) -> None:
        print(f"{time.strftime('%H:%M:%S')} round {number + 1}: {self.name}, {step}", file=sys.stderr)

    def append(self, name: str, text: str) -> None:
        with open(self.folder / "src" / name, "a", encoding="utf-8") as file:
            file.write(text)

    def holds(self, text: str, files: int) -> bool:
        ptx = [path for path in self.outputs() if path.suffix == ".ptx"]
        return sum(text.encode() in path.read_bytes() for path in ptx) >= files

    def round(self, number: int, wanted: list[str]) -> dict[str, tuple[tuple[float, float], bool]]:
        """Returns the seconds of each step, and whether its output contains the change. Always starts with `cold`."""
        self.environment["CUDA_COMPUTE_CAP"] = "80"
        self.forget()
        self.say(number, "cold")
        steps = {"cold": (self.build(), self.holds(".target sm_80", len(self.ptx)))}
        if "nothing" in wanted:
            self.say(number, "nothing")
            steps["nothing"] = (least(self.build() for _ in range(SHORT)), True)
        if "one file" in wanted:
            self.say(number, "one file")
            times, right = [], True
            for again in range(SHORT):
                kernel = f"in_a_file_{number}_{again}"
                self.append("affine.cu", f'\nextern "C" __global__ void {kernel}(int *x) {{ *x = {again}; }}\n')
                times.append(self.build())
                right &= self.holds(kernel, 1)
            steps["one file"] = (least(times), right)
        if "one header" in wanted:
            self.say(number, "one header")
            kernel = f"in_a_header_{number}"
            self.append("compatibility.cuh", f'\nextern "C" __global__ void {kernel}(int *x) {{ *x = {number}; }}\n')
            # Every file that is compiled to PTX includes it, through cuda_utils.cuh or binary_op_macros.cuh.
            steps["one header"] = (self.build(), self.holds(kernel, len(self.ptx)))
        if "target" in wanted:
            self.say(number, "target")
            self.environment["CUDA_COMPUTE_CAP"] = "90"
            steps["target"] = (self.build(), self.holds(".target sm_90", len(self.ptx)))
        if "folder" in wanted:
            self.say(number, "folder")
            steps["folder"] = (self.second_folder(), True) if self.sccache else steps["cold"]
        return steps

    def second_folder(self) -> tuple[float, float]:
        """Returns the seconds of a build in a second target directory, after the first one filled sccache's storage."""
        alone, folder = dict(self.environment), self.target
        store = self.folder / "sccache"
        shutil.rmtree(store, ignore_errors=True)
        self.environment |= {
            "CUDA_COMPUTE_CAP": "80",
            "RUSTC_WRAPPER": str(self.sccache),
            "SCCACHE_DIR": str(store),
            "SCCACHE_SERVER_UDS": str(self.folder / "sccache.socket"),
        }
        try:
            for name in ("first", "second"):
                self.target = self.folder / name
                self.environment["CARGO_TARGET_DIR"] = str(self.target)
                self.build(only_script=True)
                self.forget()
                seconds = self.build()
                shutil.rmtree(self.target)
        finally:
            subprocess.run([self.sccache, "--stop-server"], env=self.environment, capture_output=True)
            self.environment, self.target = alone, folder
        return seconds


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--rounds", type=int, default=1)
    options.add_argument("--few", action="store_true")
    options.add_argument("--step", action="append", choices=STEPS, help="run only this step, after `cold` [default: all]")
    options = options.parse_args()
    wanted = [step for step in STEPS if step == "cold" or step in (options.step or STEPS)]
    real = pathlib.Path(os.environ["CUDNN_GUARD_REAL"]).expanduser()
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        kernels = sources(scratch)
        whole = ["mmvq_gguf.cu"] + [str(path.relative_to(kernels)) for path in kernels.glob("m*/*.cu")]
        library = FEW if options.few else sorted(set(whole) - {"moe/moe_align.cu"})
        projects = [Project(scratch, name, kernels, library, real) for name in BUILDERS]
        for project in projects:
            project.build(only_script=True)
        rounds = []
        for number in range(options.rounds):
            rounds.append({project.name: project.round(number, wanted) for project in projects})
    faults = []
    ratios = {step: [] for step in wanted}
    slower = dict.fromkeys(wanted, True)
    for place, unit in enumerate(["wall", "CPU"]):
        least, right = {}, {}
        for name in BUILDERS:
            for step in wanted:
                least[name, step] = min(one[name][step][0][place] for one in rounds)
                right[name, step] = all(one[name][step][1] for one in rounds)
        print(f"{unit + ' seconds':14}" + "".join(f"{step:>18}" for step in wanted))
        for name in BUILDERS:
            cells = (f"{least[name, step]:.2f}{'' if right[name, step] else ' stale':<6}" for step in wanted)
            print(f"{name:14}" + "".join(f"{cell:>18}" for cell in cells))
        for step in wanted:
            if not right["cudnn-guard", step] and not place:
                faults.append(f"{step}: the output is stale")
            peers = [least[name, step] for name in BUILDERS if name != "cudnn-guard" and right[name, step]]
            if peers:
                own = least["cudnn-guard", step]
                ratios[step].append(own / min(peers))
                slower[step] &= own > max(1.1 * min(peers), min(peers) + 0.1)
    for step, ratio in ratios.items():
        if ratio:
            print(f"{step:12} {ratio[0]:.2f}x wall, {ratio[1]:.2f}x CPU of the fastest other crate that is not stale")
            if slower[step]:
                faults.append(f"{step}: slower than the fastest other crate")
        else:
            print(f"{step:12} all other crates are stale")
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
