"""What came out before the inside was rebuilt still does; `make same-bytes` compares the texts beyond the demo's, too."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

import same_bytes
from dovetail import Aligner, Bitext
from dovetail.recipes import recipes

KNOWN = same_bytes.recorded()
CASES = same_bytes.cases("demo")
DATA = Path(__file__).parent / "data"
# Whose first pass was over chosen cells alone when the old models were saved: their probabilities are a little different.
INFERRED_ANEW = {"joint", "joint-fast", "joint-best"}
# Whose scores were no log-probabilities when the old models were saved.
SCORED_ANEW = {
    *INFERRED_ANEW,
    *("ibm1-bijective", "ibm1-symmetric", "hmm-bijective", "hmm-symmetric"),
}


@pytest.fixture(scope="module")
def demo():
    return same_bytes.demo()


@pytest.mark.parametrize(
    ("recipe", "options"), CASES, ids=[f"{name} {options or ''}".strip() for name, options in CASES]
)
def test_the_demo_is_aligned_to_the_same_bytes(recipe, options, demo):
    for entry in same_bytes.measure("demo", recipe, options, demo):
        assert entry == KNOWN[same_bytes.key(entry)]


def test_every_recipe_and_text_is_on_record():
    texts = {entry["text"] for entry in KNOWN.values()}
    assert texts == {"demo", *same_bytes.SETS}
    for text in texts:
        assert {entry["recipe"] for entry in KNOWN.values() if entry["text"] == text} == set(recipes)


@pytest.fixture(scope="module")
def old_models(tmp_path_factory):
    """Models of every recipe as commit 8a7c7db saved them, trained on 20 pairs of the demo."""
    folder = tmp_path_factory.mktemp("old")
    with tarfile.open(DATA / "models-8a7c7db.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.mark.parametrize("recipe", recipes)
def test_a_model_saved_before_aligns_to_the_same_links_and_bytes(recipe, old_models, demo):
    new = Bitext.from_pairs([demo.tokens(n) for n in range(10, 40)])
    written = json.loads((old_models / "written.json").read_text("utf-8"))
    found = same_bytes.hashes(Aligner.load(old_models / recipe, threads=2).align(new))
    assert found["links"] == written[recipe]["links"]
    assert (found["probabilities"] == written[recipe]["probabilities"]) == (recipe not in INFERRED_ANEW)
    assert (found == written[recipe]) == (recipe not in SCORED_ANEW)
