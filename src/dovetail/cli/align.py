"""`dovetail align`: two text files in, links out."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from dovetail.cli.options import (
    SEED,
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
from dovetail.errors import InputError

if TYPE_CHECKING:
    from dovetail.aligner import Aligner
    from dovetail.bitext.corpus import Bitext
    from dovetail.cli.links_out import LinksOut
    from dovetail.training.monitor import Callback

FEW_PAIRS = 100  # a text of fewer is aligned, with a word of warning


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
@click.option(
    "--threads",
    type=click.IntRange(1),
    metavar="N",
    help="Threads; never changes the result.  [default: all cores]",
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of recipes that sample.")
@click.option("--quiet", is_flag=True, help="No progress, no notes.")
@plugins
@text_options
def align(source: str, target: str | None, **values: Any) -> None:
    """Align the words of a bitext.

    SOURCE and TARGET are text files with one sentence per line, line n translating line n; or SOURCE alone is a
    tab-separated, ` ||| ` or TMX file.  One of them may be - for standard input; .gz .bz2 .xz .zst are read as they
    are.  Writes exactly one line of links per pair, such as `0-0 1-2` (source-target, counted from 0).
    """
    from dovetail.aligner import Aligner
    from dovetail.alignments.formats import alignment_formats
    from dovetail.bitext.corpus import read_bitext
    from dovetail.cli.links_out import links_out
    from dovetail.cli.progress import progress_bars, say
    from dovetail.kernels.compiled import worked_seconds
    from dovetail.models.storage import check_place

    quiet = values["quiet"]
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

    if values["load"]:
        aligner = Aligner.load(values["load"], threads=values["threads"], **changes)
        options |= reading_of(aligner.text_options, options)
    else:
        aligner = Aligner(values["recipe"] or "default", seed=values["seed"], threads=values["threads"], **changes)
    if values["save"]:
        check_place(values["save"])  # before the training, not after it
    settings = {"on_whitespace": values["on_whitespace"], "tokens_prefix": values["write_tokens"]}
    streamed = bool(values["load"]) and not values["favour"]
    unsaved = None
    with links_out(values["output"], format_, **settings) as out:
        # Links that stream into the terminal and bars would write over each other.
        with progress_bars(quiet or (streamed and values["output"] == "-" and sys.stdout.isatty())) as callback:
            say_compiling(quiet)
            if streamed:
                seconds = _align_stream(aligner, out, source, target, callback, keep_text=keep_text, **options)
            else:
                bitext = read_bitext(source, target, keep_text=keep_text, **options)  # all of it is looked at first
                if not values["load"]:
                    _fit(aligner, bitext, (source, target or source), values, options, callback)
                if values["favour"]:
                    say(f"--threshold {aligner.favour(values['favour'], bitext):.4g} favours {values['favour']}", quiet)
                unsaved = _save(aligner, values["save"]) if values["save"] else None
                began = worked_seconds()
                result = aligner.align(bitext, callback)
                seconds = worked_seconds() - began
        if not streamed:
            out.write(result, bitext)
    say(f"{number_of(out.pairs, 'pair')}, {number_of(out.links, 'link')}", quiet)
    if summary := out.certificates.summary(seconds):
        say(summary, quiet)
    if unsaved is not None:
        raise unsaved


def _fit(
    aligner: Aligner,
    bitext: Bitext,
    paths: tuple[str, str],
    values: dict[str, Any],
    options: dict[str, Any],
    callback: Callback | None,
) -> None:
    """Learn from the text, and say what there is to say about it."""
    from dovetail.bitext.hints import hints
    from dovetail.cli.progress import say

    quiet = values["quiet"]
    for hint in hints(bitext, paths):
        say(hint, quiet)
    if len(bitext) < FEW_PAIRS:
        say(f"{number_of(len(bitext), 'pair')} teach little: many links will be wrong", quiet)
    aligner.fit(
        bitext,
        callback,
        warm_start=values["warm_start"],
        dictionary=_dictionary(values["dictionary"], options) if values["dictionary"] else None,
        constraints=_constraints(values["constraints_file"]) if values["constraints_file"] else (),
        development=_development(values, len(bitext)) if values["development_gold"] else None,
    )
    if aligner.tuned is not None:
        threshold, grow, aer = aligner.tuned
        say(f"development gold chose: --threshold {threshold:.4g} --grow {grow:.4g} (AER {100 * aer:.2f})", quiet)


def _align_stream(
    aligner: Aligner, out: LinksOut, source: str, target: str | None, callback: Callback | None, **options: Any
) -> float:
    """Align a text as it comes, part by part; the seconds that aligning took."""
    from dovetail.bitext.stream import stream_bitext
    from dovetail.kernels.compiled import worked_seconds
    from dovetail.training.monitor import Progress

    seconds = 0.0
    for part in stream_bitext(source, target, **options):
        began = worked_seconds()
        result = aligner.align(part)
        seconds += worked_seconds() - began
        out.write(result, part)
        if callback is not None:  # nobody knows how many pairs are still to come
            callback(Progress("align", out.pairs, out.pairs, "pairs", 0, 1, None, seconds))
    return seconds


def _check_names(values: dict[str, Any]) -> None:
    """UsageError for names that lead nowhere, or links that would go into the model's own directory."""
    for name in ("load", "save", "warm_start", "dictionary", "constraints_file", "development_gold"):
        if values[name] == "":
            option = name.removesuffix("_file").replace("_", "-")
            raise click.UsageError(f"--{option} has an empty name.")
    if values["save"] and values["output"] != "-":
        place, output = (os.path.realpath(values[name]) for name in ("save", "output"))
        if output == place or output.startswith(os.path.join(place, "")):
            raise click.UsageError("--save and -o: links do not go where the model goes. Name another file.")


def _save(aligner: Aligner, place: str) -> InputError | None:
    """Save the model; what goes wrong is told at the end, when the links that were learned are written."""
    try:
        aligner.save(place)
    except InputError as error:
        told = f"{error.problem}; the links are written all the same"
        return InputError(told, path=error.path, remedy=error.remedy)
    return None


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


def _development(values: dict[str, Any], pairs: int) -> tuple[int, Any]:
    from dovetail.alignments.gold import read_gold

    start, gold = values["development_start"], read_gold(values["development_gold"])
    if not gold.sure.any():
        raise InputError(
            "no sure gold links here", path=values["development_gold"], remedy="Give gold links, as 0-0 1-2."
        )
    if start + len(gold) > pairs:
        raise InputError(
            f"gold links of {len(gold):,} pairs from pair {start:,} on, but the bitext has {pairs:,}",
            path=values["development_gold"],
            remedy="Pass --development-start: the first of these pairs, counted from 0.",
        )
    return start, gold


def _dictionary(path: str, options: dict[str, Any]) -> dict[tuple[str, str], float]:
    from dovetail.bitext.dictionaries import read_dictionary

    languages = {name: options.get(name) for name in ("source_language", "target_language")}
    return read_dictionary(path, **languages)


def _constraints(path: str) -> Any:
    from dovetail.models.constraints import read_constraints

    return read_constraints(path)
