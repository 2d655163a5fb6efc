"""Draw `images/demo.svg`: what `dovetail demo` prints, in colour.

python docs/make_picture.py
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

COLUMNS = 92
PICTURE = Path(__file__).resolve().parent / "images" / "demo.svg"


def main() -> None:
    command = ["dovetail", "demo", "--pairs", "1"]
    environment = {**os.environ, "FORCE_COLOR": "1", "TERM": "xterm-256color", "COLUMNS": str(COLUMNS)}
    run = "import sys; from dovetail.cli import main; sys.argv = " + repr(command) + "; main()"
    done = subprocess.run([sys.executable, "-c", run], env=environment, capture_output=True, text=True, check=True)
    console = Console(record=True, width=COLUMNS, file=open(os.devnull, "w"), force_terminal=True)  # noqa: SIM115
    console.print(Text(f"$ {' '.join(command)}", "bold"))
    console.print(Text.from_ansi(done.stdout))
    PICTURE.parent.mkdir(exist_ok=True)
    # An id of its own choosing, not a random one: the same output gives the same file.
    PICTURE.write_text(console.export_svg(title="dovetail demo", unique_id="demo"), "utf-8")


if __name__ == "__main__":
    main()
