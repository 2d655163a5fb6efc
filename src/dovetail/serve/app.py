"""The web app of `dovetail serve`: a page where one types a pair, and addresses for programs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp

from dovetail import __version__
from dovetail.errors import InputError
from dovetail.report.page import docs_page, live_page
from dovetail.serve import schema
from dovetail.serve.gate import Gate, refusal
from dovetail.serve.limits import Deadline, Limits, Problem
from dovetail.serve.lookup import lookup
from dovetail.serve.work import Worker, answer_pairs, find_models, to_json

if TYPE_CHECKING:
    from dovetail.aligner import Aligner
    from dovetail.uses.index import Index

LOOPBACK = ("localhost", "127.0.0.1", "[::1]", "::1")
EXAMPLE = 'Send an object such as {"source": "the house", "target": "la maison"}; /docs says more.'
GOOD: dict[int | str, dict[str, Any]] = {200: {"description": "As asked."}}

# What a field is when it does not fit the schema.
WRONG = {
    "source": "neither a string nor a list of words",
    "target": "neither a string nor a list of words",
    "pairs": "not a list of objects with source and target",
    "models": "not a list of names",
    "posteriors": "neither true nor false",
    "tokenizer": "not a short name",
    "lower": "neither true nor false",
    "text": "not text of a reasonable length",
    "word": "not text of a reasonable length",
    "translation": "not text of a reasonable length",
    "side": "neither source nor target",
    "most": "not a number from 1 to 200",
    "start": "not a number of a place",
    "number": "not a number of a pair",
}


def live_app(
    aligners: Mapping[str, Aligner],
    limits: Limits | None = None,
    hosts: Sequence[str] = LOOPBACK,
    index: Index | None = None,
) -> ASGIApp:
    """The app for these models by name, and for the dictionary of an indexed text.

    `hosts` are the names under which the app may be addressed (its Host header); empty: any.
    """
    limits = limits or Limits()
    worker = Worker(limits)
    statuses = _statuses(limits)
    app = FastAPI(
        title="Dovetail",
        version=__version__,
        description="Aligns the words of sentence pairs with the loaded models.",
        docs_url=None,  # FastAPI's own pages load their scripts from elsewhere
        redoc_url=None,
        exception_handlers={
            HTTPException: _refuse,
            RequestValidationError: _refuse_nonsense,
            InputError: _refuse_input,
            Exception: _fail,
        },
    )

    async def answer(request: Request, asked: schema.Options, pairs: Sequence[schema.Sentences], one: bool) -> Response:
        if len(pairs) > limits.pairs:
            raise Problem(413, f"{len(pairs):,} pairs in one request", f"At most {limits.pairs:,} are aligned here.")
        models = find_models(aligners, asked)

        def work(deadline: Deadline) -> bytes:
            answers = answer_pairs(models, pairs, asked, limits, deadline)
            return to_json(answers[0] if one else {"answers": answers})

        async def gone() -> None:
            while (await request.receive())["type"] != "http.disconnect":
                pass

        return Response(await worker.do(work, gone), media_type="application/json")

    @app.post("/align", operation_id="align", response_model=schema.Answers, responses=statuses)
    async def align(request: Request, asked: schema.Pair) -> Response:
        """Align the words of one sentence pair."""
        return await answer(request, asked, [asked], one=True)

    @app.post("/batch", operation_id="alignBatch", response_model=schema.BatchAnswers, responses=statuses)
    async def batch(request: Request, asked: schema.Batch) -> Response:
        """Align the words of several sentence pairs."""
        return await answer(request, asked, asked.pairs, one=False)

    @app.get("/models", operation_id="listModels", responses=GOOD, response_model=schema.Models)
    async def models() -> Response:
        """The loaded models, their recipes, and how they read text."""
        found = schema.Models(models=[_model(name, aligner) for name, aligner in aligners.items()])
        return Response(to_json(found.model_dump()), media_type="application/json")

    @app.get("/health", operation_id="health", responses=GOOD)
    async def health() -> schema.Health:
        """Whether the server is up, and its version."""
        return schema.Health(status="ok", version=__version__)

    if index is not None:
        app.include_router(lookup(index, {**GOOD, **{status: statuses[status] for status in (400, 421, "default")}}))
    app.add_route("/", _page(live_page(list(aligners), None if index is None else index.pairs)))
    app.add_route("/docs", _page(docs_page(app.openapi())))
    return Gate(app, limits, hosts)


def _page(text: str) -> Callable[[Request], Awaitable[Response]]:
    async def page(request: Request) -> Response:
        return HTMLResponse(text)

    return page


def _statuses(limits: Limits) -> dict[int | str, dict[str, Any]]:
    """What each means; with a default of our own, FastAPI does not describe one that never happens."""
    large = f"More than {limits.request_bytes:,} bytes or {limits.pairs:,} pairs, a sentence of more than"
    texts: dict[int | str, str] = {
        400: "The request makes no sense; `error` says why.",
        408: f"The request took more than {limits.seconds:g} seconds to arrive.",
        413: f"{large} {limits.words:,} words, or more than {limits.cells:,} posteriors.",
        415: "The content type is not application/json.",
        421: "The server was addressed by a name that is not its own.",
        503: f"No answer within {limits.seconds:g} seconds, or {limits.waiting:,} requests are waiting already.",
        "default": "Something went wrong inside.",
    }
    problems: dict[int | str, dict[str, Any]] = {
        status: {"description": text, "model": schema.Problem} for status, text in texts.items()
    }
    return {**GOOD, **problems}


def _model(name: str, aligner: Aligner) -> schema.Model:
    text = aligner.text_options
    return schema.Model(name=name, recipe=aligner.recipe.name, tokenizer=text.tokenizer, lower=text.normaliser.lower)


async def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if isinstance(error, Problem):
        problem, remedy = error.detail, error.remedy
    elif error.status_code == 404:
        known = ", ".join(["/", *request.app.openapi()["paths"], "/docs", "/openapi.json"])
        problem, remedy = "there is nothing at this address", f"There are {known}."
    elif error.status_code == 405:
        problem, remedy = "this address does not take that method", "POST to /align and /batch; GET the rest."
    else:  # of the framework: a body that cannot be read as JSON at all
        problem, remedy = "the body is not JSON", EXAMPLE
    answer = refusal(request, error.status_code, problem, remedy)
    answer.headers.update(error.headers or {})
    return answer


async def _refuse_nonsense(request: Request, error: Exception) -> Response:
    """The first of what does not fit the schema, and where."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    kind, place = first["type"], first["loc"][1:]  # without "body"; behind a field's name, which form of it was tried
    while place and kind != "missing" and place[-1] not in WRONG:
        place = place[:-1]
    shown = repr(".".join(map(str, place)))
    if kind == "json_invalid":
        problem = "the body is not JSON"
    elif kind == "ours":
        problem = first["msg"]
    elif not place:
        problem = "the body is not a JSON object"
    else:
        problem = f"{shown} is {'missing' if kind == 'missing' else WRONG[place[-1]]}"
    return refusal(request, 400, problem, EXAMPLE if first["loc"][0] == "body" else "/docs says what is asked how.")


async def _refuse_input(request: Request, error: Exception) -> Response:
    assert isinstance(error, InputError)
    return refusal(request, 400, error.problem, error.remedy or "")


async def _fail(request: Request, error: Exception) -> Response:
    return refusal(request, 500, "something went wrong inside", "The terminal that runs the server says more.")
