"""`dovetail serve`: a local web page that aligns what one types, and the same for programs."""

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
@click.option("--max-bytes", type=click.IntRange(1), default=1 << 20, show_default=True, help="Largest request taken.")
@click.option("--max-pairs", type=click.IntRange(1), default=1000, show_default=True, help="Most pairs of a request.")
@click.option("--max-words", type=click.IntRange(1), default=400, show_default=True, help="Longest sentence aligned.")
@click.option(
    "--max-seconds",
    type=click.FloatRange(0, min_open=True),
    default=10.0,
    show_default=True,
    help="Longest time for a request and for its answer.",
)
@click.option(
    "--max-waiting",
    type=click.IntRange(1),
    default=256,
    show_default=True,
    help="Most requests that may wait for their turn; others are told to come back.",
)
@click.option("--threads", type=click.IntRange(1), metavar="N", help="Threads; never changes the result.")
@click.option("--quiet", is_flag=True, help="Print the address only.")
@plugins
def serve(
    models: tuple[str, ...],
    host: str,
    port: int,
    max_bytes: int,
    max_pairs: int,
    max_words: int,
    max_seconds: float,
    max_waiting: int,
    threads: int | None,
    quiet: bool,
) -> None:
    """Align what one types, on a local web page, with saved models.

    Programs POST {"source": ..., "target": ...} to /align, many pairs to /batch; /docs describes it, and
    `dovetail.Client` does it from Python.  Ctrl-C and SIGTERM end it when what was asked is answered.
    """
    try:
        from dovetail.serve.app import live_app
        from dovetail.serve.limits import Limits
        from dovetail.serve.server import run
    except ImportError as error:
        raise InputError(
            f"the live page needs the package {error.name}",
            remedy="Install what it needs: python -m pip install fastapi jinja2 uvicorn.",
        ) from error
    from dovetail.cli.align import say_compiling
    from dovetail.cli.listening import own_names, own_socket
    from dovetail.cli.progress import say
    from dovetail.cli.view import load_models

    aligners = load_models(models, threads, None)
    say_compiling(quiet)
    for aligner in aligners.values():  # compiles or reads what is compiled: the first request is as fast as the others
        aligner.align_pair(["a"], ["b"])
    limits = Limits(max_bytes, max_words, max_seconds, max_pairs, max_waiting)
    names = own_names(host)
    app = live_app(aligners, limits, names)
    with own_socket(host, port) as (listener, address):
        click.echo(address)
        if not names:
            say("Anybody who can reach this machine can use it: there is no password.", quiet)
        run(app, listener, limits, quiet=quiet)
