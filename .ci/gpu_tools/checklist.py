"""The checklist of a first run on a GPU: every set-up that must stay silent, every fault that must be found."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

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
COPIES, ROUNDS = 8, 20
ENGINES = ["format", "heuristic", "engine", "plan", "run", "numbers that differ", "largest error", "workspace, bytes",
           "ms to plan", "ms to run", "numerical notes", "behaviour notes"]


class Checklist:
    """`start` runs the program, as `Machine.start` does; what ended otherwise than it should is in `bad`."""

    def __init__(self, folder: pathlib.Path, machine, table) -> None:
        self.folder, self.machine, self.table = folder, machine, table
        self.rows: list[list[str]] = []
        self.bad: list[str] = []

    def sound(self, name: str, *arguments: str, places=None, **variables: str) -> None:
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

    def tables(self) -> str:
        """Everything, as Markdown."""
        return "".join([self.set_ups(), self.memory(), self.copies(), self.planted(), self.engines()])

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
                             ("cuinit", "cuInit was called"), ("fork", "cuInit was called, then fork"),
                             ("threads", "50 threads run")]:
            self.sound(name, LD_PRELOAD=preload, GPU_PARENT=parent)
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

    def copies(self) -> str:
        ended: dict[str, int] = {}
        slowest = 0.0
        for _ in range(ROUNDS):
            for code, _, seconds, report in self.machine.start_all(COPIES):
                ids = ", ".join(it["id"] for it in report.get("findings", []))
                row = f"{code}\t{report.get('verdict')}\t{ids}"
                ended[row] = ended.get(row, 0) + 1
                slowest = max(slowest, seconds)
                if code == 78:
                    self.bad.insert(0, f"FALSE ALARM: ONE OF {COPIES} COPIES ENDED WITH 78, {ids}")
        rows = [[*row.split("\t"), str(times)] for row, times in ended.items()]
        head = f"\n## {COPIES} copies at once, {ROUNDS} times; the slowest took {slowest:.1f} s\n\n"
        return head + self.table(["ended with", "verdict", "findings", "times"], rows)

    def planted(self) -> str:
        preload = str(self.folder / "preload.so")
        for fault, name, expected in [("number", "one number differs", 78), ("nothing", "nothing is written", 78),
                                      ("past", "a word behind the result is written", 78),
                                      ("once", "refused once", 0), ("always", "refused always", 78)]:
            mark = self.folder / "mark"
            mark.unlink(missing_ok=True)
            self.fault(name, expected, LD_PRELOAD=preload, GPU_FAULT=fault, GPU_MARK=str(mark))
        return self.flush("Faults at the calls")

    def engines(self) -> str:
        environment = dict(os.environ, LD_LIBRARY_PATH=":".join(self.machine.places))
        program = self.folder / "engines"
        os.chmod(program, 0o755)
        done = subprocess.run([str(program)], capture_output=True, text=True, env=environment, timeout=200)
        rows = [line.split("\t") for line in done.stdout.splitlines()]
        if done.returncode != 0:
            self.bad.append(f"engines ended with {done.returncode}: {done.stderr.strip()}")
        return "\n## Every engine that is offered, forced\n\n" + self.table(ENGINES, rows)


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
