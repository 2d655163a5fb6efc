"""The commands `dovetail serve` and `dovetail annotate` in a process of its own, for tests and for the load run."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

PROGRAM = [sys.executable, "-c", "from dovetail.cli import main; main()"]
COMMAND = [*PROGRAM, "serve"]


@dataclass
class Served:
    address: str
    process: subprocess.Popen[str]

    @property
    def port(self) -> int:
        return int(self.address.rstrip("/").rpartition(":")[2])


@contextmanager
def serving(*arguments: object, program: str = "serve") -> Iterator[Served]:
    """On a free port; stopped at the end, if it still runs."""
    command = [*PROGRAM, program, "--port", "0", "--threads", "1", *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), process.stderr.read()
        yield Served(address, process)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
