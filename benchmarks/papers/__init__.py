"""The papers' tables and figures on our texts: each paper's own system beside ours, and its own numbers beside both.

    python -m benchmarks.papers --set en-fr-hansards --size 1000 --out build/papers

One module per paper says what is run (`JOBS`), what the paper printed (`PRINTED`) and how it is shown (`sections`).  A job
is one training; what it measured is kept in `cells.jsonl`, and is not measured again.
"""

from __future__ import annotations

import sys
from pathlib import Path

# The other benchmarks are scripts, which import one another by their bare names.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
