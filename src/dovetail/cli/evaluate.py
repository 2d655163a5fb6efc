"""`dovetail evaluate`: an alignment file against gold links."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from dovetail.cli.options import SEED, Names, NamesOfSides, format_names, tokenizer_names
from dovetail.errors import InputError

if TYPE_CHECKING:
    from dovetail.alignments.alignments import Alignments
    from dovetail.alignments.gold import Gold
    from dovetail.bitext.corpus import Bitext


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
@click.option(
    "--tokenizer",
    type=NamesOfSides("name", tokenizer_names),
    default="whitespace",
    show_default=True,
    help="With --text: how it was cut when it was aligned; A,B: source and target apart.",
)
@click.option(
    "--model",
    metavar="MODEL",
    help="With --text: the model that made the links; gold pairs that it learned from are left out.",
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
    tokenizer: str,
    model: str | None,
    as_json: bool,
) -> None:
    """Score an alignment against gold links.

    HYPOTHESIS is a file that `dovetail align` or another aligner wrote.  GOLD has one line per pair, `i-j` for a sure link
    and `i?j` for a possible one, counted from 0; the WPT/NAACL form is read too.  GOLD may tell of some pairs only: by blank
    lines for the others, by lines with a pair's number (from 1), a tab and links, or by ending early; the others do not
    count then.  Prints AER, precision, recall, F1.
    """
    from dovetail.alignments.gold import read_gold
    from dovetail.bitext.corpus import read_bitext
    from dovetail.evaluation import evaluate as score_against

    if model and not text:
        raise click.UsageError("--model needs --text: gold pairs are known by their words.")
    bitext = read_bitext(*text, tokenizer=tokenizer, keep_text=False) if text else None
    truth = read_gold(gold, lengths=bitext.lengths if bitext else None, partial=True)
    if model and bitext is not None:
        truth = _without_learned(truth, bitext, model)
    truth = truth.trimmed()
    links = links_to_score(hypothesis, gold, truth, format_, skip)
    score = score_against(links, truth, bootstrap=bootstrap, seed=seed)
    click.echo(json.dumps(score.to_dict()) if as_json else str(score))


def _without_learned(truth: Gold, bitext: Bitext, model: str) -> Gold:
    """Gold links of the pairs that the model did not learn from."""
    from dovetail.aligner import Aligner

    known = Aligner.load(model).learned_from(bitext) & truth.annotated
    if known.all():
        raise InputError(
            f"the model learned from all {len(known):,} gold pairs", path=model, remedy="Score it on others."
        )
    if known.any():
        said = f"dovetail: the model learned from {int(known.sum()):,} of the gold pairs: they are left out"
        click.echo(said, err=True)
    return truth.without(known)


def links_to_score(
    path: str, gold: str, truth: Gold, format_: str | None = None, skip: int = 0, tell: bool = True
) -> Alignments:
    """The links of a file after the first `skip` pairs, as many as have a place in the gold links; `tell` if few have."""
    from dovetail.alignments.formats import read_alignments

    links = read_alignments(path, format_)[skip:]
    if len(links) < len(truth):
        behind = f" behind the first {skip:,}" if skip else ""
        raise InputError(
            f"{len(links):,} pairs{behind}, but {len(truth):,} pairs in {gold}",
            path=path,
            remedy="It needs every pair, those without links too; `evaluate --skip N` leaves out the first N.",
        )
    scored = int(truth.annotated.sum())
    if scored < len(links) and tell:
        where = "the first " if scored == len(truth) else ""
        click.echo(f"{gold} has links of {where}{scored:,} of {len(links):,} pairs: those are scored", err=True)
    links = links[: len(truth)]
    check_counting(links, truth, path)
    return links


def check_counting(links: Alignments, truth: Gold, path: str) -> None:
    """Refuse links that count from 1: never 0 where gold links do so, and nearer to them when moved by one."""
    import numpy as np

    from dovetail.alignments.alignments import Alignments
    from dovetail.alignments.gold import ENOUGH_PAIRS
    from dovetail.evaluation import evaluate as score_against

    if not len(links.source) or (links.source == 0).any() or (links.target == 0).any():
        return
    if not ((truth.source == 0) | (truth.target == 0)).any():
        return
    lengths = np.maximum(links.source_lengths - 1, 0), np.maximum(links.target_lengths - 1, 0)
    moved = Alignments(links.offsets, links.source - 1, links.target - 1, links.probability, *lengths)
    here, there = (score_against(each, truth).aer for each in (links, moved))
    if there >= here:
        return
    problem = f"no index is 0, and with 1 less than each the AER would be {100 * there:.1f}, not {100 * here:.1f}"
    remedy = "Links count from 0: subtract 1 from every index."
    if np.count_nonzero(np.diff(links.offsets)) >= ENOUGH_PAIRS:
        raise InputError(f"the links seem to count from 1: {problem}", path=path, remedy=remedy)
    click.echo(f"dovetail: {path}: do these links count from 1? {problem.capitalize()}. {remedy}", err=True)
