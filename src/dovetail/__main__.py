"""`python -m dovetail`, and the command `dovetail`: both begin here.

Until the command line is imported, Ctrl-C ends the process as it ends any other, without a traceback of half an import.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
from contextlib import suppress
from typing import NoReturn

ENDED = 128  # and the number of a signal: the exit status of a command that one ended


def main() -> None:
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # a shell may have had it ignored
    if ours:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from dovetail.cli import main as run

    if ours:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        run()
    except SystemExit as end:
        if isinstance(end.code, int) and end.code > ENDED:
            _leave(end.code)
        raise


def _leave(status: int) -> NoReturn:
    """End now, unfinished files being removed: the interpreter would wait for threads, of which one may compile a kernel."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # closed, or nobody reads it any more
            stream.flush()
    atexit._run_exitfuncs()
    os._exit(status)


if __name__ == "__main__":
    main()
