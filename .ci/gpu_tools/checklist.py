"""The checklist of a first run on a GPU: every set-up that must stay silent, every fault that must be found."""

import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

HOG = """import ctypes, sys
cuda, left = ctypes.CDLL("libcuda.so.1"), int(sys.argv[1]) << 20
device, context, pointer = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64()
free, total = ctypes.c_size_t(), ctypes.c_size_t()
assert cuda.cuInit(0) == 0 and cuda.cuDeviceGet(ctypes.byref(device), 0) == 0
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0
assert cuda.cuCtxPushCurrent_v2(context) == 0
while True:
    assert cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)) == 0
    piece = min(free.value - left, 1 << 30) >> 21 << 21
    if piece <= 0 or cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(piece)) != 0:
        break
print(free.value >> 20, flush=True)
sys.stdin.read()
"""
FREE = [2000, 1000, 500, 300, 200, 100, 50, 10]
# So many at once, so many times.
COPIES = [(8, 20), (64, 1)]
ENGINES = ["convolution", "heuristic", "engine", "plan", "run", "numbers that differ", "largest error",
           "in units of (K + 2) u m", "workspace, bytes", "ms to plan", "ms to run", "numerical notes", "behavior notes"]
# Seconds for one engine.
ENGINE_DEADLINE = 60


