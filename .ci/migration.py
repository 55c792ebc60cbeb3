#!/usr/bin/env python3
"""Checks that docs/migration.md names every option of the crates that it covers.

The first column of a crate's table must contain each `pub fn` of the crate's builders. cargo fetches the source of the
version in the table's heading.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs/migration.md"
BUILDERS = {
    "cudaforge": ["KernelBuilder", "PtxOutput"],
    "bindgen_cuda": ["Builder", "Bindings"],
    "cc": ["Build"],
}


def sections() -> dict[str, tuple[str, str]]:
    """Returns the version and the table of each crate."""
    found = {}
    for section in PAGE.read_text().split("\n## ")[1:]:
        heading = re.match(r"From (\w+) (\d+\.\d+\.\d+)\n", section)
        if heading:
            found[heading[1]] = (heading[2], section)
    return found


def named(section: str) -> set[str]:
    """Returns the words in backticks in the first column."""
    cells = [re.split(r"(?<!\\)\|", line)[1] for line in section.splitlines() if line.startswith("|")]
    return {word for cell in cells for code in re.findall(r"`([^`]+)`", cell) for word in re.findall(r"\w+", code)}


def options(source: pathlib.Path, builders: list[str]) -> set[str]:
    """Returns the public functions of the types. rustfmt puts the closing brace of an impl at the start of a line."""
    text = "\n".join(file.read_text() for file in sorted(source.rglob("*.rs")))
    found = set()
    for builder in builders:
        blocks = re.findall(rf"^impl {builder} \{{\n(.*?)^\}}", text, re.MULTILINE | re.DOTALL)
        functions = re.findall(r"^    pub fn (\w+)", "\n".join(blocks), re.MULTILINE)
        if not functions:
            sys.exit(f"found no public functions of {builder} in {source}")
        found.update(functions)
    return found


def main() -> None:
    crates = sections()
    if crates.keys() != BUILDERS.keys():
        sys.exit(f"{PAGE} has tables for {', '.join(crates)}, but this script expects {', '.join(BUILDERS)}")
    with tempfile.TemporaryDirectory() as folder:
        crate = pathlib.Path(folder)
        (crate / "src").mkdir()
        (crate / "src/lib.rs").write_text("")
        dependencies = "".join(f'{name} = "={version}"\n' for name, (version, _) in crates.items())
        manifest = '[package]\nname = "fetched"\nversion = "0.0.0"\nedition = "2024"\n[workspace]\n[dependencies]\n'
        (crate / "Cargo.toml").write_text(manifest + dependencies)
        vendor = ["cargo", "vendor", "--quiet", "--versioned-dirs"]
        subprocess.run(vendor, cwd=crate, check=True, stdout=subprocess.DEVNULL)
        missing, count = [], 0
        for name, (version, section) in crates.items():
            source = crate / f"vendor/{name}-{version}/src"
            all_options = options(source, BUILDERS[name])
            count += len(all_options)
            missing += [f"{name} {version}: `{option}`" for option in sorted(all_options - named(section))]
    for option in missing:
        print(f"docs/migration.md is missing {option}")
    print(f"checked {count} options of {len(crates)} crates")
    sys.exit(bool(missing))


if __name__ == "__main__":
    main()
