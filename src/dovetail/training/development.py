"""When to stop: a development set with gold links says whether the last iteration did any good."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Development:
    """Watches EM: `area(model)` is the area under the precision/recall curve on the development set, if there is one.

    Training ends when that stops rising, with the model that had the largest (Graça et al. 2010, section 4.1).
    """

    def __init__(self, area: Callable[[Any], float] | None) -> None:
        self.area = area
        self.areas: list[float] = []
        self._best: Any = None

    def __call__(self, model: Any) -> Any:
        """None to go on, or the model to stop with."""
        if self.area is None:
            return None
        area = self.area(model)
        stop = bool(self.areas) and area <= self.areas[-1]
        self.areas.append(area)
        if stop:
            return self._best
        self._best = model.with_lexicon(model.lexicon.copy())  # the next M-step writes over it
        return None
