"""`dovetail compare`: two systems on one gold set."""

from __future__ import annotations

import json

import click

from dovetail.cli.evaluate import links_to_score
from dovetail.cli.options import SEED, Names, metric_names


@click.command()
@click.argument("first")
@click.argument("second")
@click.argument("gold")
@click.option("--metric", type=Names("name", metric_names), default="aer", show_default=True, help="What to compare.")
@click.option(
    "--samples",
    type=click.IntRange(100),
    default=10000,
    show_default=True,
    help="Resamples of the paired test.",
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of the resampling.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def compare(first: str, second: str, gold: str, metric: str, samples: int, seed: int, as_json: bool) -> None:
    """Compare two alignments of the same gold set, with significance.

    FIRST and SECOND are alignment files, GOLD the gold links (see `dovetail evaluate --help`).
    """
    from dovetail.alignments.gold import read_gold
    from dovetail.evaluation import compare as compare_systems
    from dovetail.evaluation import evaluate, statistics

    truth = read_gold(gold, partial=True).trimmed()
    systems = [links_to_score(path, gold, truth, tell=path == first) for path in (first, second)]
    scores = [evaluate(system, truth) for system in systems]
    counts = [statistics(system, truth) for system in systems]
    result = compare_systems(counts[0], counts[1], metric=metric, samples=samples, seed=seed)
    if as_json:
        click.echo(json.dumps({**result.to_dict(), "first": scores[0].to_dict(), "second": scores[1].to_dict()}))
        return
    for path, score in zip((first, second), scores, strict=True):
        click.echo(f"{path}: {score}")
    click.echo(str(result))
