"""What pages show of the program itself, made when they are built, so that it cannot drift.

A line `<!-- made: commands -->` in a page is followed by what the function of that name here returns, in Markdown.
"""

from __future__ import annotations

import inspect
import pkgutil
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

import click

import dovetail
import dovetail.decoding as decoding_room
import dovetail.uses as uses_room
from dovetail.cli import COMMANDS
from dovetail.cli import dovetail as program
from dovetail.cli.options import Names
from dovetail.decoding.decoders import decoders
from dovetail.options import limits
from dovetail.recipes import PRESETS, find_recipe, paper_recipes, recipes
from dovetail.registry import Registry

HERE = Path(__file__).resolve().parent
MARK = re.compile(r"^<!-- made: ([a-z]+)(.*?) *-->$", re.MULTILINE)

# The tables of choices in the order of a text's way through the program; others that exist come behind.
KINDS = {
    "bitext format": "Input formats: `--input-format`",
    "tokenizer": "Tokenizers: `--tokenizer`",
    "view": "Views besides words: `--views words,NAME`",
    "recipe": "Recipes: `--recipe`",
    "paper's recipe": "The papers' own systems: `--recipe`",
    "dictionary format": "Dictionaries to lean on: `--dictionary`",
    "model": "Models: what is an alignment worth?",
    "lexicon prior": "Priors on the lexicon: `--option priors=NAME`",
    "jump factor": "Jumps: `--option jumps=NAME`",
    "fertility": "Fertilities: `--option fertility=NAME`",
    "training": "Trainings: how are parameters learned?",
    "constraint": "Constraints: `--option constraints=NAME`",
    "decoder": "Decoders: `--decoder`",
    "combination": "Combinations: `--combine`",
    "alignment format": "Output formats: `--format`",
    "gold format": "Gold formats",
    "lexicon format": "Dictionaries: `--format` of `lexicon`",
    "annotation format": "Annotated text: `--format` of `project`",
    "metric": "Metrics: `--metric`",
}

# The public names in the order in which one meets them; names that are not listed come behind.
NAMES = {
    "Text in": ("read_bitext", "Bitext", "TextOptions", "read_dictionary"),
    "Aligning": ("Aligner", "Progress"),
    "Recipes": ("Recipe",),
    "Parts of your own": ("lexicon_priors", "jump_factors"),
    "Constraints": (
        "Bijective",
        "Symmetric",
        "MaximumFertility",
        "Dictionary",
        "TagPairs",
        "TokenPairs",
        "PairConstraint",
        "Limit",
        "constraints",
    ),
    "Links out": (
        "Alignments",
        "Alignment",
        "read_alignments",
        "write_alignments",
        "alignment_formats",
        "combiners",
    ),
    "Evaluation": ("read_gold", "Gold", "evaluate", "Score", "compare", "compare_systems", "precision_recall_curve"),
    "Errors": ("InputError",),
}

INTRODUCTIONS = {
    "Recipes": "`dovetail.recipes.recipes` maps names to recipes; an `Aligner` takes a name, or a `Recipe` of your own.",
    "Constraints": "What `Aligner.fit(..., constraints=[...])` takes, for recipes that are trained under constraints.",
}


def filled(page: str) -> str:
    """The page with every mark replaced."""
    return MARK.sub(lambda match: MAKERS[match[1]](match[2].split()), page)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(text: str) -> str:
    return re.sub(r"\\?\|", r"\\|", " ".join(text.split()))


def presets(arguments: Sequence[str] = ()) -> str:
    return table(
        ("preset", "recipe", "what it is"),
        ((f"`{name}`", f"`{recipe}`", recipes[recipe].description) for name, recipe in PRESETS.items()),
    )


def _recipes(arguments: Sequence[str] = ()) -> str:
    """All recipes (or, with the word "papers", those of papers), each with the page that tells of it."""
    rows = []
    chosen = paper_recipes if "papers" in arguments else recipes
    for name, recipe in chosen.items():
        kin = [other for other in chosen if chosen[other].training == recipe.training]
        page = next(filter(None, map(recipe_page, [name, *kin])), None)
        link = f"[{_title(page)}](/recipes/{page.name})" if page else ""
        decoder = recipe.decoder if recipe.combine is None else f"{recipe.decoder}, {recipe.combine}"
        rows.append((f"`{name}`", recipe.description, f"`{recipe.training}`", f"`{decoder}`", link))
    return table(("recipe", "what it is", "training", "decoder", "page"), rows)


