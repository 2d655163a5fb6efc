"""Where the time of one run goes: functions of the package are timed where they stand, each without those within it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any


class Stages:
    """Seconds of each stage by a clock; what runs within a stage is a part of its own stage only."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.spent: dict[str, float] = {}
        self.running = [""]  # the stage that runs now, below it those around it
        self._within = [0.0]  # seconds of the stages within each of these
        self._back: list[Callable[[], None]] = []

    def timed(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            began = self.clock()
            self.running.append(stage)
            self._within.append(0.0)
            try:
                return function(*arguments, **named)
            finally:
                seconds = self.clock() - began
                self.running.pop()
                self.spent[stage] = self.spent.get(stage, 0.0) + seconds - self._within.pop()
                self._within[-1] += seconds

        return call

    def watch(self, stages: Mapping[str, Iterable[str]]) -> None:
        """Time these functions, named as `put` wants them, from now on."""
        for stage, places in stages.items():
            for place in places:
                self.put(place, lambda function, stage=stage: self.timed(stage, function))  # type: ignore[misc]

    def put(self, place: str, change: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        """`put`, until the end."""
        self._back.append(put(place, change))

    def end(self) -> None:
        """Everything as it was."""
        while self._back:
            self._back.pop()()


def put(place: str, change: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Callable[[], None]:
    """Put a changed function in a function's or method's place, named as `module:Class.method`; what takes it back."""
    module, _, path = place.partition(":")
    *owners, name = path.split(".")
    owner = import_module(module)
    for step in owners:
        owner = getattr(owner, step)
    function = owner.__dict__[name]
    made = classmethod(change(function.__func__)) if isinstance(function, classmethod) else change(function)
    setattr(owner, name, made)
    return lambda: setattr(owner, name, function)
