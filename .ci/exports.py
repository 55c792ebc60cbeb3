#!/usr/bin/env python3
"""Writes fixtures/exports.txt: the functions that CUDA's libraries export, from the shared libraries given as arguments.

Functions of several releases of a library are united. A library's directory names its release.
"""
import pathlib
import re
import subprocess
import sys

libraries = {}
for argument in sys.argv[1:]:
    path = pathlib.Path(argument)
    table = subprocess.run(["readelf", "--dyn-syms", "-W", path], capture_output=True, text=True, check=True).stdout
    names = set()
    for line in table.splitlines():
        columns = line.split()
        if len(columns) >= 8 and columns[3] in ("FUNC", "IFUNC") and columns[6] != "UND":
            names.add(columns[7].split("@")[0])
    short = re.match(r"lib(\w+)\.so", path.name).group(1)
    releases, known = libraries.setdefault(short, ([], set()))
    releases.append(path.name)
    known.update(names)

with open(pathlib.Path(__file__).parent.parent / "fixtures/exports.txt", "w") as out:
    for short, (releases, names) in sorted(libraries.items()):
        out.write(f"---- {short} {' '.join(sorted(releases))}\n")
        out.write("".join(f"{name}\n" for name in sorted(names)))
