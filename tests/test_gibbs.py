"""The sampler against enumeration: its ratios, its marginals, its counts; and the random numbers under it."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
import naive_fertility_models as slow
from dovetail.kernels import _numba as octets
from dovetail.kernels import kernel
from dovetail.kernels.gibbs import prepare, records
from dovetail.kernels.gibbs import sweep as gibbs
from dovetail.kernels.gibbs.layout import EXITS, I_, J_, padded
from dovetail.kernels.gibbs.random import draw, stream, uniform
from dovetail.kernels.records import LENGTH_I, LENGTH_J, Pieces, Ranks
from dovetail.models.fertile import FertilityHMM, FertilityIBM1, Sampling
from dovetail.models.fertility.factor import MOST, RARE, FertilityCounts, fertilities
from dovetail.models.sampled_statistics import ShardAlignments
from dovetail.pool import Pool
from test_models import POOL, cells_of, entries, random_jumps, random_lexicon, weight_functions

KINDS = ["poisson", "categorical", "features"]
MODELS = ["hmm", "hmm-null-uncounted", "ibm1", "ibm1-not-deficient", "ibm1-empty-words", "ibm1-plain-null"]


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


def random_model(name, kind, shard, seed):
    lexicon = random_lexicon(shard, seed)
    fertility = (
        random_fertility(kind, shard.slots.n_sources, seed),
        random_fertility(kind, shard.slots.n_targets, seed + 1),
    )
    if name.startswith("hmm"):
        jumps = random_jumps(seed), random_jumps(seed + 1)
        return FertilityHMM(lexicon, jumps, 0.3, fertility=fertility, null_counts=name == "hmm")
    return FertilityIBM1(
        lexicon,
        fertility=fertility,
        deficient=name not in ("ibm1-not-deficient", "ibm1-plain-null"),
        null_counts=name != "ibm1-plain-null",
        empty_words=name == "ibm1-empty-words",
    )


def probability(fertility, word):
    """p(count | word) from the factor's parameters, by the naive formulas."""
    if fertility.kind == "poisson":
        return lambda count: slow.poisson(count, fertility.rates[word])
    return lambda count: slow.binned(count, fertility.bins()[word])


