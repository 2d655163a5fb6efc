"""Progress on standard error: a row for each stage, with its bar, iteration, pairs per second, time and objective."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any

from dovetail.training.monitor import Progress

# What a row says besides stage and bar, and how wide that is: fixed from the start, so that nothing jumps.
FIELDS = {"iteration": 7, "speed": 17, "time": 11, "objective": 17}
STAGE, BAR = 9, 10  # the least these two take
ECHO = 3  # columns left free at the right: the ^C that a terminal shows there must not begin a new line


def fitting(width: int) -> list[str]:
    """The fields that there is room for in a window of so many columns; the time left stays longest."""
    fields = list(FIELDS)
    for field in ("objective", "speed", "iteration"):
        if STAGE + BAR + 1 + sum(FIELDS[name] + 1 for name in fields) + ECHO > width:
            fields.remove(field)
    return fields


@contextmanager
def progress_bars(quiet: bool) -> Iterator[Callable[[Progress], None] | None]:
    """A callback that draws bars, or None when asked to be quiet or when nobody watches a terminal.

    Until the first event, a row without an end says that the text is being read.
    """
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, ProgressColumn, Task, TaskID, TextColumn
    from rich.progress import Progress as Bars
    from rich.table import Column, Table

    console = Console(stderr=True)
    stage = TextColumn("{task.description}", table_column=Column(min_width=STAGE, no_wrap=True))
    texts: dict[str, ProgressColumn] = {
        name: TextColumn(f"{{task.fields[{name}]}}", markup=False, table_column=Column(width=width, no_wrap=True))
        for name, width in FIELDS.items()
    }

    class Rows(Bars):
        def make_tasks_table(self, tasks: Iterable[Task]) -> Table:  # for every picture: the window may have changed
            self.columns = (stage, BarColumn(None), *(texts[name] for name in fitting(console.width)))
            table = super().make_tasks_table(tasks)
            table.width = max(1, console.width - ECHO)
            return table

    with Rows(console=console) as bars:
        empty: dict[str, Any] = dict.fromkeys(FIELDS, "")
        reading, began = bars.add_task("read", total=None, **empty), monotonic()
        tasks: dict[str, TaskID] = {}

        def show(event: Progress) -> None:
            if event.stage not in tasks:
                if not tasks:
                    bars.update(reading, time=_clock(monotonic() - began))
                for task in bars.tasks:  # a stage that converged early is complete as well
                    bars.update(task.id, total=task.completed or 1, completed=task.completed or 1)
                tasks[event.stage] = bars.add_task(event.stage, **empty)
            bars.update(tasks[event.stage], completed=event.done, total=event.total or 1, **cells(event))

        try:
            yield show
        finally:
            if not tasks:  # reading failed: what comes next says why
                bars.remove_task(reading)


def cells(event: Progress) -> dict[str, Any]:
    """The text of each of the `FIELDS`."""
    speed = event.done / event.seconds if event.seconds > 0 else 0.0
    if event.done >= event.total:
        time = _clock(event.seconds)
    else:
        time = f"{_clock(event.seconds * (event.total - event.done) / event.done)} left" if event.done else ""
    return {
        "iteration": f"{min(event.iteration + 1, event.iterations)}/{event.iterations}" if event.iterations > 1 else "",
        "speed": f"{speed:,.0f} {event.unit}/s" if speed else "",
        "time": time,
        "objective": "" if event.objective is None else f"log-p {_short(event.objective)}",
    }


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes // 60}h{minutes % 60:02}" if minutes >= 60 else f"{minutes}:{seconds:02}"


def _short(objective: float) -> str:
    return f"{objective:,.0f}" if abs(objective) < 1e8 else f"{objective:.4e}"


def say(message: str, quiet: bool) -> None:
    """A line for a person, on standard error; where that cannot be written, work goes on all the same."""
    if not quiet:
        with suppress(OSError):
            print(message, file=sys.stderr, flush=True)
