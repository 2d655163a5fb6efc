"""The server around the app: it gives up on connections that bring nothing, and finishes what it has begun."""

from __future__ import annotations

import asyncio
import math
import socket
from contextlib import suppress

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from dovetail.serve.limits import Limits

PATIENCE = 5.0  # seconds from one answer to the next request's last header, and between reads of an answer


class Connection(H11Protocol):
    """Closes itself when no request arrives, or when nobody reads the answer.

    Uvicorn itself waits without end for a first request, for the rest of its headers, and for readers.
    """

    _timer: asyncio.TimerHandle | None = None
    _unread = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        # Otherwise an answer's body waits until the headers before it are acknowledged: some 40 ms.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().connection_made(transport)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        super().connection_lost(exc)

    def _watch(self) -> None:
        self._forget()
        self._unread = self.transport.get_write_buffer_size()
        self._timer = self.loop.call_later(PATIENCE, self._look)

    def _forget(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        unread = self.transport.get_write_buffer_size()
        begun = self.cycle is not None and not self.cycle.response_complete  # a request, with deadlines of its own
        if (begun and not unread) or unread < self._unread:
            self._watch()
        else:
            self.transport.abort()


def run(app: ASGIApp, listener: socket.socket, limits: Limits, *, quiet: bool = False) -> None:
    """Serve until SIGINT or SIGTERM; then take no new requests, and finish those that are here."""
    config = uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        lifespan="off",
        log_level="error" if quiet else "warning",
        access_log=False,
        server_header=False,
        timeout_keep_alive=math.ceil(PATIENCE),
        timeout_graceful_shutdown=math.ceil(limits.seconds),
    )
    # Uvicorn raises the signal again when all is done, and the command line's handlers turn it into one of these.
    with listener, suppress(KeyboardInterrupt, SystemExit):
        uvicorn.Server(config).run(sockets=[listener])
