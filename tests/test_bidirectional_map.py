"""Bidirectional decoding against the enumerated optimum, the integer program, and its own promises."""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_bidirectional as naive
from dovetail.decoding.bidirectional import bidirectional_map, methods
from dovetail.errors import InputError
from dovetail.kernels.bidirectional.records import ADJACENCY, DISAGREEMENT, FULL, Agreement, Problem
from dovetail.kernels.bidirectional.search import improve, pair_score, repair
from dovetail.laboratory import relaxation

AGREEMENTS = [
    {},
    {"adjacency": 0.0},
    {"adjacency": -0.5},
    {"adjacency": -1.0},
    {"adjacency": -4.0},
    {"disagreement": 0.0},
    {"disagreement": -0.5},
    {"disagreement": -2.0},
]
DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "en-fr-hansards"


def potentials(seed, I, J, kind="normal"):
    """theta and omega without structure; `kind` says what is special about them."""
    random = np.random.default_rng(seed)
    pair = [2.0 * random.normal(size=(n, m + 1, m + 1)) for n, m in ((I, J), (J, I))]
    for array in pair:
        if kind == "ties":
            array[:] = np.round(array)
        elif kind == "holes":
            array[random.random(array.shape) < 0.3] = -np.inf
        elif kind == "tied holes":
            array[:] = 4.0 * np.sign(np.round(array / 2))
            array[random.random(array.shape) < 0.5] = -np.inf
        elif kind == "never NULL":
            array[:] = 20.0 * np.abs(array)
            array[:, :, 0] = -np.inf
        elif kind == "no NULL":
            array[:, :, 0] -= 6.0
        elif kind == "all NULL":
            array[:, :, 1:] -= 9.0
    return pair


@st.composite
def instances(draw, kinds=("normal", "ties", "holes", "tied holes", "never NULL", "no NULL", "all NULL")):
    I, J = draw(st.sampled_from([(1, 1), (1, 2), (2, 1), (1, 4), (4, 1), (2, 2), (2, 3), (3, 2), (3, 3)]))
    return potentials(draw(st.integers(0, 2**32 - 1)), I, J, draw(st.sampled_from(kinds)))


def close(a, b, tolerance=1e-8):
    return a == b or abs(a - b) <= tolerance


def naive_score(found, theta, omega, agreement):
    return naive.score(theta, omega, tuple(found.forward), tuple(found.backward), **agreement)


@settings(max_examples=120, deadline=None)
@given(instances(), st.sampled_from(AGREEMENTS), st.sampled_from([(1, 1), (3, 2), (5, 3), (300, 50)]))
def test_exact_finds_the_enumerated_optimum_and_proves_it(pair, agreement, iterations):
    root, node = iterations
    found = bidirectional_map(*pair, **agreement, _root_iterations=root, _node_iterations=node)
    best = naive.best_score(*pair, **agreement)
    assert found.certified
    assert close(found.score, best)
    assert close(found.bound, best)
    assert close(naive_score(found, *pair, agreement), found.score)


TAKE_A_PENALTY = ("exact", "dual-decomposition", "integer")


@settings(max_examples=60, deadline=None)
@given(instances(), st.sampled_from(AGREEMENTS), st.sampled_from([m for m in methods if m not in ("exact", "integer")]))
def test_no_method_bounds_below_the_optimum_or_certifies_less(pair, agreement, method):
    if "disagreement" in agreement and method not in TAKE_A_PENALTY:
        return
    found = bidirectional_map(*pair, **agreement, method=method)
    best = naive.best_score(*pair, **agreement)
    assert found.bound >= best - 1e-8
    assert close(naive_score(found, *pair, agreement), found.score)
    assert found.score <= best + 1e-8
    if found.certified:
        assert close(found.score, best)


@pytest.mark.parametrize("agreement", [{"adjacency": 0.0}, {"disagreement": -1.0}], ids=str)
def test_local_search_never_pays_for_a_gain_with_an_impossible_move(agreement):
    """All finite potentials are positive and differ much: no fixed loss in place of -inf would do."""
    for seed in range(30):
        theta, omega = potentials(seed, 1, 2 + seed % 4, "never NULL")
        found = bidirectional_map(theta, omega, **agreement, _root_iterations=1, _node_iterations=1)
        assert found.certified
        assert close(found.score, naive.best_score(theta, omega, **agreement))