class Checklist:
    """`start` runs the program, as `Machine.start` does; what ended otherwise than it should goes to `bad`."""

    def __init__(self, folder: pathlib.Path, machine, table, bad: list[str]) -> None:
        self.folder, self.machine, self.table, self.bad = folder, machine, table, bad
        self.rows: list[list[str]] = []

    def sound(self, name: str, *arguments: str, places=None, **variables) -> None:
        """A set-up that must not stop the program."""
        code, _, seconds, report = self.machine.start("row.json", places or self.machine.places, *arguments, **variables)
        ids = ", ".join(it["id"] for it in report.get("findings", []))
        self.rows.append([name, str(code), str(report.get("verdict")), f"{seconds:.2f}", ids])
        if code == 78:
            self.bad.insert(0, f"FALSE ALARM: {name.upper()} ENDED WITH 78, {ids}")
        elif code != 0:
            self.bad.append(f"{name} ended with {code}")

    def fault(self, name: str, expected: int, **variables: str) -> None:
        """A fault that is planted at the calls."""
        code, said, seconds, report = self.machine.start("row.json", self.machine.places, **variables)
        ids = ", ".join(it["id"] for it in report.get("findings", []))
        self.rows.append([name, str(code), str(report.get("verdict")), f"{seconds:.2f}", ids])
        if code != expected:
            self.bad.append(f"planted: {name} ended with {code}, not with {expected}: {said.splitlines()[:1]}")

    def flush(self, title: str) -> str:
        rows, self.rows = self.rows, []
        return f"\n## {title}\n\n" + self.table(["set-up", "ended with", "verdict", "seconds", "findings"], rows)

    def set_ups(self) -> str:
        with tempfile.TemporaryDirectory() as cache:
            self.sound("cold: empty cache, the default deadline", CUDA_CACHE_PATH=cache, CUDNN_GUARD_DEADLINE="")
        for name, value in [("NVIDIA_TF32_OVERRIDE", "0"), ("NVIDIA_TF32_OVERRIDE", "1"), ("CUDA_MODULE_LOADING", "LAZY"),
                            ("CUDA_MODULE_LOADING", "EAGER"), ("CUDA_LAUNCH_BLOCKING", "1"), ("CUDA_CACHE_DISABLE", "1")]:
            self.sound(f"{name}={value}", **{name: value})
        self.sound("NVIDIA_TF32_OVERRIDE=1, all kinds", "thorough", NVIDIA_TF32_OVERRIDE="1")
        preload = str(self.folder / "preload.so")
        for parent, name in [("libcuda", "libcuda is open already"), ("nvml", "NVML is started"),
                             ("cuinit", "cuInit was called"), ("threads", "50 threads run")]:
            self.sound(name, LD_PRELOAD=preload, GPU_PARENT=parent)
        # Such a process has no GPU that it could use.
        self.sound("cuInit was called, then fork", LD_PRELOAD=preload, GPU_PARENT="fork", CUDNN_GUARD_REQUIRE_GPU="")
        for uuid in re.findall(r"UUID: ([^)]+)", output(["nvidia-smi", "-L"])):
            self.sound("CUDA_VISIBLE_DEVICES=UUID", CUDA_VISIBLE_DEVICES=uuid)
        with tempfile.TemporaryDirectory() as pipe:
            # As a daemon that was stopped leaves it: it listens, and answers nobody.
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stopped:
                stopped.bind(f"{pipe}/control")
                stopped.listen(0)
                self.sound("an MPS daemon that does not answer", CUDA_MPS_PIPE_DIRECTORY=pipe)
            self.sound("an MPS daemon that is gone", CUDA_MPS_PIPE_DIRECTORY=pipe)
        for library in ["libnvrtc", "libcublasLt"]:
            with tempfile.TemporaryDirectory() as scratch:
                self.sound(f"without {library}", places=without(library, self.machine.places, pathlib.Path(scratch)))
        sanitizer = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
        if os.path.exists(sanitizer):
            self.sound("compute-sanitizer", under=[sanitizer, "--target-processes", "all", "--error-exitcode", "9"])
        return self.flush("Sound set-ups")

    def memory(self) -> str:
        for left in FREE:
            environment = dict(os.environ, LD_LIBRARY_PATH=":".join(self.machine.places))
            hog = subprocess.Popen([sys.executable, "-c", HOG, str(left)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   text=True, env=environment)
            free = hog.stdout.readline().strip()
            self.sound(f"{left} MiB of the GPU's memory free ({free or 'not filled'} by CUDA's count)")
            hog.communicate()
        return self.flush("Little memory")

    def limits(self) -> str:
        """Limits of the process, as containers and schedulers set them."""
        for limit in ["--nofile=64", "--stack=1048576", "--core=0", "--memlock=65536"]:
            self.sound(f"prlimit {limit}", under=["prlimit", limit])
        return self.flush("Limits of the process")

    def releases(self, folders: list[str]) -> str:
        """Other releases of cuDNN, whole, each before all others."""
        for folder in folders:
            self.sound(f"the cuDNN in {folder}", places=[folder, *self.machine.places])
        return self.flush("Other releases of cuDNN") if folders else ""

    def copies(self) -> str:
        return "".join(self.at_once(copies, rounds) for copies, rounds in COPIES)

    def at_once(self, copies: int, rounds: int) -> str:
        ended: dict[str, int] = {}
        slowest = 0.0
        for _ in range(rounds):
            for code, _, seconds, report in self.machine.start_all(copies):
                ids = ", ".join(it["id"] for it in report.get("findings", []))
                row = f"{code}\t{report.get('verdict')}\t{ids}"
                ended[row] = ended.get(row, 0) + 1
                slowest = max(slowest, seconds)
                if code == 78:
                    self.bad.insert(0, f"FALSE ALARM: ONE OF {copies} COPIES ENDED WITH 78, {ids}")
        rows = [[*row.split("\t"), str(times)] for row, times in ended.items()]
        head = f"\n## {copies} copies at once; of {rounds} times the slowest took {slowest:.1f} s\n\n"
        return head + self.table(["ended with", "verdict", "findings", "times"], rows)

    def child(self) -> str:
        """The most memory of the child, as others see it, and of the GPU with it."""
        program = self.machine.begin(self.folder / "child.json", self.machine.places,
                                     [str(self.folder / "application"), "startup"], {})
        resident, gpu, clock = 0, 0, time.monotonic()
        while program.poll() is None and time.monotonic() - clock < 300:
            for process in children(program.pid):
                resident = max(resident, high_water(process))
                used = re.findall(rf"^{process}, (\d+)", output(["nvidia-smi", "--query-compute-apps=pid,used_memory",
                                                                "--format=csv,noheader,nounits"]), re.MULTILINE)
                gpu = max([gpu, *map(int, used)])
            time.sleep(0.005)
        program.communicate()
        rows = [["resident, MiB", f"{resident / 1024:.0f}"], ["of the GPU, MiB", str(gpu or "not told")]]
        return "\n## Memory of the child, at most\n\n" + self.table(["what", ""], rows)

    def planted(self) -> str:
        preload = str(self.folder / "preload.so")
        for fault, name, expected in [("number", "one number differs", 78), ("nothing", "nothing is written", 78),
                                      ("past", "a word right behind the result is written", 0),
                                      ("far", "a word 768 bytes behind the result is written", 78),
                                      ("once", "refused once", 0), ("always", "refused always", 78)]:
            mark = self.folder / "mark"
            mark.unlink(missing_ok=True)
            self.fault(name, expected, LD_PRELOAD=preload, GPU_FAULT=fault, GPU_MARK=str(mark))
        return self.flush("Faults at the calls")

    def engines(self) -> str:
        """Each in a process of its own, since one that crashes or hangs would take the others along."""
        environment = dict(os.environ, LD_LIBRARY_PATH=":".join(self.machine.places))
        program = self.folder / "engines"
        os.chmod(program, 0o755)

        def run(*arguments: str) -> tuple[str, str]:
            try:
                done = subprocess.run([str(program), *arguments], capture_output=True, text=True, env=environment,
                                      timeout=ENGINE_DEADLINE)
            except subprocess.TimeoutExpired:
                return "", f"not done after {ENGINE_DEADLINE} s"
            return done.stdout, "" if done.returncode == 0 else f"ended with {done.returncode}: {done.stderr.strip()}"

        offered, failed = run()
        rows = []
        if failed:
            self.bad.append(f"engines: {failed}")
        for line in offered.splitlines():
            said, failed = run(*line.split())
            row = said.splitlines()[-1].split("\t") if said else [f"engine {line}"]
            rows.append(row + [""] * (len(ENGINES) - len(row)))
            if failed:
                self.bad.append(f"engine {line}: {failed}")
        return "\n## Every engine that is offered, forced\n\n" + self.table(ENGINES, rows)


def output(command: list[str]) -> str:
    """What a program prints; nothing where it is not there."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=60).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


def children(process: int) -> list[int]:
    try:
        text = pathlib.Path(f"/proc/{process}/task/{process}/children").read_text()
    except OSError:
        return []
    return [int(child) for child in text.split()]


def high_water(process: int) -> int:
    """KiB of memory that a process had at most."""
    try:
        text = pathlib.Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0
    found = re.search(r"^VmHWM:\s*(\d+)", text, re.MULTILINE)
    return int(found[1]) if found else 0


def without(library: str, places: list[str], scratch: pathlib.Path) -> list[str]:
    """The same folders with links to all that is in them, but for this library."""
    found = []
    for number, place in enumerate(places):
        folder = scratch / str(number)
        folder.mkdir()
        for file in pathlib.Path(place).iterdir():
            if not file.name.startswith(library):
                (folder / file.name).symlink_to(file)
        found.append(str(folder))
    return found
