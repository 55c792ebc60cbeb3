#!/usr/bin/env python3
"""Measures how the cost of a probe, of the guard and of `inspect` grows. Fails if it grows faster than linearly.

    CUDNN_GUARD_REAL=DIRECTORY python3 .ci/growth.py [CURVE ..]      (CONTRIBUTING.md)

Each curve repeats one thing on a synthetic machine: entries of LD_LIBRARY_PATH, cuDNNs, packages of a Python environment,
files beside the library, libraries of a program, or memory of a program that calls the guard (with `fork` as the floor). The
CPU time of the fastest of three runs counts. The exponent is that of the last step, after the cost of the smallest machine is
subtracted: 1 is linear. If strace is installed, the system calls with a path are counted too, and the different paths.
"""

import collections
import math
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile

import cost

# A fast run is too noisy for an exponent.
LEAST_SECONDS = 0.2
LIMIT = 1.35
CONFIG = """fn main() {
    let found = cudnn_guard::Config::new().cuda(">=12").cudnn(">=9").probe().unwrap();
    assert!(found.cudnn_version().is_some());
}
"""
GUARDED = """mod gpu { include!(concat!(env!("OUT_DIR"), "/cudnn_guard.rs")); }
unsafe extern "C" {
    fn fork() -> i32;
    fn _exit(code: i32) -> !;
    fn waitpid(pid: i32, status: *mut i32, options: i32) -> i32;
}

fn main() {
    let megabytes: usize = std::env::args().nth(1).unwrap().parse().unwrap();
    let memory = vec![1_u8; megabytes << 20];
    let clock = std::time::Instant::now();
    match std::env::args().nth(2).as_deref() {
        Some("check") => drop(gpu::check()),
        // SAFETY: the child ends at once, and the parent waits for it.
        Some(_) => unsafe {
            let child = fork();
            if child == 0 {
                _exit(0);
            }
            waitpid(child, std::ptr::null_mut(), 0);
        },
        None => assert_eq!(gpu::check_version().unwrap().verdict().to_string(), "pass"),
    }
    eprintln!("seconds {}", clock.elapsed().as_secs_f64());
    std::hint::black_box(memory);
}
"""


