#!/usr/bin/env python3
"""Measures the figures of README.md, docs and CONTRIBUTING.md. Fails if a figure exceeds its limit.

    python3 .ci/cost.py build [--runs N]      (README.md)
    python3 .ci/cost.py compile [--runs N]
    CUDNN_GUARD_REAL=DIRECTORY python3 .ci/cost.py probe
    CUDNN_GUARD_REAL=DIRECTORY python3 .ci/cost.py startup [--runs N] [--set NAME]      (README.md)
    python3 .ci/cost.py edit [--runs N]      (docs/guard.md)
    python3 .ci/cost.py size [--options]      (CONTRIBUTING.md)
    python3 .ci/cost.py lazy [--runs N]      (docs/linking.md)
    CUDNN_GUARD_REAL=DIRECTORY python3 .ci/cost.py kernels [--runs N] [--kernels N]      (docs/kernels.md)

build    The CPU seconds to compile cudnn-guard, cudaforge and bindgen_cuda, each as the only build-dependency of an empty
         program, N times in turn, from nothing but without the downloads. The CPU time of the same build varies by a
         quarter with the load of the machine, so it runs on one CPU with one job, and the ratio of the fastest counts.
compile  The same in debug and release, without and with the runtime in the program, beside what cannot be avoided: compiling the
         dependencies, and checking the types of this crate (the difference of two rows).
probe    The fastest of 20 probes, or of up to 400 on a busy machine, in a file system with 12 toolkits, 6 of NVIDIA's
         cuDNNs and a site-packages of 100,000 files, without optimization, as in a build script. The ratio to reading
         the metadata of 7,000 of these files counts. If strace is installed, also the number of system calls with a
         path.
startup  The milliseconds and the resident memory of a new process that opens libcudnn.so.9 (`first`), that opens it with
         the sub-libraries that convolutions need (`loader`), that calls check_version(), and that calls startup(), also
         after it has touched 1 GB of memory (`memory`). If startup() passes on a machine with a GPU, the program keeps
         as much memory as `loader`.
edit     The CPU seconds of a rebuild after an edit of main.rs, with and without a guard. The ratio counts.
size     The kB that the guard adds to a stripped release program, and how many of them are code of each part of the guard,
         code of the standard library, tables for unwinding, and data. With `--options`, also those of check_version()
         alone, and with each further option of rustc for small programs.
lazy     The time of the first call through `Link::Lazy`, compared with dlopen and dlsym, and of a later call, compared
         with a program that is linked with the library.
kernels  The CPU seconds of a build script that compiles N kernels, by default 16, with NVIDIA's nvcc: without the cache, with
         an empty one, with one that contains them all, after an edit of one kernel, if only the times of the sources
         have changed, and compiled as one file. If make is installed, also those of make.
"""

import argparse
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from statistics import median

HERE = pathlib.Path(__file__).resolve().parent.parent
# The figures share compiled dependencies, except `build`, which measures their compilation.
TARGET = HERE / "target"
BUILDERS = {
    "cudnn-guard": f'cudnn-guard = {{ path = "{HERE}" }}',
    "cudaforge": 'cudaforge = "=0.1.6"',
    "bindgen_cuda": 'bindgen_cuda = "=0.1.6"',
}
# The limits are ratios of two figures of the same run, because machines differ. They are above the usual ratios.
BUILD_RATIO = 0.6
PROBE_RATIO = 4.0
STARTUP_RATIOS = {"version": ("first", 6.0), "startup": ("loader", 3.0), "memory": ("startup", 2.0)}
EDIT_RATIO = 3.0
LATER_CALL_RATIO, FIRST_CALL_RATIO = 3.0, 20.0
CACHE_RATIO = 20.0

