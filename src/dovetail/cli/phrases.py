"""`dovetail phrases`: phrase pairs from links, or their score against those from gold links."""

from __future__ import annotations

import json
from typing import Any

import click

from dovetail.cli.aligned import aligned_text, open_aligned


@click.command()
@aligned_text
@click.option(
    "-o", "--output", default="-", metavar="FILE", help="Where phrase pairs go; - is standard output, .gz .zst work."
)
@click.option(
    "--longest", type=click.IntRange(1), default=7, show_default=True, help="Words of a phrase at most, on either side."
)
@click.option("--positions", is_flag=True, help="One line for every place where a phrase pair stands.")
@click.option("--gold", metavar="FILE", help="Print how many phrase pairs are those of gold links, and write none.")
@click.option("--sure", is_flag=True, help="With --gold: phrase pairs of its sure links alone.")
@click.option("--json", "as_json", is_flag=True, help="With --gold: print one JSON object.")
def phrases(
    output: str, longest: int, positions: bool, gold: str | None, sure: bool, as_json: bool, **values: Any
) -> None:
    """Extract phrase pairs from an aligned bitext, or score them.

    SOURCE and TARGET are read as by `dovetail align`.  A phrase pair is a span of each
    sentence with at least one link between them, and none that leaves either.  Writes source phrase, target phrase and
    count, separated by tabs, the most frequent first; with --positions pair, spans (both ends inclusive, counted from 0) and
    words.  With --gold it prints precision, recall and F1 of the phrase pairs against those that the gold links allow.
    """
    from dovetail.alignments.gold import read_gold
    from dovetail.bitext.text import atomic_writer
    from dovetail.uses.phrases import evaluate_phrases, occurrences, phrase_table

    if gold is None and (sure or as_json):
        raise click.UsageError("--sure and --json belong to --gold.")
    if gold is not None and (positions or output != "-"):
        raise click.UsageError("--gold prints a score and writes no phrase pairs: drop --positions and -o.")
    bitext, alignments = open_aligned(values).whole(keep_text=gold is None)
    if gold is not None:
        score = evaluate_phrases(alignments, read_gold(gold, lengths=bitext.lengths), longest, sure_only=sure)
        click.echo(json.dumps(score.to_dict()) if as_json else str(score))
        return
    with atomic_writer(output) as handle:
        if positions:
            for n, (a, b, c, d), source_words, target_words in occurrences(bitext, alignments, longest):
                handle.write(f"{n}\t{a}-{b}\t{c}-{d}\t{' '.join(source_words)}\t{' '.join(target_words)}\n")
        else:
            for source_phrase, target_phrase, count in phrase_table(bitext, alignments, longest):
                handle.write(f"{source_phrase}\t{target_phrase}\t{count}\n")
