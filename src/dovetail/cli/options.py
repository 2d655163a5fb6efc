"""Options that several commands share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import click

if TYPE_CHECKING:
    from dovetail.bitext.corpus import TextOptions

F = TypeVar("F", bound=Callable[..., Any])

SEED = click.IntRange(0, 2**63 - 1)


class Columns(click.ParamType):
    """Two columns, counted from 1."""

    name = "a,b"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> tuple[int, int]:
        try:
            source, target = map(int, str(value).split(","))
        except ValueError:
            source = target = 0
        if min(source, target) < 1 or source == target:
            self.fail(f"{value!r} is not two columns, counted from 1, such as 2,3.", parameter, context)
        return source, target


class Names(click.ParamType):
    """One of a registry's names; the registry is imported only when a value or the help is asked for."""

    def __init__(self, kind: str, load: Callable[[], Iterable[str]]) -> None:
        self.name = kind
        self._load = load

    def convert(self, value: str, parameter: click.Parameter | None, context: click.Context | None) -> str:
        names = list(self._load())
        if value not in names:
            self.fail(f"{value!r} is not one of: {', '.join(names)}.", parameter, context)
        return value

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        return self.name.upper()

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(name) for name in self._load() if name.startswith(incomplete)]


class NamesOfSides(Names):
    """One of a registry's names, or the source's and the target's with a comma between them."""

    def convert(self, value: str, parameter: click.Parameter | None, context: click.Context | None) -> str:
        names = [super(NamesOfSides, self).convert(name, parameter, context) for name in value.split(",", 1)]
        return names[0] if len(set(names)) == 1 else ",".join(names)


class Bytes(click.ParamType):
    """A size of memory: 500M, 4G, or a number of bytes."""

    name = "size"
    _UNITS: ClassVar[dict[str, int]] = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> int:
        match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)(?:i?B)?", str(value).strip(), re.IGNORECASE)
        if match is None or float(match[1]) <= 0:
            self.fail(f"{value!r} is not a size such as 500M or 4G.", parameter, context)
        return int(float(match[1]) * self._UNITS[match[2].upper()])


def plugins(command: F) -> F:
    """Let a command import modules that register parts of the user's own; entry points are found without asking."""

    def load(context: click.Context, parameter: click.Parameter, names: tuple[str, ...]) -> None:
        from dovetail.plugins import load_plugins

        load_plugins(names)

    return click.option(
        "--plugin",
        multiple=True,
        metavar="MODULE",
        callback=load,
        is_eager=True,
        expose_value=False,
        help="Import this module first: it registers priors, jump factors, decoders ... of your own.",
    )(command)


def recipe_names() -> list[str]:
    from dovetail.recipes import PRESETS, paper_recipes, recipes

    return [*PRESETS, *recipes, *paper_recipes]


def decoder_names() -> list[str]:
    from dovetail.decoding.decoders import decoders

    return list(decoders)


def combination_names() -> list[str]:
    from dovetail.alignments.combine import combiners

    return ["soft-union", *combiners]


def format_names() -> list[str]:
    from dovetail.alignments.formats import alignment_formats

    return list(alignment_formats)


def metric_names() -> list[str]:
    from dovetail.evaluation import metrics

    return list(metrics)


def bitext_format_names() -> list[str]:
    from dovetail.bitext.readers import bitext_formats

    return list(bitext_formats)


def tokenizer_names() -> list[str]:
    from dovetail.bitext.tokenize import tokenizers

    return list(tokenizers)


def text_options(command: F) -> F:
    """How to read a bitext."""
    for decorate in reversed(
        [
            click.option(
                "--input-format",
                type=Names("format", bitext_format_names),
                help="lines (two files), tsv, pipes (` ||| `) or tmx.  [default: by name and first line]",
            ),
            click.option(
                "--source-language", metavar="LANG", help="Language of the source side, in a TMX file or for lemmas."
            ),
            click.option(
                "--target-language", metavar="LANG", help="Language of the target side, in a TMX file or for lemmas."
            ),
            click.option("--lower", is_flag=True, help="Ignore case (the text itself is left as it is)."),
            click.option(
                "--form",
                type=click.Choice(["NFC", "NFD", "NFKC", "NFKD"]),
                help="Compare words in this Unicode normal form.",
            ),
            click.option(
                "--tokenizer",
                type=NamesOfSides("name", tokenizer_names),
                default="whitespace",
                show_default=True,
                help="How raw text is cut: whitespace (already tokenised), unicode, icu; A,B: source and target apart.",
            ),
            click.option(
                "--columns",
                type=Columns(),
                help="Columns of source and target between tabs; `align` passes others through.  [default: 1,2]",
            ),
            click.option(
                "--encoding-errors",
                type=click.Choice(["strict", "replace"]),
                default="strict",
                show_default=True,
                help="What to do about bytes that are not UTF-8.",
            ),
        ]
    ):
        command = decorate(command)
    return command


def reading(values: dict[str, Any]) -> dict[str, Any]:
    """The `text_options` among a command's values, as `read_bitext` takes them; removes them from `values`."""
    options = {name: values.pop(name) for name in ("lower", "form", "tokenizer", "encoding_errors")}
    options["format"] = values.pop("input_format")
    for name in ("source_language", "target_language", "columns"):
        if (value := values.pop(name)) is not None:
            options[name] = value
    if "columns" in options and click.get_current_context().params.get("target") is not None:
        raise click.UsageError(
            "--columns chooses among those of one file, and two are named: drop it, or the second file."
        )
    return options


def reading_of(trained: TextOptions, asked: dict[str, Any]) -> dict[str, Any]:
    """How a model's text was read, for new text is read likewise; asking for something else is refused, not ignored."""
    own = {"tokenizer": trained.tokenizer, "lower": trained.normaliser.lower, "form": trained.normaliser.form}
    plain = {"tokenizer": "whitespace", "lower": False, "form": None}
    for name, value in own.items():
        if asked[name] not in (plain[name], value):
            raise click.UsageError(f"--load: the model's text was read with {name}={value}. Drop --{name}.")
    return own
