"""`dovetail phrases`: phrase pairs from links, or their score against those from gold links."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import Any

import click

from dovetail.cli.aligned import aligned_text, open_aligned, watching
from dovetail.cli.options import Bytes

FORMATS = ("moses", "thot", "tsv", "positions")


@click.command()
@aligned_text
@click.option(
    "-o", "--output", default="-", metavar="FILE", help="Where phrase pairs go; - is standard output, .gz .zst work."
)
@click.option(
    "--format", "format_", type=click.Choice(FORMATS), default="moses", show_default=True, help="What is written."
)
@click.option(
    "--reordering",
    metavar="FILE",
    help="Write the reordering table, too: wbe-msd-bidirectional-fe-allff, six features.",
)
@click.option(
    "--longest", type=click.IntRange(1), default=7, show_default=True, help="Words of a phrase at most, on either side."
)
@click.option(
    "--memory", type=Bytes(), default="256M", show_default=True, help="Memory to sort in; the rest is on disk."
)
@click.option(
    "--work", metavar="DIR", help="Where sorted parts wait on disk.  [default: the system's place for such files]"
)
@click.option("--gold", metavar="FILE", help="Print how many phrase pairs are those of gold links, and write none.")
@click.option("--sure", is_flag=True, help="With --gold: phrase pairs of its sure links alone.")
@click.option("--json", "as_json", is_flag=True, help="With --gold: print one JSON object.")
@click.option("--quiet", is_flag=True, help="No progress.")
def phrases(**values: Any) -> None:
    """Extract phrase pairs from an aligned text, or score them.

    SOURCE and TARGET are read as by `dovetail align`.  A phrase pair is a span of each sentence with at least one link
    between them, and none that leaves either.  The table of Moses has `source ||| target ||| p(s|t) lex(s|t) p(t|s) lex(t|s)
    ||| links ||| counts of target, source and both`; thot has `target ||| source ||| counts of target and both`, tsv source,
    target and count, positions every place: pair, spans (both ends inclusive, counted from 0) and words.  With --gold it
    prints precision, recall and F1 of the phrase pairs against those that the gold links allow.
    """
    from dovetail.bitext.text import atomic_writer
    from dovetail.uses.phrase_lines import LINES
    from dovetail.uses.phrase_table import phrase_blocks
    from dovetail.uses.phrases import occurrences

    format_, output, longest, reordering = (values[name] for name in ("format_", "output", "longest", "reordering"))
    if values["gold"] is not None:
        if output != "-" or reordering:
            raise click.UsageError("--gold prints a score and writes no phrase pairs: drop -o and --reordering.")
        _score(values)
        return
    if values["sure"] or values["as_json"]:
        raise click.UsageError("--sure and --json belong to --gold.")
    if reordering and format_ not in ("moses", "tsv"):
        raise click.UsageError("--reordering goes with the formats moses and tsv.")
    with ExitStack() as stack:
        aligned = stack.enter_context(watching(open_aligned(values), values["quiet"] or output == "-"))
        handle = stack.enter_context(atomic_writer(output))
        if format_ == "positions":
            for n, (a, b, c, d), source, target in occurrences(aligned, longest):
                handle.write(f"{n}\t{a}-{b}\t{c}-{d}\t{' '.join(source)}\t{' '.join(target)}\n")
            return
        orders = stack.enter_context(atomic_writer(reordering)) if reordering else None
        thot = format_ == "thot"
        for block in phrase_blocks(aligned, longest, thot=thot, memory=values["memory"], folder=values["work"]):
            handle.write(LINES[format_](block))
            if orders is not None:
                orders.write(LINES["reordering"](block))


def _score(values: dict[str, Any]) -> None:
    from dovetail.alignments.gold import read_gold
    from dovetail.uses.phrases import evaluate_phrases

    bitext, alignments = open_aligned(values).whole(keep_text=False)
    gold = read_gold(values["gold"], lengths=bitext.lengths, partial=True)
    score = evaluate_phrases(alignments, gold, values["longest"], sure_only=values["sure"])
    click.echo(json.dumps(score.to_dict()) if values["as_json"] else str(score))
