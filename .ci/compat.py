#!/usr/bin/env python3
"""Adds NVIDIA's builds of cuDNN to the tables in build-support/compat.

    python3 .ci/compat.py WHEEL...
    python3 .ci/compat.py            (lists the wheels on PyPI that are missing from the tables, and writes cudnn-wheels.txt)

Each WHEEL is a file `nvidia_cudnn_*.whl` or a directory that was made by `pip install --target`.

build-ids.txt: each library adds one row: its GNU build-id, the name of the sub-library (`cudnn` is the library that
programs open) and the version. If several versions have the same build-id, the row contains all of them. A library
with a version symbol has no row: the symbol determines its version. `ext` has none either: most patch versions ship the
file of the previous version, so its build-id does not determine the version.

A wheel for Windows only adds the row of its device code.

cudnn-gpus.txt: each wheel adds one row: the device code that supports a GPU in all core sub-libraries, according to the
headers of their fatbins. If a neighboring version has the same code, its row is extended instead.

cudnn-wheels.txt: the versions of each wheel on PyPI, for the commands that install one.

To update by hand after a release: drivers.txt from CUDA's release notes and `ptxas --help`, and known-bad.txt from bug
reports. `cargo test --lib compat::tests` checks that every row is complete.
"""

import mmap
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
from typing import BinaryIO

COMPAT = pathlib.Path(__file__).resolve().parent.parent / "build-support/compat"
TABLE = COMPAT / "build-ids.txt"
GPUS = COMPAT / "cudnn-gpus.txt"
WHEELS = COMPAT / "cudnn-wheels.txt"
WHEELS_HEADER = """\
# NVIDIA's wheels of cuDNN: name, versions.
# Source: `pip index versions` for each name. Written by .ci/compat.py.
"""
HEADER = """\
# The GNU build-ids of NVIDIA's builds of cuDNN for Linux: build-id, sub-library, versions.
# Source: the wheels nvidia-cudnn-cu11, -cu12 and -cu13 on PyPI. Written by .ci/compat.py.
# Libraries with a version symbol are absent.
"""
NAME = re.compile(r"(?:.*/)?nvidia/cudnn/lib/libcudnn(?:_(\w+))?\.so\.\d+$")
DLL = re.compile(r"(?:.*/)?nvidia/cudnn/bin/cudnn(?:_(\w+))?64_\d+\.dll$")
WHEEL = re.compile(r"nvidia_cudnn_cu(\d+)-(\d+)\.(\d+)\.(\d+)\.\d+[-.]")
# The sub-libraries with a version symbol, as in build-support/guard/facts/sub_libraries.rs, and `ext`.
WITHOUT_ROW = re.compile(r"(graph|ops|adv|(ops|cnn|adv)_infer|ops_train|ext)$")
# The sub-libraries that every GPU needs. engines_precompiled still has code for GPUs that the others no longer support.
CORE = re.compile(r"(ops|cnn|adv)(_infer|_train)?$|engines_runtime_compiled$")
LETTERS = ["", "f", "a"]  # The suffixes of targets, from the most compatible to the least compatible.
MAGIC = bytes.fromhex("50ed55ba")  # of a fatbin
NT_GNU_BUILD_ID = 3
SHT_NOTE = 7


def build_id(library: BinaryIO) -> str | None:
    """Reads the note of a 64-bit little-endian ELF file by its sections: some sub-libraries have a wrong segment."""
    head = library.read(64)
    start, size, count = (struct.unpack_from(form, head, at)[0] for form, at in (("<Q", 40), ("<H", 58), ("<H", 60)))
    for index in range(count):
        library.seek(start + index * size)
        _, kind, _, _, begin, length = struct.unpack("<IIQQQQ", library.read(40))
        if kind != SHT_NOTE:
            continue
        library.seek(begin)
        note = library.read(length)
        name, words, kind = struct.unpack_from("<III", note)
        if (name, kind) == (4, NT_GNU_BUILD_ID) and note[12:16] == b"GNU\0":
            return note[16 : 16 + words].hex()
    return None


