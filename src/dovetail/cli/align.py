"""`dovetail align`: two text files in, links out."""

from __future__ import annotations

import os
import sys
from contextlib import closing
from typing import Any

import click

from dovetail.cli.options import (
    SEED,
    Bytes,
    Names,
    combination_names,
    decoder_names,
    format_names,
    plugins,
    reading,
    reading_of,
    recipe_names,
    text_options,
)


@click.command()
@click.argument("source")
@click.argument("target", required=False)
@click.option(
    "-o", "--output", default="-", metavar="FILE", help="Where links go; - is standard output, .gz .zst work."
)
@click.option(
    "--recipe",
    type=Names("name", recipe_names),
    help="Which recipe (see `dovetail recipes`).  [default: default]",
)
@click.option("--decoder", type=Names("name", decoder_names), help="How links are chosen.  [default: the recipe's]")
@click.option(
    "--combine",
    type=Names("name", combination_names),
    help="How two directions become one, or which one alone.",
)
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    help="Keep only links with a probability above this: the precision/recall knob.  Turns growing off.",
)
@click.option(
    "--grow",
    type=click.FloatRange(0, 1),
    metavar="FLOAT",
    help="Let links grow: add those above this that touch one, for words without any.  [default: the recipe's]",
)
@click.option(
    "--favour",
    type=click.Choice(["aer", "f1", "precision", "recall"]),
    help="Choose --threshold by the text's own probabilities: precision for F0.5, recall for F2.  Turns growing off.",
)
@click.option(
    "--format",
    "format_",
    type=Names("name", format_names),
    default="pharaoh",
    show_default=True,
    help="Output.",
)
@click.option("--probabilities", is_flag=True, help="Write i-j:p, a probability with each link.")
@click.option(
    "--on-whitespace",
    is_flag=True,
    help="Report links on the input's whitespace tokens, not the tokenizer's.",
)
@click.option(
    "--write-tokens",
    metavar="PREFIX",
    help="Write the tokens that links count, with spaces between them, to PREFIX.source and PREFIX.target.",
)
@click.option(
    "--views",
    metavar="NAMES",
    help="See more than words, and link by the mean: words,characters (scripts without spaces), words,stems, words,lemmas"
    " (of --source-language and --target-language).  [default: the recipe's]",
)
@click.option("--load", metavar="MODEL", help="Align with this saved model; nothing is trained.")
@click.option("--save", metavar="MODEL", help="Save the trained model in this directory.")
@click.option("--warm-start", metavar="MODEL", help="Begin training with this saved model's parameters.")
@click.option("--dictionary", metavar="FILE", help="Lean on these translations: dictd, TBX, EDICT, CC-CEDICT, TSV ...")
@click.option(
    "--constraints",
    "constraints_file",
    metavar="FILE",
    help="Constraints on posteriors for recipes that project, as JSON.",
)
@click.option(
    "--development-gold",
    metavar="FILE",
    help="Gold links of some of the pairs: training stops by them, and they choose --threshold and --grow.",
)
@click.option(
    "--development-start",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    metavar="N",
    help="The first pair, counted from 0, that the development gold links belong to.",
)
@click.option(
    "--option",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="Any option of the recipe, e.g. hmm_iterations=3.",
)
@click.option("--memory", type=Bytes(), help="The most memory to use.  [default: half of what is free]")
@click.option(
    "--work", metavar="DIR", help="Work in this folder: after any end, the same command goes on where it was."
)
@click.option(
    "--threads",
    type=click.IntRange(1),
    metavar="N",
    help="Threads; never changes the result.  [default: all cores]",
)
@click.option(
    "--engine",
    type=click.Choice(["threads", "ray"]),
    default="threads",
    show_default=True,
    help="What goes over a large text: threads of this machine, or workers of a Ray cluster.",
)
@click.option("--address", metavar="HOST:PORT", help="The Ray cluster's.  [default: workers on this machine]")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of recipes that sample.")
@click.option("--quiet", is_flag=True, help="No progress, no notes.")
@plugins
@text_options
def align(source: str, target: str | None, **values: Any) -> None:
    """Align the words of a bitext.

    SOURCE and TARGET are text files with one sentence per line, line n translating line n; or SOURCE alone is a
    tab-separated, ` ||| ` or TMX file.  One of them may be - for standard input; .gz .bz2 .xz .zst are read as they
    are, and so are all files that match a pattern in quotes, such as 'part-*.en'.  Writes exactly one line of links per
    pair, such as `0-0 1-2` (source-target, counted from 0).
    """
    from dovetail.aligner import Aligner
    from dovetail.alignments.formats import alignment_formats
    from dovetail.bitext.source import TextSource
    from dovetail.cli.run import Run, said_if_interrupted
    from dovetail.engines import engine_of
    from dovetail.large.work import work_folder
    from dovetail.models.storage import check_place

    _check_names(values)
    languages = values["source_language"], values["target_language"]
    options = reading(values)
    changes = {name: values[name] for name in ("decoder", "combine", "threshold", "grow") if values[name] is not None}
    if values["views"]:
        changes |= {"views": values["views"], "languages": ",".join(name or "" for name in languages)}
    changes |= _settings(values["settings"])
    if values["load"] and any(
        values[name] for name in ("save", "warm_start", "views", "dictionary", "constraints_file", "development_gold")
    ):
        raise click.UsageError(
            "--load aligns with a finished model: --save, --warm-start, --views, --dictionary, --constraints and"
            " --development-gold need training."
        )
    if values["favour"] and (values["threshold"] is not None or values["grow"] is not None):
        raise click.UsageError("--favour chooses the threshold and turns growing off: drop --threshold and --grow.")
    if values["write_tokens"] and "*" in values["output"]:
        raise click.UsageError("--write-tokens writes two files, -o with a * many: write tokens in a run of their own.")
    if values["load"] and values["recipe"]:
        raise click.UsageError("--load brings its own recipe: drop --recipe.")
    format_ = values["format_"]
    if values["probabilities"]:
        if format_ not in ("pharaoh", "probabilities", "jsonl"):
            raise click.UsageError(f"the format {format_} has no room for --probabilities: choose pharaoh or jsonl.")
        format_ = "probabilities" if format_ == "pharaoh" else format_
    # jsonl can do without the words, but is there to show them.
    keep_text = alignment_formats[format_].needs_text or format_ == "jsonl"
    keep_text = keep_text or values["on_whitespace"] or values["write_tokens"] is not None

    engine = engine_of(values["engine"], values["threads"], values["address"])
    if values["load"]:
        aligner = Aligner.load(values["load"], engine=engine, **changes)
        options |= reading_of(aligner.text_options, options)
    else:
        aligner = Aligner(values["recipe"] or "default", seed=values["seed"], engine=engine, **changes)
    if values["save"]:
        check_place(values["save"])  # before the training, not after it
    # Workers go before the folder that they write to.
    with work_folder(values["work"]) as work, closing(engine), said_if_interrupted(values["work"], values["output"]):
        run = Run(aligner, TextSource(source, target, options), work, format_, keep_text, values)
        run.all()


