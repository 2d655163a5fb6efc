"""The dictionary of `dovetail serve`: words of the whole text, their translations, their places, and the pairs."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from dovetail.serve import schema
from dovetail.serve.limits import Problem
from dovetail.serve.work import to_json
from dovetail.uses import dictionary
from dovetail.uses.index import Index

LONGEST = 4000  # characters of a word that is looked up

Text = Annotated[str, Query(min_length=1, max_length=LONGEST)]
Most = Annotated[int, Query(ge=1, le=200)]


def lookup(index: Index, statuses: dict[int | str, dict[str, Any]]) -> APIRouter:
    """Ways to ask an index.  Functions that are not `async` run in threads of their own: no model waits for them."""
    router = APIRouter(responses=statuses)

    @router.get("/words", operation_id="findWords", response_model=schema.WordList)
    def words(text: Text, most: Most = 8) -> Response:
        """Words of both sides that begin so, whatever the case."""
        return _answer({"words": [word._asdict() for word in dictionary.beginning_with(index, text, most)]})

    @router.get("/translations", operation_id="translations", response_model=schema.Translations)
    def translations(word: Text, side: schema.Side = "source", most: Most = 50) -> Response:
        """What a word is linked to in the text, with probabilities both ways and counts."""
        found = dictionary.translations(index, word, side, most)
        if found is None:
            missing = f"{word[: schema.SHOWN]!r} does not occur in the {side} text"
            raise Problem(404, missing, "/words finds words that begin so.")
        return _answer({**found._asdict(), "translations": [entry._asdict() for entry in found.translations]})

    @router.get("/places", operation_id="places", response_model=schema.Places)
    def places(
        word: Text,
        translation: Text,
        side: schema.Side = "source",
        start: Annotated[int, Query(ge=0)] = 0,
        most: Most = 20,
    ) -> Response:
        """Pairs in which a word is linked to another, in the order of the text."""
        found = dictionary.places(index, word, translation, side, start=start, most=most)
        return _answer({"hits": [hit._asdict() for hit in found.hits], "next": found.next})

    @router.get("/pair", operation_id="pair", response_model=schema.TextPair)
    def pair(number: Annotated[int, Query(ge=1)]) -> Response:
        """A pair of the text by its number, from 1."""
        if number > index.pairs:
            raise Problem(404, f"there is no pair {number:,}", f"The text has {index.pairs:,}.")
        found = index.pair(number - 1)
        chances = [round(chance, 4) for chance in found.probabilities]
        return _answer({"number": number, **found._asdict(), "probabilities": chances})

    return router


def _answer(value: Any) -> Response:
    return Response(to_json(value), media_type="application/json")
