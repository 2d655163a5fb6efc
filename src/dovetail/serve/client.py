"""Asks a `dovetail serve` for alignments.  Nothing but the standard library."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

from dovetail.errors import InputError

Sentence = str | Sequence[str]

# A batch ends with either: far under the server's limits, and large enough for the way to cost little.
BATCH_PAIRS = 100
BATCH_CHARACTERS = 100_000


class Refused(InputError):
    """The server's own words on why it gives no answer, with the status: 400, 413 ... mend the request, 503 try later."""

    def __init__(self, status: int, problem: str, remedy: str) -> None:
        super().__init__(problem, remedy=remedy or None)
        self.status = status


@dataclass(frozen=True)
class Answer:
    """What one model says of one pair: its words, the links between them, and how probable each link is."""

    name: str
    source: list[str]
    target: list[str]
    links: list[tuple[int, int]]
    probabilities: list[float]
    unseen_source: list[int]
    unseen_target: list[int]
    posteriors: list[list[float]] | None = None  # (I, J), if asked for
    details: dict[str, Any] = field(default_factory=dict)  # scores, certificates: what the model's decoder has


class Client:
    """Asks one server, over one connection that stays open; not for several threads at once.

    >>> with Client("http://127.0.0.1:8000/", tokenizer="unicode") as client:
    ...     client.align("The house.", "La maison.")["demo"].links
    [(0, 0), (1, 1), (2, 2)]

    `models` (names; default: all that the server has), `tokenizer`, `lower` and `posteriors` go with every request.
    """

    def __init__(
        self,
        address: str = "http://127.0.0.1:8000/",
        *,
        models: Sequence[str] | None = None,
        tokenizer: str | None = None,
        lower: bool | None = None,
        posteriors: bool = False,
        timeout: float = 30.0,
    ) -> None:
        place = urlsplit(address)
        if place.scheme not in ("http", "https") or not place.hostname:
            raise InputError(f"no address of a server: {address!r}", remedy="Give the one that `serve` prints.")
        kind = HTTPSConnection if place.scheme == "https" else HTTPConnection
        self._connection = kind(place.hostname, place.port, timeout=timeout)
        self._path = place.path.rstrip("/")
        options = {"models": None if models is None else list(models), "tokenizer": tokenizer, "lower": lower}
        self._options = {name: value for name, value in options.items() if value is not None}
        self._options["posteriors"] = posteriors

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def align(self, source: Sentence, target: Sentence) -> dict[str, Answer]:
        """Each model's answer for one pair: strings, which the server cuts, or lists of words."""
        return _answers(self._ask("/align", {**_pair(source, target), **self._options}))

    def align_all(self, pairs: Iterable[tuple[Sentence, Sentence]]) -> Iterator[dict[str, Answer]]:
        """Each model's answer for each pair, in order; pairs are read, and sent, some at a time."""
        for batch in _batches(pairs):
            found = self._ask("/batch", {"pairs": [_pair(*pair) for pair in batch], **self._options})
            yield from map(_answers, found["answers"])

    def models(self) -> list[dict[str, Any]]:
        """Name, recipe, tokenizer and case of each model that the server has."""
        found: list[dict[str, Any]] = self._ask("/models")["models"]
        return found

    def _ask(self, path: str, asked: dict[str, Any] | None = None) -> dict[str, Any]:
        # A lone surrogate is no text, but it may stand in a text.
        body = None if asked is None else json.dumps(asked, ensure_ascii=False).encode("utf-8", "surrogatepass")
        status, text = self._exchange(self._path + path, body)
        try:
            answer = json.loads(text)
            if status == 200:
                return dict(answer)
            problem, remedy = str(answer["error"]), str(answer["remedy"])
        except (ValueError, TypeError, KeyError):
            raise Refused(status, "this is no dovetail server", "Give the address that `serve` prints.") from None
        raise Refused(status, problem, remedy)

    def _exchange(self, path: str, body: bytes | None) -> tuple[int, bytes]:
        """Status and body.  A server closes connections that are quiet for some seconds: then once more, on a new one."""
        kept = self._connection.sock is not None
        headers = {} if body is None else {"content-type": "application/json"}
        try:
            self._connection.request("GET" if body is None else "POST", path, body, headers)
            response = self._connection.getresponse()
            return response.status, response.read()
        except (HTTPException, OSError) as error:
            self._connection.close()
            if kept and not isinstance(error, TimeoutError):
                return self._exchange(path, body)
            raise


def _pair(source: Sentence, target: Sentence) -> dict[str, Any]:
    return {
        side: sentence if isinstance(sentence, str) else list(sentence)
        for side, sentence in (("source", source), ("target", target))
    }


def _answers(found: dict[str, Any]) -> dict[str, Answer]:
    return {one["name"]: _answer(**one) for one in found["models"]}


def _answer(
    name: str,
    source: list[str],
    target: list[str],
    links: list[list[int]],
    probabilities: list[float],
    unseen_source: list[int],
    unseen_target: list[int],
    posteriors: list[list[float]] | None = None,
    **details: Any,
) -> Answer:
    pairs = [(i, j) for i, j in links]
    return Answer(name, source, target, pairs, probabilities, unseen_source, unseen_target, posteriors, details)


def _batches(pairs: Iterable[tuple[Sentence, Sentence]]) -> Iterator[list[tuple[Sentence, Sentence]]]:
    batch: list[tuple[Sentence, Sentence]] = []
    characters = 0
    for pair in pairs:
        size = sum(len(side) if isinstance(side, str) else sum(map(len, side)) + 3 * len(side) for side in pair)
        if batch and (len(batch) == BATCH_PAIRS or characters + size > BATCH_CHARACTERS):
            yield batch
            batch, characters = [], 0
        batch.append(pair)
        characters += size
    if batch:
        yield batch
