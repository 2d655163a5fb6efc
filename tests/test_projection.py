"""Projections against a general solver over all alignments, EM with them, and constraints as their user sees them."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_projection as naive_pr
from dovetail import Aligner, Bitext, Gold, InputError, precision_recall_curve, read_gold
from dovetail.bitext.sharding import OneShard
from dovetail.bitext.text import read_lines
from dovetail.cli import main
from dovetail.engines import Threads
from dovetail.evaluation import evaluate_by_frequency, one_to_one_share, symmetry
from dovetail.models.constrained import ConstrainedHMM, ConstrainedIBM1, Projection
from dovetail.models.constraints import (
    Bijective,
    Dictionary,
    Limit,
    MaximumFertility,
    PairConstraint,
    Symmetric,
    TagPairs,
    constraints,
)
from dovetail.models.ibm1 import IBM1
from dovetail.models.jumps.distance import WindowJumps
from dovetail.training import em
from dovetail.training.monitor import Monitor
from test_models import cells_of, joints, models

ENGINE = Threads(1)
EXACT = Projection(precision=2e-6, strict=True)
WORDS = [f"w{k}" for k in range(4)]


def bitext_of(pairs):
    """The same pairs as words: word n of either vocabulary is w<n>."""
    lines = [([WORDS[w] for w in source], [WORDS[w] for w in target]) for source, target in pairs]
    return Bitext.from_pairs([(WORDS, WORDS), *lines]).part(1, len(pairs) + 1)


def constrained_model(pairs, seed, kind, chosen, projection=EXACT):
    cells = cells_of([*pairs, (range(4), range(4))])
    plain = models(cells, seed)[kind]
    if plain.name == "ibm1":
        made = ConstrainedIBM1(plain.lexicon, constraints=chosen, projection=projection)
    else:
        made = ConstrainedHMM(plain.lexicon, plain.jumps, plain.null, constraints=chosen, projection=projection)
    bitext = bitext_of([*pairs, (range(4), range(4))])
    return plain, made.ready_for(bitext, cells), cells


def projected(model, cells):
    """P (2, I, J) of every piece, and the objective, which only a model that learns tells."""
    work, found, totals = cells.workspace(), [], []
    for block in cells:
        view = block.view(work)
        model.lexicon.gather(block, view, ENGINE.pool)
        totals.append(model.infer(block, view, ENGINE.pool, IBM1.zeros(model, cells)))
        for line in block.lines:
            I, J = line[5], line[6]
            piece = slice(line[2], line[2] + I * J)
            found.append(np.array([view.forward[piece].reshape(I, J), view.reverse[piece].reshape(I, J)], float))
    return found, np.concatenate(totals)


one_pair = st.tuples(  # small enough for a general solver over all alignments
    st.lists(st.integers(0, 3), min_size=1, max_size=2), st.lists(st.integers(0, 3), min_size=1, max_size=3)
)


bitexts = st.lists(
    st.tuples(st.lists(st.integers(0, 3), min_size=1, max_size=5), st.lists(st.integers(0, 3), min_size=1, max_size=5)),
    min_size=1,
    max_size=4,
)


@pytest.mark.parametrize("kind", [0, 1])
@given(pair=one_pair, seed=st.integers(0, 1000), bound=st.sampled_from([0.3, 1.0]))
@settings(deadline=None, max_examples=10)
def test_bounds_on_words_give_the_kl_optimum_over_all_alignments(kind, pair, seed, bound):
    chosen = (Bijective(),) if bound == 1.0 else (MaximumFertility(default=bound),)
    plain, model, cells = constrained_model([pair], seed, kind, chosen)
    (found, *_), objective = projected(model, cells)
    I, J = len(pair[0]), len(pair[1])
    for d, joint in enumerate(joints(plain, *pair)):
        space = naive_pr.Space({d: joint}, I, J)
        rules = naive_pr.word_features(I, J, d, [bound] * (I if d == 0 else J))
        q, divergence = naive_pr.project(space, at_most=rules)
        assert found[d] == pytest.approx(space.posteriors(q)[d], abs=1e-4)
        likelihood = np.log(sum(joint(a) for a in naive_pr.naive.alignments(*((I, J) if d == 0 else (J, I)))))
        assert objective[0, d] == pytest.approx(likelihood - divergence, abs=1e-4)


@pytest.mark.parametrize("kind", [0, 1])
@given(pair=one_pair, seed=st.integers(0, 1000), slack=st.sampled_from([0.0, 0.1]), free=st.booleans())
@settings(deadline=None, max_examples=10)
def test_symmetry_gives_the_kl_optimum_over_all_alignments(kind, pair, seed, slack, free):
    settings_ = replace(EXACT, slack=slack, free_mass=free)
    plain, model, cells = constrained_model([pair], seed, kind, (Symmetric(),), settings_)
    (found, *_), objective = projected(model, cells)
    I, J = len(pair[0]), len(pair[1])
    both = dict(enumerate(joints(plain, *pair)))
    space = naive_pr.Space(both, I, J)
    rules = naive_pr.symmetric_features(I, J)
    q, divergence = naive_pr.project(space, equal=rules, slack=slack, equal_masses=not free)
    assert found == pytest.approx(space.posteriors(q), abs=1e-4 if not slack else 1e-3)
    assert np.linalg.norm(found[0] - found[1]) / 2 <= slack + 1e-4
    shapes = (I, J), (J, I)
    likelihood = sum(
        np.log(sum(joint(a) for a in naive_pr.naive.alignments(*shape)))
        for joint, shape in zip(both.values(), shapes, strict=True)
    )
    assert objective[0].sum() == pytest.approx(likelihood - 2 * divergence, abs=1e-3)


@pytest.mark.parametrize("constraint", [Bijective(), Symmetric()])
@given(pairs=bitexts, seed=st.integers(0, 1000))
@settings(deadline=None, max_examples=10)
def test_jumps_of_equal_weight_are_projected_word_by_word_to_what_the_chain_gives(constraint, pairs, seed):
    results = []
    for weight in (1.0, 1.0 + 1e-6):  # hardly unequal, and the chain is asked
        _, model, cells = constrained_model(pairs, seed, 1, (constraint,))
        jumps = WindowJumps.uniform(2)
        nearly = replace(jumps, weights=np.append(weight, jumps.weights[1:]))
        results.append(projected(replace(model, jumps=(nearly, nearly)), cells))
    for by_word, by_chain in zip(results[0][0], results[1][0], strict=True):
        assert by_word == pytest.approx(by_chain, abs=1e-4)
    assert results[0][1] == pytest.approx(results[1][1], abs=1e-3)


class NoCorner(PairConstraint):
    """The first and the last words of a pair are hardly linked, and the mean of both directions says so."""

    name = "no-corner"

    def __init__(self, at_most: float = 0.05, direction: str = "mean"):
        self.at_most, self.direction = at_most, direction

    def limits(self, source, target):
        yield Limit({(0, len(target) - 1): 1.0}, at_most=self.at_most, direction=self.direction)

    def to_dict(self):
        return {"at_most": self.at_most, "direction": self.direction}


@given(pair=one_pair, seed=st.integers(0, 1000))
@settings(deadline=None, max_examples=10)
def test_a_constraint_of_ones_own_on_the_mean_gives_the_kl_optimum(pair, seed):
    plain, model, cells = constrained_model([pair], seed, 1, (NoCorner(),))
    (found, *_), _ = projected(model, cells)
    I, J = len(pair[0]), len(pair[1])
    space = naive_pr.Space(dict(enumerate(joints(plain, *pair))), I, J)
    weights = np.zeros((2, I, J))
    weights[:, 0, J - 1] = 0.5
    q, _ = naive_pr.project(space, at_most=[(weights, 0.05)])
    assert found == pytest.approx(space.posteriors(q), abs=1e-4)


@given(pair=one_pair, seed=st.integers(0, 1000))
@settings(deadline=None, max_examples=10)
def test_dictionary_and_bijectivity_together_give_the_kl_optimum(pair, seed):
    chosen = (Bijective(), Dictionary([("w0", "w0")], at_least=0.8))
    plain, model, cells = constrained_model([pair], seed, 1, chosen)
    (found, *_), _ = projected(model, cells)
    source, target = np.array(pair[0]), np.array(pair[1])
    I, J = len(source), len(target)
    here = np.outer(source == 0, target == 0)
    number = min((source == 0).sum(), (target == 0).sum())
    for d, joint in enumerate(joints(plain, *pair)):
        rules = naive_pr.word_features(I, J, d, [1.0] * (I if d == 0 else J))
        if number:
            weights = np.zeros((2, I, J))
            weights[d] = -here.astype(float)
            rules.append((weights, -0.8 * number))
        space = naive_pr.Space({d: joint}, I, J)
        q, _ = naive_pr.project(space, at_most=rules)
        assert found[d] == pytest.approx(space.posteriors(q)[d], abs=1e-4)


@given(pair=one_pair, seed=st.integers(0, 1000), free=st.booleans())
@settings(deadline=None, max_examples=8)
def test_symmetry_and_a_bound_on_words_together_give_the_kl_optimum(pair, seed, free):
    chosen = (Symmetric(), MaximumFertility(default=0.6))
    plain, model, cells = constrained_model([pair], seed, 1, chosen, replace(EXACT, free_mass=free))
    (found, *_), _ = projected(model, cells)
    I, J = len(pair[0]), len(pair[1])
    space = naive_pr.Space(dict(enumerate(joints(plain, *pair))), I, J)
    rules = [rule for d in (0, 1) for rule in naive_pr.word_features(I, J, d, [0.6] * (J if d else I))]
    q, _ = naive_pr.project(space, at_most=rules, equal=naive_pr.symmetric_features(I, J), equal_masses=not free)
    assert found == pytest.approx(space.posteriors(q), abs=2e-4)


def test_links_between_two_tags_stay_under_their_limit_in_a_sentence():
    tags = {"w0": "noun", "w1": "verb"}
    chosen = (TagPairs(tags, tags, [("noun", "verb"), ("verb", "noun")], at_most=0.1),)
    pairs = [([0, 1, 1], [1, 0, 2]), ([2, 3], [3, 2])]
    _, model, cells = constrained_model(pairs, 3, 1, chosen)
    found, _ = projected(model, cells)
    _, model, cells = constrained_model(pairs, 3, 1, ())
    free, _ = projected(model, cells)
    wrong = np.array([[1, 0, 0], [0, 1, 0], [0, 1, 0]])
    for direction in range(2):
        assert (free[0][direction] * wrong).sum() > 0.2
        assert (found[0][direction] * wrong).sum() == pytest.approx(0.1, abs=1e-4)
    assert found[1] == pytest.approx(free[1], abs=1e-5)


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize("constraint", [Bijective(), Symmetric()])
@given(pairs=bitexts, seed=st.integers(0, 1000), warm=st.booleans(), free=st.booleans())
@settings(deadline=None, max_examples=15)
def test_em_never_lowers_the_regularized_objective(kind, constraint, pairs, seed, warm, free):
    exact = Projection(precision=1e-5, slack=constraint.slack, strict=True, free_mass=free)
    _, model, cells = constrained_model(pairs, seed, kind, (constraint,), exact)
    model.warm = warm
    monitor = Monitor()
    em.fit(model, OneShard(cells), ENGINE, 8, monitor)
    history = np.array([scores.sum() for _, scores in monitor.history])
    gains = np.diff(history[1:])  # the first E-step belongs to made-up entries that are no distribution
    assert (gains >= -2e-4 * np.abs(history[2:])).all()


def test_warm_starts_save_passes_and_change_nothing_beyond_the_precision():
    pairs = [([0, 1, 2, 3, 1], [3, 2, 1, 0]), ([0, 0, 1], [1, 1, 0, 2]), ([3, 2], [0, 3, 2, 2])]
    results = []
    for warm in (True, False):
        _, model, cells = constrained_model(pairs, 5, 1, (Symmetric(),), Projection(precision=1e-5, strict=True))
        model.warm = warm
        fitted, _ = em.fit(model, OneShard(cells), ENGINE, 6, Monitor())
        results.append((projected(fitted, cells)[0], fitted.effort.passes))
    assert results[0][1] < results[1][1]
    for warm, cold in zip(results[0][0], results[1][0], strict=True):
        assert warm == pytest.approx(cold, abs=2e-3)


TEXT = [
    (source.split(), target.split())
    for source, target in [
        ("the house is small", "la maison est petite"),
        ("the house is big", "la maison est grande"),
        ("a small book", "un petit livre"),
        ("the book is old", "le livre est vieux"),
        ("an old house", "une vieille maison"),
        ("the big book", "le grand livre"),
        ("a schism", "un schisme au sein de l' église"),
    ]
    * 3
]


@pytest.mark.parametrize("model", ["ibm1", "hmm"])
def test_bijective_posteriors_use_no_word_more_than_once(model):
    aligner = Aligner(f"{model}-bijective").fit(Bitext.from_pairs(TEXT))
    for pair in [*TEXT, (["schism"], ["un", "schisme", "au", "schisme"])]:
        forward, reverse = aligner.directional_posteriors(*pair)
        assert forward.sum(axis=1).max() <= 1.0051
        assert reverse.sum(axis=0).max() <= 1.0051
        assert aligner.posteriors(*pair).sum(axis=1).max() <= 1.01


@pytest.mark.parametrize("model", ["ibm1", "hmm"])
def test_symmetric_posteriors_agree_within_the_slack(model):
    aligner = Aligner(f"{model}-symmetric").fit(Bitext.from_pairs(TEXT))
    for pair in [*TEXT, (["schism", "x"], ["un", "schisme", "y"])]:
        forward, reverse = aligner.directional_posteriors(*pair)
        assert np.abs(forward - reverse).max() <= 0.001 + 0.001  # slack and precision


def test_projection_at_decoding_can_be_switched_off():
    aligner = Aligner("hmm-bijective").fit(Bitext.from_pairs(TEXT))
    free = Aligner("hmm-bijective", project_decoding=False).fit(Bitext.from_pairs(TEXT))
    pair = ["schism"], ["un", "schisme", "schisme"]
    assert aligner.directional_posteriors(*pair)[0].sum() <= 1.0051 < free.directional_posteriors(*pair)[0].sum()


def test_a_saved_model_keeps_its_constraints(tmp_path):
    rule = Dictionary([("small", "livre")], at_least=0.9)
    bitext = Bitext.from_pairs(TEXT)
    aligner = Aligner("hmm-bijective").fit(bitext, constraints=[rule])
    assert aligner.posteriors("a small book", "un petit livre")[1, 2] >= 0.89
    aligner.save(tmp_path / "model")
    again = Aligner.load(tmp_path / "model")
    assert again.model.constraints == (Bijective(), rule)
    assert (
        again.posteriors("a small book", "un petit livre") == aligner.posteriors("a small book", "un petit livre")
    ).all()
    assert [str(a) for a in again.align(bitext)] == [str(a) for a in aligner.align(bitext)]


def test_a_constraint_that_nobody_registered_is_named_at_loading(tmp_path):
    aligner = Aligner("hmm-constrained").fit(Bitext.from_pairs(TEXT), constraints=[NoCorner()])
    aligner.save(tmp_path / "model")
    with pytest.raises(InputError, match=r"no-corner.*Register"):
        Aligner.load(tmp_path / "model")
    constraints.add("no-corner", NoCorner, "for this test")
    try:
        assert Aligner.load(tmp_path / "model").model.constraints[0].direction == "mean"
    finally:
        constraints._values.pop("no-corner")


def test_recipes_without_projection_refuse_constraints():
    with pytest.raises(InputError, match="takes no constraints"):
        Aligner("hmm").fit(Bitext.from_pairs(TEXT), constraints=[Bijective()])


def test_the_number_of_threads_changes_nothing():
    bitext = Bitext.from_pairs(TEXT * 20)
    one, two = (Aligner("hmm-symmetric", threads=n).fit(bitext) for n in (1, 2))
    assert (one.model.lexicon.table == two.model.lexicon.table).all()


def test_training_stops_when_the_development_curve_stops_rising_and_tunes_the_threshold():
    bitext = Bitext.from_pairs(TEXT)
    gold = Gold.from_links([[(i, i) for i in range(min(len(s), len(t)))] for s, t in TEXT[:7]])
    aligner = Aligner("hmm-bijective", hmm_iterations=30).fit(bitext, development=(0, gold))
    assert sum(stage == "hmm-constrained" for stage, _ in aligner.history) < 30
    assert aligner.tuned[:2] != (0.5, 1.0)
    with pytest.raises(InputError, match="development set"):
        Aligner("hmm").fit(bitext, development=(bitext, gold))


def test_a_later_training_without_a_development_set_has_the_threshold_that_was_asked_for():
    bitext = Bitext.from_pairs(TEXT)
    gold = Gold.from_links([[(i, i) for i in range(min(len(s), len(t)))] for s, t in TEXT[:7]])
    aligner = Aligner("hmm").fit(bitext, development=(0, gold))
    tuned = aligner.recipe.options.threshold
    assert tuned != 0.5

    def cancel(event):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        aligner.fit(bitext, cancel)
    assert aligner.recipe.options.threshold == tuned  # which belongs to the model that is still there
    assert aligner.fit(bitext).recipe.options.threshold == 0.5
    assert aligner.fit(bitext, development=(0, gold)).recipe.options.threshold == tuned


@pytest.mark.parametrize(
    ("start", "links", "said"),
    [
        (0, [[]] * 3, "no sure gold links"),
        (0, [], "no sure gold links"),
        (0, [[(0, 40)]], "pair 1 .* outside"),
        (len(TEXT) - 1, [[(0, 0)]] * 2, "from pair 20 on, but the bitext has 21"),
        (len(TEXT) + 5, [[(0, 0)]] * 2, "from pair 26 on, but the bitext has 21"),
        (-1, [[(0, 0)]] * 2, "from pair -1 on, but the bitext has 21"),
    ],
)
def test_a_development_set_that_cannot_be_is_refused(start, links, said):
    with pytest.raises(InputError, match=said):
        Aligner("hmm").fit(Bitext.from_pairs(TEXT), development=(start, Gold.from_links(links)))


def test_constraints_that_contradict_each_other_leave_sound_posteriors():
    rules = [Dictionary([("house", "maison"), ("house", "petite")], at_least=0.9)]
    aligner = Aligner("hmm-bijective").fit(Bitext.from_pairs(TEXT), constraints=rules)
    forward, reverse = aligner.directional_posteriors("the house is small", "la maison est petite")
    assert np.isfinite(forward).all()
    assert np.isfinite(reverse).all()
    assert aligner.model.effort.missed > 0


def test_the_command_line_takes_a_development_set(tmp_path, capsys, monkeypatch):
    for side, name in ((0, "text.en"), (1, "text.fr")):
        (tmp_path / name).write_text("".join(" ".join(pair[side]) + "\n" for pair in TEXT))
    (tmp_path / "dev.gold").write_text("0-0 1-1 2-2 3-3\n0-0 1-1 2-2\n")
    command = ["align", str(tmp_path / "text.en"), str(tmp_path / "text.fr"), "--recipe", "hmm-symmetric", "--quiet"]
    command += ["--development-gold", str(tmp_path / "dev.gold"), "--development-start"]
    for start, status in (("1", 0), ("20", 2)):
        monkeypatch.setattr("sys.argv", ["dovetail", *command, start])
        with pytest.raises(SystemExit) as ended:
            main()
        assert (ended.value.code or 0) == status
        out, err = capsys.readouterr()
        assert len(out.splitlines()) == (0 if status else len(TEXT))
        assert ("--development-start" in err) == bool(status)


def test_the_command_line_takes_constraints_of_the_users_own(tmp_path, capsys, monkeypatch):
    for side, name in ((0, "text.en"), (1, "text.fr")):
        (tmp_path / name).write_text("".join(" ".join(pair[side]) + "\n" for pair in TEXT))
    command = ["align", str(tmp_path / "text.en"), str(tmp_path / "text.fr"), "--recipe", "hmm-bijective", "--quiet"]
    command += ["--constraints", str(tmp_path / "rules.json")]
    right = (
        '[{"name": "dictionary", "pairs": [["small", "livre"]], "at_least": 0.9}, {"name": "fertility", "default": 2}]'
    )
    for text, message in (
        (right, ""),
        ('[{"name": "dictionary"}]', "lacks pairs"),
        ('[{"name": "dictionry", "pairs": []}]', "dictionry"),
        ("{", "not a list of constraints"),
        ('[{"pairs": []}]', "not a list of constraints"),
        ('{"name": "bijective"}', "not a list of constraints"),
        ('[{"name": "fertility", "source": "x"}]', "rules.json: constraint 1, fertility: source is 'x'"),
        ('[{"name": "fertility", "source": {"the": "one"}}]', "source['the'] is 'one'"),
        ('[{"name": "fertility", "default": true}]', "default is True"),
        (
            '[{"name": "bijective"}, {"name": "dictionary", "pairs": ["ab"]}]',
            "constraint 2, dictionary: pairs has 'ab'",
        ),
        ('[{"name": "dictionary", "pairs": [["house", 3]]}]', "['house', 3], which is not a pair of words"),
        ('[{"name": "dictionary", "pairs": [["a", "b", "c"]]}]', "['a', 'b', 'c'], which is not a pair of words"),
        ('[{"name": "dictionary", "pairs": "ab"}]', "pairs is 'ab'"),
        ('[{"name": "dictionary", "pairs": [], "at_least": 0}]', "at_least is 0"),
        ('[{"name": "tags", "source_tags": ["x"], "target_tags": {}, "pairs": []}]', "source_tags is ['x']"),
        ('[{"name": "tags", "source_tags": {"x": 1}, "target_tags": {}, "pairs": []}]', "source_tags maps 'x' to 1"),
    ):
        (tmp_path / "rules.json").write_text(text)
        monkeypatch.setattr("sys.argv", ["dovetail", *command])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        assert (ended.value.code or 0) == (2 if message else 0)
        assert message in err
        if not message:
            assert "1-2" in out.splitlines()[2].split()


@pytest.mark.slow
def test_constraints_raise_the_curve_rare_words_and_one_to_one_links_on_real_text(shared_data):
    folder = shared_data / "en-fr-hansards"
    sides = []
    for language in ("en", "fr"):
        train = islice(read_lines(str(folder / f"sample100k.{language}.xz")), 10_000)
        sides.append([*train, *read_lines(str(folder / f"test.{language}"))])
    bitext, gold = Bitext.from_pairs(zip(*sides, strict=True)), read_gold(folder / "test.gold")
    test = bitext.part(10_000, len(bitext))
    frequency = bitext.source.vocabulary.counts[test.source.ids]
    measured = {}
    for recipe in ("hmm", "hmm-bijective", "hmm-symmetric"):
        aligner = Aligner(recipe, combine="forward").fit(bitext)

        def links(threshold, combine="forward", aligner=aligner):
            aligner.recipe = aligner.recipe.with_options({"threshold": threshold, "combine": combine})
            return aligner.align(test)

        curve = precision_recall_curve(links(0.0005), gold)
        rare = evaluate_by_frequency(links(curve.threshold_at(0.8)), gold, frequency, test.source.offsets).rare
        half = links(0.5)
        measured[recipe] = (
            np.array([curve.precision_at(recall) for recall in np.arange(0.6, 0.91, 0.05)]),
            rare.precision,
            one_to_one_share(half),
            symmetry(half, links(0.5, "reverse")),
        )
    plain = measured.pop("hmm")
    for curve, rare, alone, both in measured.values():
        assert (curve > plain[0] + 0.05).all()
        assert rare > plain[1] + 0.2
        assert alone > max(0.95, plain[2])
        assert both > max(0.75, plain[3])
