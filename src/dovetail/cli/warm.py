"""`dovetail warm`: compile what recipes need before somebody waits for it."""

from __future__ import annotations

import click

from dovetail.cli.options import Names, plugins, recipe_names

FEW = 60  # pairs


@click.command()
@click.argument("recipes", nargs=-1, type=Names("recipe", recipe_names))
@click.option("--all", "everything", is_flag=True, help="Every recipe there is: takes minutes.")
@click.option("--quiet", is_flag=True, help="No notes.")
@plugins
def warm(recipes: tuple[str, ...], everything: bool, quiet: bool) -> None:
    """Compile the kernels of RECIPES (the presets, if none is named) and keep them for later runs.

    For images and clusters: as the user who will align, or with NUMBA_CACHE_DIR set to a directory that later runs read.
    Whoever can write there can run code as they do.  Trains, saves, loads and aligns with each recipe on a few of the demo's
    pairs.
    """
    from dovetail.cli.align import number_of
    from dovetail.cli.progress import say
    from dovetail.kernels.compiled import compilation
    from dovetail.recipes import PRESETS
    from dovetail.recipes import recipes as known

    if everything and recipes:
        raise click.UsageError("--all takes every recipe: name none.")
    for name in tuple(known) if everything else recipes or tuple(PRESETS):
        kernels, seconds = compilation.kernels, compilation.seconds
        _run(name)
        compiled = number_of(compilation.kernels - kernels, "kernel")
        say(f"{name}: {compiled} compiled in {compilation.seconds - seconds:.1f} s", quiet)


def _run(recipe: str) -> None:
    from pathlib import Path
    from tempfile import TemporaryDirectory

    from dovetail.aligner import Aligner
    from dovetail.bitext.source import TextSource
    from dovetail.cli.demo import demo_files

    with demo_files() as folder, TemporaryDirectory() as place:
        model, source, target = (Path(place) / name for name in ("model", "demo.en", "demo.fr"))
        for path in (source, target):
            lines = (folder / path.name).read_bytes().splitlines(keepends=True)
            path.write_bytes(b"".join(lines[:FEW]))
        text = TextSource(source, target)  # as `align` reads it
        bitext = text.read()
        aligner = Aligner(recipe, threads=1).fit(text)
        aligner.align(bitext)
        aligner.save(model)
        again = Aligner.load(model, threads=1)
        again.align(bitext)
        again.posteriors(["the"], ["le"])
