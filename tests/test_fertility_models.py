"""Fertility distributions, their M-steps, exact decoding and hard EM, and the table a person reads."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from dovetail import Aligner, Bitext, InputError
from dovetail.alignments.formats import write_alignments
from dovetail.bitext.vocabulary import Vocabulary
from dovetail.decoding.exact_fertility import ExactFertility
from dovetail.models.fertility.factor import MOST, RARE, FertilityCounts, Poisson, fertilities
from dovetail.models.fertility.features import LogLinear, Problem, spelling
from dovetail.models.fertility.lbfgs import minimise
from test_gibbs import KINDS, MODELS, joints, random_fertility, random_model
from test_models import POOL, cells_of, random_lexicon


def some_counts(words=30, seed=0):
    generator = np.random.default_rng(seed)
    tokens = generator.integers(1, 60, words)
    histogram = np.stack([generator.multinomial(n, generator.dirichlet(np.ones(MOST + 1))) for n in tokens]).astype(
        float
    )
    return FertilityCounts(tokens, histogram @ np.arange(MOST + 1.0), histogram, 12.0, float(tokens.sum()))


def some_spelling(words=30):
    return np.arange(words) % 5 + 1, np.arange(words) // 3 * 3


@pytest.mark.parametrize("kind", KINDS)
def test_every_fertility_is_a_distribution_and_its_ratios_are_those_of_its_probabilities(kind):
    fertility = random_fertility(kind, 6, 1)
    table = fertility.log_table(np.arange(6), 60)
    assert np.exp(table).sum(axis=1) == pytest.approx(1.0, abs=1e-5)
    assert np.exp(table) @ np.arange(61) == pytest.approx(fertility.means(), rel=1e-4)
    width = fertility.ratios.shape[1]
    assert np.diff(table[:, : width + 1], axis=1) == pytest.approx(np.log(fertility.ratios), abs=1e-5)
    short = fertility.log_table(np.array([2, 2]), 3)
    assert short == pytest.approx(table[[2, 2], :4])


def test_poisson_means_are_links_over_tokens_and_rare_words_have_the_mean_of_all_words():
    counts = some_counts()
    fertility = Poisson.initial(counts, some_spelling).reestimate(counts)
    rare = counts.tokens < RARE
    assert rare.any()
    assert not rare.all()
    assert fertility.rates[~rare] == pytest.approx((counts.links / counts.tokens)[~rare])
    assert fertility.rates[rare] == pytest.approx(counts.links.sum() / counts.tokens.sum())
    assert fertility.null == pytest.approx(12 / counts.tokens.sum())


@pytest.mark.parametrize("kind", KINDS)
def test_words_never_seen_get_a_fertility_and_seen_ones_keep_theirs(kind):
    fertility = random_fertility(kind, 6, 1)
    lengths, prefixes = np.arange(6) % 3 + 1, np.arange(6) // 2 * 2
    moved = fertility.transfer(
        np.array([5, -1, 2]), lambda: (lengths[[5, 0, 2]], np.array([prefixes[5], -1, prefixes[2]]))
    )
    table, old = moved.log_table(np.arange(3), 12), fertility.log_table(np.arange(6), 12)
    assert table[[0, 2]] == pytest.approx(old[[5, 2]])
    assert np.isfinite(table[1]).all()
    assert moved.tokens.tolist() == [50, 0, 50]
    again = fertilities[kind].from_arrays(fertility.parameters(), "", 6)
    assert again.log_table(np.arange(6), 12) == pytest.approx(old)


def test_the_gradient_of_the_features_is_that_of_their_objective():
    problem = Problem(some_counts(8), *some_spelling(8))
    weights = np.random.default_rng(1).normal(size=sum(problem.sizes) * (MOST + 1))
    _, gradient = problem.value_and_gradient(weights)
    for k in range(0, len(weights), 7):
        step = np.zeros(len(weights))
        step[k] = 1e-5
        ahead, behind = problem.value_and_gradient(weights + step)[0], problem.value_and_gradient(weights - step)[0]
        assert gradient[k] == pytest.approx((ahead - behind) / 2e-5, rel=1e-4, abs=1e-4)


def test_l_bfgs_finds_the_minimum_that_scipy_finds():
    optimize = pytest.importorskip("scipy.optimize")
    problem = Problem(some_counts(), *some_spelling())
    start = np.zeros(sum(problem.sizes) * (MOST + 1))
    ours = problem.value_and_gradient(minimise(problem.value_and_gradient, start, 500, 1e-9))[0]
    theirs = optimize.minimize(
        problem.value_and_gradient, start, jac=True, method="L-BFGS-B", options={"maxiter": 2000, "ftol": 1e-14}
    )
    assert ours == pytest.approx(theirs.fun, rel=1e-6)


def test_a_rare_word_learns_its_fertility_from_words_that_begin_alike():
    words = Vocabulary([*(f"doub{k}" for k in range(10)), *(f"sing{k}" for k in range(10)), "doubling", "singling"])
    tokens = np.array([40] * 20 + [1, 1])
    histogram = np.zeros((22, MOST + 1))
    histogram[:10, 2], histogram[10:20, 1] = 40, 40
    histogram[20:, 0] = 1  # all that was seen of the two rare ones
    counts = FertilityCounts(tokens, histogram @ np.arange(MOST + 1.0), histogram, 1.0, 802.0)
    fertility = LogLinear.initial(counts, lambda: spelling(words, words))
    for _ in range(5):
        fertility = fertility.reestimate(counts)
    means = fertility.means()
    assert means[20] > 1.4 > 1.3 > means[21]
    assert means[:10] == pytest.approx(2, abs=0.1)
    new = Vocabulary(["doubtful", "zebra"])
    lengths, prefixes = spelling(new, words)
    moved = fertility.transfer(np.array([-1, -1]), lambda: (lengths, prefixes))
    assert prefixes.tolist() == [0, -1]
    assert moved.means()[0] > moved.means()[1]


sentences = st.lists(st.integers(0, 3), min_size=1, max_size=4)


@pytest.mark.parametrize("name", MODELS)
@given(
    pairs=st.lists(st.tuples(sentences, sentences), min_size=1, max_size=3),
    kind=st.sampled_from(KINDS),
    seed=st.integers(0, 1000),
)
@settings(deadline=None, max_examples=30)
def test_the_exact_decoder_finds_and_certifies_the_enumerated_optimum(name, pairs, kind, seed):
    shard = cells_of(pairs)
    model = random_model(name, kind, cells_of([*pairs, ([0, 1, 2, 3], [0, 1, 2, 3])]), seed)
    model = model.with_lexicon(random_lexicon(shard, seed))
    (block,) = shard.blocks
    view = block.view(shard.workspace())
    model.lexicon.gather(block, view, POOL)
    (forward, reverse), details = ExactFertility().solve(model, block, view, POOL)
    assert details["certified"].all()
    for n, line in enumerate(block.lines):
        source, target = pairs[n]
        I, J = len(source), len(target)
        found = (
            tuple(int(a) for a in forward[line[1] : line[1] + J]),
            tuple(int(a) for a in reverse[line[0] : line[0] + I]),
        )
        total = 0.0
        for joint, alignment, shape in zip(
            joints(model, source, target, apart=True), found, ((I, J), (J, I)), strict=True
        ):
            best = naive.best(joint, *shape)[1]
            assert joint(alignment) == pytest.approx(best, rel=1e-6)
            total += math.log(best)
        assert details["score"][n] == pytest.approx(total, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_with_inertia_words_keep_so_many_links_of_their_last_translations(name):
    shard = cells_of([([0, 1], [0, 1, 2]), ([0], [2])])
    model = random_model(name, "poisson", shard, 3)
    before = model.lexicon.table.copy()
    rows, columns = shard.slots.row_start, shard.slots.target
    before[:, 0] /= np.repeat(np.add.reduceat(before[:, 0], rows[:-1]), np.diff(rows))
    before[:, 1] /= np.bincount(columns, before[:, 1])[columns]
    model.lexicon.table[:] = before
    counts = model.zeros(shard)
    counts.lexicon.slots[0] = 6.0, 3.0
    after = model.with_counts(counts, POOL, inertia=2.0)
    assert after.lexicon.table[0] == pytest.approx([(6 + 2 * before[0, 0]) / 8, (3 + 2 * before[0, 1]) / 5], rel=1e-5)
    assert after.lexicon.table[rows[1] :, 0] == pytest.approx(before[rows[1] :, 0], rel=1e-5)
    assert after.fertility[0].means() == pytest.approx(
        2.0
    )  # rare words share 6 links of 3 tokens: those kept do not count


def test_even_jumps_are_raised_by_a_share_of_their_sum():
    shard = cells_of([([0, 1], [0, 1, 2]), ([0], [2])])
    plain, even = (
        random_model("hmm", "poisson", shard, 3).with_counts(counts_of_jumps(shard), POOL, even=share).jumps
        for share in (0.0, 0.1)
    )
    for before, after in zip(plain, even, strict=True):
        assert after.weights == pytest.approx(before.weights + 0.1 * before.weights.sum())
        assert after.start == pytest.approx(before.start + 0.1 * before.start.sum())


def counts_of_jumps(shard):
    counts = random_model("hmm", "poisson", shard, 3).zeros(shard)
    for jumps in counts.jumps:
        jumps.jump[:] = np.arange(1, jumps.jump.size + 1).reshape(jumps.jump.shape)
        jumps.start[:] = np.arange(1, jumps.start.size + 1).reshape(jumps.start.shape)
    return counts


def test_null_begins_with_p0_and_with_words_as_they_are_seen(bitext):
    untrained = Aligner("hmm-fertility", threads=1, samples=1, fertility_iterations=0, null=0.3).fit(bitext)
    assert [fertility.null for fertility in untrained.model.fertility] == [0.3, 0.3]
    for nulls, vocabulary in (
        (untrained.model.lexicon.nulls.forward, untrained.target_vocabulary),
        (untrained.model.lexicon.nulls.reverse, untrained.source_vocabulary),
    ):
        assert nulls == pytest.approx(np.array(vocabulary.counts) / sum(vocabulary.counts), rel=1e-5)


@pytest.fixture(scope="module")
def bitext():
    generator = np.random.default_rng(2)
    pairs = []
    for _ in range(150):
        words = generator.integers(0, 25, generator.integers(2, 9))
        source = [f"w{word}" for word in words]
        target = [form for word in words for form in ([f"v{word}", f"x{word}"] if word < 5 else [f"v{word}"])]
        pairs.append((source, target))
    return Bitext.from_pairs(pairs)


@pytest.fixture(scope="module")
def trained(bitext):
    return Aligner("hmm-fertility", seed=1, threads=1, samples=10).fit(bitext)


def test_the_learned_table_tells_words_that_become_two_from_words_that_become_one(trained):
    table = {entry.word: entry for entry in trained.fertilities(minimum=10)}
    assert table["NULL"].mean < 0.2
    double = [table[f"w{k}"].mean for k in range(5)]
    single = [table[f"w{k}"].mean for k in range(5, 25)]
    assert min(double) > 1.6 > 1.3 > max(single)
    assert set(table["w1"].examples) >= {"v1", "x1"}
    assert table["w7"].examples[0] == "v7"
    assert table["w1"].count == trained.source_vocabulary.counts[trained.source_vocabulary.id("w1")]
    reverse = {entry.word: entry.mean for entry in trained.fertilities("reverse", minimum=10)}
    assert reverse["v1"] + reverse["x1"] == pytest.approx(1, abs=0.25)


@pytest.mark.parametrize("recipe", ["hmm", "joint", "joint-fast", "hmm-bayes"])
def test_other_models_tell_them_too_by_their_own_parameters_or_by_posteriors(recipe, bitext, tmp_path):
    aligner = Aligner(recipe, seed=1, threads=1).fit(bitext)
    for text in (None, bitext):
        table = {entry.word: entry for entry in aligner.fertilities(minimum=10, bitext=text)}
        double, single = ([table[f"w{k}"].mean for k in words] for words in (range(5), range(5, 25)))
        assert np.mean(double) > np.mean(single) + 0.1 > 0.8
        assert table["w7"].count == aligner.source_vocabulary.counts[aligner.source_vocabulary.id("w7")]
        assert table["NULL"].mean < 0.3
    aligner.save(tmp_path / "model")
    loaded = Aligner.load(tmp_path / "model", threads=1)
    assert loaded.fertilities("reverse", bitext=bitext) == aligner.fertilities("reverse", bitext=bitext)
    if recipe in ("joint", "hmm-bayes"):
        assert loaded.fertilities() == aligner.fertilities()
    else:
        with pytest.raises(InputError, match="learned no fertility"):
            loaded.fertilities()


def test_links_of_a_text_are_counted_by_their_posteriors():
    aligner = Aligner("hmm", threads=1).fit(Bitext.from_pairs([(["a", "b"], ["x", "y", "z"]), (["b"], ["y"])] * 3))
    pairs = [(["a", "b", "new"], ["x", "y"]), (["b", "b"], ["z"]), (["a"], [])]
    links = dict.fromkeys("ab", 0.0)
    null = 0.0
    for source, target in pairs:
        forward, _ = aligner.directional_posteriors(source, target)
        null += (1 - forward.sum(axis=0)).sum()
        for word, own in zip(source, forward.sum(axis=1), strict=True):
            links[word] = links.get(word, 0.0) + own
    table = {entry.word: entry for entry in aligner.fertilities(bitext=Bitext.from_pairs(pairs))}
    assert set(table) == {"NULL", "a", "b"}
    assert table["a"].mean == pytest.approx(links["a"], abs=1e-5)  # one token: a pair with an empty side says nothing
    assert table["b"].mean == pytest.approx(links["b"] / 3, abs=1e-5)
    assert table["NULL"].mean == pytest.approx(null / 5, abs=1e-5)


def test_the_command_prints_the_table(trained, tmp_path):
    from dovetail.cli import dovetail

    trained.save(tmp_path / "model")
    result = CliRunner().invoke(dovetail, ["fertilities", str(tmp_path / "model"), "--top", "3"])
    assert result.exit_code == 0
    lines = [line.split("\t") for line in result.output.splitlines()]
    assert lines[0][0] == "NULL"
    assert len(lines) == 4
    result = CliRunner().invoke(dovetail, ["fertilities", str(tmp_path / "model"), "--json", "--direction", "reverse"])
    assert {"word", "mean", "count", "examples"} == set(json.loads(result.output.splitlines()[0]))


@pytest.mark.parametrize("kind", ["categorical", "features"])
def test_other_fertilities_are_saved_and_loaded_whole(kind, bitext, tmp_path):
    aligner = Aligner("hmm-fertility", seed=1, threads=1, samples=3, fertility=kind).fit(bitext)
    aligner.save(tmp_path / "model")
    loaded = Aligner.load(tmp_path / "model", threads=1)
    pair = ["w1", "w7", "w99"], ["v1", "x1", "v7"]
    assert (loaded.posteriors(*pair) == aligner.posteriors(*pair)).all()
    assert loaded.fertilities() == aligner.fertilities()


def test_an_unknown_fertility_is_refused(bitext):
    with pytest.raises(InputError, match=r"poisson, categorical, .*features"):
        Aligner("hmm-fertility", threads=1, fertility="normal").fit(bitext)


def with_decoder(aligner, **changes):
    other = Aligner("hmm-fertility", seed=1, threads=1)
    other.__dict__.update(aligner.__dict__)
    other.recipe = aligner.recipe.with_options(changes)
    return other


def test_exact_alignments_carry_their_certificate_to_the_output(trained, bitext, tmp_path):
    result = with_decoder(trained, decoder="exact").align(bitext)
    assert result.details["certified"].all()
    assert (result.details["bound"] - result.details["score"] <= 1e-6 * np.abs(result.details["score"])).all()
    with (tmp_path / "links.jsonl").open("w") as handle:
        write_alignments(handle, result, "jsonl", None)
    entry = json.loads((tmp_path / "links.jsonl").read_text().splitlines()[0])
    assert entry["certified"] is True
    assert {"score", "bound", "iterations"} <= set(entry)


def test_no_decoder_finds_more_than_the_exact_one_and_budgets_are_honest(trained, bitext):
    exact = with_decoder(trained, decoder="exact", combine="forward").align(bitext)
    sampled = with_decoder(trained, decoder="samples", decoding_samples=20).align(bitext)
    assert (sampled.details["score_forward"] <= exact.details["score"] + 1e-3).all()
    hurried = with_decoder(trained, decoder="exact", combine="forward", exact_iterations=1).align(bitext)
    assert (hurried.details["iterations"] <= 1).all()
    assert (hurried.details["score"] <= exact.details["score"] + 1e-9).all()
    assert (hurried.details["bound"] >= exact.details["score"] - 1e-9).all()
    proved = hurried.details["certified"]
    assert (hurried.details["score"][proved] >= exact.details["score"][proved] - 1e-6).all()


def test_exact_and_samples_refuse_a_model_without_fertility(bitext):
    for decoder in ("exact", "samples"):
        with pytest.raises(InputError, match="needs a model with fertility"):
            Aligner("ibm1", threads=1, decoder=decoder).fit(bitext).align(bitext)


def test_hard_em_raises_the_probability_of_text_and_alignment(bitext):
    aligner = Aligner("hmm-fertility-hard", seed=1, threads=1, samples=2, hard_iterations=4).fit(bitext)
    scores = [values.sum() for stage, values in aligner.history if stage == "hard"]
    assert len(scores) == 4
    assert scores[-1] > scores[0]


def test_the_same_pair_gets_the_same_links_wherever_it_stands(trained):
    pair = ["w1", "w7", "w3", "w9"], ["v1", "x1", "v7", "v3", "x3", "v9"]
    other = ["w2", "w8"], ["v2", "x2", "v8"]
    alone = trained.align(Bitext.from_pairs([pair]))[0]
    later = trained.align(Bitext.from_pairs([other, other, pair]))[2]
    assert alone.links == later.links
    assert alone.probabilities == later.probabilities
