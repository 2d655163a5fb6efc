"""`dovetail pick`: which pairs to annotate."""

from __future__ import annotations

from typing import Any

import click

from dovetail.cli.options import plugins, reading, reading_of, text_options


@click.command()
@click.argument("source")
@click.argument("target", required=False)
@click.option("--load", metavar="MODEL", required=True, help="The saved model that is to learn from them.")
@click.option(
    "-n", "number", type=click.IntRange(1), default=50, show_default=True, metavar="N", help="How many pairs."
)
@click.option("--threads", type=click.IntRange(1), metavar="N", help="Threads; never changes the result.")
@plugins
@text_options
def pick(source: str, target: str | None, load: str, number: int, threads: int | None, **values: Any) -> None:
    """Numbers (from 1) of the pairs whose gold links would teach a model most, one per line, the best first.

    These are the pairs of which most is open, of all lengths, and not the same words again and again.  Make their links
    with `dovetail annotate`, then `dovetail learn`.
    """
    from dovetail.aligner import Aligner
    from dovetail.bitext.corpus import read_bitext
    from dovetail.cli.align import say_compiling

    options = reading(values)
    aligner = Aligner.load(load, threads=threads)
    options |= reading_of(aligner.text_options, options)
    say_compiling(quiet=False)
    for pair in aligner.pick(read_bitext(source, target, keep_text=False, **options), number):
        click.echo(pair + 1)
