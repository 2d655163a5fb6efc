"""The web app of `dovetail serve`: a page where one types a pair, and `POST /align` for programs."""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from dovetail import __version__
from dovetail.errors import InputError
from dovetail.report.openapi import description
from dovetail.report.page import error_page, live_page

if TYPE_CHECKING:
    from dovetail.aligner import Aligner
    from dovetail.alignments.alignments import Alignment

LOOPBACK = ("localhost", "127.0.0.1", "[::1]", "::1")
HEADERS = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
}


@dataclass(frozen=True)
class Limits:
    """What one request may cost: bytes of its body, words of a sentence, seconds for the body and for the answer."""

    request_bytes: int = 64 * 1024
    words: int = 400
    seconds: float = 10.0


class Problem(HTTPException):
    """Something that the caller can mend: a status, what is wrong, and the remedy."""

    def __init__(self, status: int, problem: str, remedy: str = "") -> None:
        super().__init__(status, problem)
        self.remedy = remedy


def live_app(aligners: Mapping[str, Aligner], limits: Limits | None = None, hosts: Sequence[str] = LOOPBACK) -> ASGIApp:
    """The app for these models by name.

    `hosts` are the names under which the app may be addressed (its Host header), so that a strange web page cannot
    reach it by a name of its own that leads here; empty: any.
    """
    limits = limits or Limits()
    page = live_page(list(aligners))
    one_at_a_time = Lock()  # an aligner already uses all threads that it was given

    async def home(request: Request) -> Response:
        return HTMLResponse(page, headers=HEADERS)

    async def models(request: Request) -> Response:
        return _json({"models": [{"name": name, "recipe": one.recipe.name} for name, one in aligners.items()]})

    async def health(request: Request) -> Response:
        return _json({"status": "ok", "version": __version__})

    async def openapi(request: Request) -> Response:
        return _json(description(limits, list(aligners)))

    async def align(request: Request) -> Response:
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":  # which a form of a strange web page cannot send
            raise Problem(415, "the request is not JSON", "Send content-type: application/json.")
        asked = _asked(await _body(request, limits), aligners)

        deadline = monotonic() + limits.seconds

        def work() -> list[dict[str, Any]]:
            with one_at_a_time:
                if monotonic() > deadline:  # nobody waits for it any more
                    return []
                return [_answer(name, aligners[name], asked, limits) for name in asked.models]

        try:
            with anyio.fail_after(limits.seconds):
                answers = await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
        except TimeoutError:
            raise Problem(
                503, f"no answer within {limits.seconds:g} seconds", "Try shorter sentences, or later."
            ) from None
        except InputError as error:
            raise Problem(400, str(error)) from error
        return _json({"models": answers})

    app = Starlette(
        routes=[
            Route("/", home),
            Route("/align", align, methods=["POST"]),
            Route("/models", models),
            Route("/health", health),
            Route("/openapi.json", openapi),
        ],
        exception_handlers={HTTPException: _refuse, Exception: _fail},
    )
    return HostCheck(app, hosts) if hosts else app


