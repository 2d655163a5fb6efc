"""`dovetail curve`: precision against recall over all thresholds, and whether probabilities are true."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from dovetail.cli.evaluate import links_to_score

if TYPE_CHECKING:
    import numpy as np


@click.command()
@click.argument("candidates")
@click.argument("gold")
@click.option("--skip", type=click.IntRange(0), default=0, help="Leave out the first N pairs of the candidates.")
@click.option(
    "--at", "recalls", type=click.FloatRange(0, 1), multiple=True, help="Precision at this recall; repeatable."
)
@click.option("--metric", default="aer", show_default=True, help="What the best threshold is best for.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, every point of the curve included.")
def curve(candidates: str, gold: str, skip: int, recalls: tuple[float, ...], metric: str, as_json: bool) -> None:
    """Precision against recall over all thresholds, and how true the probabilities are.

    CANDIDATES has links with probabilities, as `dovetail align --threshold 0.01 --probabilities` writes them: the lower
    that threshold, the farther the curve reaches.  Prints the area under the curve, the best threshold, precision at
    the recalls asked for, and the expected calibration error with its reliability diagram.
    """
    from dovetail.alignments.gold import read_gold
    from dovetail.evaluation import precision_recall_curve, reliability_diagram

    truth = read_gold(gold, partial=True).trimmed()
    links = links_to_score(candidates, gold, truth, None, skip)
    found = precision_recall_curve(links, truth)
    diagram = reliability_diagram(links, truth)
    precision_at = {recall: float(found.precision_at(recall)) for recall in recalls or (0.6, 0.7, 0.8, 0.9)}
    best = float(found.best_threshold(metric))
    if as_json:
        points = {"threshold": found.threshold[1:], "precision": found.precision[1:], "recall": found.recall[1:]}
        click.echo(
            json.dumps(
                {
                    "area": float(found.area),
                    "best_threshold": best,
                    "precision_at": {str(recall): value for recall, value in precision_at.items()},
                    "expected_calibration_error": float(diagram.expected_error),
                    "curve": {name: values.tolist() for name, values in points.items()},
                    "reliability": {
                        "edges": diagram.edges.tolist(),
                        "cells": diagram.count.tolist(),
                        "said": _known(diagram.confidence, diagram.count),
                        "right": _known(diagram.accuracy, diagram.count),
                    },
                }
            )
        )
        return
    click.echo(f"area under the curve {100 * found.area:.2f}; best threshold for {metric} {best:.3f}")
    for recall, value in precision_at.items():
        click.echo(f"precision at recall {recall:.2f}: {100 * value:.1f}")
    click.echo(f"expected calibration error {100 * diagram.expected_error:.2f}")
    rows = zip(diagram.edges[:-1], diagram.edges[1:], diagram.count, diagram.confidence, diagram.accuracy, strict=True)
    for low, high, cells, said, true in rows:
        if cells:
            click.echo(
                f"  said {low:.1f}-{high:.1f}: {cells:,} cells, {100 * said:.1f} on average, {100 * true:.1f} right"
            )


def _known(values: np.ndarray, counts: np.ndarray) -> list[float | None]:
    """The values of bins that hold anything; JSON has no word for not-a-number."""
    return [value if count else None for value, count in zip(values.tolist(), counts.tolist(), strict=True)]
