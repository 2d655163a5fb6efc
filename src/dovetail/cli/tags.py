"""`dovetail tags`: inline markup from a source text to its plain translation."""

from __future__ import annotations

from typing import Any

import click

from dovetail.cli.aligned import aligned_text, open_aligned


@click.command()
@aligned_text
@click.option(
    "-o", "--output", default="-", metavar="FILE", help="Where the target goes; - is standard output, .gz .zst work."
)
@click.option("--split", is_flag=True, help="An element whose words scatter may stand several times.")
@click.option(
    "--pattern", "patterns", multiple=True, metavar="REGEX", help="Further placeholders that are not text, say %[sd]."
)
def tags(output: str, split: bool, patterns: tuple[str, ...], **values: Any) -> None:
    """Move inline markup from a source text to its plain translation.

    SOURCE has markup: HTML, XLIFF 1.2 or 2, placeholders such as {1}.  TARGET has none.  Writes TARGET with every tag of
    SOURCE, line by line; elements lie apart or within each other as they do in SOURCE.  Models and links see the text
    without its markup.
    """
    from dovetail.bitext.text import atomic_writer
    from dovetail.uses.tags import tagged

    aligned = open_aligned(values)
    with atomic_writer(output) as handle:
        for line in tagged(aligned, split, patterns):
            handle.write(line + "\n")
