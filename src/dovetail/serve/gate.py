"""What every request passes before the app sees it: its name for us, its kind, its size, the time that it takes."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dovetail.report.page import error_page
from dovetail.serve.limits import Limits, Problem
from dovetail.serve.work import to_json

HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "x-content-type-options": "nosniff",
}


class Gate:
    """Lets through what is addressed to one of our own names (empty: to any), is JSON, small enough, and there in time.

    The name is that of the Host header: a strange web page could reach us by a name of its own that leads here.  Its
    forms, on the other hand, cannot send JSON.
    """

    def __init__(self, app: ASGIApp, limits: Limits, hosts: Sequence[str]) -> None:
        self.app = app
        self.limits = limits
        self.hosts = {host.lower() for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                ours = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message["headers"], *ours]}
            await send(message)

        request = Request(scope, receive)
        try:
            if self.hosts and _host_name(request.headers.get("host", "")) not in self.hosts:
                raise Problem(421, "this server is not addressed by that name", "Use the address it printed.")
            if request.method == "POST":
                receive = _again(await self._body(request), receive)
        except Problem as problem:
            answer = refusal(request, problem.status_code, problem.detail, problem.remedy)
            await answer(scope, receive, send_guarded)
        else:
            await self.app(scope, receive, send_guarded)

    async def _body(self, request: Request) -> bytes:
        limits = self.limits
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise Problem(415, "the request is not JSON", "Send content-type: application/json.")
        too_large = Problem(413, f"the request has more than {limits.request_bytes:,} bytes", "Send less at a time.")
        length = request.headers.get("content-length", "")
        if length.isascii() and length.isdigit() and int(length[:20]) > limits.request_bytes:
            raise too_large
        body = bytearray()
        try:
            with anyio.fail_after(limits.seconds):
                async for chunk in request.stream():
                    body += chunk
                    if len(body) > limits.request_bytes:
                        raise too_large
        except TimeoutError:
            late = f"the request took more than {limits.seconds:g} seconds to arrive"
            raise Problem(408, late, "Send it again.") from None
        except ClientDisconnect:
            raise Problem(400, "the connection ended in the middle of the request") from None
        return bytes(body)


def refusal(request: Request, status: int, problem: str, remedy: str) -> Response:
    """A page for a browser, JSON for everybody else."""
    if "text/html" in request.headers.get("accept", ""):
        return HTMLResponse(error_page(status, problem, remedy), status)
    return Response(to_json({"error": problem, "remedy": remedy}), status, media_type="application/json")


def _again(body: bytes, receive: Receive) -> Receive:
    """Gives a body that has been read to the app, and then what else is received."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return messages.pop() if messages else await receive()

    return receive_again


def _host_name(host: str) -> str:
    """Without the port; an IPv6 address keeps its brackets."""
    name = host.lower()
    return name[: name.index("]") + 1] if name.startswith("[") and "]" in name else name.partition(":")[0]
