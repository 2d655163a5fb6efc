"""Block moves: what they gain is what enumeration says, they find what single links do not, and counts follow."""

from __future__ import annotations

from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_bayes as naive
from dovetail import Bitext
from dovetail.bitext.shards import lay_out
from dovetail.engines import Threads
from dovetail.kernels.bayes import climb as kernels
from dovetail.models.ibm1 import IBM1
from dovetail.models.lexicon.table import Lexicon
from dovetail.recipes import find_recipe
from dovetail.training import bayes
from dovetail.training.bayes_chains import Stage
from dovetail.training.bayes_climb import climb
from dovetail.training.monitor import Monitor


def chains_of(pairs, alpha=1e-4, block_cells=1 << 22):
    """The two chains at their starts, the uniform lexicon's best alignments."""
    bitext = Bitext.from_pairs([(e.split(), f.split()) for e, f in pairs])
    sides = bitext.source, bitext.target
    packed = [part for side in sides for part in (side.ids, side.offsets)]
    engine = Threads(1)
    shard = lay_out(*packed, *(len(side.vocabulary) for side in sides), engine, block_cells)
    options = find_recipe("ibm1-bayes").with_options({"alpha": alpha}).options
    return bayes.begin(IBM1(Lexicon.uniform(shard.slots)), shard, options, 1, engine), engine


def log_posterior(chain, pairs, alpha):
    """The slow twin's, of the alignments as they are."""
    corpus = [(e.split(), f.split())[:: -1 if chain.direction else 1] for e, f in pairs]
    links = iter(np.concatenate(chain.alignments).tolist())
    alignments = [[next(links) for _ in made] for _, made in corpus]
    return naive.log_lexicon(corpus, alignments, alpha, len({word for _, made in corpus for word in made}))


def made_up(pairs, seed=0):
    random = np.random.default_rng(seed)
    words = [[f"{side}{k}" for k in range(20)] for side in "ex"]
    return [tuple(" ".join(random.choice(side, random.integers(1, 7))) for side in words) for _ in range(pairs)]


sentences = st.lists(st.sampled_from("abcd"), min_size=1, max_size=3).map(" ".join)
corpora = st.lists(st.tuples(sentences, sentences), min_size=2, max_size=5)


@given(corpora, st.sampled_from([1e-4, 0.1, 1.0]))
@settings(deadline=None, max_examples=60)
def test_climbing_never_makes_links_less_likely_and_counts_follow(pairs, alpha):
    chains, engine = chains_of(pairs, alpha)
    before = [chain.log_probability() for chain in chains]
    climb(chains, engine)
    for chain, value in zip(chains, before, strict=True):
        assert chain.log_probability() >= value - 1e-6
        assert chain.log_probability() == pytest.approx(log_posterior(chain, pairs, alpha), abs=1e-4)


def test_scattered_links_of_a_word_are_moved_to_the_word_that_all_its_sentences_have():
    """One at a time they stay: a link that leaves alone has to pay for a pair, as those do that are there."""
    pairs = [(f"m a{k}", "x") for k in range(4)] + [(f"n{k}", f"y{k}") for k in range(100)]
    (forward, _), engine = chains_of(pairs, alpha=0.01)
    before = forward.alignments
    assert before[0].tolist() == [0] * 104
    forward.alignments = [np.array([1] * 4 + [-1] * 100, np.int16)]
    forward.counts.totals[:] = [0, 1, 1, 1, 1] + [0] * 100 + [100]
    forward.counts.nulls[:] = [0] + [1] * 100
    forward.count_again(before)
    assert np.count_nonzero(forward.counts.links) == 4
    climb([forward], engine)
    assert forward.alignments[0].tolist() == [0] * 4 + [-1] * 100
    assert np.count_nonzero(forward.counts.links) == 1


@pytest.mark.parametrize("k", [1, 2, 3, 50])
@pytest.mark.parametrize(("n", "total"), [(0.0, 0.0), (3.0, 1000.0)])
def test_links_are_worth_the_ratio_of_the_posteriors(n, total, k):
    expected = sum(np.log((n + m + 1e-4) / (total + m + 2.0)) for m in range(k))
    assert kernels.worth(n, total, k, 1e-4, 2.0) == pytest.approx(expected)


def test_blocks_of_the_layout_change_nothing():
    pairs = made_up(60)
    results = []
    for block_cells in (30, 1 << 22):
        chains, engine = chains_of(pairs, block_cells=block_cells)
        bayes.run(chains, [Stage("sweeps", 2, climb=True)], engine, Monitor())
        assert (len(chains[0].text.shard.blocks) > 1) == (block_cells == 30)
        results.append([np.concatenate(chain.alignments).tolist() for chain in chains])
    assert results[0] == results[1]


def test_climbing_makes_fewer_pairs_and_a_likelier_alignment():
    folder = files("dovetail") / "data"
    texts = [(folder / f"demo.{language}").read_text(encoding="utf-8").splitlines() for language in ("en", "fr")]
    chains, engine = chains_of(list(zip(*texts, strict=True)))
    bayes.run(chains, [Stage("cool", 10, quarters=8)], engine, Monitor())
    before = [(np.count_nonzero(chain.counts.links), chain.log_probability()) for chain in chains]
    climb(chains, engine)
    for chain, (number, value) in zip(chains, before, strict=True):
        assert np.count_nonzero(chain.counts.links) < number
        assert chain.log_probability() > value
