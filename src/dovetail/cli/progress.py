"""Progress on standard error: a bar for each stage, with objective, pairs per second and time left."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dovetail.training.monitor import Progress


@contextmanager
def progress_bars(quiet: bool) -> Iterator[Callable[[Progress], None] | None]:
    """A callback that draws bars, or None when asked to be quiet or when nobody watches a terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TaskID, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description:>6}"),
        BarColumn(),
        TextColumn("{task.fields[iteration]}"),
        TextColumn("{task.fields[speed]:>14}"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[objective]}"),
    )
    with Bars(*columns, console=Console(stderr=True)) as bars:
        tasks: dict[str, TaskID] = {}

        def show(event: Progress) -> None:
            if event.stage not in tasks:
                tasks[event.stage] = bars.add_task(event.stage, total=event.total, iteration="", speed="", objective="")
            speed = event.done / event.seconds if event.seconds > 0 else 0.0
            bars.update(
                tasks[event.stage],
                completed=event.done,
                total=event.total,
                iteration=f"{min(event.iteration + 1, event.iterations)}/{event.iterations}",
                speed=f"{speed:,.0f} {event.unit}/s",
                objective="" if event.objective is None else f"log-likelihood {event.objective:,.0f}",
            )

        yield show


def say(message: str, quiet: bool) -> None:
    """A line for a person, on standard error."""
    if not quiet:
        print(message, file=sys.stderr)
