"""What a command costs: wall seconds, CPU seconds of its whole process tree, peak memory.

The command is started by a small Python process of its own (this file, run as a script) and not by the
caller: Linux counts the memory of the process that forks towards its child's peak, so a caller that holds
numpy and numba would lend every small tool its own hundred megabytes.  Standard library only, for that small
process has no more.
"""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

TIMED_OUT = 124  # the status by which timeout(1) says the same


class CommandError(RuntimeError):
    """A command that failed or took too long; the message holds its last words."""


@dataclass(frozen=True)
class Measurement:
    """Cost of one run.

    `wall`: seconds from start to end.  `cpu`: user + system seconds of the process and of every descendant
    that was waited for.  `peak_memory`: bytes of the largest single process of that tree (ru_maxrss), not the
    tree's sum.
    """

    wall: float
    cpu: float
    peak_memory: int

    def to_dict(self) -> dict[str, float]:
        return asdict(self)


def medians(measurements: Sequence[Measurement]) -> Measurement:
    """The median of each number on its own."""
    return Measurement(
        median(one.wall for one in measurements),
        median(one.cpu for one in measurements),
        int(median(one.peak_memory for one in measurements)),
    )


def run(
    command: Sequence[str | Path],
    *,
    environment: Mapping[str, str] | None = None,
    timeout: float | None = None,
) -> Measurement:
    """What running `command` to its end costs; CommandError if it fails or takes over `timeout` seconds."""
    words = [str(word) for word in command]
    name = Path(words[0]).name
    with tempfile.TemporaryDirectory(prefix="measure-") as folder:
        report, log = Path(folder, "report.json"), Path(folder, "log")
        launcher = [sys.executable, "-I", "-S", __file__, str(report), str(log), str(timeout or 0), *words]
        process = subprocess.Popen(launcher, env={**os.environ, **(environment or {})}, start_new_session=True)
        try:
            process.wait()
        except BaseException:
            process.terminate()  # the launcher passes it on to the command's whole group
            process.wait()
            raise
        said = log.read_text(encoding="utf-8", errors="replace").strip() if log.exists() else ""
        if not report.exists():
            raise CommandError(f"{name}: could not be started. {said}")
        facts = json.loads(report.read_text())
    if facts["timed_out"]:
        raise CommandError(f"{name}: stopped after {timeout:g} seconds")
    if facts["status"] != 0:
        last_words = said.splitlines()[-1] if said else "it said nothing"
        raise CommandError(f"{name}: ended with status {facts['status']}: {last_words}")
    return Measurement(facts["wall"], facts["cpu"], facts["peak_memory"])


def exit_when_terminated() -> None:
    """Let SIGTERM end this process as an exception does, so that `run` stops its command and folders are removed."""
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))


def machine_facts() -> dict[str, Any]:
    """Cores, CPU model, memory and system of this machine, and how busy it is at this moment."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    facts: dict[str, Any] = {
        "cpu": platform.processor() or platform.machine(),
        "cores": usable,
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }
    try:
        models = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
        facts["cpu"] = models[0].partition(":")[2].strip()
    except (OSError, IndexError):
        pass  # not Linux, or a kernel that does not name the model: the platform's own word stays
    try:
        facts["memory"] = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        facts["load"] = os.getloadavg()[0]
    except (AttributeError, OSError, ValueError):
        pass
    return facts


def _launch(report: str, log: str, timeout: float, command: list[str]) -> int:
    """The small process: start the command in a group of its own, wait for it, write down what it cost."""
    stopped_by: list[int] = []

    def stop(number: int, _frame: object) -> None:
        stopped_by.append(number)
        os.killpg(process.pid, signal.SIGKILL)

    with open(log, "wb") as handle:
        started = time.perf_counter()
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=handle, stderr=handle, start_new_session=True
            )
        except OSError as error:
            handle.write(str(error).encode())
            return 1
        for number in (signal.SIGALRM, signal.SIGTERM, signal.SIGINT):
            signal.signal(number, stop)
        if timeout:
            signal.setitimer(signal.ITIMER_REAL, timeout)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
    unit = 1 if sys.platform == "darwin" else 1024  # ru_maxrss: bytes on macOS, kibibytes elsewhere
    timed_out = signal.SIGALRM in stopped_by
    facts = {
        "status": TIMED_OUT if timed_out else os.waitstatus_to_exitcode(status),
        "timed_out": timed_out,
        "wall": wall,
        "cpu": usage.ru_utime + usage.ru_stime,
        "peak_memory": usage.ru_maxrss * unit,
    }
    Path(report).write_text(json.dumps(facts))
    return 0


if __name__ == "__main__":
    sys.exit(_launch(sys.argv[1], sys.argv[2], float(sys.argv[3]), sys.argv[4:]))


def cpu_seconds() -> float:
    """Of this process and of the programs that it has run."""
    return sum(os.times()[:4])