def recipe_page(name: str) -> Path | None:
    """The page under recipes/ that speaks of a recipe: the one that names it most often, as `code`."""
    found = [page for page in sorted((HERE / "recipes").glob("*.md")) if page.stem != "index"]
    spelled = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")
    mentions = [len(spelled.findall(" ".join(_code(page.read_text("utf-8"))))) for page in found]
    return found[mentions.index(max(mentions))] if any(mentions) else None


def _code(text: str) -> list[str]:
    """What stands between backticks, and in blocks between fences."""
    return re.findall(r"```.*?```|`[^`\n]+`", text, re.DOTALL)


def _title(page: Path) -> str:
    heads = [line[2:].strip() for line in page.read_text("utf-8").splitlines() if line.startswith("# ")]
    return heads[0] if heads else page.stem


def pages(arguments: Sequence[str] = ()) -> str:
    """The pages of recipes that there are, the flagship's first."""
    names = [page.stem for page in sorted((HERE / "recipes").glob("*.md")) if page.stem != "index"]
    names.sort(key=lambda name: (name != "joint", name != "ibm1-and-hmm"))
    return "\n".join(["```{toctree}", ":maxdepth: 1", "", *names, "```"])


def options(arguments: Sequence[str]) -> str:
    """`recipe recipe ... : option option ...`: the values of options in recipes; of all their options without names."""
    cut = arguments.index(":") if ":" in arguments else len(arguments)
    chosen = [find_recipe(name).options for name in arguments[:cut]]
    entries = {name: entry for one in reversed(chosen) for name, entry in one.entries.items()}
    names = arguments[cut + 1 :] or list(entries)
    rows = (
        (
            f"`{name}`",
            *(f"`{one[name]}`" if name in one else "" for one in chosen),
            limits(entries[name]),
            entries[name].metadata["help"],
        )
        for name in names
    )
    return table(("option", *(f"`{name}`" for name in arguments[:cut]), "range", "what it does"), rows)


def deviations(arguments: Sequence[str] = ()) -> str:
    """Every option by its owner, with default, range and meaning, and the recipes that have another value."""
    owners = {owner: owner for recipe in recipes.values() for owner in recipe.owners}
    owners |= {owner: owner for decoder in decoders.values() for owner in decoder.options}
    rows = []
    for owner in owners:
        for entry in fields(owner):
            own = ((name, recipe.options[entry.name]) for name, recipe in recipes.items() if owner in recipe.owners)
            other = ", ".join(f"`{name}`: `{value}`" for name, value in own if value != entry.default)
            about = entry.metadata["help"]
            rows.append((f"`{entry.name}`", f"`{entry.default!r}`", limits(entry), about, other))
    return table(("option", "default", "range", "what it does", "other values"), rows)


def registries() -> dict[str, Registry[Any]]:
    """Every registry of the package by its kind."""
    found: dict[str, Registry[Any]] = {}
    for module in pkgutil.walk_packages(dovetail.__path__, "dovetail."):
        for value in vars(import_module(module.name)).values():
            if isinstance(value, Registry):
                found[value.kind] = value
    return {kind: found[kind] for kind in sorted(found, key=lambda kind: ([*KINDS, kind].index(kind), kind))}


def choices(arguments: Sequence[str] = ()) -> str:
    parts = []
    for kind, registry in registries().items():
        descriptions = dict(registry.descriptions)
        if kind == "combination":
            descriptions = {"soft-union": "mean of the two directions' posteriors, the default", **descriptions}
        if kind == "recipe":
            parts += ["## Presets: `--recipe`", presets()]
        rows = ((f"`{name}`", description) for name, description in descriptions.items())
        parts += [f"## {KINDS.get(kind, kind.capitalize())}", table(("name", "what it is"), rows)]
    return "\n\n".join(parts)


