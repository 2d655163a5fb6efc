"""`dovetail fertilities`: how many links each word of a trained model takes."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import click

from dovetail.cli.options import plugins, reading, reading_of, text_options


@click.command()
@click.argument("model")
@click.argument("source", required=False)
@click.argument("target", required=False)
@click.option("--direction", type=click.Choice(["forward", "reverse"]), default="forward", show_default=True)
@click.option(
    "--minimum", type=click.IntRange(0), default=10, show_default=True, help="Leave out words seen less often."
)
@click.option("--top", type=click.IntRange(1), metavar="N", help="Only the N most frequent words.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line instead of a table.")
@plugins
@text_options
def fertilities(
    model: str, source: str | None, target: str | None, direction: str, minimum: int, top: int | None, **values: Any
) -> None:
    """Show how many links each word of a trained model takes.

    MODEL is a directory that `dovetail align --save MODEL` wrote.  Prints word, mean, count and the likeliest translations,
    separated by tabs; NULL first, whose mean is its links for each word.  `--direction forward` shows source words,
    `reverse` target words.  Where SOURCE and TARGET are given, links are counted there; a model that has learned no
    fertilities (`fast`, `hmm`, `ibm1` and their like) needs them.
    """
    from dovetail.aligner import Aligner
    from dovetail.bitext.corpus import read_bitext

    aligner = Aligner.load(model, threads=1)
    options = reading(values)
    bitext = None
    if source is not None:
        options |= reading_of(aligner.text_options, options)
        bitext = read_bitext(source, target, keep_text=False, **options)
    entries = aligner.fertilities(direction, minimum, bitext)
    for entry in entries[: None if top is None else top + 1]:
        if values["as_json"]:
            click.echo(json.dumps(asdict(entry), ensure_ascii=False))
        else:
            click.echo(f"{entry.word}\t{entry.mean:.3f}\t{entry.count}\t{' '.join(entry.examples)}")
