"""`dovetail learn`: what a few gold pairs teach a trained model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from dovetail.cli.options import plugins, reading, reading_of, text_options

if TYPE_CHECKING:
    from dovetail.learning.learn import Learned

FAVOUR = click.Choice(["aer", "f1", "precision", "recall"])


@click.command()
@click.argument("model")
@click.argument("source")
@click.argument("target")
@click.argument("gold")
@click.option("--save", metavar="MODEL", required=True, help="Where the model that has learned goes.")
@click.option(
    "--favour",
    type=FAVOUR,
    default="aer",
    show_default=True,
    help="What links are chosen for; precision is F0.5, recall F2.",
)
@click.option("--curve", is_flag=True, help="Also learn from a part of the pairs: would annotating more pay?")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--threads", type=click.IntRange(1), metavar="N", help="Threads; never changes the result.")
@plugins
@text_options
def learn(
    model: str,
    source: str,
    target: str,
    gold: str,
    save: str,
    favour: str,
    curve: bool,
    as_json: bool,
    threads: int | None,
    **values: Any,
) -> None:
    """Learn from the gold links of some pairs how their annotators link, on top of a trained MODEL.

    GOLD has one line per pair of SOURCE and TARGET, or lines with a pair's number (from 1), a tab and links for some.
    About 100 pairs are a good beginning; `dovetail pick` says which.  Prints the score of gold pairs that were held out,
    before and after.  Where these do not support a change, the model is saved as it was.  Needs LightGBM (the extra
    `learn`); aligning with the new model does not.
    """
    from dovetail.aligner import Aligner
    from dovetail.alignments.gold import read_gold
    from dovetail.bitext.corpus import read_bitext
    from dovetail.cli.align import say_compiling
    from dovetail.models.storage import check_place

    options = reading(values)
    check_place(save)
    aligner = Aligner.load(model, threads=threads)
    options |= reading_of(aligner.text_options, options)
    say_compiling(quiet=as_json)
    bitext = read_bitext(source, target, keep_text=False, **options)
    truth = read_gold(gold, lengths=bitext.lengths, partial=True)
    result = aligner.learn(bitext, truth, favour=favour, curve=curve)
    aligner.save(save)
    if as_json:
        click.echo(json.dumps(result.to_dict()))
        return
    click.echo(str(result))
    if result.curve:
        _draw(result)


def _draw(result: Learned) -> None:
    """The learning curve as bars, and what its end says."""
    top = max(value for _, value in result.curve)
    for pairs, value in result.curve:
        click.echo(f"{pairs:6,} pairs {100 * value:6.2f} {'█' * round(40 * value / top)}")
    click.echo(result.prospect)
