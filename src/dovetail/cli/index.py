"""The index of an aligned text that `find` and `serve` look things up in: opened, or made where there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from dovetail.cli.aligned import check_one_of_links_and_load, open_aligned, watching
from dovetail.cli.options import F
from dovetail.errors import InputError

if TYPE_CHECKING:
    from dovetail.uses.index import Index

# What else of the command line decides what is in an index, besides the files.
READING = ("links_format", "lower", "form", "tokenizer", "encoding_errors", "input_format", "columns")


def index_place(command: F) -> F:
    return click.option("--index", metavar="DIR", help="Where the index is, or will be.  [default: beside --links]")(
        command
    )


def ready_index(values: dict[str, Any]) -> Index:
    """The index of what the arguments of `aligned_text` and `index_place` name."""
    from dovetail.cli.progress import say
    from dovetail.uses.index import build_index, files_and_times, open_index

    paths = {name: values[name] for name in ("source", "target", "links", "load")}
    check_one_of_links_and_load(paths["links"], paths["load"])
    if "-" in paths.values():
        raise InputError("an index can't be made of standard input", remedy="Name a file.")
    place = values["index"]
    if place is None:
        if paths["links"] is None:
            raise click.UsageError("with --load, say where the index goes: --index DIR.")
        place = f"{paths['links']}.index"
    reading = {name: values[name] for name in (*READING, "source_language", "target_language")}
    about = {"files": files_and_times(paths), "reading": reading}
    index = open_index(place, about)
    if index is None:
        say(f"making an index in {place}", values["quiet"])
        with watching(open_aligned(dict(values)), values["quiet"]) as aligned:
            index = build_index(aligned, place, about)
    return index
