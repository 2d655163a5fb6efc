"""`dovetail serve`: a local web page that aligns what one types, and the same for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from dovetail.cli.aligned import links_format
from dovetail.cli.index import index_place, ready_index
from dovetail.cli.listening import listening_options, own_names, own_socket
from dovetail.cli.options import plugins, text_options
from dovetail.errors import InputError

if TYPE_CHECKING:
    from dovetail.uses.index import Index


@click.command()
@click.argument("source", required=False)
@click.argument("target", required=False)
@click.option("--links", metavar="FILE", help="The links of the text.  [default: those of the first model]")
@links_format
@click.option(
    "--load",
    "models",
    multiple=True,
    metavar="[NAME=]MODEL",
    help="A model that `dovetail align --save` wrote; repeatable.",
)
@index_place
@listening_options
@click.option("--max-bytes", type=click.IntRange(1), default=1 << 20, show_default=True, help="Largest request taken.")
@click.option("--max-pairs", type=click.IntRange(1), default=1000, show_default=True, help="Most pairs of a request.")
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
@text_options
@plugins
def serve(models: tuple[str, ...], host: str, port: int, threads: int | None, quiet: bool, **values: Any) -> None:
    """Align what one types, on a local web page, with saved models, and look words up in an aligned text.

    SOURCE and TARGET are read as by `dovetail align`; with --links, or with the first model's links, their words are the
    page's dictionary.  It is looked up in an index like that of `dovetail find`, which is made before the page is served.
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
    from dovetail.cli.progress import say
    from dovetail.cli.view import load_models

    index = _dictionary({**values, "threads": threads, "quiet": quiet}, models)
    if not models and index is None:
        raise click.UsageError("nothing to serve: pass --load MODEL, or a text with --links FILE.")
    aligners = load_models(models, threads, None)
    if aligners:
        say_compiling(quiet)
    for aligner in aligners.values():  # compiles or reads what is compiled: the first request is as fast as the others
        aligner.align_pair(["a"], ["b"])
    limits = Limits(*(values[f"max_{name}"] for name in ("bytes", "words", "seconds", "pairs", "waiting")))
    names = own_names(host)
    app = live_app(aligners, limits, names, index)
    with own_socket(host, port) as (listener, address):
        click.echo(address)
        if not names:
            say("Anybody who can reach this machine can use it: there is no password.", quiet)
        run(app, listener, limits, quiet=quiet)


def _dictionary(values: dict[str, Any], models: tuple[str, ...]) -> Index | None:
    """The index of the text, if one was named."""
    from dovetail.cli.view import named

    if values["source"] is None:
        if values["links"] is not None:
            raise click.UsageError("--links belongs to a text: name SOURCE and TARGET.")
        return None
    load = named(models[0])[1] if models and values["links"] is None else None
    return ready_index({**values, "load": load})
