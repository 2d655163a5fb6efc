"""The sampler against enumeration: its ratios, its marginals, its counts; and the random numbers under it."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
import naive_fertility_models as slow
from dovetail.engines import Threads
from dovetail.kernels import gibbs, kernel
from dovetail.kernels.random import draw, stream, uniform
from dovetail.models.fertility import MOST, RARE, FertilityCounts, fertilities
from dovetail.models.fertility_models import FertilityHMM, FertilityIBM1, Sampling
from dovetail.models.lexicon import Workspace
from test_models import ENGINE, cells_of, entries, random_jumps, random_lexicon, weight_functions

KINDS = ["poisson", "categorical", "features"]
MODELS = ["hmm", "ibm1", "ibm1-not-deficient"]


def random_fertility(kind, words, seed):
    """Word 0 is rare, and has what all words share; the others have their own."""
    generator = np.random.default_rng(seed)
    tokens = np.full(words, 50)
    tokens[0] = RARE - 1
    histogram = tokens[:, None] * generator.dirichlet(
        np.array([3.0, 6, 3, 1, 0.5, 0.5, 0.5, 0.5, 0.5])[: MOST + 1], words
    )
    links = histogram @ np.arange(MOST + 1.0)
    counts = FertilityCounts(tokens, links, histogram, 0.3 * tokens.sum(), float(tokens.sum()))
    spelling = np.arange(words) % 3 + 1, np.arange(words) // 2 * 2
    return fertilities[kind].initial(counts, lambda: spelling).reestimate(counts)


def random_model(name, kind, cells, seed):
    lexicon = random_lexicon(cells, seed)
    fertility = (
        random_fertility(kind, cells.slots.n_sources, seed),
        random_fertility(kind, cells.slots.n_targets, seed + 1),
    )
    if name == "hmm":
        return FertilityHMM(lexicon, (random_jumps(seed), random_jumps(seed + 1)), 0.3, fertility)
    return FertilityIBM1(lexicon, fertility, deficient=name == "ibm1")


def probability(fertility, word):
    """p(count | word) from the factor's parameters, by the naive formulas."""
    if fertility.kind == "poisson":
        return lambda count: slow.poisson(count, fertility.rates[word])
    return lambda count: slow.binned(count, fertility.bins()[word])


def joints(model, source, target):
    """The joint of an alignment in the forward and in the reverse direction, as naive functions."""
    forward, reverse = entries(model.lexicon, source, target)
    nulls = model.lexicon.null_forward[list(target)], model.lexicon.null_reverse[list(source)]
    result = []
    for direction, (emission, words) in enumerate(((forward, source), (reverse.T, target))):
        fertility = model.fertility[direction]
        by_word = [probability(fertility, word) for word in words]
        common = (lambda i, count, by_word=by_word: by_word[i](count)), fertility.null
        if isinstance(model, FertilityHMM):
            weights = weight_functions(model.jumps[direction])
            result.append(
                lambda a, e=emission, n=nulls[direction], w=weights, c=common: slow.hmm_joint(
                    a, e, n, *w, model.null, *c
                )
            )
        else:
            result.append(
                lambda a, e=emission, n=nulls[direction], c=common: slow.ibm1_joint(a, e, n, *c, model.deficient)
            )
    return result


@kernel
def draws(seed, sweeps, sentences, words):
    result = np.empty((sweeps, sentences, words))
    for sweep in range(sweeps):
        for sentence in range(sentences):
            key = stream(seed, sweep, sentence)
            for word in range(words):
                result[sweep, sentence, word] = uniform(key, word)
    return result


@pytest.mark.parametrize("seed", [0, 1, 2**40])
def test_random_numbers_are_uniform_and_neighbours_in_every_key_are_independent(seed):
    numbers = draws(seed, 40, 60, 50)
    assert numbers.min() >= 0
    assert numbers.max() < 1
    observed = np.bincount((numbers.ravel() * 100).astype(int), minlength=100)
    expected = numbers.size / 100
    assert ((observed - expected) ** 2 / expected).sum() < 160  # chi-square with 99 degrees: 1 in 10,000
    for axis in range(3):
        moved = np.moveaxis(numbers, axis, 0)
        cells = (moved[:-1] * 10).astype(int) * 10 + (moved[1:] * 10).astype(int)
        observed = np.bincount(cells.ravel(), minlength=100)
        expected = cells.size / 100
        assert ((observed - expected) ** 2 / expected).sum() < 160
    assert len(np.unique(numbers)) == numbers.size


def test_random_numbers_depend_on_their_key_and_on_nothing_else():
    whole = draws(7, 3, 4, 5)
    assert (draws(7, 2, 3, 4) == whole[:2, :3, :4]).all()
    assert not (draws(8, 3, 4, 5) == whole).any()


