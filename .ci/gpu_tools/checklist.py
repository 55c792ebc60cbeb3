"""The checklist of a first run on a GPU: every setup that must pass, and every fault that must be detected."""

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
# The number of copies at once, and how often they are started.
COPIES = [(8, 20), (64, 1)]
ENGINES = ["convolution", "heuristic", "engine", "plan", "run", "different numbers", "largest error",
           "in units of (K + 2) u m", "workspace, bytes", "ms to plan", "ms to run", "numerical notes", "behavior notes"]
# The time limit for one engine, in seconds.
ENGINE_DEADLINE = 60


class Checklist:
    """Runs the program with different setups and faults. Failures are added to `bad`."""

    def __init__(self, folder: pathlib.Path, machine, table, bad: list[str]) -> None:
        self.folder, self.machine, self.table, self.bad = folder, machine, table, bad
        self.rows: list[list[str]] = []

    def sound(self, name: str, *arguments: str, places=None, **variables) -> None:
        """Runs a setup that must not stop the program."""
        code, _, seconds, report = self.machine.start("row.json", places or self.machine.places, *arguments, **variables)
        ids = ", ".join(it["id"] for it in report.get("findings", []))
        self.rows.append([name, str(code), str(report.get("verdict")), f"{seconds:.2f}", ids])
        if code == 78:
            self.bad.insert(0, f"FALSE ALARM: {name.upper()} EXITED WITH 78, {ids}")
        elif code != 0:
            self.bad.append(f"{name} exited with {code}")

    def fault(self, name: str, expected: int, **variables: str) -> None:
        """Runs the program with a fault that is planted in a function call."""
        code, printed, seconds, report = self.machine.start("row.json", self.machine.places, **variables)
        ids = ", ".join(it["id"] for it in report.get("findings", []))
        self.rows.append([name, str(code), str(report.get("verdict")), f"{seconds:.2f}", ids])
        if code != expected:
            self.bad.append(f"planted: {name} exited with {code}, not {expected}: {printed.splitlines()[:1]}")

    def flush(self, title: str) -> str:
        rows, self.rows = self.rows, []
        return f"\n## {title}\n\n" + self.table(["setup", "exit code", "verdict", "seconds", "findings"], rows)

    def set_ups(self) -> str:
        with tempfile.TemporaryDirectory() as cache:
            self.sound("empty cache, default deadline", CUDA_CACHE_PATH=cache, CUDNN_GUARD_DEADLINE="")
        for name, value in [("NVIDIA_TF32_OVERRIDE", "0"), ("NVIDIA_TF32_OVERRIDE", "1"), ("CUDA_MODULE_LOADING", "LAZY"),
                            ("CUDA_MODULE_LOADING", "EAGER"), ("CUDA_LAUNCH_BLOCKING", "1"), ("CUDA_CACHE_DISABLE", "1")]:
            self.sound(f"{name}={value}", **{name: value})
        self.sound("NVIDIA_TF32_OVERRIDE=1, thorough check", "thorough", NVIDIA_TF32_OVERRIDE="1")
        preload = str(self.folder / "preload.so")
        for parent, name in [("libcuda", "libcuda is already open"), ("nvml", "NVML is initialized"),
                             ("cuinit", "cuInit was called"), ("threads", "50 running threads")]:
            self.sound(name, LD_PRELOAD=preload, GPU_PARENT=parent)
        # This process cannot use a GPU.
        self.sound("cuInit was called, then fork", LD_PRELOAD=preload, GPU_PARENT="fork", CUDNN_GUARD_REQUIRE_GPU="")
        for uuid in re.findall(r"UUID: ([^)]+)", output(["nvidia-smi", "-L"])):
            self.sound("CUDA_VISIBLE_DEVICES=UUID", CUDA_VISIBLE_DEVICES=uuid)
        with tempfile.TemporaryDirectory() as pipe:
            # Like the socket of a stopped daemon, which listens but does not respond.
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stopped:
                stopped.bind(f"{pipe}/control")
                stopped.listen(0)
                self.sound("an MPS daemon that does not respond", CUDA_MPS_PIPE_DIRECTORY=pipe)
            self.sound("an MPS daemon that has exited", CUDA_MPS_PIPE_DIRECTORY=pipe)
        for library in ["libnvrtc", "libcublasLt"]:
            with tempfile.TemporaryDirectory() as scratch:
                self.sound(f"without {library}", places=without(library, self.machine.places, pathlib.Path(scratch)))
        sanitizer = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
        if os.path.exists(sanitizer):
            self.sound("compute-sanitizer", under=[sanitizer, "--target-processes", "all", "--error-exitcode", "9"])
        return self.flush("Setups that must pass")

    def memory(self) -> str:
        for left in FREE:
            environment = dict(os.environ, LD_LIBRARY_PATH=":".join(self.machine.places))
            hog = subprocess.Popen([sys.executable, "-c", HOG, str(left)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   text=True, env=environment)
            free = hog.stdout.readline().strip()
            self.sound(f"{left} MiB of GPU memory free ({free or 'not filled'} according to CUDA)")
            hog.communicate()
        return self.flush("Little memory")

    def limits(self) -> str:
        """Runs with resource limits, such as those of containers and schedulers."""
        for limit in ["--nofile=64", "--stack=1048576", "--core=0", "--memlock=65536"]:
            self.sound(f"prlimit {limit}", under=["prlimit", limit])
        return self.flush("Resource limits")

    def releases(self, folders: list[str]) -> str:
        """Runs with other complete versions of cuDNN, each first in LD_LIBRARY_PATH."""
        for folder in folders:
            self.sound(f"the cuDNN in {folder}", places=[folder, *self.machine.places])
        return self.flush("Other versions of cuDNN") if folders else ""

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
                    self.bad.insert(0, f"FALSE ALARM: ONE OF {copies} COPIES EXITED WITH 78, {ids}")
        rows = [[*row.split("\t"), str(times)] for row, times in ended.items()]
        head = f"\n## {copies} copies at once, started {rounds} times; the slowest took {slowest:.1f} s\n\n"
        return head + self.table(["exit code", "verdict", "findings", "count"], rows)

    def child(self) -> str:
        """Measures the peak memory of the child process, on the host and on the GPU."""
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
        rows = [["resident, MiB", f"{resident / 1024:.0f}"], ["GPU, MiB", str(gpu or "unknown")]]
        return "\n## Peak memory of the child process\n\n" + self.table(["memory", ""], rows)

    def planted(self) -> str:
        preload = str(self.folder / "preload.so")
        for fault, name, expected in [("number", "one number is wrong", 78), ("nothing", "nothing is written", 78),
                                      ("past", "the word after the result is overwritten", 0),
                                      ("far", "a word 768 bytes after the result is overwritten", 78),
                                      ("once", "the call fails once", 0), ("always", "the call always fails", 78)]:
            mark = self.folder / "mark"
            mark.unlink(missing_ok=True)
            self.fault(name, expected, LD_PRELOAD=preload, GPU_FAULT=fault, GPU_MARK=str(mark))
        return self.flush("Planted faults in function calls")

    def engines(self) -> str:
        """Runs each engine in its own process, since an engine may crash or hang."""
        environment = dict(os.environ, LD_LIBRARY_PATH=":".join(self.machine.places))
        program = self.folder / "engines"
        os.chmod(program, 0o755)

        def run(*arguments: str) -> tuple[str, str]:
            try:
                done = subprocess.run([str(program), *arguments], capture_output=True, text=True, env=environment,
                                      timeout=ENGINE_DEADLINE)
            except subprocess.TimeoutExpired:
                return "", f"killed after {ENGINE_DEADLINE} s"
            return done.stdout, "" if done.returncode == 0 else f"exited with {done.returncode}: {done.stderr.strip()}"

        offered, failed = run()
        rows = []
        if failed:
            self.bad.append(f"engines: {failed}")
        for line in offered.splitlines():
            printed, failed = run(*line.split())
            row = printed.splitlines()[-1].split("\t") if printed else [f"engine {line}"]
            rows.append(row + [""] * (len(ENGINES) - len(row)))
            if failed:
                self.bad.append(f"engine {line}: {failed}")
        return "\n## All engines that cuDNN offers\n\n" + self.table(ENGINES, rows)


def output(command: list[str]) -> str:
    """Returns the output of a program, or an empty string if the program does not exist."""
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
    """Returns the peak resident memory of a process in KiB."""
    try:
        text = pathlib.Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0
    found = re.search(r"^VmHWM:\s*(\d+)", text, re.MULTILINE)
    return int(found[1]) if found else 0


def without(library: str, places: list[str], scratch: pathlib.Path) -> list[str]:
    """Returns copies of the directories, with links to all files except this library."""
    found = []
    for number, place in enumerate(places):
        folder = scratch / str(number)
        folder.mkdir()
        for file in pathlib.Path(place).iterdir():
            if not file.name.startswith(library):
                (folder / file.name).symlink_to(file)
        found.append(str(folder))
    return found
