"""`dovetail view`: one HTML file to look at a bitext and its alignments."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dovetail.cli.aligned import links_format
from dovetail.cli.options import plugins, reading, reading_of, text_options
from dovetail.errors import InputError

if TYPE_CHECKING:
    from dovetail.aligner import Aligner
    from dovetail.alignments.gold import Gold


@click.command()
@click.argument("source")
@click.argument("target", required=False)
@click.option(
    "--links",
    multiple=True,
    metavar="[NAME=]FILE",
    help="Links to show, in any format that dovetail reads; repeatable.",
)
@links_format
@click.option(
    "--load", "models", multiple=True, metavar="[NAME=]MODEL", help="A saved model, for posteriors; repeatable."
)
@click.option("--gold", metavar="FILE", help="Links made by hand: errors, scores and curves are shown.")
@click.option(
    "--gold-start",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="The first pair with gold links, counted from 0.  [default: 0]",
)
@click.option("-o", "--output", required=True, metavar="FILE", help="The page; - is standard output.")
@click.option("--title", help="Title of the page.  [default: the names of the files]")
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=10_000,
    show_default=True,
    metavar="N",
    help="Show the first N pairs only.",
)
@click.option("--threads", type=click.IntRange(1), metavar="N", help="Threads; never changes the result.")
@click.option("--quiet", is_flag=True, help="No progress, no notes.")
@text_options
@plugins
def view(source: str, target: str | None, **values: Any) -> None:
    """Write one HTML file to look at alignments: it opens from disk and asks no network.

    SOURCE and TARGET are read as by `dovetail align`.  Each --links and each --load is shown side by side with the
    others: words with links between them, matrices of probabilities, and with --gold what is right, wrong and missed.
    JSON lines of an exact decoder also say which pairs are not certified.
    """
    from dovetail.alignments.formats import read_alignments
    from dovetail.bitext.corpus import read_bitext
    from dovetail.bitext.text import atomic_writer
    from dovetail.cli.progress import progress_bars, say
    from dovetail.report.page import view_page
    from dovetail.report.systems import System

    options, quiet = reading(values), values["quiet"]
    if not values["links"] and not values["models"]:
        raise click.UsageError("nothing to show: pass --links FILE or --load MODEL.")
    aligners = load_models(values["models"], values["threads"], options)
    with atomic_writer(values["output"]) as handle:
        with progress_bars(quiet) as callback:
            bitext = read_bitext(source, target, **options)
            if len(bitext) == 0:
                raise InputError("no pairs to show", path=source, remedy="Give a file that has some.")
            total, limit = len(bitext), values["limit"]
            lengths = bitext.lengths
            gold = _gold(values["gold"], values["gold_start"], lengths) if values["gold"] else None
            if gold is not None and values["gold_start"] >= limit:
                raise InputError(
                    f"the gold links begin behind the {limit:,} pairs that are shown", remedy="Pass a larger --limit."
                )
            systems = [
                System.of_alignments(name, read_alignments(path, values["links_format"], lengths))
                for name, path in map(named, values["links"])
            ]
            seen = bitext if total <= limit else bitext.part(0, limit)
            systems += [System.of_aligner(name, aligner, seen, progress=callback) for name, aligner in aligners.items()]
        trained = next(iter(aligners.values()), None)
        page = view_page(
            bitext,
            _with_own_names(systems),
            gold,
            title=values["title"] or " – ".join(Path(path).name for path in (source, target) if path),
            gold_start=values["gold_start"],
            limit=limit,
            vocabularies=(trained.source_vocabulary, trained.target_vocabulary) if trained is not None else None,
        )
        handle.write(page)
    shown = f"the first {limit:,} of {total:,} pairs (--limit shows more)" if total > limit else f"{total:,} pairs"
    say(f"{shown}, {len(page.encode('utf-8', 'replace')) / 1e6:.1f} MB", quiet)


def named(text: str) -> tuple[str, str]:
    """NAME=FILE, or a file that is called by its own name; a file whose name has a = in it is still found."""
    name, equals, path = text.partition("=")
    if equals and name and path and not Path(text).exists():
        return name, path
    return Path(text).name or text, text


def load_models(asked: tuple[str, ...], threads: int | None, options: dict[str, Any] | None) -> dict[str, Aligner]:
    """Saved models by name; `options` of reading text become those of the models, which must read alike."""
    from dovetail.aligner import Aligner

    aligners: dict[str, Aligner] = {}
    for name, path in map(named, asked):
        aligner = Aligner.load(path, threads=threads)
        if options is not None:
            options |= reading_of(aligner.text_options, options)
        while name in aligners:
            name += "'"
        aligners[name] = aligner
    return aligners


def _with_own_names(systems: list[Any]) -> list[Any]:
    """No two systems of the same name: the second gets a stroke."""
    from dataclasses import replace

    seen: set[str] = set()
    result = []
    for system in systems:
        name = system.name
        while name in seen:
            name += "'"
        seen.add(name)
        result.append(replace(system, name=name))
    return result


def _gold(path: str, start: int, lengths: list[tuple[int, int]]) -> Gold:
    """The gold links of all pairs from `start` on, or of the first of them that the file has lines for."""
    from dovetail.alignments.gold import read_gold

    behind = lengths[start:]
    try:
        return read_gold(path, lengths=behind)
    except InputError:
        found = len(read_gold(path))
        if found >= len(behind):
            raise
    return read_gold(path, lengths=behind[:found])
