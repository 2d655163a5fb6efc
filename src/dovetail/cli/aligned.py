"""The one grammar of all commands over aligned text: the text as `align` takes it, then --links FILE or --load MODEL.

A command takes the arguments with `@aligned_text` and turns them into a text with its links by `open_aligned(values)`:

    @click.command()
    @aligned_text
    @click.option("--format", "format_", ...)       # always what is written
    def lexicon(**values: Any) -> None:
        for pair in open_aligned(values): ...
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from dovetail.cli.options import F, Names, format_names, plugins, reading, reading_of, text_options

if TYPE_CHECKING:
    from dovetail.uses.aligned import Aligned, AlignedFiles


def aligned_text(command: F) -> F:
    """SOURCE [TARGET] (--links FILE [--links-format NAME] | --load MODEL), and how to read the text."""
    for decorate in reversed(
        [
            click.argument("source"),
            click.argument("target", required=False),
            click.option("--links", metavar="FILE", help="The links, in any format that dovetail reads."),
            links_format,
            click.option("--load", metavar="MODEL", help="Align with this saved model, in place of --links."),
            click.option("--threads", type=click.IntRange(1), metavar="N", help="Threads; never changes the result."),
            text_options,
            plugins,
        ]
    ):
        command = decorate(command)
    return command


def links_format(command: F) -> F:
    """--links-format, for commands that take --links in a way of their own."""
    return click.option(
        "--links-format", type=Names("name", format_names), help="Format of the links.  [default: seen]"
    )(command)


def open_aligned(values: dict[str, Any]) -> AlignedFiles:
    """The text and the links that the arguments of `aligned_text` name; removes them from `values`."""
    from dovetail.uses.aligned import read_aligned

    source, target, links, form, load, threads = (
        values.pop(name) for name in ("source", "target", "links", "links_format", "load", "threads")
    )
    options = reading(values)
    check_one_of_links_and_load(links, load)
    if links is None and form is not None:
        raise click.UsageError("--links-format belongs to --links.")
    aligner = None
    if load is not None:
        from dovetail.aligner import Aligner
        from dovetail.cli.align import say_compiling

        say_compiling(quiet=False)
        aligner = Aligner.load(load, threads=threads)
        # The model finds its words whatever their case and form; what is shown stays as it stands in the text.
        options["tokenizer"] = reading_of(aligner.text_options, options)["tokenizer"]
    return read_aligned(source, target, links=links, links_format=form, aligner=aligner, **options)


@contextmanager
def watching(aligned: Aligned, quiet: bool) -> Iterator[Aligned]:
    """The same text; who sits at a terminal sees how many pairs have been read, walk by walk."""
    if quiet or not sys.stderr.isatty():
        yield aligned
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn

    from dovetail.uses.aligned import Watched

    columns = SpinnerColumn(), TextColumn("{task.completed:,.0f} pairs")
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("read", total=None)
        yield Watched(aligned, lambda pairs: progress.update(task, completed=pairs))


def check_one_of_links_and_load(links: Any, load: Any) -> None:
    if bool(links) == bool(load):
        raise click.UsageError("give either --links FILE or --load MODEL.")
