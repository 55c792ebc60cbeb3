#!/usr/bin/env python3
"""Checks that the tests in tests/programs/repository/fault_matrix.txt detect a missing finding.

In a copy of the repository, mutes one finding after the other, by reporting it under another id. Every test that the
matrix names for the finding must then fail. At the end, mutes all findings. For each failure in fixtures/catalogue.txt, a
test that names it must then fail.

To check only some findings, pass their ids as arguments. Tests whose build is in cargo's cache cannot be in the matrix:
the cached build keeps the original id. The script cannot check that a test fails because of the finding at the place in
the matrix, and not because of the same finding elsewhere.
"""

import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
HERE = ROOT / "target/muted"
COPY = HERE / "copy"
MUTED = HERE / "muted"
# The ids under which a muted finding is reported. The second is for findings with the first id.
OTHER, AND_THAT = "FetchFailed", "NoGpu"
MUTE = f"""
fn muted(id: FindingId) -> FindingId {{
    match std::fs::read_to_string("{MUTED}") {{
        Ok(word) if word != id.as_str() && word != "all" => id,
        Ok(_) if id == FindingId::{OTHER} => FindingId::{AND_THAT},
        Ok(_) => FindingId::{OTHER},
        Err(_) => id,
    }}
}}
"""
NUMBER = re.compile(r"\b(?:CFG|CMP|LNK|LOD|VER|SUB|DRV|ARC|NUM)-\d\d\b")
# The failures in fixtures/catalogue.txt that tests detect by something other than the id of a finding.
OTHERWISE = {
    "CFG-08": "by the cudarc feature that the message names",
    "CMP-08": "by the variables that are passed to nvcc, and by its help",
    "CMP-12": "by the targets that nvcc compiles for",
    "LNK-06": "by the directory that is passed to the linker",
    "LNK-12": "by the order of the libraries",
    "LOD-21": "by the message of another finding",
    "SUB-05": "by the end of a process on the simulator",
    "VER-05": "by the names of status codes",
    "VER-09": "by the rule itself; the tests of VER-01 check it in a program",
}
FLAGS = {"lib": ["--lib"]}


def copy():
    """Copies the files, including uncommitted ones, and changes `Finding::new` so that it reads which finding is muted."""
    shutil.rmtree(COPY, ignore_errors=True)
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(listed, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).exists():
            (COPY / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, COPY / name, follow_symlinks=False)
    file = COPY / "build-support/guard/facts/finding.rs"
    text = file.read_text()
    start = text.index("    pub fn new(id: FindingId")
    made = text.index("            id,\n", start)
    file.write_text(text[:made] + "            id: muted(id),\n" + text[made + len("            id,\n") :] + MUTE)


def outcomes(tests):
    """Returns the result of each test: `ok` or `FAILED`."""
    by_program = collections.defaultdict(list)
    for test in tests:
        program, name = test.split(" ")
        by_program[program].append(name)
    found = {}
    for program, names in by_program.items():
        command = ["cargo", "test", "--quiet", *FLAGS.get(program, ["--test", program])]
        command += ["--", "--exact", "--format=pretty", *names]
        environment = {**os.environ, "CARGO_TARGET_DIR": str(HERE / "target")}
        ran = subprocess.run(command, cwd=COPY, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        # A test may start another test program, whose output is ignored.
        results = re.findall(r"^test (\S+) \.\.\. (ok|FAILED)$", ran.stdout, re.MULTILINE)
        found.update({f"{program} {name}": outcome for name, outcome in results if name in names})
        if not {f"{program} {name}" for name in names} <= found.keys():
            sys.exit(f"{' '.join(command)} did not run all tests:\n{ran.stdout[-2000:]}{ran.stderr[-4000:]}")
    return found


def numbered(text):
    """Returns the tests of a file with the numbers of fixtures/catalogue.txt in their doc comments, except ignored tests."""
    comment, below, attributes = "", "", []
    for line in map(str.strip, text.splitlines()):
        if line.startswith("///"):
            comment += line
        elif line.startswith("#["):
            attributes.append(line)
        else:
            name = re.match(r"fn (\w+)", line)
            if name and "#[test]" in attributes and not any(one.startswith("#[ignore") for one in attributes):
                yield below + name[1], NUMBER.findall(comment)
            below = "tests::" if line == "mod tests {" else below
            comment, attributes = "", []


def catalogue():
    """Returns the numbers for which no test fails when all findings are muted, and no case expects a finding."""
    tests, shown = collections.defaultdict(list), set()
    for file in [*ROOT.glob("src/**/*.rs"), *ROOT.glob("tests/**/*.rs")]:
        place = file.relative_to(ROOT).with_suffix("").as_posix().removesuffix("/mod")
        for start, program in [("src/", "lib"), ("tests/programs/", "programs"), ("tests/", "")]:
            if place.startswith(start):
                break
        module = place.removeprefix(start)
        program = program or module.split("/")[0]
        module = "" if module == program else module.replace("/", "::") + "::"
        for name, numbers in numbered(file.read_text()):
            # The test of cudarc requires a feature that is not enabled here.
            if numbers and program != "cudarc":
                tests[f"{program} {module}{name}"] += numbers
    for file in ROOT.glob("fixtures/cases/*.txt"):
        text = file.read_text()
        for case in text.split("\n[case "):
            second = case.splitlines()[1 + text.startswith("[case ")]
            if re.search(r"  \[[a-z-]+\]$", case.split("[expected]")[-1], re.MULTILINE):
                shown.update(NUMBER.findall(second))
    MUTED.write_text("all")
    for test, outcome in outcomes(tests).items():
        if outcome == "FAILED":
            shown.update(tests[test])
    lines = (ROOT / "fixtures/catalogue.txt").read_text().splitlines()
    return {line.split("\t")[0] for line in lines if line.endswith("\ttest")} - shown


def main():
    cells = collections.defaultdict(lambda: collections.defaultdict(list))
    for line in (ROOT / "tests/programs/repository/fault_matrix.txt").read_text().splitlines():
        id, place, test = line.split("\t")
        if not test.startswith("never: ") and (not sys.argv[1:] or id in sys.argv[1:]):
            cells[id][test].append(place)
    copy()
    MUTED.write_text("nothing")
    started = time.monotonic()
    every = sorted({test for tests in cells.values() for test in tests})
    failing = [test for test, outcome in outcomes(every).items() if outcome != "ok"]
    if failing:
        sys.exit("these tests fail although nothing is muted:\n" + "\n".join(failing))
    wrong = []
    for id, tests in cells.items():
        MUTED.write_text(id)
        for test, outcome in outcomes(tests).items():
            if outcome == "ok":
                wrong.append(f"{id} at {', '.join(tests[test])}: `{test}` passes although the finding is muted")
    if not sys.argv[1:]:
        left = catalogue()
        wrong += [f"{number}: no test that names it fails without findings" for number in sorted(left - OTHERWISE.keys())]
        wrong += [f"{number}: remove it from OTHERWISE" for number in sorted(OTHERWISE.keys() - left)]
    for line in wrong:
        print(line)
    print(f"{len(cells)} findings, {len(every)} tests, {time.monotonic() - started:.0f} s")
    sys.exit(bool(wrong))


main()