def kind(arguments: Sequence[str]) -> str:
    """The table of one kind of choices."""
    descriptions = registries()[" ".join(arguments)].descriptions
    return table(("name", "what it is"), ((f"`{name}`", text) for name, text in descriptions.items()))


def commands(arguments: Sequence[str] = ()) -> str:
    return "\n\n".join(_command(name) for name in COMMANDS)


def _command(name: str) -> str:
    context = click.Context(program, info_name="dovetail", **program.context_settings)
    command = program.get_command(context, name)
    assert command is not None
    inner = click.Context(command, info_name=name, parent=context)
    usage = " ".join(command.collect_usage_pieces(inner))
    rows = []
    for parameter in command.get_params(inner):
        if isinstance(parameter, click.Option):
            record = parameter.get_help_record(inner)
            if record is not None:
                rows.append((f"`{record[0]}`", record[1] + _values(parameter)))
    parts = [f"## dovetail {name}", f"```sh\ndovetail {name} {usage}\n```", inspect.cleandoc(command.help or "")]
    return "\n\n".join([*parts, table(("option", "what it does"), rows)])


def _values(parameter: click.Option) -> str:
    """The names that an option takes, where a registry knows them."""
    if not isinstance(parameter.type, Names):
        return ""
    names = [item.value for item in parameter.type.shell_complete(None, None, "")]  # type: ignore[arg-type]
    return f"  One of: {', '.join(f'`{name}`' for name in names)}."


def python(arguments: Sequence[str] = ()) -> str:
    listed = {name for names in NAMES.values() for name in names}
    groups = {title: [name for name in names if name in dovetail.__all__] for title, names in NAMES.items()}
    groups["More"] = [name for name in dovetail.__all__ if name not in listed]
    parts = []
    for title, names in groups.items():
        if names:
            parts += [f"## {title}", INTRODUCTIONS.get(title, ""), *(_entry(name) for name in names)]
    parts += ["## Exact decoding on arrays", *decoding(), "## What people do with links", *uses()]
    return "\n\n".join(parts)


def _entry(name: str) -> str:
    home = dovetail._HOMES[name]
    value = getattr(import_module(home), name)
    if isinstance(value, Registry):
        known = ", ".join(f"`{key}`" for key in value)
        about = f"A mapping from the name of a {value.kind} to what it stands for; `.descriptions` tells of each."
        return f"```{{eval-rst}}\n.. py:data:: dovetail.{name}\n```\n\n{about}  Names: {known}."
    return _documented(f"dovetail.{name}", value)


def _documented(path: str, value: Any) -> str:
    if inspect.isclass(value):
        # What a class of the package has from another one of the package is its own to a reader.
        ours = any(base.__module__.startswith("dovetail.") for base in value.__bases__)
        inherited = "   :inherited-members:\n" if ours else ""
        return f"```{{eval-rst}}\n.. autoclass:: {path}\n   :members:\n{inherited}```"
    if inspect.isfunction(value):
        return f"```{{eval-rst}}\n.. autofunction:: {path}\n```"
    module, _, name = path.rpartition(".")
    return f"```{{eval-rst}}\n.. py:data:: {name}\n   :module: {module}\n```"


def decoding() -> list[str]:
    """The functions of dovetail.decoding that take arrays, and what they return."""
    return [_documented(f"dovetail.decoding.{name}", getattr(decoding_room, name)) for name in decoding_room.__all__]


def uses() -> list[str]:
    """What the modules of dovetail.uses offer: their public functions, and classes that have something to say."""
    parts = []
    for module in sorted(found.name for found in pkgutil.iter_modules(uses_room.__path__, "dovetail.uses.")):
        for name, value in vars(import_module(module)).items():
            own = getattr(value, "__module__", None) == module and not name.startswith("_")
            if own and (inspect.isfunction(value) or inspect.isclass(value)) and inspect.getdoc(value):
                parts.append(_documented(f"{module}.{name}", value))
    return parts


MAKERS: dict[str, Callable[[Sequence[str]], str]] = {
    "presets": presets,
    "recipes": _recipes,
    "pages": pages,
    "options": options,
    "deviations": deviations,
    "choices": choices,
    "kind": kind,
    "commands": commands,
    "python": python,
}
