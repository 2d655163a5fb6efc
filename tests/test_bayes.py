"""Bayesian alignment: samplers against enumerated posteriors, shards, warm starts, and what the paper's tables say."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import naive_bayes as naive
from dovetail import Aligner, Bitext, InputError, evaluate
from dovetail.alignments.gold import read_gold
from dovetail.bitext.readers import read_pairs
from dovetail.evaluation.measures import dictionary_size, fertilities
from dovetail.kernels.records import CELL, SOURCE_SIDE, TARGET_SIDE
from dovetail.models.fertility.histogram import TAIL
from dovetail.models.jumps.binned import JUMP_PRIOR
from dovetail.models.lexicon.dirichlet import DirichletLexicon, LexiconPrior
from dovetail.models.lexicon.table import TableLexicon
from dovetail.pool import Pool
from dovetail.recipes import find_recipe
from dovetail.training import bayes
from dovetail.training.bayes_chains import Marginals, Stage, Strands, sweep
from dovetail.training.monitor import Monitor

CORPORA = {
    "two sentences": [("a b", "x y"), ("b", "y")],
    "a word twice": [("a b a", "x x"), ("b c", "x y"), ("a", "y")],
    "longer targets": [("a b", "x y x"), ("b", "x y")],
}


def laid_out(pairs, threads=1):
    aligner = Aligner("ibm1", threads=threads)
    return aligner._lay_out(Bitext.from_pairs([(e.split(), f.split()) for e, f in pairs])), aligner.engine.pool


def begin(shard, pool, **options):
    chosen = find_recipe("hmm-bayes").with_options({"chains": 1, **options}).options
    return bayes.begin(TableLexicon.uniform(shard.slots), shard, chosen, 1, pool)


def sampled_marginals(chains, shard, stage, sweeps, pool):
    """Long-run marginals of every sentence and direction, (I + 1, J) with row 0 for NULL, generating side first."""
    (block,) = shard
    tokens = block.columns, block.rows
    marginals = [
        Marginals(1.0 / sweeps, [tuple(np.zeros(n, np.float32) for n in (block.cells, tokens[chain.direction]))])
        for chain in chains
    ]
    for _ in range(sweeps):
        sweep(chains, stage, pool, marginals)
    for chain, marginal in zip(chains, marginals, strict=True):
        ((found, nulls),) = marginal.blocks
        _, length, place = (TARGET_SIDE, SOURCE_SIDE)[chain.direction]
        result = []
        for line, I, J in zip(block.lines, shard.pieces.source_length, shard.pieces.target_length, strict=True):
            matrix = found[line[CELL] : line[CELL] + I * J].reshape(I, J)
            matrix = matrix.T if chain.direction == 1 else matrix
            result.append(np.vstack([nulls[line[place] : line[place] + line[length]], matrix]))
        yield chain, result


def as_generated(pairs, direction):
    """(generating words, generated words) of each sentence, and the number of generated word types."""
    corpus = [(e.split(), f.split())[:: -1 if direction else 1] for e, f in pairs]
    return corpus, len({word for _, made in corpus for word in made})


@pytest.mark.parametrize("alpha", [0.1, 0.5])
@pytest.mark.parametrize("name", CORPORA)
def test_long_run_marginals_of_ibm1_equal_the_enumerated_collapsed_posterior(name, alpha):
    shard, pool = laid_out(CORPORA[name])
    chains = begin(shard, pool, alpha=alpha)
    for chain, result in sampled_marginals(chains, shard, Stage("ibm1", 1), 8000, pool):
        corpus, size = as_generated(CORPORA[name], chain.direction)
        expected = naive.marginals(corpus, lambda a: naive.log_lexicon(corpus, a, alpha, size))  # noqa: B023
        for sampled, exact in zip(result, expected, strict=True):
            assert sampled == pytest.approx(exact, abs=0.03)


@pytest.mark.parametrize("quarters", [2, 3, 8])
def test_a_heated_or_cooled_sampler_draws_from_a_power_of_the_collapsed_posterior(quarters):
    shard, pool = laid_out(CORPORA["a word twice"])
    chains = begin(shard, pool, alpha=0.5)
    stage = Stage("tempered", 1, quarters=quarters)
    for chain, result in sampled_marginals(chains, shard, stage, 8000, pool):
        corpus, size = as_generated(CORPORA["a word twice"], chain.direction)

        def log_probability(a, corpus=corpus, size=size):
            return quarters / 4 * naive.log_lexicon(corpus, a, 0.5, size)

        for sampled, exact in zip(result, naive.marginals(corpus, log_probability), strict=True):
            assert sampled == pytest.approx(exact, abs=0.02)


@pytest.mark.parametrize("fertile", [False, True])
@pytest.mark.parametrize("name", CORPORA)
def test_long_run_marginals_of_the_hmm_equal_the_enumerated_collapsed_posterior(name, fertile):
    shard, pool = laid_out(CORPORA[name])
    chains = begin(shard, pool, alpha=0.2, null=0.3, largest_fertility=2, fertility_strength=1.5)
    stage = Stage("hmm", 1, moving=True, fertile=fertile)
    for chain in chains:
        chain.fertility_prior = np.array([0.3, 0.8, 0.4])
        chain.begin(stage)
    for chain, result in sampled_marginals(chains, shard, stage, 3000, pool):
        corpus, size = as_generated(CORPORA[name], chain.direction)

        def log_probability(a, corpus=corpus, size=size, prior=chain.fertility_prior):
            value = naive.log_lexicon(corpus, a, 0.2, size) + naive.log_moves(corpus, a, 0.3, JUMP_PRIOR)
            return value + (naive.log_fertility(corpus, a, prior, TAIL) if fertile else 0.0)

        for sampled, exact in zip(result, naive.marginals(corpus, log_probability), strict=True):
            assert sampled == pytest.approx(exact, abs=0.03)


def test_a_frozen_hmm_gives_the_enumerated_marginals_of_its_parameters():
    pairs = [(["a", "b"], ["x", "y"]), (["b", "c", "a"], ["y", "z"]), (["a"], ["x", "x"])]
    aligner = Aligner("hmm-bayes", seed=3, threads=1, alpha=0.05, null=0.3, discount=0.0, largest_fertility=2)
    aligner.fit(Bitext.from_pairs(pairs))
    aligner.recipe = aligner.recipe.with_options({"decoding_samples": 5000, "decoding_restarts": 1})
    source, target = ["b", "a", "c"], ["y", "x", "x"]
    forward, _ = aligner.directional_posteriors(source, target)
    model, names, made = aligner._compacted(), aligner.source_vocabulary, aligner.target_vocabulary
    table = np.array([[_probability(model.lexicon, names.id(e), made.id(f)) for f in target] for e in source])
    nulls = [model.lexicon.nulls.forward[made.id(f)] for f in target]
    jump, first, last = (weights.astype(float) for weights in model.jumps[0].weights(3))
    ratios, _ = model.fertility[0].ratios()

    def log_probability(alignments):
        (alignment,) = alignments
        links = [i for i in alignment if i != naive.NULL]
        value = np.prod([0.3 * nulls[j] if i == naive.NULL else 0.7 * table[i, j] for j, i in enumerate(alignment)])
        if links:
            value *= first[links[0]] * last[2 - links[-1]]
        value *= np.prod([jump[3 + after - before] for before, after in pairwise(links)])
        for i, word in enumerate(source):
            for count in range(links.count(i)):
                value *= ratios[names.id(word), count] if count < 2 else TAIL
        return np.log(value)

    (exact,) = naive.marginals([(source, target)], log_probability)
    assert forward == pytest.approx(exact[1:], abs=0.03)


def _probability(lexicon, e, f):
    row = slice(lexicon.slots.row_start[e], lexicon.slots.row_start[e + 1])
    count = lexicon.counts[row, 0][lexicon.slots.target[row] == f].sum()
    alpha = lexicon.prior.alpha
    return (count + alpha) / (lexicon.totals[0][e] + alpha * lexicon.sizes[1])


def made_up(pairs, seed=0):
    random = np.random.default_rng(seed)
    words = [[f"{side}{k}" for k in range(12)] for side in "ex"]
    return [tuple(" ".join(random.choice(side, random.integers(1, 9))) for side in words) for _ in range(pairs)]


@pytest.mark.parametrize("shards", [1, 5])
def test_counts_always_say_what_the_alignments_are(shards):
    shard, pool = laid_out(made_up(40), threads=2)
    chains = begin(shard, pool, shards=shards, chains=2, largest_fertility=3)
    assert len(chains[0].text.strands) == shards
    stages = [Stage("ibm1", 3), Stage("hmm", 3, True), Stage("fertility", 4, True, True, lag=2)]
    bayes.run(chains, stages, pool, Monitor())
    for chain in chains:
        kept = chain.counts.copy()
        assert (kept.histogram == chain.histogram()).all()
        for part in (chain.counts.links, chain.counts.totals, chain.counts.nulls):
            part[:] = 0
        chain.count()
        for now, again in zip(kept[:3], chain.counts[:3], strict=True):
            assert (now == again).all()
        assert kept.totals.sum() == sum(len(alignment) for alignment in chain.alignments)
        assert chain.sums.samples == 2


def test_shards_take_every_piece_once():
    shard, _ = laid_out(made_up(30))
    for shards in (1, 2, 7, 100):
        runs = [run for strand in Strands.of(shard, shards).strands for run in strand]
        assert [first for _, first, _ in runs] == [0, *[last for _, _, last in runs][:-1]]
        assert runs[-1][2] == len(shard.pieces)
        assert len(runs) <= shards


def test_a_short_text_is_sampled_strictly_in_sequence():
    shard, _ = laid_out(made_up(30))
    assert len(Strands.of(shard).strands) == 1


@pytest.mark.parametrize("recipe", ["ibm1-bayes", "hmm-bayes"])
def test_shards_give_the_same_bytes_for_any_number_of_threads(recipe):
    bitext = Bitext.from_pairs([(e.split(), f.split()) for e, f in made_up(60)])
    results = [
        Aligner(recipe, seed=2, threads=threads, shards=4, burn_in=10, samples=5, lag=1).fit(bitext).align(bitext)
        for threads in (1, 3)
    ]
    assert results[0].probability.tobytes() == results[1].probability.tobytes()
    assert results[0].source.tobytes() == results[1].source.tobytes()


def test_chains_begin_with_the_word_that_stands_beside_most_often():
    shard, pool = laid_out([("a b", "x y"), ("a", "x"), ("b c", "y z"), ("a c", "x")])
    chains = begin(shard, pool, start="cooccurrence")
    assert chains[0].alignments[0].tolist() == [0, 1, 0, 0, 0, 0]
    with pytest.raises(InputError, match="Choose from: em, cooccurrence"):
        begin(shard, pool, start="nowhere")


def test_a_chain_begins_with_the_best_alignment_of_em():
    pairs = [("a b", "x y"), ("a", "x"), ("b c", "y z"), ("c", "z")] * 3
    bitext = Bitext.from_pairs([(e.split(), f.split()) for e, f in pairs])
    em = Aligner("ibm1", decoder="viterbi", combine="forward", ibm1_iterations=20).fit(bitext)
    options = find_recipe("ibm1-bayes").options
    (forward, _) = bayes.begin(em.model.lexicon, em._fitted[1], options, 1, em.engine.pool)
    starts = iter(forward.alignments[0].tolist())
    for alignment, (_, target) in zip(em.align(bitext), pairs, strict=True):
        found = [next(starts) for _ in target.split()]
        assert [(i, j) for j, i in enumerate(found) if i >= 0] == sorted(alignment.links, key=lambda link: link[1])


@pytest.mark.parametrize("recipe", ["ibm1-bayes", "hmm-bayes"])
def test_a_seed_model_brings_its_counts_to_new_text(recipe):
    old = Bitext.from_pairs([(e.split(), f.split()) for e, f in made_up(40, 1)])
    new = Bitext.from_pairs([(e.split(), f.split()) for e, f in made_up(5, 2)])
    settings = {"burn_in": 5, "samples": 5, "lag": 1, "threads": 1}
    first = Aligner(recipe, **settings).fit(old)
    second = Aligner(recipe, **settings).fit(new, warm_start=first)
    alone = Aligner(recipe, **settings).fit(new)
    for direction, side in enumerate(("source", "target")):
        words = getattr(new, side).vocabulary.numbers_in(getattr(old, side).vocabulary)
        seen = first.model.lexicon.totals[direction][words[words >= 0]].sum()
        parts = [model.model.lexicon.totals[direction].sum() for model in (second, alone)]
        nulls = [model.model.lexicon.null_totals[direction] for model in (first, second, alone)]
        assert parts[0] + nulls[1] == pytest.approx(seen + nulls[0] + parts[1] + nulls[2], rel=1e-4)
    assert not np.array_equal(second.model.lexicon.counts, alone.model.lexicon.counts)


def test_the_mode_is_the_likeliest_partner_of_each_word():
    bitext = Bitext.from_pairs([(e.split(), f.split()) for e, f in made_up(30, 5)])
    aligner = Aligner("ibm1-bayes", threads=1, burn_in=20, samples=20, lag=1, combine="forward").fit(bitext)
    for alignment, n in zip(aligner.align(bitext), range(len(bitext)), strict=True):
        forward, _ = aligner.directional_posteriors(*bitext.tokens(n))
        for j, column in enumerate(forward.T):
            links = [i for i, k in alignment.links if k == j]
            best = np.flatnonzero(column == column.max())
            nearest = min(best, key=lambda i: abs((i + 0.5) / len(column) - (j + 0.5) / forward.shape[1]))
            assert links == ([nearest] if column.max() > 1 - column.sum() else [])


def test_tokens_of_a_word_share_their_links():
    bitext = Bitext.from_pairs([(["a", "b", "a", "b"], ["x", "y", "x", "y"]), (["a"], ["x"]), (["b"], ["y"])])
    aligner = Aligner("ibm1-bayes", threads=1, combine="forward").fit(bitext)
    assert aligner.align(bitext)[0].links == [(0, 0), (1, 1), (2, 2), (3, 3)]


def test_words_whose_pairs_are_all_in_doubt_go_where_samples_had_them():
    """Of ("a b c", "x y z") each sample had a link of its own; "b" has the fewest links of all."""
    shard, _ = laid_out([("a b c", "x y z")])
    counts = np.zeros((len(shard.slots), 2), np.float32)
    owner = np.repeat(np.arange(3), np.diff(shard.slots.row_start))
    counts[owner == shard.slots.target] = 0.4  # words are numbered as they come
    totals = np.array([0.4, 0.3, 0.4])
    nulls = np.zeros(3, np.float32)
    prior = LexiconPrior()
    lexicon = DirichletLexicon(
        shard.slots, counts, (totals, totals), (nulls, nulls), (1.0, 1.0), (3, 3), prior, discount=0.5
    )
    for direction in range(2):
        table = np.zeros((3, 3))
        table[owner, shard.slots.target] = lexicon.probabilities(Pool(1))[:, direction]
        assert table.argmax(axis=direction).tolist() == [0, 1, 2]


PLANS = {"ibm1-bayes": bayes.ibm1_stages, "hmm-bayes": bayes.hmm_stages}


def test_large_texts_get_fewer_sweeps_unless_told_otherwise():
    for name, sweeps in (("ibm1-bayes", 1400), ("hmm-bayes", 35)):
        recipe, plan = find_recipe(name), PLANS[name]
        given = recipe.with_options({"adapt_sweeps": False}).options
        assert sum(stage.sweeps for stage in plan(100_000_000, given)) == sweeps
        assert 5 < sum(stage.sweeps for stage in plan(100_000_000, recipe.options)) < 0.5 * sweeps
    assert sum(stage.sweeps for stage in bayes.ibm1_stages(1000, find_recipe("ibm1-bayes").options)) == 1400


@pytest.mark.parametrize(("cells", "chains"), [(1_000, 3), (200_000_000, 3), (650_000_000, 2), (10_000_000_000, 1)])
def test_very_large_texts_get_fewer_chains_unless_told_otherwise(cells, chains):
    options = find_recipe("hmm-bayes").options.of(bayes.ChainOptions)
    assert bayes.number_of_chains(cells, options) == chains
    assert bayes.number_of_chains(cells, replace(options, adapt_sweeps=False)) == 3


@pytest.mark.parametrize("burn_in", [0, 2, 100])
def test_annealing_takes_no_more_sweeps_and_only_samples_are_kept(burn_in):
    recipe = find_recipe("ibm1-bayes")
    annealed, plain = (
        bayes.ibm1_stages(1000, recipe.with_options({"burn_in": burn_in, "annealing": annealing}).options)
        for annealing in (True, False)
    )
    assert sum(stage.sweeps for stage in annealed) == sum(stage.sweeps for stage in plain)
    assert [stage.quarters for stage in annealed] == [2, 3, 4, 8, 8]
    assert [stage.lag for stage in annealed] == [0, 0, 0, 0, 10]
    assert [stage.climb for stage in annealed] == [True] * 4 + [False]
    assert all(stage.quarters == 4 and not stage.climb for stage in plain)


@pytest.fixture(scope="module")
def systems(shared_data):
    """EM-80 and the sampler on the same text, with what the paper's tables say of either direction."""
    folder = shared_data / "en-fr-hansards"
    pairs = []
    for part in ("sample100k.{}.xz", "test.{}"):
        lines = read_pairs(folder / part.format("en"), folder / part.format("fr"))
        pairs += [pair for pair, _ in zip(lines, range(3000), strict=False)]
    bitext, gold = Bitext.from_pairs(pairs), read_gold(folder / "test.gold")
    em = Aligner("ibm1", decoder="viterbi", ibm1_iterations=80, threads=2).fit(bitext)
    sampled = Aligner("ibm1-bayes", seed=1, burn_in=40, samples=20, lag=1, adapt_sweeps=False, threads=2).fit(bitext)

    def table(aligner, direction):
        aligner.recipe = aligner.recipe.with_options({"combine": direction})
        links = aligner.align(bitext)
        shape = fertilities(links, "source" if direction == "forward" else "target")
        sides = bitext.source.ids, bitext.source.offsets, bitext.target.ids, bitext.target.offsets
        score = evaluate(links[len(bitext) - len(gold) :], gold)
        return dictionary_size(links, *sides), shape.excessive, score.aer

    return lambda direction: (table(em, direction), table(sampled, direction))


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_sampling_makes_a_small_dictionary_and_few_garbage_collectors(systems, direction):
    """Mermer and Saraçlar 2011, Tables 3 and 4, and AER.  The more text, the clearer: this one is short."""
    (em_size, em_excessive, em_aer), (size, excessive, aer) = systems(direction)
    assert size < 0.6 * em_size
    assert excessive < 0.1 * em_excessive
    assert aer < em_aer