def joints(model, source, target, apart=False):
    """The joint of an alignment in the forward and in the reverse direction, as naive functions; `apart` of empty words."""
    forward, reverse = entries(model.lexicon, source, target)
    nulls = model.lexicon.nulls.forward[list(target)], model.lexicon.nulls.reverse[list(source)]
    result = []
    for direction, (emission, words) in enumerate(((forward, source), (reverse.T, target))):
        fertility = model.fertility[direction]
        by_word = [probability(fertility, word) for word in words]
        null_mean = fertility.null if model.null_counts else None
        common = (lambda i, count, by_word=by_word: by_word[i](count)), null_mean
        if isinstance(model, FertilityHMM):
            weights = weight_functions(model.jumps[direction])
            result.append(
                lambda a, e=emission, n=nulls[direction], w=weights, c=common: slow.hmm_joint(
                    a, e, n, *w, model.null, *c
                )
            )
        else:
            result.append(
                lambda a, e=emission, n=nulls[direction], c=common: slow.ibm1_joint(
                    a, e, n, *c, model.deficient, model.empty_words, apart
                )
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
        pairs = (moved[:-1] * 10).astype(int) * 10 + (moved[1:] * 10).astype(int)
        observed = np.bincount(pairs.ravel(), minlength=100)
        expected = pairs.size / 100
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
def try_octets(a, b, out):
    x, y = octets.load(a, np.uint64(0)), octets.load(b, np.uint64(0))
    bits = octets.at_least(x, y)
    octets.store(out, np.uint64(0), octets.plus(octets.nothing(), octets.times(x, y)))
    octets.store(out, np.uint64(8), octets.running(x))
    octets.store(out, np.uint64(16), octets.chosen(octets.spread(a[0]), bits))
    octets.store(out, np.uint64(24), octets.either(bits, x, y))
    return octets.last(x), bits, octets.number_of(bits), octets.first_of(np.uint64(bits))


@given(st.lists(st.integers(-9, 9), min_size=16, max_size=16))
@settings(deadline=None, max_examples=50)
def test_octets_calculate_as_eight_numbers_do(numbers):
    a, b = np.array(numbers, np.float32).reshape(2, 8)
    out = np.zeros(32, np.float32)
    last, bits, number, first = try_octets(a, b, out)
    assert out[:8].tolist() == (a * b).tolist()
    assert out[8:16].tolist() == np.cumsum(a).tolist()
    assert out[16:24].tolist() == np.where(a >= b, a[0], 0).tolist()
    assert out[24:].tolist() == np.maximum(a, b).tolist()
    assert (last, number) == (a[7], (a >= b).sum())
    assert [bits >> k & 1 for k in range(8)] == (a >= b).tolist()
    assert first == (np.argmax(a >= b) if (a >= b).any() else 64)


NO_PIECE = records.Ahead(
    np.zeros(7, np.int64),
    np.zeros(0, np.uint64),
    Pieces(np.zeros((0, 7), np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32)),
    Ranks(np.zeros(0, np.int64), np.zeros(0, np.uint16)),
    np.zeros(0, np.uint64),
)


def sampler_for(shapes, emissions, null_odds, jumps, fertility, ratios, alignments, credit=1.0):
    """A sampler of one pair's two directions: (I, J), translations (J, I), ratios of the words, alignments."""
    lines = np.zeros((1, 7), np.int64)
    lines[0, LENGTH_I], lines[0, LENGTH_J] = shapes[0]
    layout, _, _ = prepare.layout_of(0, 1, lines)
    sampler = prepare.sampler_of(layout, jumps, fertility, np.float32(credit), 1e-30)
    longest, room = layout.longest, layout.room
    sampler.candidates.emission[:] = 0
    sampler.candidates.null_odds[:] = 0
    sampler.tally.null_posterior[:] = 0
    for d, (I, J) in enumerate(shapes):
        for column, value in zip((I_, J_, EXITS), (I, J, d * room if jumps.normalised else 0), strict=True):
            sampler.pair.state[column + d] = value
        rows_of(sampler, sampler.candidates.emission, d)[:, :I] = emissions[d]
        sampler.pair.alignment[d * room : d * room + J] = alignments[d]
        sampler.candidates.null_odds[d * room : d * room + J] = null_odds[d]
        sampler.rates.ratios[d * room : d * room + I] = ratios[d]
        if jumps.normalised:
            sums = [jumps.weights[d][longest - i : longest - i + I].sum() for i in range(I)]
            sampler.jumps.exits[d * room : d * room + I] = 1 / np.array(sums)
            sampler.jumps.first_sum[d] = jumps.first_links[d][:I].sum()
    gibbs.begin(sampler)
    return sampler


def rows_of(sampler, cells, d):
    """Direction d's part of cells (emission or posterior), one row per generated word."""
    width = int(padded(sampler.pair.state[I_ + d]))
    J = sampler.pair.state[J_ + d]
    return cells[d * sampler.layout.area :][: J * width].reshape(J, width)


@given(
    st.lists(st.sampled_from([0.0, 1e-30, 0.5, 1.0, 3.0]), min_size=1, max_size=70),
    st.sampled_from([0.0, 0.7, 2.0]),
    st.integers(0, 1000),
)
@settings(deadline=None, max_examples=40)
def test_draws_from_several_octets_are_in_proportion_to_the_weights_and_never_impossible(weights, null, seed):
    """With nothing but translations, every word of a sentence is a draw from the same distribution."""
    I, J = len(weights), 4000
    ones, one = np.ones(2 * J + 1, np.float32), np.ones((1, 1), np.float32)
    sampler = sampler_for(
        ((I, J), (J, I)),
        (weights, 1.0),
        (null, 0.0),
        records.Jumps((ones, ones), (ones[:J], ones[:J]), 1.0, 1.0, False),
        records.Fertility((one, one), (np.zeros(1), np.zeros(1)), (0.0, 0.0), False, True, True, False),
        (one, one),
        (np.zeros(J, np.int64), np.zeros(I, np.int64)),
    )
    sampler.rates.null_tail[:] = 1
    sampler.pair.keys[:] = stream(seed, 0, 0)
    gibbs.sweep(0, J, True, sampler, 0, NO_PIECE)
    drawn = sampler.pair.alignment[:J]
    total = null + sum(weights)
    if total == 0:
        assert (drawn == 0).all()  # it stays
        return
    seen = np.bincount(drawn + 1, minlength=I + 1)
    expected = np.array([null, *weights]) / total
    assert (seen[expected == 0] == 0).all()
    assert seen / J == pytest.approx(expected, abs=0.045)
    links = rows_of(sampler, sampler.tally.posterior, 0)
    assert links.sum(axis=0)[:I].tolist() == seen[1:].tolist()
    assert sampler.tally.null_posterior[:J].tolist() == (drawn == naive.NULL).tolist()


sentences = st.lists(st.integers(0, 3), min_size=1, max_size=4)


@pytest.mark.parametrize("name", MODELS)
@given(source=sentences, target=sentences, kind=st.sampled_from(KINDS), seed=st.integers(0, 1000), data=st.data())
@settings(deadline=None, max_examples=60)
def test_a_candidates_weight_is_in_proportion_to_the_joint(name, source, target, kind, seed, data):
    model = random_model(name, kind, cells_of([(source, target), ([0, 1, 2, 3], [0, 1, 2, 3])]), seed)
    longest = max(len(source), len(target))
    shapes = (len(source), len(target)), (len(target), len(source))
    moves = model.factors(longest)
    matrices = entries(model.lexicon, source, target)
    nulls = model.lexicon.nulls.forward[list(target)], model.lexicon.nulls.reverse[list(source)]
    forward, reverse = model.fertility
    alignments = [np.array(data.draw(st.lists(st.integers(-1, I - 1), min_size=J, max_size=J))) for I, J in shapes]
    j = data.draw(st.integers(0, longest - 1))
    sampler = sampler_for(
        shapes,
        (matrices[0].T, matrices[1]),
        [
            moves.p0 / moves.p1 * (f.null * I if model.null_counts else 1.0) * (I + 1 if model.empty_words else 1) * n
            for f, (I, _), n in zip(model.fertility, shapes, nulls, strict=True)
        ],
        moves,
        records.Fertility(
            (forward.ratios, reverse.ratios),
            (forward.zero, reverse.zero),
            (forward.null, reverse.null),
            forward.falling,
            model.deficient,
            model.null_counts,
            model.empty_words,
        ),
        [f.ratios[list(words)] for f, words in zip(model.fertility, (source, target), strict=True)],
        alignments,
        credit=0.5,
    )
    sampler.pair.keys[:] = stream(seed, 0, 0)
    sampler.tally.soft[:] = True
    gibbs.sweep(j, j + 1, True, sampler, 0, NO_PIECE)
    for direction, joint in enumerate(joints(model, source, target)):
        I, J = shapes[direction]
        if j >= J:
            continue
        expected = []
        for i in [naive.NULL, *range(I)]:
            candidate = alignments[direction].copy()
            candidate[j] = i
            expected.append(joint(tuple(candidate)))
        share = np.array(expected) / sum(expected)
        room, tally = sampler.layout.room, sampler.tally
        credited = rows_of(sampler, tally.posterior, direction)
        null = tally.null_posterior[direction * room + j]
        assert np.array([null, *credited[j, :I]]) == pytest.approx(0.5 * share, rel=1e-4)
        assert np.count_nonzero(credited) == np.count_nonzero(credited[j, :I])
        assert tally.bits[direction * room + j] == sum(1 << i for i in range(I) if credited[j, i])
        drawn = sampler.pair.alignment[direction * room : direction * room + J]
        before = [i for i in drawn[:j] if i != naive.NULL]
        jumps = np.flatnonzero(tally.distances[2 * direction * room :][: 2 * room]) - longest
        assert jumps.tolist() == ([drawn[j] - before[-1]] if before and drawn[j] != naive.NULL else [])


@pytest.mark.parametrize("name", MODELS)
@given(source=sentences, target=sentences, kind=st.sampled_from(KINDS), seed=st.integers(0, 1000), data=st.data())
@settings(deadline=None, max_examples=40)
def test_scores_and_potentials_equal_the_joint(name, source, target, kind, seed, data):
    shard = cells_of([(source, target)])
    model = random_model(name, kind, cells_of([(source, target), ([0, 1, 2, 3], [0, 1, 2, 3])]), seed)
    model = model.with_lexicon(random_lexicon(shard, seed))
    work = shard.workspace()
    (block,) = shard.blocks
    view = block.view(work)
    given_alignments = [
        np.array(data.draw(st.lists(st.integers(-1, I - 1), min_size=J, max_size=J)), np.int16)
        for I, J in ((len(source), len(target)), (len(target), len(source)))
    ]
    model.lexicon.gather(block, view, POOL)
    scores = model.sample(
        block, view, POOL, Sampling(samples=0, burn_in=0), np.zeros(1, np.int64), tuple(given_alignments)
    )
    matrices = entries(model.lexicon, source, target)
    for direction, joint in enumerate(joints(model, source, target, apart=True)):
        alignment = given_alignments[direction]
        expected = math.log(joint(tuple(int(a) for a in alignment)))
        assert scores[0, direction] == pytest.approx(expected, rel=1e-4, abs=1e-4)
        words, emission, nulls = (
            (source, matrices[0], model.lexicon.nulls.forward[target])
            if direction == 0
            else (target, matrices[1].T, model.lexicon.nulls.reverse[source])
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
    shard = cells_of(pairs)
    model = random_model(name, kind, shard, 5)
    work = shard.workspace()
    (block,) = shard.blocks
    view = block.view(work)
    model.lexicon.gather(block, view, POOL)
    best = np.empty(block.columns, np.int16), np.empty(block.rows, np.int16)
    sampling = Sampling(seed=1, samples=20_000, restarts=2, burn_in=20, soft=soft)
    scores = model.sample(block, view, POOL, sampling, np.arange(len(pairs)), best, keep_best=True)
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
        # So many samples of so small a pair have seen the best alignment, which takes a certain empty word each time.
        forward, _ = joints(model, source, target, apart=True)
        found = tuple(int(a) for a in best[0][line[1] : line[1] + J])
        top = naive.best(forward, I, J)[1]
        assert forward(found) == pytest.approx(top, rel=1e-5)
        assert scores[n, 0] == pytest.approx(math.log(top), rel=1e-4)


def test_counts_of_given_alignments_are_what_they_say():
    pairs = [([0, 1, 2], [0, 1, 1, 2]), ([1, 2], [0, 0])]
    alignments = [(0, 2, naive.NULL, 1), (1, 1)], [(0, naive.NULL, 3), (naive.NULL, 1)]
    shard = cells_of(pairs)
    model = random_model("hmm", "categorical", shard, 3)
    counts = model.zeros(shard)
    (block,) = shard.blocks
    given_alignments = tuple(np.array([a for pair in side for a in pair], np.int16) for side in alignments)
    work = block.view(shard.workspace())
    sampling = Sampling(samples=0, burn_in=0)
    model.sample(block, work, POOL, sampling, np.arange(2), given_alignments, statistics=counts)
    longest = shard.longest
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
        fertility = counts.fertility(shard.slots)[direction]
        assert fertility.links == pytest.approx(links)
        assert fertility.tokens.tolist() == histogram.sum(axis=1).tolist()
        assert fertility.histogram == pytest.approx(histogram)
        assert counts.jumps[direction].jump[0] == pytest.approx(moves)
        assert counts.jumps[direction].jump[1] == pytest.approx(exposure, abs=1e-6)
        assert counts.jumps[direction].start[0] == pytest.approx(first)
    assert counts.lexicon.null_forward.tolist() == [0, 1, 0]
    assert counts.lexicon.null_reverse.tolist() == [0, 2, 0]
    assert counts.fertility(shard.slots)[0].null_exposure == 5
    assert counts.fertility(shard.slots)[1].null_exposure == 6


def test_counts_from_an_e_step_equal_the_posteriors_of_the_same_samples():
    generator = np.random.default_rng(0)
    pairs = [(generator.integers(0, 6, 5).tolist(), generator.integers(0, 6, 7).tolist()) for _ in range(30)]
    shard = cells_of(pairs, block_cells=300)
    model = random_model("hmm", "poisson", shard, 3)
    model = replace(model, sampling=Sampling(seed=4, samples=7, restarts=2, burn_in=1, soft=True))
    work = shard.workspace()
    starts = [(np.full(block.columns, -1, np.int16), np.full(block.rows, -1, np.int16)) for block in shard]
    for pool in (Pool(3), POOL):
        counts, _ = model.expect(shard, ShardAlignments(starts), pool, lambda pieces: None)
        expected, score = model.zeros(shard), np.zeros(2)
        for block, start in zip(shard, starts, strict=True):
            view = block.view(work)
            model.lexicon.gather(block, view, POOL)
            streams = np.arange(block.first, block.last)
            score += model.sample(block, view, POOL, model.sampling, streams, start).sum(axis=0)
            expected.lexicon.add(block, view, POOL)
        assert (counts.lexicon.slots == expected.lexicon.slots).all()
        assert (counts.lexicon.null_forward == expected.lexicon.null_forward).all()
        assert counts.log_likelihood == pytest.approx(score)
