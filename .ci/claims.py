#!/usr/bin/env python3
"""Checks statements about ranges of versions of cudarc against the sources of every version since 0.11.

    python3 .ci/claims.py

cargo downloads the versions to its registry. A row of CLAIMS is a property of the sources, the first and the last version
that has it, and the statements of this repository that depend on it.
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
OLDEST = (0, 11, 0)

CLAIMS = [
    (
        "looks up all functions of a library when it opens the library, and panics if one is missing",
        lambda source: "fn from_library" in source and "Expected symbol in library" in source,
        "src/driver/sys/mod.rs",
        (0, 15, 0),
        (0, 19, 4),
        {
            "build-support/guard/loader/cudarc_eager.rs": "cudarc 0.15 to 0.19.4 that loads the driver itself",
            "build-support/guard/messages/loading.rs": "cudarc 0.19.5 or later, which looks up only the functions",
            "docs/findings.md": "cudarc 0.15 to 0.19.4 with `dynamic-loading` looks up all",
        },
    ),
    (
        "opens libcudnn.so.9",
        lambda source: '{DLL_SUFFIX}.9"' in source,
        "src/lib.rs",
        (0, 19, 2),
        None,
        {
            "docs/findings.md": "cudarc before 0.19.2: update it",
            "docs/linking.md": "Before 0.19.2, it does not search for `libcudnn.so.9` at all",
            "build-support/compat/messages.txt": "Before cudarc 0.19.2, `libcudnn.so.9` is not one of them",
        },
    ),
    (
        "opens libcuda.so.1",
        lambda source: '{DLL_SUFFIX}.1"' in source,
        "src/lib.rs",
        (0, 13, 1),
        None,
        {"build-support/guard/messages/driver.rs": "cudarc before 0.13.1, also need a link"},
    ),
    (
        "opens names that end in 64_11",
        lambda source: '{pointer_width}_11{DLL_SUFFIX}"' in source,
        "src/lib.rs",
        (0, 18, 2),
        None,
        {"build-support/guard/loader/library_names.rs": "`libcudnn64_11.so` in 0.18.2"},
    ),
]


def cargo_fetch(directory: pathlib.Path, version: str) -> None:
    manifest = f'[package]\nname = "claims"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\ncudarc = "{version}"\n'
    (directory / "Cargo.toml").write_text(manifest)
    (directory / "Cargo.lock").unlink(missing_ok=True)
    subprocess.run(["cargo", "fetch", "--quiet"], cwd=directory, check=True)


def main() -> None:
    problems = []
    for name, _, _, _, _, statements in CLAIMS:
        for file, statement in statements.items():
            if statement not in (REPOSITORY / file).read_text():
                problems.append(f"{file} does not contain `{statement}`, which depends on: cudarc {name}")
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        (directory / "src").mkdir()
        (directory / "src/lib.rs").touch()
        cargo_fetch(directory, "*")
        index = max(REGISTRY.glob("index/*/.cache/cu/da/cudarc"), key=lambda file: file.stat().st_mtime)
        listed = [json.loads(row) for row in index.read_bytes().split(b"\0") if row.startswith(b"{")]
        published = [row["vers"] for row in listed if not row["yanked"] and re.fullmatch(r"[\d.]+", row["vers"])]
        versions = sorted(tuple(map(int, version.split("."))) for version in published)
        for version in versions:
            if version < OLDEST:
                continue
            text = ".".join(map(str, version))
            if not list(REGISTRY.glob(f"src/*/cudarc-{text}")):
                cargo_fetch(directory, f"={text}")
            [source, *_] = REGISTRY.glob(f"src/*/cudarc-{text}")
            for name, has, file, first, last, _ in CLAIMS:
                path = source / file
                found = path.is_file() and has(path.read_text())
                if found != (first <= version and (last is None or version <= last)):
                    problems.append(f"cudarc {text} {name}: {found}")
    print(*problems or [f"every claim is true for the versions up to {text}"], sep="\n")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
