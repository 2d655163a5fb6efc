"""`dovetail combine`: two directions' files become one."""

from __future__ import annotations

import click

from dovetail.cli.options import Names, format_names


def _combiner_names() -> list[str]:
    from dovetail.alignments.combine import combiners

    return list(combiners)


def _wordless_format_names() -> list[str]:
    from dovetail.alignments.formats import alignment_formats

    return [name for name in format_names() if not alignment_formats[name].needs_text]


@click.command()
@click.argument("forward")
@click.argument("reverse")
@click.option(
    "--combine",
    "method",
    type=Names("name", _combiner_names),
    default="grow-diag-final-and",
    show_default=True,
)
@click.option("-o", "--output", default="-", metavar="FILE", help="Where links go; - is standard output.")
@click.option(
    "--format",
    "format_",
    type=Names("name", _wordless_format_names),
    default="pharaoh",
    show_default=True,
    help="Output; `dovetail convert` makes the formats that show words.",
)
@click.option("--swap-reverse", is_flag=True, help="REVERSE lists its links target first.")
def combine(forward: str, reverse: str, method: str, output: str, format_: str, swap_reverse: bool) -> None:
    """Make one alignment of two directions' files, from any aligner.

    FORWARD and REVERSE hold links i-j, source first in both.
    """
    from dovetail.alignments.combine import combiners
    from dovetail.alignments.formats import read_alignments, write_alignments
    from dovetail.bitext.text import atomic_writer

    other = read_alignments(reverse)
    result = combiners[method](read_alignments(forward), other.swapped() if swap_reverse else other)
    with atomic_writer(output) as handle:
        write_alignments(handle, result, format_)