class Machine:
    """A root directory, and the commands that are measured in it."""

    def __init__(self, root: pathlib.Path, real: pathlib.Path):
        self.root, self.variables = root, {"PATH": os.environ["PATH"]}
        self.lib, self.short = root / "opt/cudnn/lib", pathlib.Path(tempfile.mkdtemp(prefix="", dir="/tmp"))
        wheel = real / "cudnn-cu13-9.28/nvidia/cudnn"
        for source, folder in ((wheel / "include", self.lib.parent / "include"), (wheel / "lib", self.lib)):
            self.link(source, folder)
        cost.toolkit(root / "opt/cuda", 13, 0)
        self.variables |= {"CUDA_HOME": str(root / "opt/cuda"), "CUDNN_PATH": str(self.lib.parent)}
        self.put_first([])
        self.probe = [str(cost.TARGET / "debug/config")]
        self.version = [str(cost.TARGET / "release/growth-guarded"), "0"]
        self.inspect = [str(cost.TARGET / "release/cudnn-guard"), "inspect", str(cost.TARGET / "release/growth-guarded")]

    @staticmethod
    def link(source: pathlib.Path, folder: pathlib.Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for file in filter(pathlib.Path.is_file, source.iterdir()):
            (folder / file.name).symlink_to(file)

    def put_first(self, folders: list[pathlib.Path]) -> None:
        self.variables["LD_LIBRARY_PATH"] = ":".join(map(str, [*folders, self.lib]))


def entries(machine: Machine, count: int) -> dict[str, list[str]]:
    # A variable of more than 128 KiB cannot be passed to a program, so the paths are short.
    folders = [machine.short / str(number) for number in range(count)]
    for folder in folders:
        folder.mkdir(parents=True)
    machine.put_first(folders)
    return {"probe": machine.probe, "check_version": machine.version, "inspect": machine.inspect}


def cudnns(machine: Machine, count: int) -> dict[str, list[str]]:
    folders = [machine.root / f"srv/cudnn/{number}" for number in range(count)]
    for folder in folders:
        machine.link(machine.lib, folder / "lib")
        machine.link(machine.lib.parent / "include", folder / "include")
    machine.put_first([folder / "lib" for folder in folders])
    return {"probe": machine.probe, "check_version": machine.version, "inspect": machine.inspect}


def packages(machine: Machine, count: int) -> dict[str, list[str]]:
    site = machine.root / "venv/lib/python3.12/site-packages"
    for number in range(count):
        cost.write(site / f"package_{number}/__init__.py")
        cost.write(site / f"package_{number}-1.0.dist-info/RECORD", f"package_{number}/__init__.py,,\n")
    machine.link(machine.lib, site / "nvidia/cudnn/lib")
    machine.link(machine.lib.parent / "include", site / "nvidia/cudnn/include")
    machine.variables["VIRTUAL_ENV"] = str(machine.root / "venv")
    machine.put_first([site / "nvidia/cudnn/lib"])
    return {"probe": machine.probe, "check_version": machine.version, "inspect": machine.inspect}


def files(machine: Machine, count: int) -> dict[str, list[str]]:
    for number in range(count):
        cost.write(machine.lib / f"libother_{number}.so.1")
    return {"probe": machine.probe, "check_version": machine.version, "inspect": machine.inspect}


def libraries(machine: Machine, count: int) -> dict[str, list[str]]:
    folder = machine.root / "srv/program"
    folder.mkdir(parents=True)
    compiler = ["cc", "-shared", "-fPIC", "-xc", "-"]
    for number in range(count):
        text = f"int first_{number}(void) {{ return {number}; }}\n"
        output = folder / f"libpart{number}.so"
        subprocess.run([*compiler, f"-Wl,-soname,{output.name}", "-o", output], input=text, text=True, check=True)
    main = "".join(f"int first_{number}(void);\n" for number in range(count))
    main += "int main(void) { return 0" + "".join(f" + first_{number}()" for number in range(count)) + "; }\n"
    program = folder / "program"
    needed = [str(file) for file in sorted(folder.glob("*.so"))]
    command = ["cc", "-xc", "-", "-xnone", *needed, "-Wl,-rpath,$ORIGIN", "-o", program]
    subprocess.run(command, input=main, text=True, check=True)
    return {"inspect": [*machine.inspect[:2], str(program)]}


def memory(machine: Machine, count: int) -> dict[str, list[str]]:
    return {task: [machine.version[0], str(count), task] for task in ("check", "fork")}


CURVES = {
    "entries of LD_LIBRARY_PATH": (entries, [10, 1000, 5000]),
    "cuDNNs": (cudnns, [1, 100, 1000]),
    "packages of the Python environment": (packages, [10, 1000, 10_000]),
    "files beside the library": (files, [10, 1000, 10_000]),
    "libraries of the program": (libraries, [1, 30, 300]),
    "megabytes of the program": (memory, [1, 1000, 8000]),
}


def run(command: list[str], variables: dict[str, str], measures_itself: bool) -> float:
    """Returns the CPU seconds, or those that the program measured, if its start is not what is measured."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ran = subprocess.run(command, env=variables, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if ran.returncode not in (0, 1):
        sys.exit(f"{command} failed: {ran.stderr}")
    if measures_itself:
        return float(re.search(r"^seconds ([0-9.e-]+)$", ran.stderr, re.MULTILINE)[1])
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def path_calls(command: list[str], variables: dict[str, str], log: pathlib.Path) -> tuple[int, int] | None:
    """Returns the system calls with a path, and the different paths."""
    if not shutil.which("strace"):
        return None
    traced = ["strace", "-f", "-e", "trace=%file", "-o", log, *command]
    subprocess.run(traced, env=variables, capture_output=True)
    named = re.findall(r'^[^"\n]*"([^"]*)"', log.read_text(errors="replace"), re.MULTILINE)
    counts = collections.Counter(named)
    return len(named), len(counts)


def exponent(sizes: list[int], values: list[float]) -> float:
    first, middle, last = values
    if last - first <= 0 or middle - first <= 0:
        return 0.0
    return math.log((last - first) / (middle - first)) / math.log((sizes[2] - sizes[0]) / (sizes[1] - sizes[0]))


def measure(name: str, work: pathlib.Path, real: pathlib.Path) -> list[str]:
    create, sizes = CURVES[name]
    seconds, calls = collections.defaultdict(list), collections.defaultdict(list)
    for size in sizes:
        root = work / str(size)
        machine = Machine(root, real)
        for task, command in create(machine, size).items():
            runs = [run(command, machine.variables, create is memory) for _ in range(3)]
            seconds[task].append(min(runs))
            calls[task].append(path_calls(command, machine.variables, work / "strace"))
        shutil.rmtree(root)
        shutil.rmtree(machine.short)
    slow = []
    print(f"{name}: {', '.join(f'{size:,}' for size in sizes)}")
    for task, values in seconds.items():
        power = exponent(sizes, values)
        line = f"  {task:14} {'  '.join(f'{value * 1000:8.1f} ms' for value in values)}, exponent {power:.2f}"
        if values[-1] > LEAST_SECONDS and power > LIMIT:
            slow.append(f"{task} with {name}: exponent {power:.2f}")
        if None not in calls[task]:
            total, different = zip(*calls[task])
            line += f"; {'  '.join(f'{count:,}' for count in total)} calls, the last on {different[-1]:,} paths"
            power = exponent(sizes, [float(count) for count in total])
            slow += [f"{task} with {name}: calls with exponent {power:.2f}"] if power > LIMIT else []
        print(line, flush=True)
    return slow


def main() -> None:
    chosen = sys.argv[1:]
    names = [name for name in CURVES if not chosen or any(word in name for word in chosen)]
    real = pathlib.Path(os.environ["CUDNN_GUARD_REAL"]).expanduser().resolve()
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        crate = f'[dependencies]\ncudnn-guard = {{ path = "{cost.HERE}" }}\n'
        config = cost.project(work / "config", CONFIG, None, crate)
        shutil.copy(cost.HERE / "Cargo.lock", config)
        cost.cargo(config, "build")
        cost.cargo(cost.project(work / "growth-guarded", GUARDED), "build", "--release")
        cost.cargo(cost.HERE, "build", "--release", "--all-features", "--bin", "cudnn-guard")
        slow = [fault for name in names for fault in measure(name, work / "machine", real)]
    if slow:
        sys.exit("\n".join(slow))


if __name__ == "__main__":
    main()