@pytest.mark.parametrize("agreement", AGREEMENTS, ids=str)
def test_starved_of_iterations_it_branches_and_still_proves_the_optimum(agreement):
    decided = 0
    for seed in range(12):
        theta, omega = potentials(seed, 4, 4, "no NULL")
        starved = bidirectional_map(theta, omega, **agreement, _root_iterations=2, _node_iterations=1)
        fed = bidirectional_map(theta, omega, **agreement)
        decided += starved.constraints
        assert starved.certified
        assert fed.certified
        assert close(starved.score, fed.score)
    assert decided > 0 or agreement == {"disagreement": 0.0}


@pytest.mark.parametrize("agreement", [{}, {"adjacency": 0.0}, {"adjacency": -1.0}, {"disagreement": -1.0}], ids=str)
@pytest.mark.parametrize("kind", ["normal", "ties", "holes"])
def test_exact_equals_the_integer_program_on_medium_sentences(agreement, kind):
    pytest.importorskip("highspy", reason="needs the extra integer")
    for seed, (I, J) in enumerate([(5, 5), (4, 6)]):
        theta, omega = potentials(seed, I, J, kind)
        found = bidirectional_map(theta, omega, **agreement)
        referee = bidirectional_map(theta, omega, **agreement, method="integer")
        assert found.certified
        assert referee.certified
        assert close(found.score, referee.score, 1e-6)


def test_the_papers_constraints_prove_what_relaxation_alone_does_not():
    alone = together = added = 0
    for seed in range(20):
        theta, omega = potentials(seed, 3, 4)
        alone += bidirectional_map(theta, omega, method="relaxation").certified
        constrained = bidirectional_map(theta, omega, method="relaxation+constraints")
        together += constrained.certified
        added += constrained.constraints
    assert added > 0
    assert together > alone


def test_a_chart_that_has_no_moves_left_proves_less_and_bounds_still(monkeypatch):
    proved = {}
    for moves in (relaxation.CHART_MOVES, 50):
        monkeypatch.setattr(relaxation, "CHART_MOVES", moves)
        proved[moves] = 0
        for seed in range(30):
            theta, omega = potentials(seed, 5, 5)
            found = bidirectional_map(theta, omega, -0.5, method="chang2014")
            assert found.bound >= bidirectional_map(theta, omega, -0.5).score - 1e-8
            proved[moves] += found.certified
    enough, few = proved.values()
    assert few < enough


def test_dual_decomposition_combines_what_does_not_converge():
    theta, omega = next(
        pair
        for pair in (potentials(seed, 6, 6) for seed in range(50))
        if not bidirectional_map(*pair, method="dual-decomposition", iterations=3).certified
    )
    both = bidirectional_map(theta, omega, method="dual-decomposition", iterations=3)
    either = bidirectional_map(theta, omega, method="dual-decomposition", iterations=3, combination="union")
    assert np.isfinite(both.score)
    assert either.score == -np.inf
    assert set(both.links) < set(either.links)
    assert all(either.forward[i] == j and either.backward[j] == i for i, j in both.links)


@pytest.mark.parametrize("method", methods)
@pytest.mark.parametrize("adjacency", [None, -1.0])
def test_an_impossible_problem_is_proved_impossible(method, adjacency):
    """No NULLs, one source word and four target words: at most three can lean on it, and with full agreement one."""
    if method == "integer":
        pytest.importorskip("highspy", reason="needs the extra integer")
    theta, omega = potentials(0, 1, 4)
    theta[:, :, 0] = omega[:, :, 0] = -np.inf
    found = bidirectional_map(theta, omega, adjacency, method=method)
    assert found.score == -np.inf
    if method in ("exact", "integer"):
        assert found.certified
        assert found.bound == -np.inf


def test_where_all_null_is_best_nothing_is_linked():
    theta, omega = potentials(3, 5, 7, "all NULL")
    found = bidirectional_map(theta, omega)
    assert found.certified
    assert found.links == []
    assert found.forward.tolist() == [-1] * 5
    assert found.backward.tolist() == [-1] * 7


@pytest.mark.parametrize("agreement", AGREEMENTS, ids=str)
def test_where_all_pairs_are_equally_good_one_is_proved_at_once(agreement):
    found = bidirectional_map(np.zeros((9, 12, 12)), np.zeros((11, 10, 10)), **agreement)
    assert found.certified
    assert found.score == found.bound == 0.0
    assert found.iterations == 1


