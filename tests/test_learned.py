"""The learned decoder: its kernels against slow twins, what it saves, and that it never learns from what it is scored on."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail import Aligner, Bitext, Gold, InputError
from dovetail.cli import dovetail
from dovetail.decoding.candidates import WIDTHS
from dovetail.decoding.habits import Habits
from dovetail.decoding.learned import EARLIER, LIMITS, LearnedDecoder, stage_log_odds, stages_of
from dovetail.kernels.learned.features import BELIEFS, FEATURES, OBSERVED, candidates, describe, describe_beliefs
from dovetail.kernels.learned.habits import recall_pairs, recall_words
from dovetail.kernels.learned.judging import TOGETHER, judge, set_up
from dovetail.kernels.learned.records import INNER, LEAVES, PairHabits, Trees, WordFacts
from dovetail.kernels.learned.trees import PATIENCE, log_odds
from dovetail.kernels.records import Pieces, Workspace
from dovetail.learning.favour import expected_best
from dovetail.learning.learn import folds
from dovetail.learning.lesson import digests, groups

lightgbm = pytest.importorskip("lightgbm")


def lines_of(I, J):
    return np.array([[0, 0, 0, 0, 0, I, J]], np.int64)


def workspace(forward, reverse):
    return Workspace(forward.ravel().copy(), reverse.ravel().copy(), np.zeros(0, np.float32), np.zeros(0, np.float32))


matrices = st.tuples(st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**32 - 1))


def made(I, J, seed):
    drawn = np.random.default_rng(seed)
    return [(drawn.random((I, J)) * (drawn.random((I, J)) < 0.4)).astype(np.float32) for _ in range(2)]


@settings(deadline=None, max_examples=50)
@given(matrices)
def test_candidates_are_the_live_cells_and_those_near_a_link(sizes):
    I, J, _ = sizes
    forward, reverse = made(*sizes)
    mean = (forward + reverse) / 2
    expected = [
        i * J + j
        for i in range(I)
        for j in range(J)
        if max(forward[i, j], reverse[i, j]) >= 0.3
        or any(mean[a, b] > 0.5 and near(abs(a - i), abs(b - j)) for a in range(I) for b in range(J))
    ]
    numbers, cells = candidates(0, 1, lines_of(I, J), workspace(forward, reverse), np.float32(0.3))
    assert cells.tolist() == expected
    assert numbers.tolist() == [len(expected)]


def near(rows, columns):
    return max(rows, columns) <= 1 or (min(rows, columns) == 0 and max(rows, columns) <= 2)


@settings(deadline=None, max_examples=50)
@given(matrices)
def test_beliefs_are_those_of_the_cells_around(sizes):
    I, J, _ = sizes
    belief = made(*sizes)[0]
    cells = np.flatnonzero(belief.ravel() > 0)
    waiting = np.arange(len(cells)) % 3 > 0
    found = np.full((len(BELIEFS), len(cells)), -7, np.float32)
    describe_beliefs(0, 1, lines_of(I, J), np.array([len(cells)]), cells, belief.ravel()[cells], waiting, 0, found)
    assert (found[:, ~waiting] == -7).all()
    padded = np.pad(belief, 2)
    for k in np.flatnonzero(waiting):
        i, j = divmod(int(cells[k]), J)
        told = dict(zip(BELIEFS, found[:, k], strict=True))
        assert told["own"] == belief[i, j]
        assert told["up left"] == padded[i + 1, j + 1]
        assert told["right"] == padded[i + 2, j + 3]
        assert told["two down"] == padded[i + 4, j + 2]
        others = np.delete(belief[i], j)
        assert told["against the row's best other"] == pytest.approx(belief[i, j] - max(others, default=0.0))
        assert told["sum of the column's others"] == pytest.approx(belief[:, j].sum() - belief[i, j], abs=1e-6)


def asked(trees, facts, waiting, least=-np.inf, given_up=0.0):
    """What the kernel says of the waiting rows of `facts` (rows, features), 7 of the others; and who waits still."""
    number, features = facts.shape
    desk = set_up(number, features)
    desk.told[:, :number] = facts.T
    sums, waiting = np.full(number, 7, np.float32), waiting.copy()
    log_odds(trees, features, number, waiting, np.float32(least), np.float32(given_up), desk, sums)
    return sums, waiting


def test_packed_trees_say_what_lightgbm_says():
    from dovetail.learning.boosting import GROWING, grow

    drawn = np.random.default_rng(0)
    facts = drawn.normal(size=(2000, 6)).astype(np.float32)
    right = facts[:, 0] + facts[:, 1] * facts[:, 2] > 0
    sums, left = asked(grow(facts, right, 20, 0.1), facts, np.ones(len(facts), bool))
    assert left.all()
    booster = lightgbm.train({**GROWING, "learning_rate": 0.1}, lightgbm.Dataset(facts, right), 20)
    np.testing.assert_allclose(sums, booster.predict(facts, raw_score=True), atol=1e-5)


def said_slowly(trees, row, least, given_up):
    """Down every tree; the end of it after ten trees, or the last, that leave the sum below `least`."""
    total = np.float32(0)
    for tree, (feature, threshold, leaf) in enumerate(zip(*trees, strict=True)):
        node = 0
        while node < INNER:
            node = 2 * node + (1 if row[feature[node]] <= threshold[node] else 2)
        total += leaf[node - INNER]
        if ((tree + 1) % PATIENCE == 0 or tree + 1 == len(trees.leaf)) and total < least:
            return given_up
    return total


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 35), st.sampled_from([1.0, 0.7, 0.1]))
def test_trees_asked_about_eight_columns_at_once_say_what_each_path_says(seed, rows, number, share):
    drawn = np.random.default_rng(seed)
    facts = drawn.integers(0, 4, size=(rows, 5)).astype(np.float32)  # so few that many are just at a threshold
    trees = Trees(
        drawn.integers(0, 5, size=(number, INNER)).astype(np.int32),
        drawn.integers(0, 4, size=(number, INNER)).astype(np.float32),
        drawn.normal(size=(number, LEAVES)).astype(np.float32),
    )
    waiting = drawn.random(rows) < share
    sums, left = asked(trees, facts, waiting, -1.0, -9.0)
    expected = [
        said_slowly(trees, row, -1.0, -9.0) if waits else 7.0 for row, waits in zip(facts, waiting, strict=True)
    ]
    np.testing.assert_array_equal(sums, np.array(expected, np.float32))
    np.testing.assert_array_equal(left, waiting & (sums != -9.0))


def stage_of_chance(drawn, facts):
    return Trees(
        drawn.integers(0, facts, size=(25, INNER)).astype(np.int32),
        drawn.normal(size=(25, INNER)).astype(np.float32),
        drawn.normal(scale=0.5, size=(25, LEAVES)).astype(np.float32),
    )


@pytest.mark.parametrize("stages", [1, 2])
def test_some_candidates_at_a_time_are_judged_as_all_at_once(stages):
    drawn = np.random.default_rng(stages)
    sizes = drawn.integers(1, 12, size=(60, 2))
    sizes[20] = 40, 50  # more than are judged at a time
    lines = np.zeros((len(sizes), 7), np.int64)
    lines[:, 5:] = sizes
    for column, width in ((2, sizes.prod(axis=1)), (3, sizes[:, 0]), (4, sizes[:, 1])):
        lines[:, column] = np.cumsum(width) - width
    cells, words = sizes.prod(axis=1).sum(), 30
    pieces = Pieces(lines, *(drawn.integers(0, words, size=n).astype(np.int32) for n in sizes.sum(axis=0)))
    work, translations = (workspace(*(drawn.random((2, cells)) ** 8).astype(np.float32)) for _ in range(2))
    known = np.arange(words, dtype=np.int32)
    met = PairHabits(known, known, np.arange(0, 3 * words + 1, 3), np.tile(known[:3], words), made(3 * words, 2, 0)[0])
    facts = WordFacts(
        made(words, 3, 1)[0], made(words, 3, 2)[0], known, made(words, 4, 3)[0], made(words, 4, 4)[0], met
    )
    trees = [stage_of_chance(drawn, WIDTHS[k]) for k in range(stages)]

    numbers, chosen = candidates(0, len(lines), lines, work, np.float32(0.3))
    found = np.zeros((WIDTHS[1], len(chosen)), np.float32)
    describe(0, len(lines), pieces, facts, translations, work, numbers, chosen, found)
    recall_words(0, len(lines), pieces, facts.source_habits, facts.target_habits, numbers, chosen, len(OBSERVED), found)
    recall_pairs(0, len(lines), pieces, met, numbers, chosen, len(FEATURES) - 2, found)
    sums = np.empty(len(chosen), np.float32)
    judge(0, len(lines), pieces, facts, translations, work, numbers, chosen, stages_of(trees), LIMITS, sums)
    np.testing.assert_array_equal(sums, stage_log_odds(trees, lines, numbers, chosen, found))
    assert numbers.max() > TOGETHER
    assert len(np.unique(sums)) > len(sums) / 2


def test_pairs_that_share_a_sentence_share_a_fold():
    pairs = [("a b", "c d"), ("e f", "c d"), ("e f", "g h"), ("i", "j"), ("k", "l"), ("m", "n")]
    group = groups(Bitext.from_pairs(pairs), np.arange(len(pairs)))
    assert group[0] == group[1] == group[2]
    assert len(set(group.tolist())) == 4
    fold = folds(group, 3, seed=1)
    assert fold[0] == fold[1] == fold[2]


WORDS = ["house", "tree", "river", "stone", "cloud", "bread", "horse", "water", "light", "field"]


@pytest.fixture(scope="module")
def taught():
    """A language in which every noun takes an article that annotators link to it, which no model can know."""
    drawn = np.random.default_rng(1)
    pairs, links = [], []
    for _ in range(240):
        words = [WORDS[k] for k in drawn.integers(len(WORDS), size=drawn.integers(2, 6))]
        target = [token for word in words for token in ("la", word[::-1] + "o")]
        pairs.append((words, target))
        links.append([(i, j) for i in range(len(words)) for j in (2 * i, 2 * i + 1)])
    bitext = Bitext.from_pairs(pairs)
    return bitext, Gold.from_links(links), Aligner("default", threads=1).fit(bitext)


def learner(taught, tmp_path, threads=1):
    taught[2].save(tmp_path / "plain")
    return Aligner.load(tmp_path / "plain", threads=threads)


def test_it_learns_a_convention_and_tells_so(taught, tmp_path):
    from dovetail import evaluate

    bitext, gold, _ = taught
    aligner = learner(taught, tmp_path)
    before = evaluate(aligner.align(bitext)[100:], gold[100:]).aer
    result = aligner.learn(bitext, gold[:100])
    assert result.decoder is not None
    assert evaluate(aligner.align(bitext)[100:], gold[100:]).aer < before / 2
    assert result.validation.value(True) < result.validation.value(False) / 2
    assert aligner.learned_from(bitext)[:100].all()
    with pytest.raises(InputError, match="already"):
        aligner.learn(bitext, gold[:100])


def test_saved_and_loaded_and_with_any_threads_it_gives_the_same_bytes(taught, tmp_path):
    bitext, gold, _ = taught
    found = []
    for threads in (1, 3):
        aligner = learner(taught, tmp_path, threads)
        aligner.learn(bitext, gold[:100])
        aligner.save(tmp_path / f"learned{threads}")
        found.append(aligner.align(bitext))
        found.append(Aligner.load(tmp_path / f"learned{threads}", threads=threads).align(bitext))
    for other in found[1:]:
        np.testing.assert_array_equal(other.source, found[0].source)
        np.testing.assert_array_equal(other.probability, found[0].probability)
    saved = [(tmp_path / f"learned{threads}" / "parameters.safetensors").read_bytes() for threads in (1, 3)]
    assert saved[0] == saved[1]


def test_gold_that_supports_nothing_leaves_the_model_as_it_was(taught, tmp_path):
    bitext, gold, _ = taught
    aligner = learner(taught, tmp_path)
    own = aligner.align(bitext)
    exact = Gold.from_links([own[n].links for n in range(40)])  # what it says already cannot be bettered
    result = aligner.learn(bitext, exact)
    assert result.decoder is None
    assert "stays as it is" in result.reason
    np.testing.assert_array_equal(aligner.align(bitext).source, own.source)
    assert "too few" in aligner.learn(bitext, gold[:3]).reason


def test_trees_of_a_stranger_cannot_reach_elsewhere():
    about = {"weight": 1.0, "scale": 1.0, "shift": 0.0, "gold": []}
    trees = Trees(np.zeros((1, 15), np.int32), np.zeros((1, 15), np.float32), np.zeros((1, 16), np.float32))
    arrays = {f"0.{name}": array for name, array in trees._asdict().items()}
    arrays |= {f"habits.{name}": array for name, array in Habits.none().arrays().items()}
    assert LearnedDecoder.from_saved(about, arrays).width == len(FEATURES)
    shallow = np.zeros((1, 7), np.int32)
    for wrong in (np.full((1, 15), len(FEATURES), np.int32), np.full((1, 15), -1, np.int32), shallow):
        with pytest.raises(InputError, match="damaged"):
            LearnedDecoder.from_saved(about, {**arrays, "0.feature": wrong})
    for name in ("0.leaf", "0.threshold"):
        with pytest.raises(InputError, match="damaged"):
            LearnedDecoder.from_saved(about, {**arrays, name: arrays[name] * np.float32(np.nan)})
    nan = float("nan")
    for wrong in ({"scale": nan}, {"limits": {"hopeless": nan, "given_up": -6.0, "doubt": 1.0}}, {"limits": {}}):
        with pytest.raises(LookupError):
            LearnedDecoder.from_saved({**about, **wrong}, arrays)


def test_limits_are_kept_and_models_without_have_those_of_their_time():
    trees = Trees(np.zeros((1, 15), np.int32), np.zeros((1, 15), np.float32), np.zeros((1, 16), np.float32))
    decoder = LearnedDecoder((trees,), 1.0, 1.0, 0.0, Habits.none(), ())
    about = json.loads(json.dumps(decoder.about()))
    assert LearnedDecoder.from_saved(about, decoder.arrays()).limits == LIMITS
    del about["limits"]
    assert LearnedDecoder.from_saved(about, decoder.arrays()).limits == EARLIER


def test_digests_know_a_pair_by_its_words():
    text = Bitext.from_pairs([("A b", "c"), ("a b", "c"), ("a", "b c")])
    plain, lower = (digests(text, np.arange(3), normalise) for normalise in (str, str.lower))
    assert len(set(plain)) == 3
    assert lower[0] == lower[1] != lower[2]


@given(st.lists(st.floats(0.01, 1.0), min_size=1, max_size=30), st.sampled_from([("precision", 0.5), ("recall", 2.0)]))
def test_the_favoured_threshold_has_the_best_expected_f(probabilities, aim):
    name, beta = aim

    def expected(threshold):
        kept = [p for p in probabilities if p > threshold]
        if not kept:
            return 0.0
        precision, recall = sum(kept) / len(kept), sum(kept) / sum(probabilities)
        return (1 + beta**2) * precision * recall / (beta**2 * precision + recall)

    found = expected_best(np.array(probabilities), name)
    best = max(expected(threshold) for threshold in (0.0, *probabilities))
    assert expected(found) == pytest.approx(best)


def test_favouring_precision_takes_fewer_links_than_favouring_recall(taught):
    bitext, _, aligner = taught
    recipe = aligner.recipe
    found = []
    for aim in ("precision", "recall"):
        aligner.favour(aim, bitext)
        found.append(len(aligner.align(bitext).source))
    aligner.recipe = recipe
    assert found[0] <= found[1]
    with pytest.raises(InputError, match="Choose one of"):
        aligner.favour("speed", bitext)


def test_the_commands_learn_pick_and_leave_out_what_was_learned(taught, tmp_path, capsys):
    bitext, gold, aligner = taught
    aligner.save(tmp_path / "plain")
    for name, side in (("s", 0), ("t", 1)):
        lines = [" ".join(bitext.tokens(n)[side]) for n in range(len(bitext))]
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    written = [" ".join(f"{i}-{j}" for i, j in sorted(gold[n].sure)) for n in range(len(gold))]
    (tmp_path / "some").write_text("".join(f"{n + 1}\t{written[n]}\n" for n in range(0, 120, 2)))
    (tmp_path / "all").write_text("\n".join(written) + "\n")
    s, t, learned = str(tmp_path / "s"), str(tmp_path / "t"), str(tmp_path / "learned")

    assert run(["learn", str(tmp_path / "plain"), s, t, str(tmp_path / "some"), "--save", learned, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["learned"]
    assert said["pairs"] == 60
    assert said["after"] < said["before"]
    assert run(["align", s, t, "--load", learned, "-o", str(tmp_path / "links"), "--quiet"]) == 0
    command = ["evaluate", str(tmp_path / "links"), str(tmp_path / "all"), "--text", s, t, "--json"]
    capsys.readouterr()
    assert run([*command, "--model", learned]) == 0
    out, err = capsys.readouterr()
    same = int(Aligner.load(learned).learned_from(bitext).sum())  # the made-up text repeats some pairs
    assert json.loads(out)["sentences"] == len(bitext) - same
    assert f"learned from {same}" in err
    assert run(["pick", s, t, "--load", str(tmp_path / "plain"), "-n", "5"]) == 0
    picked = [int(line) for line in capsys.readouterr().out.split()]
    assert len(set(picked)) == 5
    assert all(1 <= n <= len(bitext) for n in picked)


def run(arguments):
    return dovetail.main(arguments, standalone_mode=False) or 0
