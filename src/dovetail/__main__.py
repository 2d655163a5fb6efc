"""`python -m dovetail`, and the command `dovetail`: both begin here.

Until the command line is imported, Ctrl-C ends the process as it ends any other, without a traceback of half an import.
"""

from __future__ import annotations

import signal


def main() -> None:
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # a shell may have had it ignored
    if ours:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from dovetail.cli import main as run

    if ours:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run()


if __name__ == "__main__":
    main()
