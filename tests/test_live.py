"""Live cells: which they are, forward-backward over them against enumeration, what they leave for the next iteration."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import as_file, files
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dovetail
from dovetail.bitext.corpus import Bitext
from dovetail.bitext.shards import shard_of
from dovetail.kernels.hmm.word_jumps import bin_counts
from dovetail.kernels.lexicon.counted import without
from dovetail.kernels.live import chain as live_hmm
from dovetail.kernels.live.records import TokenMoves, Values
from dovetail.kernels.records import SOURCE_SIDE, Nulls
from dovetail.models import joint as joint_module
from dovetail.models.joint import JointHMM
from dovetail.models.joint_statistics import LinkCounts
from dovetail.models.jumps.word import BINS, POSITIONS, WordJumps, bin_limits, bins_for, bins_of
from dovetail.models.lexicon.counted import CountedLexicon
from dovetail.models.lexicon.stems import FormPriors
from dovetail.models.lexicon.words import WordMap
from dovetail.models.live import Live
from dovetail.pool import Pool
from dovetail.training.drawing import SampleOptions

POOL = Pool(1)


def text(random, pairs=3, longest=4):
    """Pairs of words a, b, c ..., laid out."""
    words = [[chr(97 + w) for w in range(5)], [chr(112 + w) for w in range(5)]]
    chosen = [
        tuple([str(word) for word in random.choice(side, random.integers(1, longest + 1))] for side in words)
        for _ in range(pairs)
    ]
    bitext = Bitext.from_pairs(chosen)
    return bitext, shard_of(bitext, POOL)


def joint(random, bitext, shard, fertility=None, power=0.75):
    """A joint HMM with made-up jumps and NULLs."""
    vocabularies = bitext.source.vocabulary, bitext.target.vocabulary
    sizes = [len(vocabulary) for vocabulary in vocabularies]

    def jumps(words):
        return WordJumps(
            random.uniform(0.1, 1, (words, BINS)).astype(np.float32),
            np.ones(BINS, np.float32),
            random.uniform(0.1, 1, POSITIONS),
            random.uniform(0.1, 1, POSITIONS),
        )

    lexicon = CountedLexicon.empty(shard.slots, vocabularies, FormPriors())
    lexicon.nulls = Nulls(*(random.uniform(0.1, 1, size).astype(np.float32) for size in reversed(sizes)))
    return JointHMM(lexicon, (jumps(sizes[0]), jumps(sizes[1])), fertility, 0.2, power, 0.0)


def enumerated(emission, nulls, p0, jumps, words):
    """Posteriors (S, T), moves (S, bins) and log-likelihood of one direction, from all (S + 1) ** T alignments."""
    S, T = emission.shape
    bins = bins_of(S)
    table = np.array([[jumps.weights[words[a], bins[S + b - a]] for b in range(S)] for a in range(S)], np.float64)
    table /= table.sum(axis=1, keepdims=True)
    first = np.array([jumps.start[min(s, POSITIONS - 1)] for s in range(S)])
    last = np.array([jumps.end[min(S - 1 - s, POSITIONS - 1)] for s in range(S)])
    first, last = first / first.sum(), last / last.sum()
    posterior, moves, total = np.zeros((S, T)), np.zeros((S, BINS)), 0.0
    for alignment in product(range(-1, S), repeat=T):
        weight, position, steps = 1.0, -1, []
        for t, s in enumerate(alignment):
            if s < 0:
                weight *= p0 * nulls[t]
                continue
            weight *= (1 - p0) * emission[s, t] * (first[s] if position < 0 else table[position, s])
            if position >= 0:
                steps.append((position, bins[S + s - position]))
            position = s
        weight *= last.mean() if position < 0 else last[position]
        total += weight
        for t, s in enumerate(alignment):
            if s >= 0:
                posterior[s, t] += weight
        for step in steps:
            moves[step] += weight
    return posterior / total, moves / total, np.log(total)


@pytest.fixture(scope="module")
def nothing_negligible():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joint_module, "NEGLIGIBLE", 1e-6)
        yield


@given(seed=st.integers(0, 10_000), share=st.sampled_from([0.0, 0.2, 0.5]))
@settings(deadline=None, max_examples=25)
def test_posteriors_moves_and_likelihood_over_live_cells_equal_enumeration(nothing_negligible, seed, share):
    random = np.random.default_rng(seed)
    bitext, shard = text(random)
    model = joint(random, bitext, shard)
    (block,) = shard
    work = shard.workspace()
    view = block.view(work)
    view.forward[:], view.reverse[:] = (random.uniform(0.01, 1, (2, block.cells)) ** 3).astype(np.float32)
    dense = view.forward.copy(), view.reverse.copy()
    live, values = Live.select(block, view, share, len(shard.slots), POOL)
    moves = joint_module._token_moves(block)
    ends = np.zeros((2, 2, 2, POSITIONS))
    scores = model.infer(live, values, block, view, POOL, moves, ends)
    live.fill(values, block, view, POOL)
    row = column = cell = 0
    for piece, (I, J) in enumerate(bitext.lengths):
        emissions = [part[cell : cell + I * J].reshape(I, J).astype(np.float64) for part in dense]
        alive = emissions[0] >= share * emissions[0].sum(axis=0, keepdims=True) * (1 - 1e-6)
        alive |= emissions[1] >= share * emissions[1].sum(axis=1, keepdims=True) * (1 - 1e-6)
        source, target = (
            side.ids[side.offsets[piece] : side.offsets[piece + 1]] for side in (bitext.source, bitext.target)
        )
        for direction, (words, others) in enumerate(((source, target), (target, source))):
            emission = np.where(alive, emissions[direction], 0.0)
            nulls = model.lexicon.nulls[direction][others]
            expected, steps, score = enumerated(
                emission.T if direction else emission, nulls, model.null, model.jumps[direction], words
            )
            found = (view.forward, view.reverse)[direction][cell : cell + I * J].reshape(I, J)
            assert (found.T if direction else found) == pytest.approx(expected, abs=2e-4)
            token = (row, column)[direction]
            assert moves[direction].by_bin[token : token + len(words)] == pytest.approx(steps, abs=2e-4)
            assert scores[piece, direction] == pytest.approx(score, abs=2e-3)
        row, column, cell = row + I, column + J, cell + I * J


@given(seed=st.integers(0, 10_000), share=st.floats(0.01, 0.9))
@settings(deadline=None, max_examples=25)
def test_live_cells_have_their_share_of_a_column_or_a_row_and_no_others_do(seed, share):
    random = np.random.default_rng(seed)
    bitext, shard = text(random)
    (block,) = shard
    view = block.view(shard.workspace())
    view.forward[:], view.reverse[:] = random.uniform(0, 1, (2, block.cells)).astype(np.float32)
    live, values = Live.select(block, view, share, len(shard.slots), POOL)
    marked = np.zeros(block.cells, bool)
    cell = row = 0
    for I, J in bitext.lengths:
        forward, reverse = (part[cell : cell + I * J].reshape(I, J) for part in (view.forward, view.reverse))
        alive = (forward / forward.sum(axis=0) >= share) | (reverse / reverse.sum(axis=1, keepdims=True) >= share)
        marked[cell : cell + I * J] = alive.ravel()
        columns = [list(live.cells.column[live.cells.start[row + i] : live.cells.start[row + i + 1]]) for i in range(I)]
        assert columns == [list(np.flatnonzero(alive[i])) for i in range(I)]
        cell, row = cell + I * J, row + I
    assert (values.forward == view.forward[marked]).all()
    assert (values.reverse == view.reverse[marked]).all()
    owner = np.repeat(np.arange(shard.slots.n_sources), np.diff(shard.slots.row_start))
    source = np.repeat(bitext.source.ids, np.diff(live.cells.start))
    assert (owner[live.cells.slot] == source).all()


def test_cells_chosen_anew_keep_what_is_known_of_them_and_narrowing_drops_the_rest():
    random = np.random.default_rng(1)
    _, shard = text(random, pairs=5)
    (block,) = shard
    view = block.view(shard.workspace())
    view.forward[:], view.reverse[:] = random.uniform(0, 1, (2, block.cells)).astype(np.float32)
    everything, values = Live.select(block, view, 0.0, len(shard.slots), POOL)
    assert len(everything) == block.cells
    few, (kept,) = everything.narrowed(values, block, 0.4, POOL)
    chosen, expected = Live.select(block, view, 0.4, len(shard.slots), POOL)
    assert 0 < len(few) < len(everything)
    assert (few.cells.column == chosen.cells.column).all()
    assert (few.cells.start == chosen.cells.start).all()
    assert (kept.forward == expected.forward).all()
    few.cells.count[:] = np.arange(1, len(few) + 1)
    few.cells.to_forward[:] = 2.0
    everything.carry_over(few, POOL)
    assert sorted(everything.cells.count[everything.cells.count > 0]) == list(range(1, len(few) + 1))
    assert (everything.cells.to_forward == np.where(everything.cells.count > 0, 2.0, 1.0)).all()


@pytest.mark.parametrize("power", [1.0, 0.75, 0.5, 0.0])
def test_a_link_counts_as_far_as_both_directions_believe_in_it_and_nulls_get_the_rest(power):
    random = np.random.default_rng(2)
    bitext, shard = text(random)
    (block,) = shard
    view = block.view(shard.workspace())
    view.forward[:], view.reverse[:] = random.uniform(0.02, 0.25, (2, block.cells)).astype(np.float32)
    live, values = Live.select(block, view, 0.0, len(shard.slots), POOL)
    joint(random, bitext, shard, power=power).settle(live, values, block, view, POOL)
    both = values.forward.astype(np.float64) * values.reverse
    expected = both**power if power else (values.forward + values.reverse) / 2
    assert live.cells.count == pytest.approx(np.where(expected > 1e-3, expected, 0.0), rel=1e-4)
    for i in range(block.rows):
        left = 1.0 - expected[live.cells.start[i] : live.cells.start[i + 1]].sum()
        assert view.null_reverse[i] == pytest.approx(max(left, 0.0), abs=1e-5)
    counts = LinkCounts.zeros(shard.slots, used=True)
    counts.add(live, block, view, POOL)
    assert counts.used.all()  # all cells are alive
    assert counts.slots.sum() == pytest.approx(live.cells.count.sum(), rel=1e-5)
    assert counts.slots == pytest.approx(np.bincount(live.cells.slot, live.cells.count, len(shard.slots)), abs=1e-5)


@given(seed=st.integers(0, 1000))
@settings(deadline=None, max_examples=25)
def test_positions_that_are_forgotten_change_little(seed):
    found = []
    for negligible in (1e-6, 1e-3):
        random = np.random.default_rng(seed)
        bitext, shard = text(random, longest=12)
        model = joint(random, bitext, shard)
        (block,) = shard
        view = block.view(shard.workspace())
        view.forward[:], view.reverse[:] = (random.uniform(0.01, 1, (2, block.cells)) ** 6).astype(np.float32)
        live, values = Live.select(block, view, 0.03, len(shard.slots), POOL)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(joint_module, "NEGLIGIBLE", negligible)
            model.infer(live, values, block, view, POOL)
        found.append(np.concatenate([values.forward, values.reverse]))
    assert found[1] == pytest.approx(found[0], abs=0.02)


@given(seed=st.integers(0, 1000), strength=st.sampled_from([1.0, 50.0]))
@settings(deadline=None, max_examples=20)
def test_jump_counts_and_weights_by_word_equal_their_definitions(seed, strength):
    random = np.random.default_rng(seed)
    bitext, shard = text(random, pairs=4, longest=40)
    (block,) = shard
    moves = random.uniform(0, 1, (block.rows, BINS)).astype(np.float32)
    exposure = random.uniform(0, 1, block.rows).astype(np.float32)
    (low, high), words = bin_limits(), len(bitext.source.vocabulary)
    counts, expected = np.zeros((words, 2, BINS)), np.zeros((words, 2, BINS))
    tokens = TokenMoves(moves, exposure)
    bin_counts(block.lines, SOURCE_SIDE, shard.source_ids, tokens, bins_for(shard.longest), counts)
    token = 0
    for I, _ in bitext.lengths:
        for before in range(I):
            for b in range(BINS):
                reach = sum(low[b] <= i - before <= high[b] for i in range(I))
                word = bitext.source.ids[token]
                expected[word, 0, b] += moves[token, b] if reach else 0.0
                expected[word, 1, b] += reach * exposure[token]
            token += 1
    assert counts == pytest.approx(expected)
    total = expected.sum(axis=0)
    prior = total / total[0].sum()
    weights = WordJumps.estimate(counts, np.ones((2, 2, POSITIONS)), strength).weights
    for word in range(words):
        over, under = expected[word] + strength * prior
        seen = under > 1e-9
        ratio = over[seen] / under[seen]
        assert weights[word][seen] == pytest.approx(np.maximum(ratio / ratio.mean(), 1e-5), rel=1e-4)
        assert (weights[word][~seen] == 1).all()


@given(seed=st.integers(0, 1000), S=st.integers(1, 60))
@settings(deadline=None, max_examples=30)
def test_the_weight_of_all_jumps_that_stay_in_the_sentence_equals_their_sum(seed, S):
    random = np.random.default_rng(seed)
    jumps = WordJumps(random.uniform(0.1, 1, (3, BINS)).astype(np.float32), None, None, None)
    words = random.integers(0, 3, S).astype(np.int32)
    bins, exits = bins_of(S), np.empty(S, np.float32)
    live_hmm.exit_chances(words, 0, S, jumps.by_word, bins_for(S), exits)
    expected = [sum(jumps.weights[words[a], bins[S + b - a]] for b in range(S)) for a in range(S)]
    assert 1 / exits == pytest.approx(np.array(expected), rel=1e-4)


def test_a_sample_is_every_nth_pair_of_a_text_with_at_least_three_times_as_many_cells():
    from dovetail.training import joint as training

    bitext, shard = text(np.random.default_rng(0), pairs=40)
    assert training.sample(shard, 0, POOL) is None
    assert training.sample(shard, shard.total // 3 + 1, POOL) is None
    sample = training.sample(shard, shard.total // 3, POOL)
    assert len(sample.pieces) == 14
    for p in range(14):
        tokens = bitext.tokens(3 * p)
        sides = (
            (sample.source_ids, sample.pieces.source_start, sample.pieces.source_length, bitext.source.vocabulary),
            (sample.target_ids, sample.pieces.target_start, sample.pieces.target_length, bitext.target.vocabulary),
        )
        for side, (ids, start, length, vocabulary) in enumerate(sides):
            assert [vocabulary[word] for word in ids[start[p] : start[p] + length[p]]] == tokens[side]


def test_a_lexicon_without_unused_slots_and_widened_again_is_the_same():
    random = np.random.default_rng(3)
    bitext, shard = text(random, pairs=6)
    vocabularies = bitext.source.vocabulary, bitext.target.vocabulary
    whole = CountedLexicon.empty(shard.slots, vocabularies, FormPriors())
    used = random.random(len(shard.slots)) < 0.5
    counts = np.where(used, random.uniform(0, 2, len(used)), 0.0)
    nulls = np.ones(len(vocabularies[1])), np.ones(len(vocabularies[0]))
    expected = whole.with_counts(counts, nulls, POOL)
    support = expected.scoring(POOL).support.copy()
    few = whole.restricted(np.flatnonzero(used), POOL).with_counts(counts[used], nulls, POOL)
    again = few.widened(whole, used, Pool(2))
    assert again.counts == pytest.approx(counts)
    for side in range(2):
        assert again.totals[side] == pytest.approx(expected.totals[side])
    assert again.scoring(POOL).support == pytest.approx(support)
    assert few.scoring(POOL).support == pytest.approx(support[used])
    owner = np.repeat(np.arange(shard.slots.n_sources), np.diff(shard.slots.row_start))[used]
    assert (np.repeat(np.arange(few.slots.n_sources), np.diff(few.slots.row_start)) == owner).all()


def test_a_text_past_the_limit_has_a_larger_sample_and_no_iterations_of_its_own():
    options = SampleOptions(sample=10, whole_iterations=2, whole_cells=1000, largest_sample=100)
    assert options.plan(5) == (10, 3, 2)
    assert options.plan(1) == (10, 1, 2)
    assert [options.drawn(cells) for cells in (1000, 1001, 4000, 10**9)] == [None, 10, 20, 100]
    assert replace(options, whole_cells=0).drawn(10**12) is None
    assert replace(options, sample=0).drawn(10**12) is None
    assert replace(options, sample=400, largest_sample=400).drawn(1001) is None  # not worth it: a part of 2.5


def test_probabilities_are_those_of_a_cell_that_takes_nothing_out():
    random = np.random.default_rng(4)
    bitext, shard = text(random, pairs=6)
    vocabularies = bitext.source.vocabulary, bitext.target.vocabulary
    whole = CountedLexicon.empty(shard.slots, vocabularies, FormPriors(tail_stems=0.0, middle_stems=0.5))
    nulls = np.ones(len(vocabularies[1])), np.ones(len(vocabularies[0]))
    lexicon = whole.with_counts(random.uniform(0, 2, len(shard.slots)), nulls, POOL)
    owner = np.repeat(np.arange(shard.slots.n_sources), np.diff(shard.slots.row_start))
    words, weights, nothing = lexicon.tables, lexicon.scoring(POOL).weights, np.float32(0.0)
    assert len(weights) == 3
    for slot, (e, f) in enumerate(zip(owner, shard.slots.target, strict=True)):
        source, target, support = words.sources[e], words.targets[f], lexicon.scoring(POOL).support[slot]
        expected = [
            without(nothing, support, source, target, weights),
            without(nothing, support, target, source, weights),
        ]
        assert lexicon.probabilities(POOL)[slot] == pytest.approx(expected, rel=1e-5)


def test_a_lexicon_moved_to_the_slots_of_more_text_has_the_same_counts_there():
    random = np.random.default_rng(5)
    bitext, shard = text(random, pairs=8)
    vocabularies = bitext.source.vocabulary, bitext.target.vocabulary
    few = shard.picked(np.arange(0, 8, 3), POOL)
    lexicon = CountedLexicon.empty(few.slots, vocabularies, FormPriors())
    counts = random.uniform(0, 2, len(few.slots))
    nulls = np.ones(len(vocabularies[1])), np.ones(len(vocabularies[0]))
    lexicon = lexicon.with_counts(counts, nulls, POOL)
    moved = lexicon.moved(shard.slots, True, POOL)

    def by_pair(lexicon):
        owner = np.repeat(np.arange(lexicon.slots.n_sources), np.diff(lexicon.slots.row_start))
        return {
            (int(e), int(f)): (count, support[0], *support[2:])
            for e, f, count, support in zip(
                owner, lexicon.slots.target, lexicon.counts, lexicon.scoring(POOL).support, strict=True
            )
            if count > 0
        }

    known, found = by_pair(lexicon), by_pair(moved)
    assert found.keys() == known.keys()
    for pair, values in known.items():
        assert found[pair] == pytest.approx(values)
    for side in range(2):
        assert moved.totals[side] == pytest.approx(lexicon.totals[side])
    speaking = lexicon.moved(shard.slots, False, POOL)
    assert speaking.probabilities(POOL) == pytest.approx(moved.probabilities(POOL))


def test_a_word_with_many_partners_has_the_same_emissions_in_a_short_text_as_in_a_long_one():
    random = np.random.default_rng(6)
    bitext = Bitext.from_pairs([(["house"], [f"{k:04}x", f"{k:04}y"]) for k in range(60)])
    words = bitext.source.vocabulary, bitext.target.vocabulary

    def laid_out(text):
        return dovetail.Aligner()._lay_out(text)

    lexicon = CountedLexicon.empty(laid_out(bitext).slots, words, FormPriors())
    counts = random.uniform(0.5, 2, len(lexicon.slots))
    compact = lexicon.with_counts(counts, (np.ones(len(words[1])), np.ones(len(words[0]))), POOL).compact()
    found = {}
    for name, text in (("long", bitext), ("short", Bitext.from_pairs([(["house"], ["0041y", "9999z"])]))):
        shard = laid_out(text)
        moved = compact.transfer(shard.slots, WordMap.between(text, *words), POOL)
        targets = text.target.vocabulary.words
        emissions = moved.probabilities(POOL)
        found[name] = {targets[f]: emissions[slot] for slot, f in enumerate(shard.slots.target)}
    # Stems of the long text are spread out, those of the short one searched.
    assert found["short"]["0041y"] == pytest.approx(found["long"]["0041y"])
    assert (found["short"]["9999z"] < found["short"]["0041y"]).all()


WORDS = st.lists(
    st.sampled_from(["the", "tree", "trees", "treats", "12", ",", "arbre", "arbres", "l", "entre"]), max_size=7
)


@given(st.lists(st.tuples(WORDS, WORDS), min_size=2, max_size=8), st.integers(1, 7), st.integers(0, 3))
@settings(deadline=None, max_examples=40)
def test_cells_looked_up_by_their_words_have_the_values_of_their_slots(pairs, known, seed):
    old, new = Bitext.from_pairs(pairs[: max(1, len(pairs) - known)]), Bitext.from_pairs(pairs)
    words = old.source.vocabulary, old.target.vocabulary
    priors = FormPriors(tail_stems=0.0, middle_stems=0.0) if seed == 3 else FormPriors()
    lexicon = CountedLexicon.empty(shard_of(old, POOL).slots, words, priors, POOL)
    counts = np.random.default_rng(seed).uniform(-1, 2, len(lexicon.slots)).clip(0)
    compact = lexicon.with_counts(counts, (np.ones(len(words[1])), np.ones(len(words[0]))), POOL).compact()
    ranked, plain = (shard_of(new, POOL, ranked=ranked) for ranked in (True, False))
    where = WordMap.between(new, *words)
    by_slots, by_words = compact.transfer(ranked.slots, where, POOL), compact.for_words(where, POOL)
    for one, other in zip(ranked, plain, strict=True):
        wanted, found = ranked.workspace(), plain.workspace()
        by_slots.gather(one, wanted, POOL)
        by_words.gather(other, found, POOL)
        assert found.forward.tolist() == wanted.forward.tolist()
        assert found.reverse.tolist() == wanted.reverse.tolist()


@pytest.fixture
def nothing_unlikely():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joint_module, "NEGLIGIBLE", 1e-7)
        patch.setattr(joint_module, "UNLIKELY", 1e-7)
        yield


@pytest.mark.parametrize("options", [{}, {"largest_fertility": 0}, {"share": 0.0}])
def test_posteriors_piece_by_piece_are_those_of_one_step_after_the_other(nothing_unlikely, options):
    with as_file(files("dovetail") / "data") as folder:
        bitext = dovetail.read_bitext(folder / "demo.en", folder / "demo.fr")
    aligner = dovetail.Aligner(**options).fit(bitext.part(0, 150))
    text = bitext.part(100, 250)
    shard = aligner._lay_out(text)
    model = aligner._transferred(text, shard)
    work = shard.workspace()
    for block in shard:
        view = block.view(work)
        model.lexicon.gather(block, view, POOL)
        steps = view.copy()
        scores = model.posteriors(block, view, POOL)
        live, emissions = Live.select(block, steps, 0.0, len(model.lexicon.slots), POOL)
        values = Values(emissions.forward.copy(), emissions.reverse.copy())
        assert scores == pytest.approx(model.infer(live, values, block, steps, POOL), abs=1e-2)
        if model.fertility is not None:
            live, (values, emissions) = live.narrowed(values, block, model.share, POOL, emissions)
            model.settle(live, values, block, steps, POOL)
            values = Values(emissions.forward * live.cells.to_forward, emissions.reverse * live.cells.to_reverse)
            model.infer(live, values, block, steps, POOL)
        live.fill(values, block, steps, POOL)
        for found, wanted in zip(view, steps, strict=True):
            assert found == pytest.approx(wanted, abs=1e-3)


@pytest.mark.parametrize("size", [110, 350, 700, 1000])
def test_unlikely_positions_of_long_pairs_are_not_all_forgotten(size, request):
    """Where unseen words stand, hundreds of positions share the probability and none has much of it."""
    with as_file(files("dovetail") / "data") as folder:
        bitext = dovetail.read_bitext(folder / "demo.en", folder / "demo.fr")
    aligner, pair = dovetail.Aligner().fit(bitext.part(0, 400)), ([], [])
    for number in range(400, 679):
        for side, words, letter in zip(pair, bitext.tokens(number), "uv", strict=True):
            side += words if number % 2 else [f"{letter}{number}-{k}" for k in range(len(words))]
        if max(map(len, pair)) > size - 25:
            break
    found = aligner.directional_posteriors(*pair)
    request.getfixturevalue("nothing_unlikely")
    wanted = aligner.directional_posteriors(*pair)
    for own, its in zip(found, wanted, strict=True):
        assert np.abs(own - its).sum() < 0.15 * its.sum()


@given(seed=st.integers(0, 10_000))
@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_posteriors_of_a_trained_model_equal_enumeration(nothing_unlikely, seed):
    random = np.random.default_rng(seed)
    bitext, shard = text(random)
    model = joint(random, bitext, shard)
    (block,) = shard
    view = block.view(shard.workspace())
    view.forward[:], view.reverse[:] = (random.uniform(0.01, 1, (2, block.cells)) ** 3).astype(np.float32)
    dense = view.forward.copy(), view.reverse.copy()
    model.posteriors(block, view, POOL)
    cell = 0
    for piece, (I, J) in enumerate(bitext.lengths):
        words = [side.ids[side.offsets[piece] : side.offsets[piece + 1]] for side in (bitext.source, bitext.target)]
        for direction in range(2):
            emission = dense[direction][cell : cell + I * J].reshape(I, J).astype(np.float64)
            nulls = model.lexicon.nulls[direction][words[1 - direction]]
            expected, _, _ = enumerated(
                emission.T if direction else emission, nulls, model.null, model.jumps[direction], words[direction]
            )
            found = (view.forward, view.reverse)[direction][cell : cell + I * J].reshape(I, J)
            assert (found.T if direction else found) == pytest.approx(expected, abs=2e-4)
        cell += I * J


@given(seed=st.integers(0, 10_000), sharp=st.sampled_from([1, 4, 12]))
@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_posteriors_of_long_and_short_sentences_are_those_of_the_chain_over_all_cells(nothing_unlikely, seed, sharp):
    random = np.random.default_rng(seed)
    lengths = [1, 7, 8, 9, 31, 32, 33, 63, 64, 65, 72, 90]
    pairs = [tuple([["a", "b", "c"][k % 3] for k in range(random.choice(lengths))] for _ in range(2)) for _ in range(4)]
    bitext = Bitext.from_pairs(pairs)
    shard = shard_of(bitext, POOL)
    model = joint(random, bitext, shard)
    (block,) = shard
    view = block.view(shard.workspace())
    view.forward[:], view.reverse[:] = (random.uniform(0.01, 1, (2, block.cells)) ** sharp).astype(np.float32)
    steps = view.copy()
    rubbish = [np.full(size, np.nan, np.float32) for size in (100, 1_000, 10_000, 20_000) for _ in range(8)]
    del rubbish  # where kernels find room: nothing that they have not written may count
    scores = model.posteriors(block, view, POOL)
    live, values = Live.select(block, steps, 0.0, len(shard.slots), POOL)
    assert scores == pytest.approx(model.infer(live, values, block, steps, POOL), rel=1e-4, abs=1e-2)
    live.fill(values, block, steps, POOL)
    for found, wanted in zip(view, steps, strict=True):
        assert found == pytest.approx(wanted, abs=2e-3)


@pytest.mark.parametrize("start", ["cold", "warm"])
def test_learning_from_a_sample_first_gives_nearly_the_same_links_and_the_same_for_any_threads(start):
    folder = files("dovetail") / "data"
    with as_file(folder / "demo.en") as source, as_file(folder / "demo.fr") as target:
        bitext = dovetail.read_bitext(source, target)
    warm = dovetail.Aligner("ibm1").fit(bitext) if start == "warm" else None
    total = dovetail.Aligner()._lay_out(bitext).total
    whole = dovetail.Aligner(threads=1).fit(bitext, warm_start=warm).align(bitext)
    aligners = [dovetail.Aligner(threads=threads, sample=total // 4) for threads in (1, 3)]
    links = [aligner.fit(bitext, warm_start=warm).align(bitext) for aligner in aligners]
    assert [list(pair) for pair in links[0]] == [list(pair) for pair in links[1]]
    stages = [stage for stage, _ in aligners[0].history]
    options = aligners[0].recipe.options
    assert stages.count("joint-hmm") == options.hmm_iterations
    same = sum(len(set(map(tuple, a)) & set(map(tuple, b))) for a, b in zip(whole, links[0], strict=True))
    assert 2 * same / sum(len(a) + len(b) for a, b in zip(whole, links[0], strict=True)) > 0.9
