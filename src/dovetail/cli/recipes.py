"""`dovetail recipes`: what there is to choose from, straight from the registries."""

from __future__ import annotations

import json

import click


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def recipes(as_json: bool) -> None:
    """List recipes, decoders, combinations and formats."""
    from dovetail.alignments.combine import combiners
    from dovetail.alignments.formats import alignment_formats
    from dovetail.bitext.readers import bitext_formats
    from dovetail.bitext.tokenize import tokenizers
    from dovetail.decoding.decoders import decoders
    from dovetail.recipes import PRESETS
    from dovetail.recipes import recipes as known

    presets = {name: f"the recipe {recipe}" for name, recipe in PRESETS.items()}
    combinations = {"soft-union": "mean of the two directions' posteriors", **combiners.descriptions}
    tables = {
        "presets": presets,
        "recipes": known.descriptions,
        "decoders": decoders.descriptions,
        "combinations": combinations,
        "output formats": alignment_formats.descriptions,
        "input formats": bitext_formats.descriptions,
        "tokenizers": tokenizers.descriptions,
    }
    if as_json:
        click.echo(json.dumps(tables, ensure_ascii=False))
        return
    width = max(len(name) for table in tables.values() for name in table)
    for title, table in tables.items():
        click.echo(f"{title}:")
        for name, description in table.items():
            click.echo(f"  {name:<{width}}  {description}")
