"""The web app of `dovetail annotate`: the editor's page, pairs one by one, and a place where each change is saved."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Annotated, Any
from urllib.parse import urlsplit

from fastapi import Depends, FastAPI, Query
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import ASGIApp

from dovetail import __version__
from dovetail.annotate import schema
from dovetail.annotate.drafts import Draft, Drafts, Outdated, canonical, fits
from dovetail.annotate.sheet import Range, Sheet, Suggestion
from dovetail.errors import InputError
from dovetail.report.page import annotate_page
from dovetail.serve.app import LOOPBACK
from dovetail.serve.gate import Gate, refusal
from dovetail.serve.limits import Deadline, Limits, Problem
from dovetail.serve.work import Worker, to_json

FAR = 10**9
WAYS = ("next", "previous", "open", "doubtful")


def _limits(
    first: Annotated[int, Query(ge=1, le=FAR)] = 1, last: Annotated[int | None, Query(ge=1, le=FAR)] = None
) -> Range:
    return first, last


def _same_origin(request: Request) -> None:
    """A strange web page cannot send JSON without asking first; this holds if a browser ever let it."""
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc.lower() != request.headers.get("host", "").lower():
        raise Problem(
            403, "this request comes from another web page", "Use the editor at the address that was printed."
        )


Within = Annotated[Range, Depends(_limits)]


def annotate_app(
    sheet: Sheet,
    drafts: Drafts,
    *,
    title: str = "Annotate",
    who: str = "",
    limits: Limits | None = None,
    hosts: Sequence[str] = LOOPBACK,
) -> ASGIApp:
    """The editor of these pairs; `who` is the name that is offered to those who open it.

    `hosts` are the names under which the app may be addressed (its Host header); empty: any.
    """
    limits = limits or Limits()
    worker = Worker(limits)
    app = FastAPI(
        title="Dovetail",
        version=__version__,
        openapi_url=None,  # an editor's own business, not an interface for programs
        exception_handlers={
            HTTPException: _refuse,
            RequestValidationError: _refuse_nonsense,
            InputError: _refuse_input,
            Outdated: _refuse_outdated,
            OSError: _refuse_unsaved,
            Exception: _fail,
        },
    )

    def known(pair: int) -> int:
        if pair not in sheet:
            raise Problem(404, f"pair {pair:,} is not among those to be annotated", "Go to another one.")
        return pair

    def finished(pair: int) -> bool:
        draft = drafts[pair]
        return draft is not None and draft.finished

    async def thought(request: Request, work: Callable[[Deadline], bytes]) -> Response:
        """The answer to something that a model has to think about: one request at a time."""

        async def gone() -> None:
            while (await request.receive())["type"] != "http.disconnect":
                pass

        return Response(await worker.do(work, gone), media_type="application/json")

    @app.get("/pairs/{pair}", response_model=schema.Pair)
    async def show(request: Request, pair: int) -> Response:
        known(pair)

        def work(deadline: Deadline) -> bytes:
            source, target = sheet.words(pair)
            short = max(len(source), len(target)) <= limits.words
            said = sheet.suggestion(pair) if short else Suggestion()
            state = _state(pair, drafts[pair] or Draft((said.links,)))
            words = {"source": source, "target": target}
            return to_json({**state, **words, "suggested": said.links, "cells": said.cells})

        return await thought(request, work)

    @app.get("/go/{way}", response_model=schema.Place)
    async def go(request: Request, way: str, within: Within, pair: int | None = None) -> Response:
        """The number of the pair to go to from this one, or to begin with."""
        if way not in WAYS:
            raise Problem(404, "there is no such way", f"There are {', '.join(WAYS)}.")
        if pair is not None:
            known(pair)
        if way in ("next", "previous") and pair is not None:
            found = sheet.beside(pair, 1 if way == "next" else -1, within)
        elif way == "doubtful":
            return await thought(
                request, lambda deadline: to_json({"pair": sheet.next_doubtful(pair, within, finished)})
            )
        else:
            found = next(iter(sheet.next_open(pair, within, finished)), None)
        return JSONResponse({"pair": found})

    @app.get("/progress", response_model=schema.Progress)
    def progress(within: Within) -> dict[str, int]:
        first, last = within
        inside = [d for n, d in drafts.items() if first <= n <= (last or FAR) and n in sheet]
        done = sum(draft.finished for draft in inside)
        return {"pairs": sheet.within(within), "finished": done, "begun": len(inside) - done}

    @app.post("/save", response_model=schema.State, dependencies=[Depends(_same_origin)])
    def save(asked: schema.Change) -> dict[str, Any]:
        """Answered when it is on the disk."""
        lengths = sheet.lengths(known(asked.pair))
        links, start = canonical(asked.links), canonical(asked.start)
        if not (fits(links, *lengths) and fits(start, *lengths)):
            I, J = lengths
            raise Problem(400, f"a link lies outside {I:,} source and {J:,} target words", "Open the pair again.")
        draft = drafts.change(
            asked.pair, asked.action, links, start=start, version=asked.version, who=asked.who.strip()
        )
        return _state(asked.pair, draft)

    @app.get("/health")
    async def health() -> dict[str, str]:
        return {"status": "ok", "version": __version__}

    # The page keeps what could not be saved, for this gold file and no other.
    identity = hashlib.sha256(str(drafts.gold.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    text = annotate_page(title, who=who, suggests=sheet.aligner is not None, gold=drafts.gold.name, identity=identity)

    async def page(request: Request) -> Response:
        return HTMLResponse(text)

    app.add_route("/", page)
    return Gate(app, limits, hosts)


def _state(pair: int, draft: Draft) -> dict[str, Any]:
    return {
        "pair": pair,
        "links": draft.links,
        "finished": draft.finished,
        "version": draft.version,
        "who": draft.who,
        "when": draft.when,
        "undo": draft.can_undo,
        "redo": draft.can_redo,
    }


async def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if isinstance(error, Problem):
        problem, remedy = error.detail, error.remedy
    else:
        problem, remedy = "there is nothing like that at this address", "The editor is at /."
    answer = refusal(request, error.status_code, problem, remedy)
    answer.headers.update(error.headers or {})
    return answer


async def _refuse_nonsense(request: Request, error: Exception) -> Response:
    """The first of what does not fit the schema."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"][1:2])
    return refusal(request, 400, f"{place}: {first['msg']}" if place else str(first["msg"]), "Open the page again.")


async def _refuse_input(request: Request, error: Exception) -> Response:
    assert isinstance(error, InputError)
    return refusal(request, 400, error.problem, error.remedy or "")


async def _refuse_outdated(request: Request, error: Exception) -> Response:
    """With how the pair stands now, so that the page can show it."""
    assert isinstance(error, Outdated)
    state = {"version": error.draft.version, "links": error.draft.links, "who": error.draft.who}
    answer = {"error": "the pair was changed elsewhere meanwhile", "remedy": "Look at it again.", "state": state}
    return Response(to_json(answer), 409, media_type="application/json")


async def _refuse_unsaved(request: Request, error: Exception) -> Response:
    assert isinstance(error, OSError)
    return refusal(request, 507, f"the change could not be saved ({error.strerror or error})", "Make room on the disk.")


async def _fail(request: Request, error: Exception) -> Response:
    return refusal(request, 500, "something went wrong inside", "The terminal that runs the server says more.")
