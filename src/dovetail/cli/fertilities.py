"""`dovetail fertilities`: how many links each word of a trained model takes."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from dovetail.cli.options import plugins


@click.command()
@click.argument("model")
@click.option("--direction", type=click.Choice(["forward", "reverse"]), default="forward", show_default=True)
@click.option(
    "--minimum", type=click.IntRange(0), default=10, show_default=True, help="Leave out words seen less often."
)
@click.option("--top", type=click.IntRange(1), metavar="N", help="Only the N most frequent words.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line instead of a table.")
@plugins
def fertilities(model: str, direction: str, minimum: int, top: int | None, as_json: bool) -> None:
    """Show how many links each word of a trained model takes.

    MODEL is a directory that `dovetail align --recipe hmm-fertility --save MODEL` wrote.  Prints word, mean, count and the
    likeliest translations, separated by tabs; NULL first, whose mean is its links for each word.  `--direction forward`
    shows source words, `reverse` target words.
    """
    from dovetail.aligner import Aligner

    entries = Aligner.load(model, threads=1).fertilities(direction, minimum)
    for entry in entries[: None if top is None else top + 1]:
        if as_json:
            click.echo(json.dumps(asdict(entry), ensure_ascii=False))
        else:
            click.echo(f"{entry.word}\t{entry.mean:.3f}\t{entry.count}\t{' '.join(entry.examples)}")