@pytest.mark.parametrize(("I", "J"), [(0, 0), (0, 3), (3, 0)])
@pytest.mark.parametrize("method", methods)
def test_an_empty_sentence_leaves_all_words_of_the_other_unlinked(I, J, method):
    theta, omega = potentials(1, I, J)
    found = bidirectional_map(theta, omega, method=method)
    assert found.forward.tolist() == [-1] * I
    assert found.backward.tolist() == [-1] * J
    assert found.score == pytest.approx(theta[:, 0, 0].sum() + omega[:, 0, 0].sum())
    assert found.certified


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_looser_agreement_never_scores_less(seed):
    pair = potentials(seed, 5, 6)
    full = bidirectional_map(*pair).score
    for name in ("adjacency", "disagreement"):
        scores = [bidirectional_map(*pair, **{name: cost}).score for cost in (-np.inf, -3.0, -1.0, 0.0)]
        assert scores[0] == full
        assert all(a <= b + 1e-9 for a, b in pairwise(scores))


@pytest.mark.parametrize("agreement", [{}, {"adjacency": -1.0}, {"disagreement": -1.0}], ids=str)
@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_the_scale_of_the_potentials_does_not_matter(agreement, scale):
    for seed in range(5):
        theta, omega = potentials(seed, 5, 5)
        found = bidirectional_map(theta, omega, **agreement)
        scaled = bidirectional_map(
            scale * theta, scale * omega, **{name: scale * cost for name, cost in agreement.items()}
        )
        assert scaled.certified
        assert scaled.links == found.links


@pytest.mark.parametrize("agreement", [{}, {"adjacency": -1.0}, {"disagreement": -1.0}], ids=str)
def test_hugely_negative_potentials_work_like_minus_infinity(agreement):
    for seed in range(10):
        pair = potentials(seed, 4, 4, "holes")
        found = bidirectional_map(*pair, **agreement)
        huge = bidirectional_map(*(np.where(array > -np.inf, array, -1e30) for array in pair), **agreement)
        if found.score > -np.inf:
            assert huge.certified
            assert close(huge.score, found.score)


@pytest.mark.parametrize("agreement", [{}, {"adjacency": -0.5}, {"disagreement": -6.0}], ids=str)
@pytest.mark.parametrize("method", methods)
def test_a_budget_returns_a_feasible_pair_and_a_finite_bound(agreement, method):
    if "disagreement" in agreement and method not in TAKE_A_PENALTY:
        return
    if method == "integer":
        pytest.importorskip("highspy", reason="needs the extra integer")
    theta, omega = potentials(5, 18, 18, "no NULL")
    start = time.monotonic()
    found = bidirectional_map(theta, omega, **agreement, method=method, time_limit=0.3)
    assert time.monotonic() - start < 60  # the first call compiles
    assert not found.certified
    assert found.score < found.bound < np.inf
    assert close(naive_score(found, theta, omega, agreement), found.score)
    if method in ("exact", "relaxation", "relaxation+constraints"):
        assert found.score > -np.inf
    fewer = bidirectional_map(theta, omega, **agreement, method=method, iterations=1, time_limit=0.3)
    assert fewer.score < fewer.bound < np.inf


def test_threads_do_not_disturb_each_other():
    pairs = [potentials(seed, 7, 8) for seed in range(12)]
    alone = [bidirectional_map(*pair, -0.5) for pair in pairs]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda pair: bidirectional_map(*pair, -0.5), pairs))
    for one, other in zip(alone, together, strict=True):
        assert one.score == other.score
        assert one.iterations == other.iterations
        assert one.forward.tolist() == other.forward.tolist()


def test_potentials_come_in_any_form_and_are_left_alone():
    theta, omega = potentials(2, 3, 4, "ties")
    found = bidirectional_map(theta, omega, -1.0)
    before = theta.copy(), omega.copy()
    bidirectional_map(theta, omega, -1.0, method="relaxation+constraints")
    assert (theta == before[0]).all()
    assert (omega == before[1]).all()
    for form in (np.float32, np.int64, np.asfortranarray, np.ndarray.tolist):
        other = [array.astype(form) if isinstance(form, type) else form(array) for array in (theta, omega)]
        assert bidirectional_map(*other, -1.0).links == found.links


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"theta": np.zeros((2, 3))}, r"theta has the shape \(2, 3\)"),
        ({"theta": np.zeros((2, 4, 3))}, r"theta has the shape \(2, 4, 3\)"),
        ({"omega": np.zeros((3, 4, 4))}, "do not belong together"),
        ({"omega": np.zeros((4, 3, 3))}, "do not belong together"),
        ({"omega": "words"}, "not an array of numbers"),
        ({"theta": np.full((2, 4, 4), np.nan)}, r"theta\[0, 0, 0\] is NaN"),
        ({"omega": np.full((3, 3, 3), np.inf)}, r"omega\[0, 0, 0\] is \+inf"),
        ({"adjacency": 0.5}, "adjacency is 0.5"),
        ({"adjacency": np.nan}, "adjacency is nan"),
        ({"disagreement": 1.0}, "disagreement is 1.0"),
        ({"adjacency": -1.0, "disagreement": -1.0}, "two different problems"),
        ({"method": "guess"}, "no method 'guess'"),
        ({"combination": "sum"}, "no combination 'sum'"),
        ({"iterations": 0}, "iterations is 0"),
        ({"time_limit": -1.0}, "time_limit is -1.0"),
        ({"time_limit": "x"}, "time_limit is 'x'"),
        ({"iterations": "x"}, "iterations is 'x'"),
        ({"method": "relaxation", "disagreement": -1.0}, "no penalty for disagreement"),
    ],
    ids=str,
)
def test_bad_input_is_named(change, said):
    arguments = {"theta": np.zeros((2, 4, 4)), "omega": np.zeros((3, 3, 3)), **change}
    with pytest.raises(InputError, match=said):
        bidirectional_map(**arguments)


