"""Where shards run."""

from __future__ import annotations

from dovetail.engines.engine import Engine
from dovetail.engines.threads import Threads

__all__ = ["Engine", "Threads"]
