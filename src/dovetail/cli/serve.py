"""`dovetail serve`: a local web page that aligns what one types."""

from __future__ import annotations

import click

from dovetail.cli.options import plugins
from dovetail.errors import InputError


@click.command()
@click.option(
    "--load",
    "models",
    multiple=True,
    required=True,
    metavar="[NAME=]MODEL",
    help="A model that `dovetail align --save` wrote; repeatable.",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on.  The default is reached from this machine only.",
)
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0 takes a free one.")
@click.option(
    "--max-bytes", type=click.IntRange(1), default=64 * 1024, show_default=True, help="Largest request accepted."
)
@click.option("--max-words", type=click.IntRange(1), default=400, show_default=True, help="Longest sentence aligned.")
@click.option(
    "--max-seconds",
    type=click.FloatRange(0, min_open=True),
    default=10.0,
    show_default=True,
    help="Longest time for a request and for its answer.",
)
@click.option("--threads", type=click.IntRange(1), metavar="N", help="Threads; never changes the result.")
@click.option("--quiet", is_flag=True, help="Print the address only.")
@plugins
def serve(
    models: tuple[str, ...],
    host: str,
    port: int,
    max_bytes: int,
    max_words: int,
    max_seconds: float,
    threads: int | None,
    quiet: bool,
) -> None:
    """Align what one types, on a local web page, with saved models.

    Programs POST {"source": ..., "target": ...} to /align; /openapi.json describes it.
    """
    import socket
    from contextlib import suppress

    try:
        import uvicorn

        from dovetail.report.live import LOOPBACK, Limits, live_app
    except ImportError as error:
        raise InputError(
            f"the live page needs the package {error.name}",
            remedy="Install what it needs: python -m pip install 'dovetail-align[serve]'.",
        ) from error
    from dovetail.cli.align import say_compiling
    from dovetail.cli.progress import say
    from dovetail.cli.view import load_models

    aligners = load_models(models, threads, None)
    say_compiling(quiet)
    for aligner in aligners.values():
        aligner.align_pair(
            ["a"], ["b"]
        )  # compiles or reads what is compiled: the first request is as fast as the others
    local = host in LOOPBACK or host.startswith("127.")
    app = live_app(aligners, Limits(max_bytes, max_words, max_seconds), (*LOOPBACK, host) if local else ())
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, port), family=family)
    except (OSError, OverflowError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot listen on {host}, port {port}: {reason}", remedy="Choose another --port.") from error
    shown = f"[{host}]" if ":" in host else host
    click.echo(f"http://{shown}:{listener.getsockname()[1]}/")
    if not local:
        say("Anybody who can reach this machine can use it: there is no password.", quiet)
    config = uvicorn.Config(
        app,
        log_level="error" if quiet else "warning",
        access_log=False,
        timeout_keep_alive=5,
        limit_concurrency=64,
        server_header=False,
        timeout_graceful_shutdown=2,
    )
    with listener, suppress(KeyboardInterrupt):  # Ctrl-C is how it ends
        uvicorn.Server(config).run(sockets=[listener])
