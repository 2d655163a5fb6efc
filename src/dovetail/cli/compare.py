"""`dovetail compare`: any number of systems on one gold set."""

from __future__ import annotations

import json
import re

import click

from dovetail.cli.evaluate import links_to_score
from dovetail.cli.options import SEED, Names, metric_names
from dovetail.cli.view import named


class Metrics(Names):
    """A metric's name, or f and a weight."""

    def convert(self, value: str, parameter: click.Parameter | None, context: click.Context | None) -> str:
        return value if re.fullmatch(r"f0?\.[0-9]+", value) else super().convert(value, parameter, context)


@click.command()
@click.argument("systems", nargs=-1, required=True, metavar="[NAME=]FILE...")
@click.argument("gold")
@click.option(
    "--metric",
    type=Metrics("name", metric_names),
    default="aer",
    show_default=True,
    help="What to compare; f0.3 is the F-measure with alpha 0.3, which favours recall.",
)
@click.option(
    "--samples",
    type=click.IntRange(100),
    default=10000,
    show_default=True,
    help="Resamples of intervals and tests.",
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of the resampling.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "markdown", "latex", "json"]),
    default="text",
    show_default=True,
    help="What is written.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
def compare(
    systems: tuple[str, ...], gold: str, metric: str, samples: int, seed: int, format_: str, as_json: bool
) -> None:
    """Compare alignments of the same gold set: scores with intervals, and tests of all pairs.

    Each FILE holds a system's links, GOLD the gold links (see `dovetail evaluate --help`).  Files of the same NAME are runs
    of one system, with other seeds, say.  p is from approximate randomization; with more than two systems Holm's correction
    limits the chance of any false alarm.
    """
    from dovetail.alignments.alignments import Alignments
    from dovetail.alignments.gold import read_gold
    from dovetail.evaluation import compare_systems, evaluate

    truth = read_gold(gold, partial=True).trimmed()
    runs: dict[str, list[Alignments]] = {}
    for n, (name, path) in enumerate(map(_named, systems)):
        runs.setdefault(name, []).append(links_to_score(path, gold, truth, tell=n == 0))
    report = compare_systems(runs, truth, metric, samples, seed)
    if not as_json and format_ != "json":
        click.echo(report.table(format_))
        return
    found = report.to_dict()
    if len(report.tests) == 1 and all(len(row) == 1 for row in runs.values()):
        first, second = (evaluate(row[0], truth).to_dict() for row in runs.values())
        found |= {**report.tests[0].comparison.to_dict(), "first": first, "second": second}
    click.echo(json.dumps(found, ensure_ascii=False))


def _named(text: str) -> tuple[str, str]:
    """NAME=FILE; a file without a name of its own is called as it was typed, so that two of them are never runs of one."""
    name, path = named(text)
    return (name, path) if path != text else (text, text)
