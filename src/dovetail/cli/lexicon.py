"""`dovetail lexicon`: a dictionary from links."""

from __future__ import annotations

from typing import Any

import click

from dovetail.cli.aligned import aligned_text, open_aligned, watching
from dovetail.cli.options import Bytes, Names
from dovetail.errors import InputError


def _format_names() -> list[str]:
    from dovetail.uses.lexicon_formats import lexicon_formats

    return list(lexicon_formats)


@click.command()
@aligned_text
@click.option(
    "-o",
    "--output",
    default="-",
    metavar="FILE",
    help="Where the dictionary goes; for formats of several files, how their names begin.",
)
@click.option(
    "--format", "format_", type=Names("name", _format_names), default="tsv", show_default=True, help="What is written."
)
@click.option(
    "--longest",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Phrases of up to N words, too.",
    metavar="N",
)
@click.option(
    "--view",
    type=click.Choice(["lemmas", "stems"]),
    help="Entries are dictionary forms (of --source-language and --target-language), or how words begin.",
)
@click.option("--lemmas", nargs=2, metavar="SOURCE TARGET", help="Files with one lemma per token: entries are lemmas.")
@click.option(
    "--count", type=click.IntRange(1), default=1, show_default=True, metavar="N", help="Seen at least N times."
)
@click.option(
    "--probability", type=click.FloatRange(0, 1), default=0.0, metavar="P", help="p(target | source) is at least P."
)
@click.option("--llr", type=float, metavar="X", help="Log-likelihood ratio at least X (10.83 is p < 0.001).")
@click.option(
    "--fisher",
    type=click.FloatRange(0, 1, min_open=True),
    metavar="P",
    help="p-value of Fisher's exact test at most P.",
)
@click.option("--best", type=click.IntRange(1), metavar="N", help="At most N translations of a word.")
@click.option(
    "--examples", type=click.IntRange(0), default=3, show_default=True, metavar="N", help="Example pairs per entry."
)
@click.option("--memory", type=Bytes(), default="128M", show_default=True, help="Memory to sort phrases in.")
@click.option("--work", metavar="DIR", help="Where sorted parts of phrases wait on disk.")
@click.option("--quiet", is_flag=True, help="No notes.")
def lexicon(**values: Any) -> None:
    """Write words with their translations: probabilities both ways, counts, significance, examples.

    SOURCE and TARGET are read as by `dovetail align`; --lower merges words that differ in case.  Probabilities are shares of
    expected counts: of links' probabilities where the links have them, else of links.
    """
    from dovetail.cli.progress import say
    from dovetail.uses.aligned import Aligned
    from dovetail.uses.lemmas import Lemmatised, Viewed
    from dovetail.uses.lexicon import example_texts
    from dovetail.uses.lexicon import lexicon as make
    from dovetail.uses.lexicon_formats import Job, lexicon_formats, write_lexicon

    chosen, output, quiet = lexicon_formats[values["format_"]], values["output"], values["quiet"]
    if chosen.write is None and output == "-":
        raise click.UsageError(f"the format {values['format_']} is several files: name how they begin with -o PREFIX.")
    if values["view"] is not None and values["lemmas"] is not None:
        raise click.UsageError("--view and --lemmas are two ways to the same: give one of them.")
    languages = {name: values[name] for name in ("source_language", "target_language") if values[name] is not None}
    surface = open_aligned(values)
    aligned: Aligned = surface
    if values["lemmas"] is not None:
        aligned = Lemmatised(surface, *values["lemmas"])
    elif values["view"] is not None:
        names = (languages.get(name, "") for name in ("source_language", "target_language"))
        aligned = Viewed(surface, values["view"], ",".join(names))
    again = values["longest"] > 1 or (chosen.shows_examples and values["examples"])
    if again and "-" in (surface.source, surface.target, surface.links):
        raise InputError(
            "standard input can be read once only, and this takes more",
            remedy="Name a file, or pass --longest 1 and --examples 0.",
        )
    limits = {name: values[name] for name in ("count", "probability", "llr", "fisher", "best")}
    with watching(aligned, quiet) as watched:
        entries = make(
            watched,
            longest=values["longest"],
            count=values["count"],
            examples=values["examples"],
            memory=values["memory"],
            folder=values["work"],
        ).filtered(**limits)
    texts = example_texts(surface, entries) if chosen.shows_examples and values["examples"] else {}
    left_out = write_lexicon(output, Job(entries, texts, **languages), values["format_"])
    say(f"{len(entries):,} entries", quiet)
    if left_out:
        say(f"{left_out:,} of them can't be said in the format {values['format_']} and were left out", quiet)
