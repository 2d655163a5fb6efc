"""`dovetail find`: a concordance of an aligned text."""

from __future__ import annotations

import json
import shutil
from typing import Any

import click

from dovetail.cli.aligned import aligned_text
from dovetail.cli.index import index_place, ready_index
from dovetail.errors import InputError


@click.command()
@click.argument("word")
@aligned_text
@index_place
@click.option(
    "--side", type=click.Choice(["source", "target"]), default="source", show_default=True, help="Whose word."
)
@click.option("--ignore-case", is_flag=True, help="Large and small letters are the same.")
@click.option(
    "--translations", type=click.IntRange(1), default=10, show_default=True, metavar="N", help="Show so many."
)
@click.option("--places", type=click.IntRange(0), default=5, show_default=True, metavar="N", help="Of each of them.")
@click.option("--width", type=click.IntRange(40), metavar="N", help="Of a line.  [default: the terminal's]")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "jsonl"]),
    default="text",
    show_default=True,
    help="What is written.",
)
@click.option("--quiet", is_flag=True, help="No notes.")
def find(word: str, **values: Any) -> None:
    """Show where a word stands and what it is linked to, by translation, with both contexts.

    WORD may be several words that follow each other.  SOURCE and TARGET are read as by `dovetail align`.  The first call
    makes an index (beside the links, named like them with `.index`), later ones answer at once; an index of other files, or
    of files that have changed, is made anew.
    """
    from dovetail.report.kwic import lines
    from dovetail.uses.concordance import find as find_places

    index = ready_index(values)
    found = find_places(
        index,
        word,
        side=values["side"],
        ignore_case=values["ignore_case"],
        groups=values["translations"],
        hits=max(1, values["places"]),
    )
    if values["format_"] == "jsonl":
        for group in found.groups:
            record = {"translation": group.translation, "count": group.count}
            record["places"] = [hit._asdict() for hit in group.hits[: values["places"]]]
            click.echo(json.dumps(record, ensure_ascii=False))
        return
    if not found.count:
        raise InputError(f"{word!r} does not occur in the {values['side']} text", remedy="Try --ignore-case or --side.")
    width = values["width"] or shutil.get_terminal_size((100, 24)).columns
    shown = found._replace(groups=[group._replace(hits=group.hits[: values["places"]]) for group in found.groups])
    for line in lines(shown, width):
        click.echo(line)
