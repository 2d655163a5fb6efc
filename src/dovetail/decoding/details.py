"""What a decoder knows of pieces besides their links, block after block."""

from __future__ import annotations

import numpy as np


class Details:
    """Arrays by name, each with one entry per piece decoded so far."""

    def __init__(self, **kinds: type) -> None:
        self.kinds = kinds
        self._parts: list[dict[str, np.ndarray]] = []

    def room(self, pieces: int) -> dict[str, np.ndarray]:
        """Zeros for the pieces of one block."""
        return {name: np.zeros(pieces, kind) for name, kind in self.kinds.items()}

    def add(self, part: dict[str, np.ndarray]) -> None:
        self._parts.append(part)

    def all(self) -> dict[str, np.ndarray]:
        return {
            name: np.concatenate([np.zeros(0, kind), *(part[name] for part in self._parts)])
            for name, kind in self.kinds.items()
        }
