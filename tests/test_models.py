"""E-steps and best paths against enumeration, on tiny sentences with made-up parameters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from dovetail.bitext.sharding import OneShard
from dovetail.bitext.shards import lay_out
from dovetail.decoding.decoders import FORWARD, REVERSE, Viterbi
from dovetail.decoding.evidence import Evidence
from dovetail.engines import Threads
from dovetail.models.hmm import HMM
from dovetail.models.ibm1 import IBM1
from dovetail.models.jumps.distance import JumpCounts, WindowJumps
from dovetail.models.lexicon.table import TableLexicon
from dovetail.training import em
from dovetail.training.monitor import Monitor

ENGINE = Threads(1)
POOL = ENGINE.pool


def cells_of(pairs, **options):
    """Pairs of lists of word numbers, laid out."""
    sides = []
    for side in range(2):
        ids = np.array([word for pair in pairs for word in pair[side]], np.int32)
        offsets = np.cumsum([0] + [len(pair[side]) for pair in pairs]).astype(np.int64)
        sides.append((ids, offsets, int(ids.max(initial=-1)) + 1))
    (source, s_offsets, n_sources), (target, t_offsets, n_targets) = sides
    return lay_out(source, s_offsets, target, t_offsets, n_sources, n_targets, POOL, **options)


def random_lexicon(shard, seed):
    generator = np.random.default_rng(seed)
    lexicon = TableLexicon.uniform(shard.slots)
    lexicon.table[:] = generator.uniform(0.01, 1, lexicon.table.shape)
    for nulls in lexicon.nulls:
        nulls[:] = generator.uniform(0.01, 1, len(nulls))
    return lexicon


def entries(lexicon, source, target):
    """t(f | e) and t(e | f) as (I, J) matrices."""
    result = np.zeros((2, len(source), len(target)))
    for i, e in enumerate(source):
        low, high = lexicon.slots.row_start[e], lexicon.slots.row_start[e + 1]
        for j, f in enumerate(target):
            (slot,) = low + np.flatnonzero(lexicon.slots.target[low:high] == f)
            result[:, i, j] = lexicon.table[slot]
    return result


def random_jumps(seed, window=2):
    generator = np.random.default_rng(seed)
    return WindowJumps(generator.uniform(0.05, 1, 2 * window + 2), generator.uniform(0.05, 1, window + 2))


def weight_functions(jumps):
    window = jumps.window
    return (
        lambda d: jumps.weights[d + window] if abs(d) <= window else jumps.weights[-1],
        lambda i: jumps.start[min(i, window + 1)],
    )


def joints(model, source, target):
    """The joint of an alignment in the forward and in the reverse direction, as naive functions."""
    forward, reverse = entries(model.lexicon, source, target)
    nulls = model.lexicon.nulls.forward[list(target)], model.lexicon.nulls.reverse[list(source)]
    if model.name == "ibm1":
        return (
            lambda a: naive.ibm1_joint(a, forward, nulls[0]),
            lambda a: naive.ibm1_joint(a, reverse.T, nulls[1]),
        )
    weights = [weight_functions(jumps) for jumps in model.jumps]
    return (
        lambda a: naive.hmm_joint(a, forward, nulls[0], *weights[0], model.null),
        lambda a: naive.hmm_joint(a, reverse.T, nulls[1], *weights[1], model.null),
    )


sentences = st.lists(st.integers(0, 3), min_size=1, max_size=4)
bitexts = st.lists(st.tuples(sentences, sentences), min_size=1, max_size=4)


def models(shard, seed):
    lexicon = random_lexicon(shard, seed)
    return IBM1(lexicon), HMM(lexicon, (random_jumps(seed), random_jumps(seed + 1)), 0.3)


@pytest.mark.parametrize("kind", [0, 1])
@given(pairs=bitexts, seed=st.integers(0, 1000), block_cells=st.sampled_from([1, 20, 1 << 20]))
@settings(deadline=None, max_examples=40)
def test_posteriors_equal_enumerated_ones_in_both_directions(kind, pairs, seed, block_cells):
    shard = cells_of(pairs, block_cells=block_cells)
    model = models(shard, seed)[kind]
    work = shard.workspace()
    for block in shard:
        view = block.view(work)
        model.lexicon.gather(block, view, POOL)
        scores = model.infer(block, view, POOL, model.zeros(shard))
        for n, line in enumerate(block.lines):
            source, target = pairs[block.first + n]
            I, J = len(source), len(target)
            forward, reverse = joints(model, source, target)
            links, nulls, likelihood = naive.posteriors(forward, I, J)
            piece = slice(line[2], line[2] + I * J)
            assert view.forward[piece].reshape(I, J) == pytest.approx(links, abs=2e-6)
            assert view.null_forward[line[1] : line[1] + J] == pytest.approx(nulls, abs=2e-6)
            assert scores[n, 0] == pytest.approx(np.log(likelihood), rel=1e-5, abs=1e-5)
            links, nulls, likelihood = naive.posteriors(reverse, J, I)
            assert view.reverse[piece].reshape(I, J) == pytest.approx(links.T, abs=2e-6)
            assert view.null_reverse[line[0] : line[0] + I] == pytest.approx(nulls, abs=2e-6)
            assert scores[n, 1] == pytest.approx(np.log(likelihood), rel=1e-5, abs=1e-5)


@given(pairs=bitexts, seed=st.integers(0, 1000))
@settings(deadline=None, max_examples=30)
def test_expected_counts_equal_enumerated_ones(pairs, seed):
    shard = cells_of(pairs)
    model = models(shard, seed)[1]
    counts, _ = model.expect(shard, None, POOL, lambda pieces: None)
    links = np.zeros((len(shard.slots), 2))
    longest = shard.longest
    jump, start = np.zeros((2, 2 * longest + 1)), np.zeros((2, longest))
    for source, target in pairs:
        I, J = len(source), len(target)
        forward, reverse = joints(model, source, target)
        cell_posteriors = naive.posteriors(forward, I, J)[0], naive.posteriors(reverse, J, I)[0].T
        for i, e in enumerate(source):
            low = shard.slots.row_start[e]
            row = list(shard.slots.target[low : shard.slots.row_start[e + 1]])
            for j, f in enumerate(target):
                for direction in range(2):
                    links[low + row.index(f), direction] += cell_posteriors[direction][i, j]
        for direction, (joint, states, steps) in enumerate(((forward, I, J), (reverse, J, I))):
            moves, first = naive.expected_moves(joint, states, steps)
            start[direction, :states] += first
            for before in range(states):
                for i in range(states):
                    jump[direction, longest + i - before] += moves[before, i]
    assert counts.lexicon.slots == pytest.approx(links, abs=1e-5)
    for direction in range(2):
        assert counts.jumps[direction].jump[0] == pytest.approx(jump[direction], abs=1e-5)
        assert counts.jumps[direction].start[0] == pytest.approx(start[direction], abs=1e-5)


@pytest.mark.parametrize("kind", [0, 1])
@given(pairs=bitexts, seed=st.integers(0, 1000))
@settings(deadline=None, max_examples=40)
def test_viterbi_finds_the_enumerated_optimum(kind, pairs, seed):
    shard = cells_of(pairs)
    model = models(shard, seed)[kind]
    work = shard.workspace()
    (block,) = shard.blocks
    view, marks = block.view(work), np.zeros(block.cells, np.uint8)
    Viterbi().mark(Evidence(model, shard, block, view, POOL), marks)
    for n, line in enumerate(block.lines):
        source, target = pairs[n]
        I, J = len(source), len(target)
        marked = marks[line[2] : line[2] + I * J].reshape(I, J)
        for joint, matrix, shape in zip(
            joints(model, source, target),
            ((marked & FORWARD) > 0, ((marked & REVERSE) > 0).T),
            ((I, J), (J, I)),
            strict=True,
        ):
            assert (matrix.sum(axis=0) <= 1).all()
            path = tuple(int(column.argmax()) if column.any() else naive.NULL for column in matrix.T)
            assert joint(path) == pytest.approx(naive.best(joint, *shape)[1], rel=1e-5)


@given(pairs=bitexts, seed=st.integers(0, 1000), kind=st.integers(0, 1))
@settings(deadline=None, max_examples=40)
def test_em_never_lowers_the_likelihood(pairs, seed, kind):
    shard = cells_of(pairs)
    monitor = Monitor()
    em.fit(models(shard, seed)[kind], OneShard(shard), ENGINE, 8, monitor)
    history = np.array([scores for _, scores in monitor.history])
    # The first E-step belongs to made-up entries that are no distribution; from the second on EM must climb.
    gains = np.diff(history[1:], axis=0)
    assert (gains >= -1e-4 * np.abs(history[2:]) - 1e-5).all()


def test_em_on_one_unambiguous_pair_of_sentences_learns_the_translations():
    pairs = [([0, 1], [0, 1]), ([0, 2], [0, 2]), ([1, 2], [1, 2])]
    shard = cells_of(pairs)
    model, _ = em.fit(IBM1(TableLexicon.uniform(shard.slots)), OneShard(shard), ENGINE, 30, Monitor())
    forward, _ = entries(model.lexicon, [0, 1], [0, 1])
    assert forward[0, 0] > 0.8 > 0.2 > forward[0, 1]


def halves(shard):
    """The same text as two shards over the same slots."""
    middle = len(shard.blocks) // 2
    return [replace(shard, blocks=blocks) for blocks in (shard.blocks[:middle], shard.blocks[middle:])]


@pytest.mark.parametrize("kind", [0, 1])
@given(pairs=st.lists(st.tuples(sentences, sentences), min_size=2, max_size=5), seed=st.integers(0, 1000))
@settings(deadline=None, max_examples=20)
def test_statistics_of_shards_add_up_to_those_of_the_whole_text(kind, pairs, seed):
    shard = cells_of(pairs, block_cells=1)
    model = models(shard, seed)[kind]
    whole, _ = ENGINE.sum(model, [shard], [None], lambda pieces: None)
    parts, memory = ENGINE.sum(model, halves(shard), [None, None], lambda pieces: None)
    assert len(memory) == 2
    assert (parts.lexicon.slots == whole.lexicon.slots).all()  # to the last bit: sums on a grid are exact
    assert (parts.lexicon.null_forward == whole.lexicon.null_forward).all()
    assert parts.log_likelihood == pytest.approx(whole.log_likelihood)
    for one, other in zip(parts.jumps, whole.jumps, strict=True):
        assert one.jump == pytest.approx(other.jump)
        assert one.start == pytest.approx(other.start)


def test_jumps_of_shards_with_sentences_of_other_lengths_are_added_by_distance():
    one, other = JumpCounts.zeros(2), JumpCounts.zeros(3)
    one.jump[0] = [1, 2, 3, 4, 5]
    other.jump[0] = [10, 20, 30, 40, 50, 60, 70]
    one.start[0], other.start[0] = [1, 2], [10, 20, 30]
    for total in (one + other, other + one):
        assert total.jump[0].tolist() == [10, 21, 32, 43, 54, 65, 70]
        assert total.start[0].tolist() == [11, 22, 30]
