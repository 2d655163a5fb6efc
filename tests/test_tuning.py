"""Threshold and growing: what they promise, and what development gold makes of them."""

from __future__ import annotations

from importlib.resources import as_file, files
from itertools import product

import numpy as np
import pytest

from dovetail import Aligner, Bitext, Gold, InputError, evaluate, read_bitext, read_gold
from dovetail.decoding.tempering import temper
from dovetail.training.drawing import lesson
from dovetail.tuning import GROWS, THRESHOLDS


@pytest.fixture(scope="module")
def demo():
    with as_file(files("dovetail") / "data") as folder:
        bitext = read_bitext(folder / "demo.en", folder / "demo.fr").part(0, 300)
        return bitext, read_gold(folder / "demo.gold")


@pytest.fixture(scope="module")
def model(demo, tmp_path_factory):
    place = tmp_path_factory.mktemp("models") / "model"
    Aligner("default").fit(demo[0]).save(place)
    return place


def lowest(links):
    return min(links.probability, default=1.0)


@pytest.mark.parametrize("threshold", [0.2, 0.5, 0.9, 1.0])
def test_no_link_lies_under_a_threshold_that_was_asked_for(demo, model, threshold):
    alone = Aligner.load(model, threshold=threshold).align(demo[0])
    assert lowest(alone) >= threshold
    grown = Aligner.load(model, threshold=threshold, grow=0.3).align(demo[0])
    assert lowest(grown) >= min(threshold, 0.3)
    assert (len(grown.source) > len(alone.source)) == (threshold > 0.3)


def test_without_a_threshold_the_recipe_grows_as_ever(demo, model):
    plain, said = (Aligner.load(model, **options).align(demo[0]) for options in ({}, {"threshold": 0.5, "grow": 0.3}))
    assert plain.source.tolist() == said.source.tolist()
    assert lowest(plain) < 0.5


def test_development_gold_chooses_what_a_search_by_hand_finds_best(demo):
    bitext, gold = demo
    aligner = Aligner("default").fit(bitext, development=(0, gold))
    tuned, chosen = aligner.tuned, aligner.recipe
    assert (aligner.recipe.options.threshold, aligner.recipe.options.grow) == tuned[:2]
    assert evaluate(aligner.align(bitext)[: len(gold)], gold).aer == pytest.approx(tuned.aer)
    for raw in product(THRESHOLDS, GROWS):
        threshold, grow = temper(np.array(raw), chosen.options.temper).tolist()
        aligner.recipe = chosen.with_options({"threshold": threshold, "grow": grow})
        assert evaluate(aligner.align(bitext)[: len(gold)], gold).aer >= tuned.aer - 1e-9


def test_what_was_asked_for_stays_and_what_gold_chose_goes_with_the_next_fit(demo):
    bitext, gold = demo
    asked = Aligner("ibm1", threshold=0.8).fit(bitext, development=(0, gold))
    assert asked.tuned is None
    assert asked.recipe.options.threshold == 0.8
    grown = Aligner("ibm1", grow=0.25).fit(bitext, development=(0, gold))
    assert grown.recipe.options.grow == grown.tuned.grow == 0.25
    aligner = Aligner("ibm1").fit(bitext, development=(0, gold))
    assert (aligner.recipe.options.threshold, aligner.recipe.options.grow) == aligner.tuned[:2] != (0.5, 1.0)
    aligner.fit(bitext)
    assert (aligner.recipe.options.threshold, aligner.recipe.options.grow, aligner.tuned) == (0.5, 1.0, None)


def test_a_decoder_without_a_threshold_takes_development_gold_for_stopping_alone(demo):
    aligner = Aligner("hmm", decoder="viterbi").fit(demo[0], development=(0, demo[1]))
    assert aligner.development_areas
    assert aligner.tuned is None


@pytest.mark.parametrize("first", [241, 300, -1, 10**9])
def test_development_gold_beyond_the_text_is_refused(demo, first):
    with pytest.raises(InputError, match="the development set has gold links of 60 pairs from pair"):
        Aligner("ibm1").fit(demo[0], development=(first, demo[1]))


def test_of_development_gold_only_the_annotated_pairs_are_looked_at(demo):
    """Sixty annotated pairs among three hundred are decoded and counted as the sixty alone."""
    bitext, gold = demo[0], demo[1].padded(300)
    spread = np.arange(300) % 5 == 0
    scattered = Gold.from_links(
        [gold[n // 5].sure if spread[n] else [] for n in range(300)],
        [gold[n // 5].possible if spread[n] else [] for n in range(300)],
    )
    scattered.annotated = spread
    shuffled = Bitext.from_pairs([bitext.tokens(n // 5 if spread[n] else 60 + n - n // 5 - 1) for n in range(300)])
    sixty = Bitext.from_pairs([bitext.tokens(n) for n in range(60)])
    whole, some = (
        Aligner("ibm1").fit(shuffled, development=development) for development in ((sixty, demo[1]), (0, scattered))
    )
    learned = lesson(shuffled, some.recipe.options)
    assert len(some._development(learned, 0, scattered).text) == 60
    assert whole.tuned == some.tuned
    assert whole.development_areas == some.development_areas


def test_development_gold_without_links_is_refused(demo):
    with pytest.raises(InputError, match="no sure gold links"):
        Aligner("ibm1").fit(demo[0], development=(0, Gold.from_links([[]] * 5)))
    with pytest.raises(InputError, match="no sure gold links"):
        Aligner("ibm1").fit(demo[0], development=(0, Gold.from_links([])))
