#!/usr/bin/env python3
"""Measures what `Link::Lazy` adds to a call, compared with a program that is linked with the library.

    python3 .ci/lazy_cost.py [--runs N]

Builds one program twice, linked with `Link::Dynamic` and with `Link::Lazy`, with a library whose functions return their
argument, and starts both in turn. Prints medians: nanoseconds per call after the first, and the first call compared with
dlopen and dlsym. Fails if a later call takes more than 2 ns longer, or the first one more than 1 ms longer.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent.parent
LATER, FIRST = 2.0, 1.0
MAIN = r"""use cudnn_guard as _;
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


def project(root: pathlib.Path, link: str, libs: list[str]) -> pathlib.Path:
    source = root / link.lower()
    (source / "src").mkdir(parents=True)
    (source / "Cargo.toml").write_text(
        f'[package]\nname = "{link.lower()}"\nversion = "0.1.0"\nedition = "2024"\n\n[dependencies]\n'
        f'cudnn-guard = {{ path = "{HERE}", default-features = false, features = ["runtime"] }}\n\n'
        f'[build-dependencies]\ncudnn-guard = {{ path = "{HERE}" }}\n\n[workspace]\n'
    )
    names = ", ".join(f'"{name}"' for name in libs)
    (source / "build.rs").write_text(
        f'fn main() {{\n    cudnn_guard::build(|| {{\n        let config = cudnn_guard::Config::new().cuda(">=13");\n'
        f"        config.libs([{names}]).link(cudnn_guard::Link::{link}).probe()?.link();\n        Ok(())\n    }});\n}}\n"
    )
    (source / "src/main.rs").write_text(MAIN)
    return source


def library(path: pathlib.Path, soname: str, functions: list[str]) -> None:
    code = "".join(f"int {name}(int number) {{ return number; }}\n" for name in functions)
    command = ["cc", "-O1", "-w", "-fno-builtin", "-shared", "-fPIC", "-xc", "-", f"-Wl,-soname,{soname}", "-o", path]
    subprocess.run(command, input=code, text=True, check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    root = pathlib.Path(tempfile.mkdtemp(prefix="lazy-cost-"))
    cuda = root / "cuda"
    (cuda / "lib64").mkdir(parents=True)
    (cuda / "include").mkdir()
    (cuda / "include/cuda.h").write_text("#define CUDA_VERSION 13000\n")
    (cuda / "lib64/libcudart_static.a").write_text("!<arch>\n")
    library(cuda / "lib64/libcurand.so.10", "libcurand.so.10", ["curandFirst"])
    (cuda / "lib64/libcurand.so").symlink_to("libcurand.so.10")
    target = HERE / "target/lazy-cost"
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("CUDA", "CUDNN"))}
    environment |= {"CARGO_TARGET_DIR": str(target), "CUDA_HOME": str(cuda)}
    for link in ("Dynamic", "Lazy"):
        source = project(root, link, ["curand"])
        subprocess.run(["cargo", "build", "--quiet", "--release"], cwd=source, env=environment, check=True)
    ways = {"linked": ["dynamic"], "lazy": ["lazy"], "dlsym": ["lazy", "dlsym"]}
    figures = {way: [] for way in ways}
    for _ in range(runs):
        for way, (program, *arguments) in ways.items():
            command = [target / "release" / program, *arguments]
            out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            figures[way].append([float(word) for word in out.split()])
    first, later = ({way: statistics.median(run[at] for run in figures[way]) for way in ways} for at in (0, 1))
    for way in ways:
        print(f"{way:8} first call {first[way]:7.3f} ms, later calls {later[way]:6.2f} ns")
    more_later, more_first = later["lazy"] - later["linked"], first["lazy"] - first["dlsym"]
    print(f"a later call takes {more_later:+.2f} ns (limit {LATER}), the first {more_first:+.3f} ms (limit {FIRST})")
    if more_later > LATER or more_first > FIRST:
        sys.exit("lazy_cost: a call takes longer than the limit")


if __name__ == "__main__":
    main()