@kernel
def draw_many(weight, n, null, times, sums):
    seen = np.zeros(n + 2, np.int64)
    key = stream(3, 0, 0)
    for k in range(times):
        seen[draw(weight, n, null, uniform(key, k), sums)[0] + 2] += 1
    return seen


@given(
    st.lists(st.sampled_from([0.0, 1e-30, 0.5, 1.0, 3.0]), min_size=1, max_size=20), st.sampled_from([0.0, 0.7, 2.0])
)
@settings(deadline=None, max_examples=50)
def test_draws_are_in_proportion_to_the_weights_and_never_impossible(weights, null):
    n = len(weights)
    padded = np.full(n + 7, 9.0, np.float32)
    padded[:n] = weights
    seen = draw_many(padded, n, np.float32(null), 4000, np.empty(n // 8 + 1, np.float32))
    total = null + sum(weights)
    if total == 0:
        assert seen[0] == 4000
        return
    expected = np.array([0.0, null, *weights]) / total
    assert (seen[expected == 0] == 0).all()
    assert seen / 4000 == pytest.approx(expected, abs=0.045)


@kernel
def pick_many(weight, n, null, times, sums):
    ones, zero = np.ones(len(weight), np.float32), np.uint64(0)
    drawn = np.empty(len(weight), np.float32)
    octets = np.uint64(len(weight) // 8)
    seen = np.zeros(n + 1, np.int64)
    key = stream(3, 0, 0)
    for k in range(times):
        total = gibbs.fill(weight, zero, ones, zero, ones, zero, ones, zero, np.float32(1.0), octets, null, drawn, sums)
        target = np.float32(uniform(key, k)) * total
        seen[(-1 if target < null else gibbs.pick(drawn, n, octets, sums, target)) + 1] += 1
    return seen


@given(st.lists(st.sampled_from([0.0, 1e-30, 0.5, 1.0, 3.0]), min_size=1, max_size=30), st.sampled_from([0.7, 2.0]))
@settings(deadline=None, max_examples=50)
def test_picks_from_several_octets_are_in_proportion_to_the_weights_and_never_impossible(weights, null):
    n = len(weights)
    padded = np.zeros(gibbs.padded(n), np.float32)
    padded[:n] = weights
    seen = pick_many(padded, n, np.float32(null), 4000, np.empty(len(padded) // 8 + 1, np.float32))
    expected = np.array([null, *weights]) / (null + sum(weights))
    assert (seen[expected == 0] == 0).all()
    assert seen / 4000 == pytest.approx(expected, abs=0.045)


def sweep_arguments(model, direction, source, target):
    """What `sweep` wants for one pair, from `longest` to `null_tail`."""
    words, other = (source, target) if direction == 0 else (target, source)
    matrix = entries(model.lexicon, source, target)[direction]
    matrix = (matrix if direction == 0 else matrix.T).T
    I, longest = len(words), max(len(source), len(target))
    emission = np.zeros((len(other), gibbs.padded(I)), np.float32)
    emission[:, :I] = matrix
    null_table = (model.lexicon.null_forward, model.lexicon.null_reverse)[direction]
    p0, p1, weights, normalised = model._moves(longest)
    jump, start = weights[2 * direction : 2 * direction + 2]
    exits = np.ones(longest + 1, np.float32)
    first = start[:I].copy()
    if normalised:
        exits[:I] = [1 / jump[longest - i : longest - i + I].sum() for i in range(I)]
        first /= first.sum()
    fertility = model.fertility[direction]
    width = fertility.ratios.shape[1]
    counts = np.arange(longest + 1) + 1
    return (
        longest,
        emission.ravel(),
        null_table[list(other)],
        np.float32(p0),
        np.float32(p1),
        gibbs.side_by_side(longest, jump, first),
        gibbs.side_by_side(longest, jump[::-1].copy(), np.ones(0, np.float32)),
        exits,
        fertility.ratios[list(words)],
        gibbs.tails(longest + 1, width, fertility.falling, model.deficient),
        np.float32(fertility.null * I),
        (1 / counts if model.deficient else np.ones(longest + 1)).astype(np.float32),
    )


sentences = st.lists(st.integers(0, 3), min_size=1, max_size=4)


@pytest.mark.parametrize("name", MODELS)
@given(source=sentences, target=sentences, kind=st.sampled_from(KINDS), seed=st.integers(0, 1000), data=st.data())
@settings(deadline=None, max_examples=60)
def test_a_candidates_weight_is_in_proportion_to_the_joint(name, source, target, kind, seed, data):
    model = random_model(name, kind, cells_of([(source, target), ([0, 1, 2, 3], [0, 1, 2, 3])]), seed)
    for direction, joint in enumerate(joints(model, source, target)):
        I, J = (len(source), len(target)) if direction == 0 else (len(target), len(source))
        alignment = np.array(data.draw(st.lists(st.integers(-1, I - 1), min_size=J, max_size=J)))
        j = data.draw(st.integers(0, J - 1))
        arguments = sweep_arguments(model, direction, source, target)
        exits, ratios, tail = arguments[7:10]
        counts, gains = np.zeros(I, np.int64), np.zeros(2 * gibbs.padded(I), np.float32)
        weight, sums = np.zeros(gibbs.padded(I), np.float32), np.zeros(gibbs.padded(I) // 8 + 1, np.float32)
        posterior, null_posterior = np.zeros(J * gibbs.padded(I), np.float32), np.zeros(J, np.float32)
        nulls = gibbs.start_counts(alignment, I, exits, ratios, tail, counts, gains)
        expected = []
        for i in [naive.NULL, *range(I)]:
            candidate = alignment.copy()
            candidate[j] = i
            expected.append(joint(tuple(candidate)))
        _, used = gibbs.sweep(
            j,
            j + 1,
            alignment,
            nulls,
            I,
            *arguments,
            counts,
            gains,
            weight,
            sums,
            np.empty(J, np.int64),
            np.uint64(stream(seed, 0, 0)),
            np.float32(1e-30),
            np.float32(0.5),
            posterior,
            np.empty(len(posterior), np.uint32),
            0,
            null_posterior,
        )
        weights = np.array([sums[0], *weight[:I]], np.float64)
        share = np.array(expected) / sum(expected)
        assert weights / weights.sum() == pytest.approx(share, rel=1e-4)
        credited = posterior.reshape(J, -1)[j, :I]
        assert np.array([null_posterior[j], *credited]) == pytest.approx(0.5 * share, rel=1e-4)
        assert used == np.count_nonzero(posterior) == np.count_nonzero(credited)


@pytest.mark.parametrize("name", MODELS)
@given(source=sentences, target=sentences, kind=st.sampled_from(KINDS), seed=st.integers(0, 1000), data=st.data())
@settings(deadline=None, max_examples=40)
def test_scores_and_potentials_equal_the_joint(name, source, target, kind, seed, data):
    cells = cells_of([(source, target)])
    model = random_model(name, kind, cells_of([(source, target), ([0, 1, 2, 3], [0, 1, 2, 3])]), seed)
    model = model.with_lexicon(random_lexicon(cells, seed))
    work = Workspace.for_cells(cells)
    (block,) = cells.blocks
    view = work.view(block)
    given_alignments = [
        np.array(data.draw(st.lists(st.integers(-1, I - 1), min_size=J, max_size=J)), np.int16)
        for I, J in ((len(source), len(target)), (len(target), len(source)))
    ]
    model.lexicon.gather(cells, block, view, ENGINE)
    scores = model.sample(
        cells, block, view, ENGINE, Sampling(samples=0, burn_in=0), np.zeros(1, np.int64), tuple(given_alignments)
    )
    matrices = entries(model.lexicon, source, target)
    for direction, joint in enumerate(joints(model, source, target)):
        alignment = given_alignments[direction]
        expected = math.log(joint(tuple(int(a) for a in alignment)))
        assert scores[0, direction] == pytest.approx(expected, rel=1e-4, abs=1e-4)
        words, emission, nulls = (
            (source, matrices[0], model.lexicon.null_forward[target])
            if direction == 0
            else (target, matrices[1].T, model.lexicon.null_reverse[source])
        )
        p = model.potentials(direction, np.array(words), emission, nulls)
        total, before = 0.0, 0
        for j, i in enumerate(alignment):
            total += p.emission[i + 1, j] + (p.null if i < 0 else p.transition[before, i])
            before = before if i < 0 else i + 1
        counts, null_count = slow.counts_of(alignment, len(words))
        total += sum(p.fertility[i, count] for i, count in enumerate(counts)) + p.null_fertility[null_count]
        assert total == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("soft", [True, False])
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("kind", KINDS)
def test_marginals_of_samples_match_the_enumerated_posterior(name, kind, soft):
    pairs = [([0, 1, 2], [0, 1, 1, 2]), ([3], [2, 0, 3]), ([1, 1, 0, 2], [3]), ([2, 0], [1, 2])]
    cells = cells_of(pairs)
    model = random_model(name, kind, cells, 5)
    work = Workspace.for_cells(cells)
    (block,) = cells.blocks
    view = work.view(block)
    model.lexicon.gather(cells, block, view, ENGINE)
    best = np.empty(block.columns, np.int16), np.empty(block.rows, np.int16)
    sampling = Sampling(seed=1, samples=20_000, restarts=2, burn_in=20, soft=soft)
    scores = model.sample(cells, block, view, ENGINE, sampling, np.arange(len(pairs)), best, keep_best=True)
    for n, line in enumerate(block.lines):
        source, target = pairs[n]
        I, J = len(source), len(target)
        forward, reverse = joints(model, source, target)
        piece = slice(line[2], line[2] + I * J)
        links, nulls, _ = naive.posteriors(forward, I, J)
        assert view.forward[piece].reshape(I, J) == pytest.approx(links, abs=0.015)
        assert view.null_forward[line[1] : line[1] + J] == pytest.approx(nulls, abs=0.015)
        links, nulls, _ = naive.posteriors(reverse, J, I)
        assert view.reverse[piece].reshape(I, J) == pytest.approx(links.T, abs=0.015)
        assert view.null_reverse[line[0] : line[0] + I] == pytest.approx(nulls, abs=0.015)
        # So many samples of so small a pair have seen the best alignment.
        found = tuple(int(a) for a in best[0][line[1] : line[1] + J])
        top = naive.best(forward, I, J)[1]
        assert forward(found) == pytest.approx(top, rel=1e-5)
        assert scores[n, 0] == pytest.approx(math.log(top), rel=1e-4)


def test_counts_of_given_alignments_are_what_they_say():
    pairs = [([0, 1, 2], [0, 1, 1, 2]), ([1, 2], [0, 0])]
    alignments = [(0, 2, naive.NULL, 1), (1, 1)], [(0, naive.NULL, 3), (naive.NULL, 1)]
    cells = cells_of(pairs)
    model = random_model("hmm", "categorical", cells, 3)
    counts = model.zero_counts(cells)
    (block,) = cells.blocks
    given_alignments = tuple(np.array([a for pair in side for a in pair], np.int16) for side in alignments)
    work = Workspace.for_cells(cells).view(block)
    sampling = Sampling(samples=0, burn_in=0)
    model.sample(cells, block, work, ENGINE, sampling, np.arange(2), given_alignments, counts=counts)
    longest = cells.longest
    for direction in range(2):
        words = max(max(pair[direction]) for pair in pairs) + 1
        links, histogram = np.zeros(words), np.zeros((words, MOST + 1))
        moves, exposure = np.zeros(2 * longest + 1), np.zeros(2 * longest + 1)
        first = np.zeros(longest)
        jump, _ = weight_functions(model.jumps[direction])
        for pair, alignment in zip(pairs, alignments[direction], strict=True):
            I = len(pair[direction])
            own, _ = slow.counts_of(alignment, I)
            for word, count in zip(pair[direction], own, strict=True):
                links[word] += count
                histogram[word, count] += 1
            positions = [i for i in alignment if i != naive.NULL]
            first[positions[0]] += 1
            for before, i in pairwise(positions):
                moves[longest + i - before] += 1
                reach = [k - before for k in range(I)]
                for d in reach:
                    exposure[longest + d] += 1 / sum(jump(k) for k in reach)
        fertility = counts.fertility(direction)
        assert fertility.links == pytest.approx(links)
        assert fertility.tokens.tolist() == histogram.sum(axis=1).tolist()
        assert fertility.histogram == pytest.approx(histogram)
        assert counts.jumps[direction].jump[0] == pytest.approx(moves)
        assert counts.jumps[direction].jump[1] == pytest.approx(exposure, abs=1e-6)
        assert counts.jumps[direction].start[0] == pytest.approx(first)
    assert counts.lexicon.null_forward.tolist() == [0, 1, 0]
    assert counts.lexicon.null_reverse.tolist() == [0, 2, 0]
    assert counts.fertility(0).null_exposure == 5
    assert counts.fertility(1).null_exposure == 6


def test_counts_from_an_e_step_equal_the_posteriors_of_the_same_samples():
    generator = np.random.default_rng(0)
    pairs = [(generator.integers(0, 6, 5).tolist(), generator.integers(0, 6, 7).tolist()) for _ in range(30)]
    cells = cells_of(pairs, block_cells=300)
    model = random_model("hmm", "poisson", cells, 3)
    counts, expected = model.zero_counts(cells), model.zero_counts(cells)
    work = Workspace.for_cells(cells)
    sampling = Sampling(seed=4, samples=7, restarts=2, burn_in=1, soft=True)
    for engine in (Threads(3), ENGINE):
        counts = model.zero_counts(cells)
        for block in cells:
            model.sample(
                cells,
                block,
                work.view(block),
                engine,
                sampling,
                np.arange(block.first, block.last),
                None,
                counts=counts,
            )
        expected = model.zero_counts(cells)
        for block in cells:
            view = work.view(block)
            model.lexicon.gather(cells, block, view, ENGINE)
            model.sample(cells, block, view, ENGINE, sampling, np.arange(block.first, block.last), None)
            model.lexicon.scatter(cells, block, view, expected.lexicon, ENGINE)
        assert (counts.lexicon.slots == expected.lexicon.slots).all()
        assert (counts.lexicon.null_forward == expected.lexicon.null_forward).all()