GUARD = """fn main() {
    cudnn_guard::build(|| {
        let gpu = cudnn_guard::Config::new().cudnn(">=9, <10").link(cudnn_guard::Link::Runtime).probe()?;
        gpu.guard().write()
    });
}
"""
STARTUP = r"""mod cudnn_guard { include!(concat!(env!("OUT_DIR"), "/cudnn_guard.rs")); }
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
    let _touched = std::hint::black_box(vec![1_u8; if arguments[0] == "memory" { 1 << 30 } else { 1 }]);
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
PROBE = """use std::time::Instant;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let root = arguments.next().unwrap();
    let times = arguments.next().unwrap().parse().unwrap();
    let packages = format!("{root}/venv/lib/python3.12/site-packages");
    let config = cudnn_guard::Config::new().cuda(">=11").cudnn(">=9").root(root);
    for _ in 0..times {
        let start = Instant::now();
        let found = config.probe().unwrap();
        let probe = start.elapsed();
        assert!(found.cuda_version().is_some() && found.cudnn_version().is_some());
        let start = Instant::now();
        for file in 0..7000 {
            let (package, module) = (file / 7, file % 7);
            std::fs::metadata(format!("{packages}/package_{package}/module_{module}.py")).unwrap();
        }
        let metadata = start.elapsed();
        // Standard output contains the directives for cargo.
        eprintln!("milliseconds {} {}", probe.as_secs_f64() * 1e3, metadata.as_secs_f64() * 1e3);
    }
}
"""
LAZY = r"""use cudnn_guard as _;
use std::ffi::{c_char, c_int, c_void};
use std::hint::black_box;
use std::time::Instant;
unsafe extern "C" {
    fn curandFirst(number: c_int) -> c_int;
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}
const CALLS: u32 = 100_000_000;