def wheel(path: pathlib.Path) -> tuple[list[tuple[str, str, str]], tuple]:
    """Returns the rows of a wheel: those of its libraries, and the row of its device code."""
    if path.is_file():
        archive = zipfile.ZipFile(path)
        names = archive.namelist()
        opened = archive.open
    else:
        names = [str(file.relative_to(path)) for file in path.rglob("*") if not file.is_dir()]
        names += [f"{file.name}/" for file in path.glob("nvidia_cudnn*.dist-info")]
        opened = lambda name: (path / name).open("rb")
    [(cuda, *release)] = {found.groups() for name in names if (found := WHEEL.match(name))}
    release = ".".join(release)
    libraries = [(name, found[1] or "cudnn") for name in names if (found := NAME.match(name))]
    rows = [(build_id(opened(name)), part, release) for name, part in libraries]
    libraries += [(name, found[1] or "cudnn") for name in names if (found := DLL.match(name))]
    core = [name for name, part in libraries if CORE.match(part)]
    code = sorted(common([device_code(opened(name)) for name in core]), key=order)
    cpu = built_for(opened(core[0]).read(1024))
    builds = [row for row in rows if row[0] and not WITHOUT_ROW.match(row[1])]
    return builds, (release, cuda, cpu, " ".join(code))


def built_for(head: bytes) -> str:
    if head.startswith(b"MZ"):
        at = struct.unpack_from("<I", head, 60)[0]
        return {0x8664: "x86_64", 0xAA64: "aarch64-windows"}[struct.unpack_from("<H", head, at + 4)[0]]
    return {62: "x86_64", 183: "aarch64"}[struct.unpack_from("<H", head, 18)[0]]


def device_code(library: BinaryIO) -> set[str]:
    """Returns the targets in the fatbins of a library, such as `sm_90a` and `compute_120f`. Reads only their headers."""
    with tempfile.TemporaryFile() as copy:
        shutil.copyfileobj(library, copy)
        copy.flush()
        data = mmap.mmap(copy.fileno(), 0, access=mmap.ACCESS_READ)
        found: set[str] = set()
        at = data.find(MAGIC)
        while at >= 0:
            _, version, head, size = struct.unpack_from("<IHHQ", data, at)
            entry, end = at + head, at + head + size
            if (version, head) != (1, 16) or end > len(data):
                at = data.find(MAGIC, at + 4)
                continue
            while entry < end:
                kind, _, head, size = struct.unpack_from("<HHIQ", data, entry)
                arch, flags = struct.unpack_from("<I8xQ", data, entry + 28)
                letter = "a" if flags & 1 << 20 else "f" if flags & 1 << 21 else ""
                if kind in (1, 2):
                    found.add(f"{'compute' if kind == 1 else 'sm'}_{arch}{letter}")
                entry += head + size
            at = data.find(MAGIC, end)
        return found


def common(parts: list[set[str]]) -> set[str]:
    """Returns the targets that support a GPU in every sub-library, like src/cudnn/device_code/gpu_code.rs."""
    parts = [part for part in parts if part]
    held = set.intersection(*parts)
    covered = lambda target, part: any(covers(one, target) for one in part)
    rest = {target for target in set.union(*parts) if not covered(target, held)}
    return held | {target for target in rest if all(covered(target, part) for part in parts)}


def covers(one: str, target: str) -> bool:
    """Returns `True` if code for `one` runs on every GPU that runs code for `target`."""
    (ptx, number, letter), (is_ptx, wanted, its_letter) = order(one), order(target)
    if ptx != is_ptx or LETTERS.index(letter) > LETTERS.index(its_letter):
        return False
    same_major = number // 10 == wanted // 10 and number <= wanted
    return number == wanted or letter != "a" and same_major or ptx and not letter and number <= wanted


