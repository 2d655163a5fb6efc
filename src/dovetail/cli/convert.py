"""`dovetail convert`: an alignment file in another format."""

from __future__ import annotations

from typing import Any

import click

from dovetail.cli.options import Names, format_names, reading, text_options


@click.command()
@click.argument("alignment")
@click.argument("source", required=False)
@click.argument("target", required=False)
@click.option("--from", "from_", type=Names("name", format_names), help="Format of the input.  [default: seen]")
@click.option("--to", "to", type=Names("name", format_names), required=True, help="Format of the output.")
@click.option("-o", "--output", default="-", metavar="FILE", help="Where links go; - is standard output.")
@text_options
def convert(
    alignment: str,
    source: str | None,
    target: str | None,
    from_: str | None,
    to: str,
    output: str,
    **values: Any,
) -> None:
    """Rewrite an alignment file in another format; formats that show words need the bitext, SOURCE and TARGET."""
    from dovetail.alignments.formats import alignment_formats, read_alignments, write_alignments
    from dovetail.bitext.corpus import read_bitext
    from dovetail.bitext.text import atomic_writer

    if alignment_formats[to].needs_text and source is None:
        raise click.UsageError(f"the format {to} shows the words: name the bitext, SOURCE and TARGET.")
    bitext = None if source is None else read_bitext(source, target, **reading(values))
    links = read_alignments(alignment, from_, None if bitext is None else bitext.lengths)
    with atomic_writer(output) as handle:
        write_alignments(handle, links, to, None if bitext is None else bitext.text)
