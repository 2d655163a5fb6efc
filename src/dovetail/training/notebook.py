"""Progress in a notebook: a bar for each stage, drawn by tqdm (extra `notebook`), for whoever gave no callback.

Where there is no notebook, or no tqdm, there are no bars.
"""

from __future__ import annotations

import sys
from time import monotonic
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dovetail.training.monitor import Progress

DELAY = 0.5  # seconds before the first bar: what is done sooner needs none


class Bars:
    """A callback that draws one bar at a time."""

    def __init__(self) -> None:
        self._began = monotonic()
        self._stage = ""
        self._bar: Any = None

    def __call__(self, event: Progress) -> None:
        if event.stage != self._stage:
            self._finish()
            self._stage = event.stage
        if self._bar is None:
            if monotonic() - self._began < DELAY or event.done >= event.total:
                return
            from tqdm.auto import tqdm

            self._bar = tqdm(total=event.total, desc=event.stage, unit=f" {event.unit}", unit_scale=True)
        self._bar.update(event.done - self._bar.n)
        if event.iterations > 1:
            said = f"{min(event.iteration + 1, event.iterations)} of {event.iterations}"
            objective = "" if event.objective is None else f", log-p {event.objective:,.0f}"
            self._bar.set_postfix_str(said + objective, refresh=False)
        if event.done >= event.total:
            self._finish()

    def _finish(self) -> None:
        """A stage that converged early is complete as well."""
        if self._bar is not None:
            self._bar.total = self._bar.n
            self._bar.close()
        self._bar = None


def bars_in_a_notebook() -> Bars | None:
    """Bars, if this is a Jupyter kernel that can draw them."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is None or "IPKernelApp" not in shell.config:
        return None
    try:
        import tqdm  # noqa: F401
    except ImportError:
        return None
    return Bars()
