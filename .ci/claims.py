#!/usr/bin/env python3
"""Checks statements about versions of crates and of NVIDIA's wheels against the sources and files of these versions.

    python3 .ci/claims.py

cargo downloads the crates to its registry. A row of CLAIMS is a crate, a property of its sources, the first and the last
version that has it, and the statements of this repository that depend on it. A row of FILES is a statement and a property
of the wheels in CUDNN_GUARD_REAL, which .ci/wheels.py downloads; without this variable, they are not checked. A row of
PACKAGES or OPTIONS names the page that documents packages or options of other software. That page is not read here.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
REGISTRY = pathlib.Path(os.environ.get("CARGO_HOME", pathlib.Path.home() / ".cargo")) / "registry"
# The first version that is read. The order of versions of ort-sys includes the number of the release candidate.
OLDEST = {
    "cudarc": (0, 11, 0),
    "ort-sys": (2, 0, 0, 9),
    "torch-sys": (0, 13, 0),
    "candle-kernels": (0, 3, 0),
    "candle-flash-attn": (0, 3, 0),
}


def contains(file, *texts):
    """Returns a property: the file exists and contains these texts in this order."""
    pattern = re.compile(".*".join(re.escape(text) for text in texts), re.DOTALL)
    return lambda root: (root / file).is_file() and bool(pattern.search((root / file).read_text()))


def has_cuda_13(root: pathlib.Path) -> bool:
    tables = [root / name for name in ("dist.txt", "build/download/dist.txt", "build/download/dist.tsv")]
    return any(re.search(r"cu(da)?13", table.read_text()) for table in tables if table.is_file())


CLAIMS = [
    (
        "cudarc",
        "looks up all functions of a library when it opens the library, and panics if one is missing",
        lambda root: contains("src/driver/sys/mod.rs", "fn from_library")(root)
        and contains("src/driver/sys/mod.rs", "Expected symbol in library")(root),
        (0, 15, 0),
        (0, 19, 4),
        {
            "build-support/guard/loader/cudarc_eager.rs": "cudarc 0.15 to 0.19.4 that opens libraries itself",
            "build-support/guard/messages/loading.rs": "cudarc 0.19.5 or later, which looks up only the functions",
            "docs/findings.md": "cudarc 0.15 to 0.19.4 with `dynamic-loading` looks up all",
        },
    ),
    (
        "cudarc",
        "opens libcudnn.so.9",
        contains("src/lib.rs", '{DLL_SUFFIX}.9"'),
        (0, 19, 2),
        None,
        {
            "docs/findings.md": "cudarc before 0.19.2: update it",
            "docs/frameworks.md": "Before 0.19.2, it does not search for `libcudnn.so.9` at all",
            "build-support/compat/messages.txt": "Before cudarc 0.19.2, `libcudnn.so.9` is not one of them",
        },
    ),
    (
        "cudarc",
        "opens libcuda.so.1",
        contains("src/lib.rs", '{DLL_SUFFIX}.1"'),
        (0, 13, 1),
        None,
        {"build-support/guard/messages/unusable_driver.rs": "cudarc before 0.13.1, also need a link"},
    ),
    (
        "cudarc",
        "reads CUDARC_CUDA_VERSION",
        contains("build.rs", 'var("CUDARC_CUDA_VERSION")'),
        (0, 16, 5),
        None,
        {"docs/frameworks.md": "for cudarc 0.16.5 or later"},
    ),
    (
        "cudarc",
        "opens names that end in 64_11",
        contains("src/lib.rs", '{pointer_width}_11{DLL_SUFFIX}"'),
        (0, 18, 2),
        None,
        {"build-support/guard/loader/file_name.rs": "`libcudnn64_11.so` in 0.18.2"},
    ),
    (
        "ort-sys",
        "downloads an ONNX Runtime for CUDA 13",
        has_cuda_13,
        (2, 0, 0, 12),
        None,
        {"docs/findings.md": "with the crate ort, use 2.0.0-rc.12 or later for CUDA 13"},
    ),
    (
        "torch-sys",
        "reads LIBTORCH_USE_PYTORCH before LIBTORCH, and refuses another version of PyTorch",
        contains("build.rs", "expects PyTorch", 'env_var_rerun("LIBTORCH_USE_PYTORCH").is_ok()', 'env_var_rerun("LIBTORCH")'),
        (0, 14, 0),
        None,
        {
            "src/messages/inspection.rs": "with LIBTORCH_USE_PYTORCH, torch-sys ignores LIBTORCH",
            "build-support/compat/messages.txt": "This version of tch requires libtorch {1}, but {2} was found.",
        },
    ),
    (
        "candle-kernels",
        "compiles kernels for bf16 only for compute capability 8.0 or later",
        contains("src/cast.cu", "__CUDA_ARCH__ >= 800", "bf16"),
        (0, 3, 0),
        None,
        {
            "build-support/compat/messages.txt": "candle has kernels for bf16 only if they are compiled for compute "
            "capability 8.0 or later."
        },
    ),
    (
        "candle-flash-attn",
        "keeps its kernels in CANDLE_FLASH_ATTN_BUILD_DIR",
        contains("build.rs", 'var("CANDLE_FLASH_ATTN_BUILD_DIR")'),
        (0, 3, 0),
        None,
        {"build-support/compat/messages.txt": "set CANDLE_FLASH_ATTN_BUILD_DIR to a directory that stays"},
    ),
]


def names(pattern: str):
    """Returns a property: the wheels of these directories contain a file with such a path."""
    return lambda roots: any(list(root.rglob(pattern)) for root in roots)


def opens(sub_library: str, text: bytes):
    return lambda roots: any(text in file.read_bytes() for root in roots for file in root.rglob(sub_library))


# A statement, the directories of wheels, a property, and whether they have it.
FILES = [
    ("docs/findings.md", "NVIDIA's cuDNN 9 wheels do not include", "cudnn-win-cu1*-9*", names("cudnn*.lib"), False),
    ("docs/findings.md", "the wheels of CUDA 11 and 12 do not include nvcc", "cuda-cu1[12]", names("bin/nvcc*"), False),
    ("docs/findings.md", "(these contain `ptxas` but not nvcc)", "cuda-cu1[12]", names("bin/ptxas"), True),
    ("docs/findings.md", "pip install nvidia-cuda-nvcc", "cuda-cu13*", names("bin/nvcc"), True),
    (
        "docs/findings.md",
        "`nvidia-cudnn-jit-cu12` contains only two sub-libraries",
        "cudnn-jit-cu1*",
        lambda roots: all(len(list(root.rglob("libcudnn_*.so.9"))) == 2 for root in roots),
        True,
    ),
    ("docs/findings.md", "cuDNN 8 opens `libcuda.so`", "cudnn-cu1*-8*", opens("libcudnn*.so.8", b"libcuda.so\0"), True),
    ("docs/findings.md", "cuDNN 9.22 and later open", "cudnn-cu13-9.28", opens("libcudnn_*.so.9", b"libcudart.so"), True),
    ("docs/findings.md", "cuDNN 9.22 and later open", "cudnn-cu13-9.14", opens("libcudnn_*.so.9", b"libcudart.so"), False),
]


NVIDIA_REPOSITORY = "https://developer.download.nvidia.com/compute/cuda/repos/"
CUDA_GUIDE = "https://docs.nvidia.com/cuda/cuda-installation-guide-linux/"
CUDNN_GUIDE = "https://docs.nvidia.com/deeplearning/cudnn/installation/linux.html"
CONDA = "https://github.com/conda-forge/{}-feedstock"
# The programs that install, the names of packages, and the page that documents them.
PACKAGES = [
    ("apt|dnf", r"(lib)?cudnn9(-dev|-devel)?(-cuda-\d+)?", CUDNN_GUIDE),
    ("apt|dnf", r"cuda-toolkit-\d+-\d+", CUDA_GUIDE),
    ("apt|dnf", r"cuda-(nvcc|cudart|cudart-dev|cudart-devel|driver-dev|driver-devel|nvrtc)-\d+-\d+", NVIDIA_REPOSITORY),
    ("apt|dnf", r"lib(cublas|cusparse|nvjitlink)-\d+-\d+", NVIDIA_REPOSITORY),
    ("apt", r"cuda-compat-\*", "https://docs.nvidia.com/deploy/cuda-compatibility/"),
    ("apt", r"nvidia-jetpack", "https://docs.nvidia.com/jetson/jetpack/install-setup/"),
    ("apt", r"nvidia-l4t-cuda", "https://docs.nvidia.com/jetson/archives/"),
    ("apt", r"g\+\+-\d+|nvidia-cuda-toolkit|nvidia-driver|python3-pip|libgomp1", "https://packages.debian.org/"),
    ("dnf", r"akmod-nvidia|xorg-x11-drv-nvidia-cuda", "https://rpmfusion.org/Howto/NVIDIA"),
    ("dnf", r"python3-pip", "https://packages.fedoraproject.org/pkgs/python-pip/python3-pip/"),
    ("pacman", r"cuda|cudnn|nvidia-open|nvidia-utils|uv", "https://archlinux.org/packages/"),
    ("conda", r"cudnn|libcudnn(-dev)?", CONDA.format("cudnn")),
    ("conda", r"cuda-version", CONDA.format("cuda-version")),
    ("conda", r"cuda-nvcc", CONDA.format("cuda-nvcc")),
    ("conda", r"cuda-cudart-dev|cuda-driver-dev", CONDA.format("cuda-cudart")),
    ("conda", r"cuda-nvrtc", CONDA.format("cuda-nvrtc")),
    ("conda", r"libcublas", CONDA.format("libcublas")),
    ("conda", r"libcusparse", CONDA.format("libcusparse")),
    ("conda", r"libnvjitlink", CONDA.format("libnvjitlink")),
    ("conda", r"cuda-libraries", "https://anaconda.org/nvidia/cuda-libraries"),
    ("conda", r"cxx-compiler", CONDA.format("compilers")),
    ("conda", r"gxx_linux-64", CONDA.format("ctng-compiler-activation")),
    ("conda", r"uv", CONDA.format("uv")),
]


# Options of other software that the documents and messages name, and the page that documents them.
OPTIONS = [
    (r"DeviceAllow|PrivateDevices", "https://www.freedesktop.org/software/systemd/man/latest/systemd.exec.html"),
    (r"SystemCallFilter|Environment=", "https://www.freedesktop.org/software/systemd/man/latest/systemd.exec.html"),
    (r"MemoryMax", "https://www.freedesktop.org/software/systemd/man/latest/systemd.resource-control.html"),
    (r"--gpus|--security-opt|--shm-size", "https://docs.docker.com/reference/cli/docker/container/run/"),
    (r"--runtime[ =]nvidia|NVIDIA_DRIVER_CAPABILITIES|NVIDIA_REQUIRE_CUDA", "https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html"),
    (r"hardware\.graphics\.enable", "https://search.nixos.org/options?query=hardware.graphics.enable"),
]


def unused():
    """Yields the rows of OPTIONS whose options no document or message names."""
    files = [*REPOSITORY.glob("docs/*.md"), *REPOSITORY.glob("build-support/compat/*.txt")]
    files += [*REPOSITORY.glob("build-support/guard/messages/*.rs"), *REPOSITORY.glob("src/messages/*.rs")]
    text = "\n".join(file.read_text() for file in files)
    for options, _ in OPTIONS:
        for option in options.split("|"):
            if not re.search(option, text):
                yield f"no document names {option}"


def undocumented():
    """Yields each package that a command in the documents installs and that PACKAGES does not contain."""
    actions = r"(?:install|reinstall|upgrade|remove|list|mark|hold|-S|-Syu|-Qkk)"
    command = re.compile(rf"`(?:sudo )?(apt|apt-get|apt-mark|dnf|pacman|conda) {actions}\b([^`&;]*)")
    for file in [*sorted(REPOSITORY.glob("docs/*.md")), REPOSITORY / "README.md"]:
        for program, rest in command.findall(file.read_text()):
            program = program.removesuffix("-get").removesuffix("-mark")
            for word in rest.replace("'", "").split():
                name = re.split("[<>=]", word)[0]
                if word in ("|", "grep"):
                    break
                if word.startswith("-") or name in ("conda-forge", "nvidia", "install", "hold", "VERSION"):
                    continue
                if not any(program in row[0].split("|") and re.fullmatch(row[1], name) for row in PACKAGES):
                    yield f"{file.name}: no source for the package `{name}` of {program}"


def cargo_fetch(directory: pathlib.Path, crate: str, version: str) -> None:
    manifest = f'[package]\nname = "claims"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\n{crate} = "{version}"\n'
    (directory / "Cargo.toml").write_text(manifest)
    (directory / "Cargo.lock").unlink(missing_ok=True)
    subprocess.run(["cargo", "fetch", "--quiet"], cwd=directory, check=True)


def numbers(version: str):
    """Returns the numbers of a version, or `None` for other names of versions than release candidates."""
    return tuple(map(int, re.findall(r"\d+", version))) if re.fullmatch(r"[\d.]+(-rc\.\d+)?", version) else None


def sources(crate: str, directory: pathlib.Path):
    """Yields the numbers, name and sources of each version that is read."""
    newest = "*" if crate != "ort-sys" else ">=2.0.0-rc.0"
    cargo_fetch(directory, crate, newest)
    file = f"index/*/.cache/{crate[:2]}/{crate[2:4]}/{crate}"
    index = max(REGISTRY.glob(file), key=lambda file: file.stat().st_mtime)
    listed = [json.loads(row) for row in index.read_bytes().split(b"\0") if row.startswith(b"{")]
    published = [row["vers"] for row in listed if not row["yanked"] and numbers(row["vers"])]
    for text in sorted(published, key=numbers):
        if numbers(text) < OLDEST[crate]:
            continue
        if not list(REGISTRY.glob(f"src/*/{crate}-{text}")):
            cargo_fetch(directory, crate, f"={text}")
        [source, *_] = REGISTRY.glob(f"src/*/{crate}-{text}")
        yield numbers(text), text, source


def check_crate(crate: str, directory: pathlib.Path):
    for version, text, source in sources(crate, directory):
        for name, claim, has, first, last, _ in CLAIMS:
            if name != crate:
                continue
            if has(source) != (first <= version and (last is None or version <= last)):
                yield f"{crate} {text} {claim}: {has(source)}"
    print(f"{crate} was read up to {text}")


def main() -> None:
    statements = [(file, text) for *_, files in CLAIMS for file, text in files.items()]
    statements += [(file, text) for file, text, *_ in FILES]
    problems = [*undocumented(), *unused()]
    for file, text in statements:
        if text not in " ".join((REPOSITORY / file).read_text().split()):
            problems.append(f"{file} does not contain `{text}`, which is checked here")
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        (directory / "src").mkdir()
        (directory / "src/lib.rs").touch()
        for crate in OLDEST:
            problems += check_crate(crate, directory)
    real = os.environ.get("CUDNN_GUARD_REAL")
    for file, text, wheels, has, expected in FILES if real else []:
        roots = list(pathlib.Path(real).glob(wheels))
        if not roots or has(roots) != expected:
            problems.append(f"{file}: `{text}`: {[root.name for root in roots]}")
    print(*problems or ["every claim is true"], sep="\n")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
