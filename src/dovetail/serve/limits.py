"""What a request may cost, and what it is told when it asks for more."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic

from starlette.exceptions import HTTPException


@dataclass(frozen=True)
class Limits:
    """Of one request: its bytes, pairs, words per sentence, cells it may ask for, seconds to arrive and to be answered.

    `waiting`: how many requests may wait for their turn.
    """

    request_bytes: int = 1 << 20
    words: int = 400
    seconds: float = 10.0
    pairs: int = 1000
    waiting: int = 256
    cells: int = 2_000_000  # every one is a number of the answer: this many are some 16 megabytes


class Problem(HTTPException):
    """Something that the caller can mend: a status, what is wrong, and the remedy."""

    def __init__(self, status: int, problem: str, remedy: str = "") -> None:
        super().__init__(status, problem, {"retry-after": "1"} if status == 503 else None)
        self.remedy = remedy


class Deadline:
    """When nobody waits for an answer any more: after some seconds, or when the caller hangs up."""

    def __init__(self, seconds: float) -> None:
        self.problem = Problem(503, f"no answer within {seconds:g} seconds", "Send less at a time, or try later.")
        self._end = monotonic() + seconds

    @property
    def left(self) -> float:
        return self._end - monotonic()

    def give_up(self) -> None:
        self._end = 0.0

    def check(self) -> None:
        """To be called between two pieces of work."""
        if self.left <= 0:
            raise self.problem
