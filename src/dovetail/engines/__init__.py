"""Where shards run."""

from dovetail.engines.threads import Threads

__all__ = ["Threads"]
