"""`dovetail recipes`: what there is to choose from, straight from the registries."""

from __future__ import annotations

import json
from typing import Any

import click

from dovetail.cli.options import plugins


@click.command()
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@plugins
def recipes(name: str | None, as_json: bool) -> None:
    """List recipes, decoders, combinations and formats.

    With the NAME of a recipe or preset: its parts, and every option that it takes with its value, range and meaning.
    """
    tables = _one(name) if name else _all()
    if as_json:
        click.echo(json.dumps(tables, ensure_ascii=False))
        return
    if name:
        _print_options(tables)
        return
    width = max(len(entry) for table in tables.values() for entry in table)
    for title, table in tables.items():
        click.echo(f"{title}:")
        for entry, description in table.items():
            click.echo(f"  {entry:<{width}}  {description}")


def _all() -> dict[str, dict[str, str]]:
    from dovetail.alignments.combine import combiners
    from dovetail.alignments.formats import alignment_formats
    from dovetail.bitext.readers import bitext_formats
    from dovetail.bitext.tokenize import tokenizers
    from dovetail.decoding.decoders import decoders
    from dovetail.recipes import PRESETS, paper_recipes
    from dovetail.recipes import recipes as known

    return {
        "presets": {name: f"the recipe {recipe}" for name, recipe in PRESETS.items()},
        "recipes": known.descriptions,
        "the papers' own systems, as printed": paper_recipes.descriptions,
        "decoders": decoders.descriptions,
        "combinations": {"soft-union": "mean of the two directions' posteriors", **combiners.descriptions},
        "output formats": alignment_formats.descriptions,
        "input formats": bitext_formats.descriptions,
        "tokenizers": tokenizers.descriptions,
    }


def _one(name: str) -> dict[str, Any]:
    from dovetail.options import limits
    from dovetail.recipes import find_recipe

    recipe = find_recipe(name)
    return {
        "recipe": recipe.name,
        "description": recipe.description,
        "model": recipe.model,
        "training": recipe.training,
        "decoder": recipe.decoder,
        "options": [
            {
                "name": entry.name,
                "value": recipe.options[entry.name],
                "range": limits(entry),
                "help": entry.metadata["help"],
            }
            for entry in recipe.options.entries.values()
        ],
    }


def _print_options(about: dict[str, Any]) -> None:
    click.echo(f"{about['recipe']}: {about['description']}")
    click.echo(f"  model {about['model']}, training {about['training']}, decoder {about['decoder']}\noptions:")
    rows = [(entry["name"], _written(entry["value"]), entry["range"], entry["help"]) for entry in about["options"]]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        cells = (f"{cell:<{width}}" for cell, width in zip(row, widths, strict=False))
        click.echo("  " + "  ".join([*cells, row[3]]))


def _written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value) or '""'