def _check_names(values: dict[str, Any]) -> None:
    """UsageError for names that lead nowhere, or links that would go into the model's own directory."""
    for name in ("load", "save", "warm_start", "dictionary", "constraints_file", "development_gold", "work"):
        if values[name] == "":
            option = name.removesuffix("_file").replace("_", "-")
            raise click.UsageError(f"--{option} has an empty name.")
    if values["save"] and values["output"] != "-":
        place, output = (os.path.realpath(values[name]) for name in ("save", "output"))
        if output == place or output.startswith(os.path.join(place, "")):
            raise click.UsageError("--save and -o: links do not go where the model goes. Name another file.")


def number_of(count: int, thing: str) -> str:
    """1 pair, 2 pairs."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def say_compiling(quiet: bool) -> None:
    """Have it said when a kernel is compiled, before the silence; and how long that took when the command ends."""
    from dovetail.cli.progress import say
    from dovetail.kernels.compiled import compilation

    text = "Compiling kernels, which takes a while once: later runs find them. `dovetail warm` does it beforehand."
    compilation.when_begun = lambda: say(text, quiet)
    kernels, seconds = compilation.kernels, compilation.seconds

    def say_compiled() -> None:
        compilation.when_begun = None
        if (new := compilation.kernels - kernels) and sys.exc_info()[0] is None:  # what went wrong is told in one line
            say(f"compiled {number_of(new, 'kernel')} in {compilation.seconds - seconds:.1f} s, once", quiet)

    click.get_current_context().call_on_close(say_compiled)


def _settings(pairs: tuple[str, ...]) -> dict[str, Any]:
    """NAME=VALUE as Python values: numbers and true/false where they look like it."""
    result: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise click.BadParameter(f"{pair!r} is not NAME=VALUE", param_hint="--option")
        result[name.replace("-", "_")] = _value(value)
    return result


def _value(text: str) -> bool | int | float | str:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text
