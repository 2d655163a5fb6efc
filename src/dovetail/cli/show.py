"""`dovetail show`: one pair's alignment in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from dovetail.cli.options import Names, format_names, plugins, reading, text_options
from dovetail.errors import InputError

if TYPE_CHECKING:
    from dovetail.bitext.corpus import Bitext


@click.command()
@click.argument("source")
@click.argument("target")
@click.argument("links", required=False)
@click.option(
    "--pair", type=click.IntRange(1), default=1, show_default=True, metavar="N", help="Which pair: its line, from 1."
)
@click.option("--load", metavar="MODEL", help="Align the pair with a saved model, in place of LINKS.")
@click.option("--gold", metavar="FILE", help="Links made by hand: what is right, wrong and missed.")
@click.option("--format", "format_", type=Names("name", format_names), help="Format of the links.  [default: seen]")
@click.option("--color/--no-color", default=None, help="Colours or none.  [default: on a terminal]")
@text_options
@plugins
def show(source: str, target: str, links: str | None, **values: Any) -> None:
    """Draw a pair's alignment in the terminal: a row for each source word, a column for each target word.

    LINKS is an alignment file; with --load the links and all probabilities are a saved model's.  Marks differ in shape,
    so that they can be told apart without colours.
    """
    import shutil

    from rich.console import Console

    from dovetail.bitext.corpus import read_bitext
    from dovetail.report.grid import grid, legend

    options, load, number = reading(values), values["load"], values["pair"]
    if (links is None) == (load is None):
        raise click.UsageError("give either the file LINKS or --load MODEL.")
    aligner = None
    if load is not None:
        from dovetail.cli.view import load_models

        (aligner,) = load_models((load,), 1, options).values()
    bitext = read_bitext(source, target, **options)
    if number > len(bitext):
        raise InputError(f"no pair {number:,}", path=source, remedy=f"There are {len(bitext):,}.")
    n = number - 1
    words = bitext.tokens(n)
    if aligner is not None:
        alignment = aligner.align_pair(*words)
        cells = aligner.posteriors(*words)
        probabilities = {(i, j): float(cells[i, j]) for i, j in zip(*(cells > 0.01).nonzero(), strict=True)}
    else:
        alignment = _links(str(links), values["format_"], bitext)[n]
        probabilities = dict(zip(alignment.links, alignment.probabilities, strict=True))
    shaded = any(p < 1 for p in probabilities.values())
    sure = possible = None
    if values["gold"]:
        from dovetail.alignments.gold import read_gold

        gold = read_gold(values["gold"])
        if n >= len(gold):
            raise InputError(
                f"no gold links of pair {number:,}", path=values["gold"], remedy=f"It has {len(gold):,} pairs."
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
    facts = [f"pair {number:,}", f"{len(alignment)} link{'' if len(alignment) == 1 else 's'}"]
    if "certified" in alignment.details:
        facts.append("proved optimal" if alignment.details["certified"] else "not certified")
    console.print(", ".join(facts))


def _links(path: str, format_: str | None, bitext: Bitext) -> Any:
    from dovetail.alignments.formats import read_alignments

    return read_alignments(path, format_, bitext.lengths)
