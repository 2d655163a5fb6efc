"""Where shards run."""

from dovetail.engines.engine import Engine
from dovetail.engines.threads import Threads

__all__ = ["Engine", "Threads"]
