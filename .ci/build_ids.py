#!/usr/bin/env python3
"""Adds NVIDIA's builds of cuDNN to build-support/compat/build-ids.txt.

    python3 .ci/build_ids.py WHEEL...

Each WHEEL is a file `nvidia_cudnn_*.whl` or a folder that `pip install --target` made. Every library in it gives one
row: its GNU build-id, the part's name (`cudnn` is the library that programs open) and the release. One build-id may
stand for several releases: the row then names them all.
"""

import pathlib
import re
import struct
import sys
import zipfile
from typing import BinaryIO

TABLE = pathlib.Path(__file__).resolve().parent.parent / "build-support/compat/build-ids.txt"
HEADER = """\
# The GNU build-ids of NVIDIA's builds of cuDNN for Linux: build-id, part, releases.
# Source: the wheels nvidia-cudnn-cu11, -cu12 and -cu13 on PyPI. Written by .ci/build_ids.py.
"""
NAME = re.compile(r"(?:.*/)?nvidia/cudnn/lib/libcudnn(?:_(\w+))?\.so\.\d+$")
WHEEL = re.compile(r"nvidia_cudnn\w*-(\d+)\.(\d+)\.(\d+)\.\d+[-.]")
NT_GNU_BUILD_ID = 3
SHT_NOTE = 7


def build_id(library: BinaryIO) -> str | None:
    """Reads the note of a 64-bit little-endian ELF file by its sections: in some parts the segment leads astray."""
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


def wheel(path: pathlib.Path) -> list[tuple[str, str, str]]:
    """The rows of one wheel."""
    if path.is_file():
        archive = zipfile.ZipFile(path)
        names = archive.namelist()
        opened = archive.open
    else:
        names = [str(file.relative_to(path)) for file in path.rglob("*") if not file.is_dir()]
        names += [f"{file.name}/" for file in path.glob("nvidia_cudnn*.dist-info")]
        opened = lambda name: (path / name).open("rb")
    [release] = {".".join(found.groups()) for name in names if (found := WHEEL.match(name))}
    libraries = [(name, found[1] or "cudnn") for name in names if (found := NAME.match(name))]
    rows = [(build_id(opened(name)), part, release) for name, part in libraries]
    return [row for row in rows if row[0]]


def read() -> dict[tuple[str, str], set[str]]:
    rows: dict[tuple[str, str], set[str]] = {}
    for line in TABLE.read_text().splitlines() if TABLE.exists() else []:
        if not line.startswith("#"):
            known, part, *releases = line.split()
            rows[known, part] = set(releases)
    return rows


def numbers(release: str) -> list[int]:
    return [int(number) for number in release.split(".")]


def main() -> None:
    rows = read()
    for argument in sys.argv[1:] or sys.exit(__doc__):
        for known, part, release in wheel(pathlib.Path(argument)):
            rows.setdefault((known, part), set()).add(release)
    lines = [f"{known} {part} {' '.join(sorted(rows[known, part], key=numbers))}\n" for known, part in sorted(rows)]
    TABLE.write_text(HEADER + "".join(lines))
    print(f"{len(lines)} builds in {TABLE}")


if __name__ == "__main__":
    main()
