"""Boosted trees, grown by LightGBM and kept as plain arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.errors import InputError
from dovetail.kernels.learned.records import DEPTH, INNER, LEAVES, Trees

# Chosen by the development sets, see benchmarks/learning.py.
GROWING = {
    "objective": "binary",
    "max_depth": DEPTH,
    "num_leaves": LEAVES,
    "min_data_in_leaf": 20,
    "lambda_l2": 5.0,
    "feature_fraction": 0.5,
    "verbosity": -1,
    "seed": 1,
    "num_threads": 1,  # the same trees for any number of cores
    "deterministic": True,
    "force_row_wise": True,
}


def grow(facts: np.ndarray, right: np.ndarray, trees: int, rate: float) -> Trees:
    """So many trees for the probability that a row of `facts` (rows, features) is right; each learns a part of the rest."""
    try:
        import lightgbm
    except ImportError:
        raise InputError(
            "learning needs LightGBM, which is not installed", remedy="pip install 'dovetail-align[learn]'"
        ) from None
    data = lightgbm.Dataset(facts, right, free_raw_data=True, params={"verbosity": -1, "num_threads": 1})
    booster = lightgbm.train({**GROWING, "learning_rate": rate}, data, trees)
    return _packed([tree["tree_structure"] for tree in booster.dump_model()["tree_info"]])


def _packed(roots: list[dict[str, Any]]) -> Trees:
    """Each tree filled up to DEPTH: a leaf that comes early is repeated below itself."""
    packed = Trees(
        np.zeros((len(roots), INNER), np.int32),
        np.zeros((len(roots), INNER), np.float32),
        np.zeros((len(roots), LEAVES), np.float32),
    )

    def fill(tree: int, node: int, here: dict[str, Any]) -> None:
        if node >= INNER:
            packed.leaf[tree, node - INNER] = here["leaf_value"]
            return
        below = here, here
        if "split_feature" in here:
            packed.feature[tree, node] = here["split_feature"]
            packed.threshold[tree, node] = _at_most(here["threshold"])
            below = here["left_child"], here["right_child"]
        fill(tree, 2 * node + 1, below[0])
        fill(tree, 2 * node + 2, below[1])

    for tree, root in enumerate(roots):
        fill(tree, 0, root)
    return packed


def _at_most(value: float) -> np.float32:
    """The largest single-precision number that is no larger: single-precision facts fall on the same side of both."""
    rounded = np.float32(value)
    return rounded if float(rounded) <= value else np.nextafter(rounded, np.float32(-np.inf))