fn main() {
    let clock = Instant::now();
    if std::env::args().any(|word| word == "dlsym") {
        // SAFETY: names that end in NUL, and the function's own type.
        let function: unsafe extern "C" fn(c_int) -> c_int = unsafe {
            let handle = dlopen(c"libcurand.so.10".as_ptr(), 1);
            std::mem::transmute(dlsym(handle, c"curandFirst".as_ptr()))
        };
        black_box(unsafe { function(1) });
    } else {
        black_box(unsafe { curandFirst(1) });
    }
    let first = clock.elapsed().as_secs_f64() * 1e3;
    let clock = Instant::now();
    for number in 0..CALLS {
        black_box(unsafe { curandFirst(black_box(number as c_int)) });
    }
    println!("{first} {}", clock.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS));
}
"""


def write(path: pathlib.Path, text: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def project(folder: pathlib.Path, main: str, build: str | None = GUARD, dependencies: str | None = None) -> pathlib.Path:
    """Creates a program. By default, it has the runtime and a build script that uses this crate."""
    write(folder / "src/main.rs", main)
    if build:
        write(folder / "build.rs", build)
    if dependencies is None:
        shutil.copy(HERE / "Cargo.lock", folder)
        dependencies = (
            f'[dependencies]\ncudnn-guard = {{ path = "{HERE}", default-features = false, features = ["runtime"] }}\n'
            f'[build-dependencies]\ncudnn-guard = {{ path = "{HERE}" }}\n'
        )
    write(
        folder / "Cargo.toml",
        f'[package]\nname = "{folder.name}"\nversion = "0.0.0"\nedition = "2024"\n{dependencies}\n[workspace]\n'
        # cargo compiles crates from a registry without `incremental`. This one comes from a directory.
        "[profile.dev.package.cudnn-guard]\nincremental = false\n",
    )
    return folder


def cargo(folder: pathlib.Path, *arguments: str, target=TARGET, one_cpu=False, **variables: str) -> float:
    """Runs cargo, and returns the CPU seconds of all processes."""
    dropped = ("CARGO_INCREMENTAL", "CARGO_PROFILE", "CUDA_", "CUDNN_")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(dropped)}
    environment = kept | {"CARGO_TARGET_DIR": str(target)} | variables
    pin = (lambda: os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})) if one_cpu else None
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(["cargo", *arguments, "--quiet"], cwd=folder, check=True, env=environment, preexec_fn=pin)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def build(work: pathlib.Path, options: argparse.Namespace) -> list[str]:
    measured = {name: [] for name in BUILDERS}
    for name, line in BUILDERS.items():
        folder = project(work / f"with-{name}", "fn main() {}\n", "fn main() {}\n", f"[build-dependencies]\n{line}\n")
        manifest = folder / "Cargo.toml"
        manifest.write_text(manifest.read_text().split("[profile")[0])
        cargo(folder, "fetch")
    for _ in range(options.runs or 9):
        for name, seconds in measured.items():
            folder = work / f"with-{name}"
            shutil.rmtree(folder / "target", ignore_errors=True)
            arguments = ["build", "--offline", "--jobs", "1"]
            seconds.append(cargo(folder, *arguments, target=folder / "target", one_cpu=True, CARGO_INCREMENTAL="0"))
        print("   ".join(f"{name} {seconds[-1]:5.2f} CPU s" for name, seconds in measured.items()), flush=True)
    # The fastest of each is used because other programs only add time.
    ours, cudaforge, bindgen_cuda = map(min, measured.values())
    ratio = ours / cudaforge
    print(f"fastest {ours:.2f} CPU s: {ratio:.3f} of cudaforge's, limit {BUILD_RATIO}; {ours / bindgen_cuda:.1f} of bindgen_cuda's")
    return ["cudnn-guard costs too much"] if ratio >= BUILD_RATIO else []


def compile(work: pathlib.Path, options: argparse.Namespace) -> list[str]:
    path = f'path = "{HERE}"'
    ours = f"[build-dependencies]\ncudnn-guard = {{ {path} }}\n"
    runtime = f'[dependencies]\ncudnn-guard = {{ {path}, default-features = false, features = ["runtime"] }}\n{ours}'
    manifest = tomllib.loads((HERE / "Cargo.toml").read_text())
    # jobserver is compiled only on Windows.
    names = [name.removeprefix("dep:") for name in manifest["features"]["build"]]
    versions = {name: manifest["dependencies"][name]["version"] for name in names if name in manifest["dependencies"]}
    dependencies = "".join(f'{name} = "{version}"\n' for name, version in versions.items())
    crates = {
        "build script": ours,
        "build script and runtime": runtime,
        "its dependencies": f"[build-dependencies]\n{dependencies}",
        # As dependencies of the program, since cargo compiles those of build scripts.
        "checked": f"[dependencies]\ncudnn-guard = {{ {path} }}\n",
        "its dependencies checked": f"[dependencies]\n{dependencies}",
    } | {name: f"[build-dependencies]\n{BUILDERS[name]}\n" for name in ("cudaforge", "bindgen_cuda")}
    measured = {(name, mode): [] for mode in ("debug", "release") for name in crates}
    for name, dependencies in crates.items():
        folder = project(work / re.sub(r"\W+", "-", name), "fn main() {}\n", "fn main() {}\n", dependencies)
        cargo(folder, "fetch")
    for _ in range(options.runs or 3):
        for (name, mode), seconds in measured.items():
            folder = work / re.sub(r"\W+", "-", name)
            shutil.rmtree(folder / "target", ignore_errors=True)
            command = "check" if name.endswith("checked") else "build"
            arguments = [command, "--offline", "--jobs", "1", *(["--release"] if mode == "release" else [])]
            seconds.append(cargo(folder, *arguments, target=folder / "target", one_cpu=True, CARGO_INCREMENTAL="0"))
    for (name, mode), seconds in measured.items():
        ratios = " and ".join(f"{min(seconds) / min(measured[peer, mode]):.2f} of {peer}'s" for peer in ("cudaforge", "bindgen_cuda"))
        print(f"{mode:8} {name:25} {min(seconds):5.2f} CPU s, {ratios}")
    return []


def toolkit(folder: pathlib.Path, major: int, minor: int) -> None:
    # As long as the real header, which has its version in line 270.
    head = " * a licence of many words, in many lines\n" * 270
    text = f"/*\n{head} */\n#define CUDA_VERSION {major * 1000 + minor * 10}\n"
    write(folder / "include/cuda.h", text + "typedef struct something_of_cuda something;\n" * 30_000)
    write(folder / "bin/nvcc")
    for name in ["cudart", "cublas", "nvrtc"]:
        write(folder / f"lib64/lib{name}.so")
    write(folder / "lib64/stubs/libcuda.so")


def machine(root: pathlib.Path, real: pathlib.Path) -> dict[str, str]:
    """Creates the file system for `probe`, and returns the environment."""
    def cudnn(include: pathlib.Path, lib: pathlib.Path, version: str) -> None:
        wheel = real / f"cudnn-{version}/nvidia/cudnn"
        for source, folder in [(wheel / "include", include), (wheel / "lib", lib)]:
            folder.mkdir(parents=True, exist_ok=True)
            for file in filter(pathlib.Path.is_file, source.iterdir()):
                (folder / file.name).symlink_to(file)

    local, conda, multiarch = root / "usr/local", root / "conda", "x86_64-linux-gnu"
    for number in range(10):
        toolkit(local / f"cuda-12.{number}", 12, number)
    (local / "cuda").symlink_to("cuda-12.9")
    toolkit(conda, 12, 4)
    toolkit(root / "opt/asked", 13, 0)
    for number, version in enumerate(["cu13-9.28", "cu13-9.14", "cu12-9.10"]):
        cudnn(local / f"cuda-12.{number}/include", local / f"cuda-12.{number}/lib64", version)
    cudnn(root / "usr/include" / multiarch, root / "usr/lib" / multiarch, "cu12-9.1.0")
    cudnn(conda / "include", conda / "lib", "cu13-9.28")
    site = root / "venv/lib/python3.12/site-packages"
    cudnn(site / "nvidia/cudnn/include", site / "nvidia/cudnn/lib", "cu13-9.14")
    # A thousand packages, each with its record next to it.
    for package in range(1000):
        for file in range(98):
            write(site / f"package_{package}/module_{file}.py")
        write(site / f"package_{package}-1.0.dist-info/RECORD")
        write(site / f"package_{package}-1.0.dist-info/METADATA")
    variables = {"CUDA_HOME": "opt/asked", "VIRTUAL_ENV": "venv", "CONDA_PREFIX": "conda"}
    return {"PATH": os.environ["PATH"]} | {name: str(root / path) for name, path in variables.items()}


def count_paths(command: list[str], environment: dict[str, str], work: pathlib.Path) -> str:
    if not shutil.which("strace"):
        return "strace is not installed; files were not counted"
    paths = []
    for times in ["0", "1"]:
        log = work / "strace"
        traced = ["strace", "-f", "-e", "trace=%file", "-o", log, *command, times]
        subprocess.run(traced, env=environment, check=True, capture_output=True)
        named = re.findall(r'^[^"\n]*"([^"]*)"', log.read_text(), re.MULTILINE)
        # Only the comparison reads the metadata of modules.
        paths.append([path for path in named if "/module_" not in path])
    # The system calls at program start do not count.
    start, complete = paths
    return f"{len(complete) - len(start)} system calls on {len(set(complete) - set(start))} paths"


def probe(work: pathlib.Path, _: argparse.Namespace) -> list[str]:
    dependencies = f'[dependencies]\ncudnn-guard = {{ path = "{HERE}" }}\n'
    folder = project(work / "probe", PROBE, None, dependencies)
    shutil.copy(HERE / "Cargo.lock", folder)
    cargo(folder, "build")
    environment = machine(work / "root", pathlib.Path(os.environ["CUDNN_GUARD_REAL"]).expanduser())
    command = [str(TARGET / "debug/probe"), str(work / "root")]
    times, ratio = [], PROBE_RATIO
    # The fastest of each is used because other programs only add time.
    while len(times) < 400 and ratio >= PROBE_RATIO:
        ran = subprocess.run([*command, "20"], env=environment, check=True, capture_output=True, text=True)
        lines = [line.split() for line in ran.stderr.splitlines() if line.startswith("milliseconds ")]
        times += [(float(probe), float(metadata)) for _, probe, metadata in lines]
        fastest, metadata = (min(column) for column in zip(*times))
        ratio = fastest / metadata
    print(
        f"a probe takes {fastest:.1f} ms at best in {len(times)} runs, {ratio:.1f} times as long as reading the metadata "
        f"of 7,000 files, limit {PROBE_RATIO}"
    )
    print(count_paths(command, environment, work))
    return ["the probe is too slow"] if ratio >= PROBE_RATIO else []


def startup(work: pathlib.Path, options: argparse.Namespace) -> list[str]:
    lib = pathlib.Path(os.environ["CUDNN_GUARD_REAL"]).expanduser().resolve() / options.set / "nvidia/cudnn/lib"
    parts = ["graph", "ops", "cnn", "heuristic", "engines_precompiled", "engines_runtime_compiled", "engines_tensor_ir"]
    # The guard opens libcudnn.so.9 by name, and the sub-libraries by path.
    files = ["libcudnn.so.9"] + [str(lib / f"libcudnn_{part}.so.9") for part in parts]
    environment = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": str(lib)}
    cargo(project(work / "startup", STARTUP), "build", "--release")
    runs, found = options.runs or 15, {task: [] for task in ("first", "loader", *STARTUP_RATIOS)}
    # The first round fills the page cache and does not count.
    for run in range(runs + 1):
        for task, numbers in found.items():
            opened = {"first": files[:1], "loader": files}.get(task, [])
            command = [TARGET / "release/startup", task, *opened]
            done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
            *words, verdict = done.stdout.strip().split(" ", 3)
            if task == "version" and verdict != "pass":
                return [f"check_version() returned {verdict}"]
            if run > 0:
                numbers.append([float(word) for word in words])
    medians = {task: [median(column) for column in zip(*numbers)] for task, numbers in found.items()}
    print(f"{options.set}, median of {runs} fresh processes each, release build, warm page cache")
    late = []
    for task, (time, resident, own) in medians.items():
        line = f"{task:8} {time:7.2f} ms, {resident:6.0f} kB resident, of which {own:6.0f} kB anonymous"
        if task in STARTUP_RATIOS:
            beside, limit = STARTUP_RATIOS[task]
            over, ratio = time - medians[beside][0], time / medians[beside][0]
            line += f"; {over:.2f} ms more than `{beside}`, {ratio:.1f} times as long (limit {limit})"
            late += [f"{task} is too slow"] if ratio > limit else []
        print(line)
    return late


def pair(work: pathlib.Path, name="guarded", calls="gpu::startup(); if gpu::check().is_ok()") -> dict[pathlib.Path, str]:
    """Creates two programs that differ only in their guard, and returns their source code."""
    guarded = f"""mod gpu {{ include!(concat!(env!("OUT_DIR"), "/cudnn_guard.rs")); }}
