"""`dovetail evaluate`: an alignment file against gold links."""

from __future__ import annotations

import json

import click

from dovetail.cli.options import Names, format_names


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
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the resampling.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def evaluate(
    hypothesis: str, gold: str, format_: str | None, skip: int, bootstrap: int, seed: int, as_json: bool
) -> None:
    """Score an alignment against gold links.

    HYPOTHESIS is a file that `dovetail align` or another aligner wrote.  GOLD has one line a pair, `i-j` for a sure link
    and `i?j` for a possible one, counted from 0; the WPT/NAACL form is read too.  Prints AER, precision, recall, F1.
    """
    from dovetail.alignments.formats import read_alignments
    from dovetail.alignments.gold import read_gold
    from dovetail.evaluation import evaluate as score_against

    links = read_alignments(hypothesis, format_)
    score = score_against(links[skip:], read_gold(gold), bootstrap=bootstrap, seed=seed)
    click.echo(json.dumps(score.to_dict()) if as_json else str(score))
