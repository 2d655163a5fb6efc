"""`dovetail evaluate`: an alignment file against gold links."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from dovetail.cli.options import SEED, Names, format_names
from dovetail.errors import InputError

if TYPE_CHECKING:
    from dovetail.alignments.alignments import Alignments
    from dovetail.alignments.gold import Gold


@click.command()
@click.argument("hypothesis")
@click.argument("gold")
@click.option(
    "--format", "format_", type=Names("name", format_names), help="Format of the hypothesis.  [default: seen]"
)
@click.option("--skip", type=click.IntRange(0), default=0, help="Leave out the first N pairs of the hypothesis.")
@click.option(
    "--bootstrap",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Confidence interval from N resamples.",
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of the resampling.")
@click.option(
    "--text", nargs=2, metavar="SOURCE TARGET", help="The gold's sentences: links outside of them are refused."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def evaluate(
    hypothesis: str,
    gold: str,
    format_: str | None,
    skip: int,
    bootstrap: int,
    seed: int,
    text: tuple[str, str] | None,
    as_json: bool,
) -> None:
    """Score an alignment against gold links.

    HYPOTHESIS is a file that `dovetail align` or another aligner wrote.  GOLD has one line per pair, `i-j` for a sure link
    and `i?j` for a possible one, counted from 0; the WPT/NAACL form is read too.  Prints AER, precision, recall, F1.
    """
    from dovetail.alignments.gold import read_gold
    from dovetail.bitext.corpus import read_bitext
    from dovetail.evaluation import evaluate as score_against

    truth = read_gold(gold, lengths=read_bitext(*text, keep_text=False).lengths if text else None)
    links = links_to_score(hypothesis, gold, truth, format_, skip)
    score = score_against(links, truth, bootstrap=bootstrap, seed=seed)
    click.echo(json.dumps(score.to_dict()) if as_json else str(score))


def links_to_score(path: str, gold: str, truth: Gold, format_: str | None = None, skip: int = 0) -> Alignments:
    """The links of a file after the first `skip` pairs, which must be as many as have gold."""
    from dovetail.alignments.formats import read_alignments

    links = read_alignments(path, format_)[skip:]
    if len(links) != len(truth):
        behind = f" behind the first {skip:,}" if skip else ""
        raise InputError(
            f"{len(links):,} pairs{behind}, but {len(truth):,} pairs in {gold}",
            path=path,
            remedy="Both need every pair, those without links too; `evaluate --skip N` leaves out the first N.",
        )
    return links