fn main() {{ {calls} {{ println!("RUN"); }} }}
"""
    without = 'fn main() { println!("RUN"); }\n'
    bare = GUARD.replace("gpu.guard().write()", "drop(gpu); Ok(())")
    return {project(work / "without", without, bare): without, project(work / name, guarded): guarded}


def edit(work: pathlib.Path, options: argparse.Namespace) -> list[str]:
    runs, programs = options.runs or 9, pair(work)
    modes = {"debug": ["build"], "release": ["build", "--release"], "check": ["check"]}
    found = {(mode, folder): [] for mode in modes for folder in programs}
    # The first round compiles the dependencies and does not count, and the second fills the caches.
    for run in range(runs + 2):
        for (mode, folder), seconds in found.items():
            write(folder / "src/main.rs", programs[folder].replace("RUN", f"{run} {mode}"))
            time = cargo(folder, *modes[mode])
            seconds += [time] if run > 1 else []
    print(f"CPU seconds of an edit of main.rs, median of {runs} runs")
    slow = []
    for mode in modes:
        without, guarded = (median(found[mode, folder]) for folder in programs)
        ratio = guarded / without
        print(f"{mode:8} {without:5.2f} without a guard, {guarded:5.2f} with one, {ratio:.1f} times as long (limit {EDIT_RATIO})")
        slow += [f"{mode}: the guard costs too much"] if ratio > EDIT_RATIO else []
    return slow


def added(folders: list[pathlib.Path], **options: str) -> tuple[int, int]:
    """Returns the sizes of two stripped programs: of the first one, and of what the second one has more."""
    sizes = []
    for folder in folders:
        cargo(folder, "build", "--release", **options)
        program = TARGET / "release" / folder.name
        # The symbols are needed for the sizes of the parts.
        subprocess.run(["strip", "-o", folder / "stripped", program], check=True)
        sizes.append((folder / "stripped").stat().st_size)
    return sizes[0], sizes[1] - sizes[0]


def parts(program: pathlib.Path) -> Counter[str]:
    """Returns the bytes of a program by module of the guard and by kind of section."""
    sizes: Counter[str] = Counter()
    command = ["nm", "--demangle", "--defined-only", "--print-size", program]
    for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines():
        _, size, kind, *name = line.split(" ", 3)
        if name and kind in "tTwW":
            # A function of the standard library with a type of the guard is counted as the standard library's.
            own = re.match(r"<*&?cudnn_guard::.*?internals::(\w+)", name[0])
            sizes[own[1] if own else "functions of the standard library"] += int(size, 16)
    command = ["size", "--format=sysv", program]
    for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines():
        match line.split():
            case [".eh_frame" | ".eh_frame_hdr" | ".gcc_except_table", size, _]:
                sizes["tables for unwinding"] += int(size)
            case [".rodata" | ".rela.dyn" | ".data.rel.ro" | ".got", size, _]:
                sizes["constants and relocations"] += int(size)
    return sizes


def size(work: pathlib.Path, options: argparse.Namespace) -> list[str]:
    folders = list(pair(work))
    without, more = added(folders)
    print(f"stripped {without / 1000:,.0f} kB without a guard, {more / 1000:,.0f} kB more with one")
    programs = [parts(TARGET / "release" / folder.name) for folder in folders]
    for name, bytes in (programs[1] - programs[0]).most_common():
        print(f"    {bytes / 1000:6,.0f} {name}")
    if not options.options:
        return []
    small = {"OPT_LEVEL": "z", "CODEGEN_UNITS": "1", "LTO": "fat", "PANIC": "abort"}
    version = list(pair(work, "version", "if gpu::check_version().is_ok()"))
    for what, programs in (("startup() and check()", folders), ("check_version() alone", version)):
        given: dict[str, str] = {}
        print(f"{what}: {added(programs)[1] / 1000:,.0f} kB")
        for option, value in small.items():
            given[f"CARGO_PROFILE_RELEASE_{option}"] = value
            print(f"{what}, with {option} = {value} too: {added(programs, **given)[1] / 1000:,.0f} kB", flush=True)
    return []


def lazy(work: pathlib.Path, options: argparse.Namespace) -> list[str]:
    cuda = work / "cuda"
    write(cuda / "include/cuda.h", "#define CUDA_VERSION 13000\n")
    write(cuda / "lib64/libcudart_static.a", "!<arch>\n")
    library = cuda / "lib64/libcurand.so.10"
    cc = ["cc", "-O1", "-shared", "-fPIC", "-xc", "-", f"-Wl,-soname,{library.name}", "-o", library]
    subprocess.run(cc, input="int curandFirst(int number) { return number; }\n", text=True, check=True)
    (cuda / "lib64/libcurand.so").symlink_to(library.name)
    for link in ("Dynamic", "Lazy"):
        script = GUARD.replace('cudnn(">=9, <10")', 'cuda(">=13").libs(["curand"])').replace("Runtime", link)
        script = script.replace("gpu.guard().write()", "gpu.link();\n        Ok(())")
        cargo(project(work / link.lower(), LAZY, script), "build", "--release", CUDA_HOME=str(cuda))
    ways = {"linked": ["dynamic"], "lazy": ["lazy"], "dlsym": ["lazy", "dlsym"]}
    figures = {way: [] for way in ways}
    for _ in range(options.runs or 5):
        for way, (program, *arguments) in ways.items():
            command = [TARGET / "release" / program, *arguments]
            ran = subprocess.run(command, capture_output=True, text=True, check=True)
            figures[way].append([float(word) for word in ran.stdout.split()])
    first, later = ({way: median(run[at] for run in figures[way]) for way in ways} for at in (0, 1))
    for way in ways:
        print(f"{way:8} first call {first[way]:7.3f} ms, later calls {later[way]:6.2f} ns")
    later_ratio, first_ratio = later["lazy"] / later["linked"], first["lazy"] / first["dlsym"]
    print(
        f"a later call takes {later_ratio:.1f} times as long as that of a linked function (limit {LATER_CALL_RATIO}), "
        f"the first {first_ratio:.1f} times as long as dlopen and dlsym (limit {FIRST_CALL_RATIO})"
    )
    return ["a lazy call is too slow"] if later_ratio > LATER_CALL_RATIO or first_ratio > FIRST_CALL_RATIO else []


def kernels(work: pathlib.Path, options: argparse.Namespace) -> list[str]:
    script = """fn main() {
    cudnn_guard::build(|| {
        let gpu = cudnn_guard::Config::new().cuda(">=13").archs(["90"]).probe()?;
        let together = std::env::var("TOGETHER").map_or(1, |number| number.parse().unwrap());
        gpu.kernels().files("src/*.cu").unity(together).compile("many")
    });
}
"""
    # The same commands. make takes the headers from nvcc's lists.
    makefile = """objects := $(patsubst src/%.cu,$(OUT_DIR)/%.o,$(wildcard src/*.cu))
$(OUT_DIR)/libmany.a: $(objects)
	rm -f $@ && ar crs $@ $^
$(OUT_DIR)/%.o: src/%.cu
	@$(CUDA_HOME)/bin/nvcc -c $< -o $@ -MD --objdir-as-tempdir -gencode=arch=compute_90,code=sm_90 -O0 -Xcompiler -fPIC
-include $(objects:.o=.d)
"""
    count = options.kernels
    cuda = pathlib.Path(os.environ["CUDNN_GUARD_REAL"]).expanduser() / "cuda-cu13/nvidia/cu13"
    folder = project(work / "kernels", "fn main() {}\n", script, f'[build-dependencies]\ncudnn-guard = {{ path = "{HERE}" }}\n')
    write(folder / "Makefile", makefile)
    texts = {}
    for number in range(count):
        text = f"#include <cuda_runtime.h>\n__global__ void k{number}(float *x) {{ x[threadIdx.x] *= {number}; }}\n"
        texts[folder / f"src/k{number}.cu"] = text
        write(folder / f"src/k{number}.cu", text)
    target = work / "target"
    cargo(folder, "build", target=target, CUDA_HOME=str(cuda), CUDNN_GUARD_CACHE="off")
    [program] = target.glob("debug/build/kernels-*/build-script-build")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("CARGO", "CUD", "NVCC", "RUSTC"))}
    triple = f"{os.uname().machine}-unknown-linux-gnu"
    out, cache = work / "out", work / "cache"
    kept |= {
        "CUDA_HOME": str(cuda),
        "CARGO_MANIFEST_DIR": str(folder),
        "OUT_DIR": str(out),
        "HOST": triple,
        "TARGET": triple,
        "NUM_JOBS": "2",
        "OPT_LEVEL": "0",
    }

    def seconds(way: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        is_cached = way in ("empty", "filled")
        environment = kept | {"CUDNN_GUARD_CACHE": str(cache) if is_cached else "off"}
        environment["TOGETHER"] = str(count) if way == "unity" else "1"
        command = ["make", "-sj2"] if way.startswith("make") else [program]
        subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    ways = ["empty", "filled", "unity", "make", "make after an edit", "without", "after an edit", "new times"]
    found = {way: [] for way in ways if shutil.which("make") or not way.startswith("make")}
    for run in range(options.runs or 3):
        shutil.rmtree(cache, ignore_errors=True)
        for way, figures in found.items():
            if way == "new times":
                for source in texts:
                    source.touch()
                time.sleep(1)
            elif way.endswith("edit"):
                source = min(texts)
                source.write_text(f"{texts[source]}// {way} {run}\n")
                time.sleep(1)
            else:
                shutil.rmtree(out, ignore_errors=True)
                out.mkdir()
            figures.append(seconds(way))
    fastest = {way: min(figures) for way, figures in found.items()}
    ratio = fastest["without"] / fastest["filled"]
    print(f"{count} kernels, CPU s: " + ", ".join(f"{way} {time:.3f}" for way, time in fastest.items()))
    print(f"from the cache {ratio:.0f} times as fast (limit {CACHE_RATIO})")
    return ["the cache is too slow"] if ratio < CACHE_RATIO else []


def main() -> None:
    figures = {figure.__name__: figure for figure in (build, compile, probe, startup, edit, size, lazy, kernels)}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figure", choices=figures)
    parser.add_argument("--runs", type=int)
    parser.add_argument("--kernels", type=int, default=16, metavar="N")
    parser.add_argument("--options", action="store_true")
    parser.add_argument("--set", default="cudnn-cu13-9.28", metavar="NAME")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        faults = figures[options.figure](pathlib.Path(folder), options)
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
