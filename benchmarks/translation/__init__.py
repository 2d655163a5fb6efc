"""How well each system's links translate (Graça et al. 5.1, Zhao and Gildea Table 2, Mermer and Saraçlar Table 2).

    python -m benchmarks.translation --out build/translation

One phrase-based translation system of sil-machine's parts per set: its n-gram model, its lexical models and its weights,
tuned once on its own links, are the same for all; only the phrase table changes with the links.  A finished system is not
run again.
"""

from __future__ import annotations

import sys
from pathlib import Path

# The other benchmarks are scripts, which import one another by their bare names.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
