"""`dovetail remap`: links told in other tokens of the same text."""

from __future__ import annotations

import click

from dovetail.cli.aligned import links_format
from dovetail.cli.options import Names, format_names, tokenizer_names


@click.command()
@click.argument("links")
@click.argument("source")
@click.argument("target")
@click.argument("new_source")
@click.argument("new_target")
@click.option(
    "-o", "--output", default="-", metavar="FILE", help="Where links go; - is standard output, .gz .zst work."
)
@click.option(
    "--format", "format_", type=Names("name", format_names), default="pharaoh", show_default=True, help="Output."
)
@click.option("--probabilities", is_flag=True, help="Write i-j:p, a probability with each link.")
@links_format
@click.option(
    "--tokenizer",
    type=Names("name", tokenizer_names),
    default="whitespace",
    show_default=True,
    help="How SOURCE and TARGET are cut.",
)
@click.option(
    "--new-tokenizer",
    type=Names("name", tokenizer_names),
    default="whitespace",
    show_default=True,
    help="How NEW_SOURCE and NEW_TARGET are cut.",
)
@click.option(
    "--encoding-errors",
    type=click.Choice(["strict", "replace"]),
    default="strict",
    show_default=True,
    help="What to do about bytes that are not UTF-8.",
)
def remap(
    links: str,
    source: str,
    target: str,
    new_source: str,
    new_target: str,
    output: str,
    format_: str,
    probabilities: bool,
    links_format: str | None,
    tokenizer: str,
    new_tokenizer: str,
    encoding_errors: str,
) -> None:
    """Tell links in other tokens of the same text: words, pieces of SentencePiece or BPE, whitespace tokens, and back.

    LINKS count the tokens of SOURCE and TARGET; what is written counts those of NEW_SOURCE and NEW_TARGET.  Two new
    tokens are linked if any two old tokens that they share a character with are.  `align --write-tokens` writes the tokens
    that its links count.
    """
    from dovetail.alignments.formats import write_alignments
    from dovetail.bitext.corpus import TextOptions
    from dovetail.bitext.text import atomic_writer
    from dovetail.uses.aligned import read_aligned
    from dovetail.uses.pieces import remapped

    if probabilities:
        if format_ not in ("pharaoh", "probabilities", "jsonl"):
            raise click.UsageError(f"the format {format_} has no room for --probabilities: choose pharaoh or jsonl.")
        format_ = "probabilities" if format_ == "pharaoh" else format_
    if [links, source, target, new_source, new_target].count("-") > 1:
        raise click.UsageError("only one file can come from standard input.")
    files = read_aligned(
        source,
        target,
        links=links,
        links_format=links_format,
        tokenizer=tokenizer,
        encoding_errors=encoding_errors,
        format="lines",
    )
    with atomic_writer(output) as handle:
        for part in remapped(files, new_source, new_target, TextOptions(new_tokenizer)):
            write_alignments(handle, part.alignments, format_, part.bitext.text, part.first)
