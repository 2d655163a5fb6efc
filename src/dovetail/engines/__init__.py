"""Where shards run."""

from __future__ import annotations

from dovetail.engines.engine import Engine
from dovetail.engines.threads import Threads
from dovetail.errors import InputError

ENGINES = ("threads", "ray")


def engine_of(engine: Engine | str | None, threads: int | None = None, address: str | None = None) -> Engine:
    """An engine by its name, `threads` unless told; Ray is imported only where it is asked for."""
    if engine is None or engine == "threads":
        if address is not None:
            raise InputError("an address without a cluster", remedy="Choose the engine ray, too.")
        return Threads(threads)
    if engine == "ray":
        from dovetail.engines.ray import Ray

        return Ray(address, threads=threads)
    if isinstance(engine, str):
        raise InputError(f"no engine {engine!r}", remedy=f"Choose from: {', '.join(ENGINES)}.")
    return engine


__all__ = ["ENGINES", "Engine", "Threads", "engine_of"]
