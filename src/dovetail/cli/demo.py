"""`dovetail demo`: train on the bitext that ships with dovetail, show alignments, print the score."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from dovetail.cli.options import Names, recipe_names
from dovetail.errors import InputError

NAMES = ("demo.en", "demo.fr", "demo.gold")


@contextmanager
def demo_files() -> Iterator[Path]:
    """The folder of the bitext that ships with dovetail, and of its gold links."""
    from importlib.resources import as_file, files

    with as_file(files("dovetail") / "data") as folder:
        yield folder


@click.command()
@click.option("--recipe", type=Names("name", recipe_names), default="default", show_default=True, help="Which recipe.")
@click.option("--pairs", type=click.IntRange(0, 60), default=3, show_default=True, help="How many alignments to draw.")
@click.option(
    "--copy", metavar="DIR", help="Only put demo.en, demo.fr and demo.gold into this directory, to play with."
)
@click.option("--quiet", is_flag=True, help="Only the score.")
def demo(recipe: str, pairs: int, copy: str | None, quiet: bool) -> None:
    """Train on the small bitext that comes with dovetail, and show what comes out."""
    if copy is not None:
        _copy_to(Path(copy), quiet)
        return
    from rich.console import Console

    from dovetail.aligner import Aligner
    from dovetail.alignments.gold import read_gold
    from dovetail.bitext.corpus import read_bitext
    from dovetail.cli.align import say_compiling
    from dovetail.cli.progress import progress_bars
    from dovetail.evaluation import evaluate
    from dovetail.report.grid import grid, legend

    with demo_files() as folder:
        bitext = read_bitext(folder / "demo.en", folder / "demo.fr")
        gold = read_gold(folder / "demo.gold")
    say_compiling(quiet)
    aligner = Aligner(recipe)
    with progress_bars(quiet) as callback:
        aligner.fit(bitext, callback)
        result = aligner.align(bitext, callback)
    score = evaluate(result[: len(gold)], gold)
    console = Console(highlight=False)
    if not quiet:
        console.print(
            f"Learned from {len(bitext)} English-French pairs; {len(gold)} of them have links made by hand.\n"
        )
        # Pairs of middling length that differ most from a straight diagonal are the ones worth a look.
        ranked = sorted(range(len(gold)), key=lambda n: -_crossings(result[n].links) - 4 * (len(result[n]) < 14))
        for n in ranked[:pairs]:
            source, target = bitext.tokens(n)
            console.print(grid(source, target, result[n].links, gold[n].sure, gold[n].possible))
        console.print(legend(with_gold=True))
        console.print()
    click.echo(str(score))


def _copy_to(directory: Path, quiet: bool) -> None:
    """The demo's files in a directory, made where it is missing; files of these names that are there stay as they are."""
    import shutil

    from dovetail.cli.progress import say

    for name in NAMES:
        if (directory / name).exists():
            raise InputError("this file is there already", path=directory / name, remedy="Name another directory.")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with demo_files() as folder:
            for name in NAMES:
                shutil.copyfile(folder / name, directory / name)
    except OSError as error:
        raise InputError(
            f"could not be written ({error.strerror})", path=directory, remedy="Name another directory."
        ) from error
    say(" ".join(str(directory / name) for name in NAMES), quiet)


def _crossings(links: list[tuple[int, int]]) -> int:
    return sum(a[0] < b[0] and a[1] > b[1] for a in links for b in links)
