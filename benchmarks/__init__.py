"""Benchmarks are scripts that find each other by name; this lets `python -m benchmarks.peers` start one, too."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