class HostCheck:
    """Answers only requests that address the app by one of its own names."""

    def __init__(self, app: ASGIApp, hosts: Sequence[str]) -> None:
        self.app = app
        self.hosts = {host.lower() for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            request = Request(scope, receive)
            if _host_name(request.headers.get("host", "")) not in self.hosts:
                problem = Problem(421, "this server is not addressed by that name", "Use the address it printed.")
                await (await _refuse(request, problem))(scope, receive, send)
                return
        await self.app(scope, receive, send)


def _host_name(host: str) -> str:
    """Without the port; an IPv6 address keeps its brackets."""
    name = host.lower()
    return name[: name.index("]") + 1] if name.startswith("[") and "]" in name else name.partition(":")[0]


@dataclass(frozen=True)
class Asked:
    """A request that makes sense."""

    source: str | list[str]
    target: str | list[str]
    models: list[str]
    posteriors: bool


def _asked(body: bytes, known: Mapping[str, Aligner]) -> Asked:
    example = 'Send an object such as {"source": "the house", "target": "la maison"}.'
    try:
        values = json.loads(body)
    except (ValueError, RecursionError):
        raise Problem(400, "the body is not JSON", example) from None
    if not isinstance(values, dict):
        raise Problem(400, "the body is not a JSON object", example)
    if unknown := sorted(set(values) - {"source", "target", "models", "posteriors"}):
        raise Problem(400, f"no field {unknown[0]!r}", "Known are source, target, models and posteriors.")
    sides: list[str | list[str]] = []
    for side in ("source", "target"):
        value: Any = values.get(side)
        words = isinstance(value, list) and all(isinstance(word, str) for word in value)
        if not isinstance(value, str) and not words:
            raise Problem(400, f"{side!r} is neither a string nor a list of words", example)
        sides.append(value)
    if isinstance(sides[0], str) != isinstance(sides[1], str):
        raise Problem(400, "one side is a string and the other a list of words", "Send both in the same form.")
    names = values.get("models", list(known))
    if not isinstance(names, list) or not all(name in known for name in names if isinstance(name, str)):
        raise Problem(400, "no such model", f"Known are {', '.join(known)}.")
    if not all(isinstance(name, str) for name in names):
        raise Problem(400, "'models' is not a list of names", f"Known are {', '.join(known)}.")
    if not isinstance(values.get("posteriors", False), bool):
        raise Problem(400, "'posteriors' is neither true nor false")
    return Asked(sides[0], sides[1], names, values.get("posteriors", False))


async def _body(request: Request, limits: Limits) -> bytes:
    too_large = Problem(413, f"the request has more than {limits.request_bytes:,} bytes", "Send one pair at a time.")
    length = request.headers.get("content-length", "")
    if length.isascii() and length.isdigit() and int(length[:20]) > limits.request_bytes:
        raise too_large
    body = bytearray()
    try:
        with anyio.fail_after(limits.seconds):
            async for chunk in _chunks(request):
                body += chunk
                if len(body) > limits.request_bytes:
                    raise too_large
    except TimeoutError:
        raise Problem(
            408, f"the request took more than {limits.seconds:g} seconds to arrive", "Send it again."
        ) from None
    return bytes(body)


async def _chunks(request: Request) -> AsyncIterator[bytes]:
    try:
        async for chunk in request.stream():
            yield chunk
    except ClientDisconnect:
        raise Problem(400, "the connection ended in the middle of the request") from None


def _answer(name: str, aligner: Aligner, asked: Asked, limits: Limits) -> dict[str, Any]:
    """What one model says of the pair."""
    sides = []
    for side in (asked.source, asked.target):
        words = [side[a:b] for a, b in aligner.text_options.spans(side)] if isinstance(side, str) else side
        if len(words) > limits.words:
            raise Problem(413, f"a sentence of {len(words):,} words", f"At most {limits.words:,} are aligned here.")
        sides.append(words)
    source, target = sides
    found: Alignment = aligner.align_pair(source, target)
    normalise = aligner.text_options.normaliser
    answer: dict[str, Any] = {
        "name": name,
        "source": source,
        "target": target,
        "links": [list(link) for link in found.links],
        "probabilities": [_number(p) for p in found.probabilities],
        "unseen_source": [i for i, word in enumerate(source) if aligner.source_vocabulary.id(normalise(word)) < 0],
        "unseen_target": [j for j, word in enumerate(target) if aligner.target_vocabulary.id(normalise(word)) < 0],
    }
    for detail in ("score_forward", "score_reverse", "certified", "score", "bound"):
        if detail in found.details:
            value = found.details[detail]
            answer[detail] = value if isinstance(value, bool) else _number(value)
    if asked.posteriors:
        answer["posteriors"] = [[_number(p) for p in row] for row in aligner.posteriors(source, target).tolist()]
    return answer


def _number(value: float) -> float | None:
    return round(float(value), 4) if math.isfinite(value) else None


def _json(value: Any, status: int = 200) -> Response:
    # All of ASCII: a lone surrogate that came in as an escape goes out as one.
    return Response(json.dumps(value, allow_nan=False), status, HEADERS, "application/json")


async def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    remedies = {404: "There are /, /align, /models, /health and /openapi.json.", 405: "POST to /align; GET the rest."}
    problems = {404: "there is nothing at this address", 405: "this address does not take that method"}
    problem = error.detail if isinstance(error, Problem) else problems.get(error.status_code, error.detail)
    remedy = error.remedy if isinstance(error, Problem) else remedies.get(error.status_code, "")
    return _told(request, error.status_code, problem, remedy, error.headers)


async def _fail(request: Request, error: Exception) -> Response:
    return _told(request, 500, "something went wrong inside", "The terminal that runs the server says more.", None)


def _told(request: Request, status: int, problem: str, remedy: str, headers: Mapping[str, str] | None) -> Response:
    """A page for a browser, JSON for everybody else."""
    if "text/html" in request.headers.get("accept", ""):
        return HTMLResponse(error_page(status, problem, remedy), status, {**HEADERS, **(headers or {})})
    response = _json({"error": problem, "remedy": remedy}, status)
    response.headers.update(headers or {})
    return response
