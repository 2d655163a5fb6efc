"""`dovetail show`: one pair's alignment in the terminal."""

from __future__ import annotations

from typing import Any

import click

from dovetail.cli.aligned import aligned_text, open_aligned
from dovetail.errors import InputError


@click.command()
@aligned_text
@click.option(
    "--pair", type=click.IntRange(1), default=1, show_default=True, metavar="N", help="Which pair: its line, from 1."
)
@click.option("--gold", metavar="FILE", help="Links made by hand: what is right, wrong and missed.")
@click.option("--color/--no-color", default=None, help="Colours or none.  [default: on a terminal]")
def show(**values: Any) -> None:
    """Draw a pair's alignment in the terminal: a row for each source word, a column for each target word.

    SOURCE and TARGET are read as by `dovetail align`.  With --load the links and all probabilities are a saved model's.
    Marks differ in shape, so that they can be told apart without colours.
    """
    import shutil

    from rich.console import Console

    from dovetail.aligner import Aligner
    from dovetail.alignments.formats import read_alignments
    from dovetail.bitext.corpus import read_bitext
    from dovetail.report.grid import grid, legend

    aligned, n = open_aligned(values), values["pair"] - 1
    bitext = read_bitext(aligned.source, aligned.target, **aligned.reading)
    if n >= len(bitext):
        raise InputError(f"no pair {n + 1:,}", path=aligned.source, remedy=f"There are {len(bitext):,}.")
    words = bitext.tokens(n)
    if isinstance(aligned.aligner, Aligner):
        alignment = aligned.aligner.align_pair(*words)
        cells = aligned.aligner.posteriors(*words)
        probabilities = {(i, j): float(cells[i, j]) for i, j in zip(*(cells > 0.01).nonzero(), strict=True)}
    else:
        alignment = read_alignments(str(aligned.links), aligned.links_format, bitext.lengths)[n]
        probabilities = dict(zip(alignment.links, alignment.probabilities, strict=True))
    shaded = any(p < 1 for p in probabilities.values())
    sure = possible = None
    if values["gold"]:
        from dovetail.alignments.gold import read_gold

        gold = read_gold(values["gold"])
        if n >= len(gold):
            raise InputError(
                f"no gold links of pair {n + 1:,}", path=values["gold"], remedy=f"It has {len(gold):,} pairs."
            )
        sure, possible = gold[n].sure, gold[n].possible
    color = values["color"]
    size = shutil.get_terminal_size((100, 24))
    console = Console(
        highlight=False,
        soft_wrap=True,
        width=size.columns,
        no_color=color is False or None,
        force_terminal=True if color else None,
    )
    console.print(
        grid(*words, alignment.links, sure, possible, probabilities if shaded else None, size.columns), end=""
    )
    console.print(legend(sure is not None, shaded))
    facts = [f"pair {n + 1:,}", f"{len(alignment)} link{'' if len(alignment) == 1 else 's'}"]
    if "certified" in alignment.details:
        facts.append("proved optimal" if alignment.details["certified"] else "not certified")
    console.print(", ".join(facts))
