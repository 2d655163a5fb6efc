"""Where a command's server listens, and by which names it may be called."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from dovetail.errors import InputError


def listening_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """--host, --port, --max-words."""
    options = (
        click.option(
            "--host",
            default="127.0.0.1",
            show_default=True,
            help="Address to listen on.  The default is reached from this machine only.",
        ),
        click.option(
            "--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0 takes a free one."
        ),
        click.option(
            "--max-words",
            type=click.IntRange(1),
            default=400,
            show_default=True,
            help="Longest sentence that a model is asked about.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def own_names(host: str) -> tuple[str, ...]:
    """The names by which a server on this address may be called; none: any, for it can be reached from elsewhere."""
    from dovetail.serve.app import LOOPBACK

    return (*LOOPBACK, host) if host in LOOPBACK or host.startswith("127.") else ()


@contextmanager
def own_socket(host: str, port: int) -> Iterator[tuple[socket.socket, str]]:
    """A socket that listens there, and the address to print."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, port), family=family)
    except (OSError, OverflowError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot listen on {host}, port {port}: {reason}", remedy="Choose another --port.") from error
    shown = f"[{host}]" if ":" in host else host
    with listener:
        yield listener, f"http://{shown}:{listener.getsockname()[1]}/"
