"""What the editor sends and gets, as JSON."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from dovetail.serve.schema import SHOWN, Probability, Request

Number = Annotated[int, Field(ge=1, le=10**9)]


class Change(Request):
    """One change of one pair."""

    pair: Number = Field(description="Its number, counted from 1.")
    version: int = Field(ge=0, description="That of the pair as the caller saw it.")
    action: Literal["set", "undo", "redo", "finish", "reopen"]
    links: str = Field("", max_length=1 << 18, description="For `set`: all links, `0-0 1?2`.")
    start: str = Field("", max_length=1 << 18, description="The links before the first change of a pair.")
    who: str = Field("", max_length=SHOWN, description="Who changes it.")


class State(BaseModel):
    """How a pair stands."""

    pair: int
    links: str
    finished: bool
    version: int = Field(description="Goes up with every change.")
    who: str = Field(description="Who changed it last.")
    when: str
    undo: bool = Field(description="Whether there is something to undo.")
    redo: bool


class Pair(State):
    """A pair to be annotated."""

    source: list[str]
    target: list[str]
    suggested: str = Field(description="The model's links.")
    cells: list[tuple[int, int, Probability]] = Field(description="i, j and the model's probability.")


class Place(BaseModel):
    """Where to go on; nowhere, if there is no such pair."""

    pair: int | None


class Progress(BaseModel):
    """Of the pairs within a range."""

    pairs: int
    finished: int
    begun: int = Field(description="Changed, and not finished.")