def order(target: str) -> tuple[bool, int, str]:
    found = re.fullmatch(r"(sm|compute)_(\d+)([af]?)", target)
    return found[1] == "compute", int(found[2]), found[3]


def add_gpus(release: str, cuda: str, cpu: str, code: str) -> None:
    lines = GPUS.read_text().splitlines()
    header = [line for line in lines if line.startswith("#")]
    rows = [line.split(" ", 4) for line in lines if not line.startswith("#")]
    of_this = sorted((row for row in rows if row[2:4] == [cuda, cpu]), key=lambda row: numbers(row[0]))
    new = numbers(release)
    within = [row for row in of_this if numbers(row[0]) <= new <= numbers(row[1])]
    before = [row for row in of_this if numbers(row[1]) < new][-1:]
    after = [row for row in of_this if numbers(row[0]) > new][:1]
    if within:
        if within[0][4] != code:
            sys.exit(f"cuDNN {release} for CUDA {cuda} on {cpu} contains `{code}`, but its row has `{within[0][4]}`")
    elif before and before[0][4] == code:
        before[0][1] = release
    elif after and after[0][4] == code:
        after[0][0] = release
    else:
        rows.append([release, release, cuda, cpu, code])
    rows.sort(key=lambda row: (int(row[2]), numbers(row[0]), row[3] != "x86_64"))
    GPUS.write_text("".join(f"{line}\n" for line in header + [" ".join(row) for row in rows]))


def read() -> dict[tuple[str, str], set[str]]:
    rows: dict[tuple[str, str], set[str]] = {}
    for line in TABLE.read_text().splitlines() if TABLE.exists() else []:
        if not line.startswith("#"):
            known, part, *releases = line.split()
            rows[known, part] = set(releases)
    return rows


def numbers(release: str) -> list[int]:
    return [int(number) for number in release.split(".")]


def lacking(rows: dict[tuple[str, str], set[str]]) -> list[str]:
    """Returns the wheels on PyPI without a build-id of their version, or without the GPUs of their version and CUDA."""
    known = {release for releases in rows.values() for release in releases}
    gpus = [line.split(" ")[:3] for line in GPUS.read_text().splitlines() if not line.startswith("#")]

    def is_known(cuda: str, release: str) -> bool:
        within = lambda row: row[2] == cuda and numbers(row[0]) <= numbers(release) <= numbers(row[1])
        return release in known and any(map(within, gpus))

    found = []
    for cuda in ("11", "12", "13"):
        name = f"nvidia-cudnn-cu{cuda}"
        found += [f"{name}=={version}" for version in published(name) if not is_known(cuda, version.rsplit(".", 1)[0])]
    return found


def published(name: str) -> list[str]:
    command = [sys.executable, "-m", "pip", "index", "versions", name]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return re.search(r"^Available versions: (.*)$", listing, re.MULTILINE).group(1).split(", ")


def write_wheels() -> None:
    rows = []
    for kind in ("cu11", "cu12", "cu13", "jit-cu12", "jit-cu13"):
        name = f"nvidia-cudnn-{kind}"
        releases = {version.rsplit(".", 1)[0] for version in published(name)}
        rows.append(" ".join([name, *sorted(releases, key=numbers)]))
    WHEELS.write_text(WHEELS_HEADER + "".join(f"{row}\n" for row in rows))


def main() -> None:
    rows = read()
    if not sys.argv[1:]:
        write_wheels()
        print(*lacking(rows), sep="\n")
        return
    for argument in sys.argv[1:]:
        builds, gpus = wheel(pathlib.Path(argument))
        add_gpus(*gpus)
        for known, part, release in builds:
            rows.setdefault((known, part), set()).add(release)
    lines = [f"{known} {part} {' '.join(sorted(rows[known, part], key=numbers))}\n" for known, part in sorted(rows)]
    TABLE.write_text(HEADER + "".join(lines))
    print(f"{len(lines)} builds in {TABLE}")


if __name__ == "__main__":
    main()