def test_a_missing_solver_is_named_with_its_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "highspy", None)
    with pytest.raises(InputError, match="pip install highspy"):
        bidirectional_map(*potentials(0, 2, 2), method="integer")


def test_the_papers_methods_are_imported_only_when_asked_for():
    code = """
import sys, numpy
from dovetail.decoding.bidirectional import bidirectional_map, methods
bidirectional_map(numpy.zeros((1, 2, 2)), numpy.zeros((1, 2, 2)))
assert "relaxation" in methods and methods.descriptions["relaxation"]
assert not any(name.startswith(("dovetail.laboratory", "dovetail.kernels.laboratory")) for name in sys.modules)
methods["relaxation"]
assert "dovetail.laboratory.relaxation" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@settings(max_examples=60, deadline=None)
@given(
    instances(), st.sampled_from([(FULL, {}), (ADJACENCY, {"adjacency": -0.5}), (DISAGREEMENT, {"disagreement": -0.5})])
)
def test_repair_makes_any_pair_feasible_and_local_search_never_lowers_it(pair, chosen):
    kind, penalties = chosen
    theta, omega = pair
    I, J = len(theta), len(omega)
    random = np.random.default_rng(I * 7 + J)
    free = [np.where(array > -np.inf, array, -50.0) for array in pair]
    problem = Problem(*free, Agreement(kind, float(sum(penalties.values()))), -np.inf, -np.inf)
    x = np.concatenate(([0], random.integers(0, J + 1, I)))
    y = np.concatenate(([0], random.integers(0, I + 1, J)))
    repair(problem.agreement, x, y)
    before, magnitude = pair_score(problem, x, y)
    assert close(before, naive.score(*free, tuple(x[1:] - 1), tuple(y[1:] - 1), **penalties))
    assert abs(before) <= magnitude < np.inf
    cells = np.argwhere(np.ones((I, J))) + 1
    improve(problem, x, y, cells)
    after, _ = pair_score(problem, x, y)
    assert after >= before - 1e-9
    assert close(after, naive.score(*free, tuple(x[1:] - 1), tuple(y[1:] - 1), **penalties))


def test_real_sentences_are_all_proved():
    """Hansards test pairs under potentials from word co-occurrence and a preference for small jumps."""
    if not DATA.exists():
        pytest.skip("needs the folder shared/data/en-fr-hansards beside the repository")
    sides = [
        [line.split() for line in (DATA / name).read_text("utf-8").splitlines()] for name in ("test.en", "test.fr")
    ]
    counts: dict[object, int] = {}
    for source, target in zip(*sides, strict=True):
        for word in [*(("s", w) for w in set(source)), *(("t", w) for w in set(target))]:
            counts[word] = counts.get(word, 0) + 1
        for link in ((s, t) for s in set(source) for t in set(target)):
            counts[link] = counts.get(link, 0) + 1
    for source, target in list(zip(*sides, strict=True))[:80]:
        dice = np.array([[2 * counts[s, t] / (counts["s", s] + counts["t", t]) for t in target] for s in source])
        theta, omega = (_with_jumps(6.0 * table) for table in (dice, dice.T))
        for adjacency in (None, -1.0):
            found = bidirectional_map(theta, omega, adjacency, time_limit=10.0)
            assert found.certified
            assert len(found.links) > 0


def _with_jumps(table):
    """(words, states, states): the table's scores, 1.5 for NULL, and 0.3 less for each position jumped over."""
    words, positions = table.shape
    place = np.arange(positions)
    scores = np.zeros((words, positions + 1, positions + 1))
    scores[:, :, 0] = 1.5
    scores[:, :, 1:] = table[:, None, :]
    scores[:, 1:, 1:] -= 0.3 * np.minimum(np.abs(place[None, :] - place[:, None] - 1), 10)
    return scores
