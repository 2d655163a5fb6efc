"""The exact decoder of the fertility HMM against enumeration, against an integer program, and under budgets."""

from __future__ import annotations

import itertools
import math
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_fertility as naive
from dovetail.decoding.fertility import Schedule, Stage, _branches, fertility_map
from dovetail.errors import InputError
from dovetail.kernels.exact_fertility.chain import backward, best_path, chain_scores, forward
from dovetail.kernels.exact_fertility.dual import ascend
from dovetail.kernels.exact_fertility.lists import lists_of
from dovetail.kernels.exact_fertility.problem import split
from dovetail.kernels.exact_fertility.prune import prune
from dovetail.kernels.exact_fertility.records import (
    Children,
    Counted,
    Incumbent,
    Margins,
    Node,
    Problem,
    Rows,
    States,
    Trellis,
)
from dovetail.kernels.exact_fertility.rows import best_row, row_margins
from dovetail.kernels.exact_fertility.runs import row_table, run_margins, suffix_runs, trace_runs
from dovetail.kernels.exact_fertility.score import alignment_score
from dovetail.kernels.exact_fertility.search import _unite, search
from dovetail.kernels.laboratory.subgradient import best_rows

# So little at a time that beams overflow and branches are needed even where everything can be enumerated.
STARVED = [
    Schedule((Stage(False, 1, -1, 1),), (Stage(False, 1, -1, 1),)),
    Schedule((Stage(False, 3, -1, 2),), (Stage(True, 3, -1, 1),)),
    Schedule((Stage(False, 4, -1, 1), Stage(True, 3, 0, 2)), (Stage(True, 5, 2, 2),)),
    Schedule((Stage(True, 2, -1, 1),), (Stage(True, 2, -1, 1),)),
]


def normal_potentials(rng, I, J, null_fertility=True):
    """No structure at all: the hardest kind."""
    shapes = (I + 1, J), (I + 1, I), (I, J + 1), (J + 1,)
    emission, transition, fertility, null = (2.0 * rng.normal(size=shape) for shape in shapes)
    return emission, transition, -1.0, fertility, null if null_fertility else None


def trained_potentials(rng, I, J, null_fertility=False):
    """Shaped like those of a trained model: a diagonal, few translations a word, Poisson fertility."""
    emission = np.log(rng.dirichlet(np.full(J, 0.2), size=I + 1) + 1e-4)
    steps = np.arange(I) - np.arange(-1, I)[:, None]
    transition = -0.7 * np.abs(steps - 1.0)
    transition += math.log(0.8) - np.log(np.exp(transition).sum(axis=1, keepdims=True))
    counts, means = np.arange(J + 1), rng.gamma(2.0, 0.5, size=I) + 0.05
    factorials = np.array([math.lgamma(c + 1) for c in counts])
    fertility = counts * np.log(means)[:, None] - means[:, None] - factorials
    null = counts * math.log(0.1 * J) - 0.1 * J - factorials
    return emission, transition, math.log(0.2), fertility, null if null_fertility else None


@st.composite
def potentials(draw, max_source=3, max_target=4):
    """Any mixture of smooth values, ties, zeros, -inf and numbers that swamp all others."""
    I, J = draw(st.integers(1, max_source)), draw(st.integers(1, max_target))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))

    def array(*shape):
        kind = draw(st.sampled_from(["smooth", "wide", "ties", "zero"]))
        values = {
            "smooth": lambda: 2.0 * rng.normal(size=shape),
            "wide": lambda: 20.0 * rng.normal(size=shape),
            "ties": lambda: rng.integers(-3, 2, size=shape) / 2.0,
            "zero": lambda: np.zeros(shape),
        }[kind]()
        share, low = draw(st.sampled_from([(0.0, 0.0), (0.3, -math.inf), (0.6, -math.inf), (0.3, -1e9), (0.3, -1e30)]))
        return np.where(rng.random(shape) < share, low, values)

    log_null = draw(st.sampled_from([-1.6, 0.0, 3.0, -20.0, -math.inf]))
    emission, transition, fertility = array(I + 1, J), array(I + 1, I), array(I, J + 1)
    return emission, transition, log_null, fertility, draw(st.sampled_from([array(J + 1), None]))


def is_optimal(result, problem, optimum):
    scale = max(1.0, abs(optimum)) if math.isfinite(optimum) else 1.0
    assert result.score == pytest.approx(naive.score(result.alignment, *problem), rel=1e-9, abs=1e-9)
    assert result.score == pytest.approx(optimum, rel=1e-6, abs=1e-6)
    assert result.bound == result.score or 0.0 <= result.bound - result.score <= 1e-6 * scale
    return True


@settings(max_examples=300, deadline=None)
@given(potentials())
def test_the_exact_map_is_the_enumerated_optimum(problem):
    _, optimum = naive.best_alignment(*problem)
    result = fertility_map(*problem)
    assert result.certified
    assert is_optimal(result, problem, optimum)


@pytest.mark.parametrize("schedule", STARVED)
@settings(max_examples=100, deadline=None)
@given(problem=potentials())
def test_narrow_searches_and_branches_end_at_the_same_optimum(schedule, problem):
    _, optimum = naive.best_alignment(*problem)
    result = fertility_map(*problem, _schedule=schedule)
    assert result.certified
    assert is_optimal(result, problem, optimum)


def poor_start(problem, node, known, fresh, *rest):
    """`ascend` from all NULL and nothing for the rows, so that a good alignment must be found by the proof itself."""
    if fresh:
        counts = np.empty(len(problem.fertility), np.int32)
        known = known._replace(score=alignment_score(problem, known.path, counts))
    return ascend(problem, node, known, False, *rest)


@pytest.mark.parametrize("schedule", STARVED)
@settings(max_examples=100, deadline=None)
@given(problem=potentials(max_target=5))
def test_a_poor_start_ends_at_the_same_optimum(schedule, problem):
    _, optimum = naive.best_alignment(*problem)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules[Schedule.__module__], "ascend", poor_start)  # the function hides its module by name
        result = fertility_map(*problem, _schedule=schedule)
    assert result.certified
    assert is_optimal(result, problem, optimum)


@pytest.mark.parametrize(
    "options", [{"iterations": 1}, {"iterations": 7}, {"time_limit": 0.0}, {"method": "subgradient"}]
)
@settings(max_examples=75, deadline=None)
@given(problem=potentials())
def test_a_certificate_is_never_given_to_less_than_the_optimum(options, problem):
    _, optimum = naive.best_alignment(*problem)
    result = fertility_map(*problem, _schedule=STARVED[1], **options)
    assert result.bound >= optimum - 1e-9 * max(1.0, abs(optimum))
    assert result.bound >= result.score
    assert naive.score(result.alignment, *problem) == pytest.approx(result.score, rel=1e-9, abs=1e-9)
    if result.certified:
        assert is_optimal(result, problem, optimum)
    else:
        assert math.isfinite(result.bound)


@pytest.mark.parametrize(
    "problem",
    [
        normal_potentials(np.random.default_rng(1), 10, 10),
        normal_potentials(np.random.default_rng(2), 10, 10, null_fertility=False),
        trained_potentials(np.random.default_rng(3), 12, 15),
        trained_potentials(np.random.default_rng(4), 15, 12, null_fertility=True),
    ],
    ids=["random", "random, NULL free", "trained", "trained, NULL counted"],
)
def test_medium_problems_agree_with_an_integer_program(problem):
    result = fertility_map(*problem)
    assert result.certified
    assert result.score == pytest.approx(naive.milp_score(*problem), abs=1e-5)
    starved = fertility_map(*problem, _schedule=STARVED[2])
    assert starved.certified
    assert starved.score == pytest.approx(result.score, abs=1e-7)
    assert starved.iterations > 3  # the first stage did not suffice


def test_forbidden_cells_agree_with_an_integer_program():
    rng = np.random.default_rng(5)
    emission, transition, log_null, fertility, _ = normal_potentials(rng, 8, 9)
    emission[rng.random(emission.shape) < 0.4] = -math.inf
    transition[rng.random(transition.shape) < 0.4] = -math.inf
    fertility[:, 3:] = -math.inf
    result = fertility_map(emission, transition, log_null, fertility)
    assert result.certified
    assert result.score == pytest.approx(naive.milp_score(emission, transition, log_null, fertility), abs=1e-5)


@pytest.mark.parametrize("kind", [normal_potentials, trained_potentials])
def test_sentences_beyond_enumeration_are_certified(kind):
    for seed, length in itertools.product(range(3), (5, 14, 20)):
        problem = kind(np.random.default_rng(seed), length, length + 2)
        result = fertility_map(*problem)
        assert result.certified
        assert result.score == pytest.approx(naive.score(result.alignment, *problem))


def test_each_word_used_exactly_once_is_an_assignment():
    # Fertility 1 for all and no NULL: with flat transitions the best alignment is the best permutation.
    rng = np.random.default_rng(6)
    emission = rng.normal(size=(7, 6))
    fertility = np.full((6, 7), -math.inf)
    fertility[:, 1] = 0.0
    result = fertility_map(emission, np.zeros((7, 6)), -math.inf, fertility)
    best = max(sum(emission[i + 1, j] for j, i in enumerate(order)) for order in itertools.permutations(range(6)))
    assert result.certified
    assert result.score == pytest.approx(best)
    assert sorted(result.alignment) == list(range(6))


def word_by_word_potentials(rng, I, J, words=8):
    """IBM Model 1 without deficiency, where words are repeated: the gain of a link is its own, and there are many ties."""
    source, target = rng.integers(0, words, I), rng.integers(0, words, J)
    table = np.log(rng.dirichlet(np.full(words, 0.3), words) + 1e-6)
    emission = np.vstack([np.full(J, -math.log(words)), table[source][:, target]])
    rates = np.log(rng.gamma(1.0, 1.0, words) + 1e-3)[source]
    factorials = np.array([math.lgamma(c + 1) for c in range(J + 1)])
    poisson = np.arange(J + 1) * rates[:, None] - np.exp(rates)[:, None] - factorials
    null = np.arange(J + 1) * math.log(0.1 * I) - 0.1 * I - factorials
    return emission, np.zeros((I + 1, I)), 0.0, poisson + factorials, null + factorials - factorials[-1]


def test_what_can_be_chosen_word_by_word_is_always_certified():
    rng = np.random.default_rng(5)
    problems = [word_by_word_potentials(rng, int(rng.integers(1, 40)), int(rng.integers(1, 40))) for _ in range(40)]
    assert all(fertility_map(*problem, iterations=1).certified for problem in problems)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.integers(1, 4))
def test_the_best_words_are_the_enumerated_optimum(seed, I, J):
    problem = word_by_word_potentials(np.random.default_rng(seed), I, J, words=3)
    result = fertility_map(*problem)
    assert result.certified
    assert is_optimal(result, problem, naive.best_alignment(*problem)[1])


@pytest.mark.parametrize("method", ["exact", "subgradient"])
def test_where_everything_is_forbidden_minus_infinity_is_certified(method):
    emission, transition, log_null, fertility, null = normal_potentials(np.random.default_rng(7), 3, 4)
    emission[:, 2] = -math.inf
    result = fertility_map(emission, transition, log_null, fertility, null, method=method)
    assert (result.score, result.bound, result.certified) == (-math.inf, -math.inf, True)
    assert result.alignment.shape == (4,)


def test_counts_that_cannot_be_had_are_proved_impossible():
    # Two source words that must take two target words each, and three target words.
    fertility = np.full((2, 4), -math.inf)
    fertility[:, 2] = 0.0
    result = fertility_map(np.zeros((3, 3)), np.zeros((3, 2)), 0.0, fertility)
    assert result.certified
    assert result.score == -math.inf


def test_all_null_wins_where_null_is_best():
    emission = np.full((4, 5), -9.0)
    emission[0] = -1.0
    result = fertility_map(emission, np.full((4, 3), -1.0), -0.5, np.zeros((3, 6)))
    assert result.certified
    assert result.alignment.tolist() == [-1] * 5
    assert result.score == pytest.approx(5 * -1.5)


@pytest.mark.parametrize("method", ["exact", "subgradient"])
def test_empty_sentences_have_one_alignment(method):
    no_target = fertility_map(np.zeros((3, 0)), np.zeros((3, 2)), -1.0, np.full((2, 1), -0.5), [-0.25], method=method)
    assert no_target.alignment.shape == (0,)
    assert (no_target.score, no_target.bound, no_target.certified) == (-1.25, -1.25, True)
    no_source = fertility_map(np.full((1, 3), -2.0), np.zeros((1, 0)), -1.0, np.zeros((0, 4)), method=method)
    assert no_source.alignment.tolist() == [-1, -1, -1]
    assert (no_source.score, no_source.bound, no_source.certified) == (-9.0, -9.0, True)


def test_the_types_are_those_of_the_contract():
    result = fertility_map(*trained_potentials(np.random.default_rng(8), 4, 5))
    assert np.issubdtype(result.alignment.dtype, np.integer)
    assert [type(value) for value in (result.score, result.bound)] == [float, float]
    assert [type(value) for value in (result.certified, result.iterations)] == [bool, int]


def test_lists_and_single_precision_are_welcome():
    problem = trained_potentials(np.random.default_rng(9), 4, 5)
    as_lists = [part.tolist() if isinstance(part, np.ndarray) else part for part in problem]
    assert fertility_map(*as_lists).score == fertility_map(*problem).score
    single = [part.astype(np.float32) if isinstance(part, np.ndarray) else part for part in problem]
    assert fertility_map(*single).score == pytest.approx(fertility_map(*problem).score, rel=1e-5)


def test_a_budget_returns_the_best_so_far_with_a_finite_bound():
    problem = normal_potentials(np.random.default_rng(10), 45, 45)
    began = time.perf_counter()
    for options in ({"time_limit": 0.0}, {"time_limit": 0.3}, {"iterations": 20}, {"iterations": 150}):
        result = fertility_map(*problem, **options)
        assert not result.certified
        assert math.isfinite(result.bound)
        assert result.bound > result.score == pytest.approx(naive.score(result.alignment, *problem))
        assert result.iterations <= options.get("iterations", math.inf)
    assert time.perf_counter() - began < 20.0  # limits are kept, even by a busy machine


def test_more_iterations_never_loosen_the_bound_or_lose_the_alignment():
    problem = normal_potentials(np.random.default_rng(11), 30, 30)
    results = [fertility_map(*problem, iterations=n) for n in (1, 10, 40, 100)]
    assert sorted((r.bound for r in results), reverse=True) == [r.bound for r in results]
    assert sorted(r.score for r in results) == [r.score for r in results]


def test_arguments_are_left_alone_and_calls_repeat_each_other():
    problem = normal_potentials(np.random.default_rng(12), 9, 11)
    copies = [part.copy() if isinstance(part, np.ndarray) else part for part in problem]
    first, second = fertility_map(*problem), fertility_map(*problem)
    assert first.alignment.tolist() == second.alignment.tolist()
    assert (first.score, first.bound, first.iterations) == (second.score, second.bound, second.iterations)
    for part, copy in zip(problem, copies, strict=True):
        assert np.array_equal(part, copy)


def test_threads_do_not_disturb_each_other():
    problems = [normal_potentials(np.random.default_rng(seed), 12, 14) for seed in range(12)]
    alone = [fertility_map(*problem).score for problem in problems]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda problem: fertility_map(*problem).score, problems * 3))
    assert together == alone * 3


def test_the_papers_algorithm_certifies_easy_sentences_and_never_beats_the_proof():
    certified = 0
    for seed in range(20):
        problem = trained_potentials(np.random.default_rng(seed), 8, 9)
        paper, exact = fertility_map(*problem, method="subgradient"), fertility_map(*problem)
        assert paper.iterations <= 40
        assert paper.score <= exact.score + 1e-9
        assert paper.bound >= exact.score - 1e-9
        certified += paper.certified
    assert certified >= 5


def test_the_papers_algorithm_takes_the_same_steps_with_and_without_a_time_limit():
    rises = 0
    for seed in range(10):
        problem = trained_potentials(np.random.default_rng(seed), 12, 14)
        # Words that stand there twice: their cells have the same price.
        twice = (problem[0][:, np.arange(14) % 5], *problem[1:])
        for potentials in (problem, twice):
            free, limited = (fertility_map(*potentials, method="subgradient", **o) for o in ({}, {"time_limit": 60.0}))
            assert free.alignment.tolist() == limited.alignment.tolist()
            assert (free.score, free.bound, free.iterations) == (limited.score, limited.bound, limited.iterations)
            rises += free.iterations > 10
    assert rises > 0  # some descents are long enough for their step to shrink


@pytest.mark.parametrize(
    ("place", "change", "says"),
    [
        (0, lambda a: a[:, :-1], "shape"),
        (1, lambda a: a[:-1], r"log_transition has shape \(3, 3\) instead of \(4, 3\)"),
        (3, lambda a: a[:, :-1], "log_fertility has shape"),
        (4, lambda a: a[:-1], "log_null_fertility has shape"),
        (0, lambda a: a[0], "log_emission has 1 dimensions instead of 2"),
        (0, lambda a: a[:0], "log_emission has no rows"),
        (0, lambda a: np.where(a == a[1, 2], math.nan, a), "log_emission holds NaN"),
        (1, lambda a: np.where(a == a[0, 0], math.inf, a), "log_transition holds NaN or"),
        (2, lambda a: math.nan, "log_null holds NaN"),
        (3, lambda a: np.where(a == a[2, 4], math.inf, a), "log_fertility holds NaN or"),
        (4, lambda a: np.where(a == a[4], math.nan, a), "log_null_fertility holds NaN"),
        (0, lambda a: "words", "log_emission is not an array of numbers"),
    ],
)
def test_bad_potentials_are_named(place, change, says):
    problem = list(normal_potentials(np.random.default_rng(13), 3, 4))
    problem[place] = change(problem[place])
    with pytest.raises(InputError, match=says):
        fertility_map(*problem)


@pytest.mark.parametrize(
    "options",
    [{"method": "magic"}]
    + [{"iterations": bad} for bad in (0, "x", math.nan)]
    + [{"tolerance": bad} for bad in (-1.0, "x", None)]
    + [{"time_limit": bad} for bad in (-1.0, "x", [1.0])],
)
def test_bad_options_are_named(options):
    with pytest.raises(InputError, match=next(iter(options))):
        fertility_map(*normal_potentials(np.random.default_rng(14), 3, 4), **options)


# The parts, each against its own twin.


def plain_problem(emission, transition, log_null, fertility, first=0):
    return Problem(
        emission, transition, transition, np.ascontiguousarray(transition.T), log_null, fertility, first, False
    )


def laid_out(rng, I, J, dead=0.3):
    """A random problem, without runs, and a node: rows 0 .. I, some cells dead, prices for both kinds of link."""
    R = I + 1
    emission, price = rng.normal(size=(J, R)), rng.normal(size=(2, J, R))
    transition, fertility = rng.normal(size=(R, I)), rng.normal(size=(R, J + 1))
    live_link = (rng.random((J, R)) >= dead).astype(np.uint8)
    live_link[:, 0] = 0
    live_null = (rng.random((J, R)) >= dead).astype(np.uint8)
    node = Node(np.zeros(R, np.int32), np.full(R, J, np.int32), live_link, live_null, price)
    return plain_problem(emission, transition, -0.5, fertility), node


def empty_trellis(J, R):
    return Trellis(np.empty((J, R)), np.empty((J + 1, R)), np.empty((J + 1, R)))


def empty_margins(kinds, J, R):
    return Margins(np.zeros((kinds, J, R)), np.zeros((J, R)), np.zeros((J, R)), np.empty(J + 2), np.empty((2, J + 2)))


def suffix_of(problem, node, lists, r):
    J = node.live_link.shape[0]
    suffix = row_table(np.empty(2 * (J + 1) * (J + 1)), lists.cells[r, 0], node.high[r])
    suffix_runs(problem.fertility, node, lists, r, suffix)
    return suffix


def live_paths(problem, node, price):
    """Every path over live cells, with the chain's part of its score and the position before each column."""
    J, R = problem.emission.shape
    for path in itertools.product(range(R), repeat=J):
        total, positions = 0.0, [0]
        for j, r in enumerate(path):
            p = positions[-1]
            if not (node.live_link[j, r] if r else node.live_null[j, p]):
                break
            total += problem.emission[j, r] - price[int(0 < r == p), j, r]
            total += problem.transition[p, r - 1] if r else problem.log_null
            positions.append(r or p)
        else:
            yield path, total, positions


def live_scores(problem, node):
    """The whole score of every path over live cells, and the position before each column."""
    for path, total, positions in live_paths(problem, node, 0 * node.price):
        yield path, total + sum(row[path.count(r)] for r, row in enumerate(problem.fertility)), positions


def row_choices(r, problem, node):
    """Every way a row may see a path: what happens in each of its columns, and what it gets for that.

    `jump` and `stay` are links, `keep` is a NULL at the row's position, `out` is all else.
    """
    J, R = node.live_link.shape
    for path in itertools.product(("jump", "stay", "keep", "out"), repeat=J):
        total, count, own = 0.0, 0, False
        for j, what in enumerate(path):
            null = node.live_null[j].any()
            alive = node.live_link[j, r] if r else null
            others = any(node.live_link[j, q] for q in range(1, R) if q != r) or (r > 0 and null)
            if what in ("jump", "stay"):
                if not alive or own != (what == "stay"):
                    break
                count += 1
                total += node.price[int(own), j, r]
            elif what == "keep" and not (own and node.live_null[j, r]):
                break
            elif what == "out" and alive and not others:
                break  # somebody must take the column
            own = r > 0 and what != "out"
        else:
            if node.low[r] <= count <= node.high[r] and problem.fertility[r, count] > -math.inf:
                yield path, count, total + problem.fertility[r, count]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 4), st.sampled_from([0.0, 0.3, 0.7]))
def test_max_marginals_of_the_chain_are_the_best_enumerated_paths(seed, I, J, dead):
    problem, node = laid_out(np.random.default_rng(seed), I, J, dead)
    lists, trellis = lists_of(node, True), empty_trellis(J, I + 1)
    enter, delta, beta = trellis
    chain = chain_scores(split(problem), node.price)
    best = forward(chain, lists, trellis)
    backward(chain, lists, trellis)
    paths = list(live_paths(problem, node, node.price))
    assert best == pytest.approx(max((total for _, total, _ in paths), default=-math.inf))
    assert beta[0, 0] == pytest.approx(best)
    if paths:
        found = np.empty(J, np.int32)
        best_path(chain, node, lists, trellis, found)
        assert next(total for path, total, _ in paths if path == tuple(found)) == pytest.approx(best)
    for j, r in itertools.product(range(J), range(I + 1)):
        if node.live_link[j, r]:
            for again, score in ((False, enter[j, r]), (True, delta[j, r] + chain.stay[j, r])):
                through = (t for path, t, before in paths if path[j] == r and (before[j] == r) == again)
                assert score + beta[j + 1, r] == pytest.approx(max(through, default=-math.inf))
        if node.live_null[j, r]:
            through = max((t for path, t, before in paths if path[j] == 0 and before[j] == r), default=-math.inf)
            assert delta[j, r] + chain.log_null + chain.score[j, 0] + beta[j + 1, r] == pytest.approx(through)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(0, 2), st.integers(0, 5))
def test_row_margins_are_the_best_enumerated_subsets(seed, J, low, high):
    rng = np.random.default_rng(seed)
    price, fertility = (
        rng.normal(size=(1, J, 1)),
        np.where(rng.random((1, J + 1)) < 0.2, -math.inf, rng.normal(size=(1, J + 1))),
    )
    live = np.zeros((J, 1), np.uint8), np.ones((J, 1), np.uint8)
    node = Node(np.array([min(low, J)], np.int32), np.array([min(high, J)], np.int32), *live, price)
    lists = lists_of(node, True)
    subsets = [
        (set(taken), sum(price[0, j, 0] for j in taken) + fertility[0, len(taken)])
        for c in range(node.low[0], node.high[0] + 1)
        for taken in itertools.combinations(range(J), c)
    ]
    best, count = best_row(fertility, node, lists, 0)
    assert best == pytest.approx(max((value for _, value in subsets), default=-math.inf))
    if best == -math.inf:
        return
    assert node.low[0] <= count <= node.high[0]
    margins = empty_margins(1, J, 1)
    row_margins(fertility, node, lists, 0, best, margins)
    for j in range(J):
        for margin, taken in ((margins.take[0, j, 0], True), (margins.leave[j, 0], False)):
            through = max((v for subset, v in subsets if (j in subset) == taken), default=-math.inf)
            assert best + margin == pytest.approx(through)
    for c in range(node.low[0], node.high[0] + 1):
        through = max(value for taken, value in subsets if len(taken) == c)
        assert margins.sums[c] + fertility[0, c] == pytest.approx(through)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1), st.integers(1, 4), st.sampled_from([0.0, 0.3, 0.7]), st.integers(0, 1), st.integers(1, 4)
)
def test_margins_of_runs_are_the_best_enumerated_choices(seed, J, dead, low, high):
    problem, node = laid_out(np.random.default_rng(seed), 2, J, dead)
    lists, margins = lists_of(node, True), empty_margins(2, J, 3)
    node.low[:], node.high[:] = low, np.minimum(high, node.high)
    for r in range(3):
        choices = list(row_choices(r, problem, node))
        best = max((value for *_, value in choices), default=-math.inf)
        suffix = suffix_of(problem, node, lists, r)
        assert suffix[0, 0, 0] == pytest.approx(best)
        if best == -math.inf:
            continue
        picks = np.zeros((3, J + 1), np.uint8)
        trace_runs(node.price, lists, r, suffix, picks)
        columns = lists.cells[r, 1 : lists.cells[r, 0] + 1]
        taken = picks[r, 1 : lists.cells[r, 0] + 1]
        picked = sum(node.price[kind - 1, j, r] for j, kind in zip(columns, taken, strict=True) if kind)
        assert picked + problem.fertility[r, np.count_nonzero(taken)] == pytest.approx(best)
        run_margins(node.price, lists, r, suffix, margins)
        take, leave, keep, sums, _ = margins
        for j in columns:
            found = {"jump": take[0, j, r], "stay": take[1, j, r], "keep": keep[j, r], "out": leave[j, r]}
            for what, margin in found.items():
                if r == 0 and what == "keep":
                    continue
                through = max((value for path, _, value in choices if path[j] == what), default=-math.inf)
                assert best + margin == pytest.approx(through)
        for c in range(low, node.high[r] + 1):
            through = max((value for _, count, value in choices if count == c), default=-math.inf)
            assert sums[c] + problem.fertility[r, c] == pytest.approx(through)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.integers(1, 3))
def test_rows_of_exactly_j_cells_are_the_best_enumerated(seed, I, J):
    rng = np.random.default_rng(seed)
    price, fertility = rng.normal(size=(1, J, I + 1)), rng.normal(size=(I + 1, J + 1))
    cells = np.tile(np.arange(-1, J, dtype=np.int32), (I + 1, 1))
    cells[:, 0] = J
    picked = np.empty((J, I + 1), np.uint8)
    value = best_rows(fertility, price, cells, picked, False)
    assert value == pytest.approx(naive.best_rows(fertility, price[0]))
    counts = picked.sum(axis=0)
    assert counts.sum() == J
    assert value == pytest.approx((price[0] * picked).sum() + sum(fertility[r, c] for r, c in enumerate(counts)))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.integers(1, 4))
def test_free_rows_are_the_best_enumerated_each_on_its_own(seed, I, J):
    rng = np.random.default_rng(seed)
    price, fertility = rng.normal(size=(1, J, I + 1)), rng.normal(size=(I + 1, J + 1))
    cells = np.tile(np.arange(-1, J, dtype=np.int32), (I + 1, 1))
    cells[:, 0] = J
    picked = np.empty((J, I + 1), np.uint8)
    value = best_rows(fertility, price, cells, picked, True)
    best = [
        max(
            price[0, list(js), r].sum() + fertility[r, n]
            for n in range(J + 1)
            for js in itertools.combinations(range(J), n)
        )
        for r in range(I + 1)
    ]
    assert value == pytest.approx(sum(best))
    counts = picked.sum(axis=0)
    assert value == pytest.approx((price[0] * picked).sum() + sum(fertility[r, c] for r, c in enumerate(counts)))


@pytest.mark.parametrize("method", ["quirk2013", "quirk2013-free"])
def test_the_printed_algorithm_returns_its_last_alignment_with_a_valid_bound(method):
    rng = np.random.default_rng(3)
    problems = [trained_potentials(rng, 12, 14) for _ in range(20)]
    for problem in problems:
        best, found = fertility_map(*problem), fertility_map(*problem, method=method)
        assert found.score <= best.score + 1e-9
        assert found.bound >= best.score - 1e-9
        assert found.certified == (found.bound <= found.score + 1e-9 * max(1, abs(found.score)))
        assert found.score == pytest.approx(naive.score(found.alignment, *problem))
    one = [fertility_map(*problem, method=method, iterations=1) for problem in problems]
    other = [fertility_map(*problem, method=method, iterations=2) for problem in problems]
    assert any(later.score < before.score for before, later in zip(one, other, strict=True))  # no memory of the best


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 3),
    st.integers(1, 4),
    st.floats(-4.0, 4.0) | st.just(100.0),
    st.sampled_from([0, 1]),
    st.booleans(),
)
def test_pruning_spares_every_alignment_above_the_aim(seed, I, J, aim, first, runs):
    problem, node = laid_out(np.random.default_rng(seed), I, J, 0.1)
    node.price[:, :, :first] = problem.fertility[:first] = 0.0
    problem = problem._replace(first=first)
    if runs:
        problem = split(problem)
    R = I + 1
    better = [(path, before) for path, total, before in live_scores(problem, node) if total > aim]
    lists, trellis, chain = lists_of(node, True), empty_trellis(J, R), chain_scores(problem, node.price)
    if forward(chain, lists, trellis) == -math.inf:
        return
    rows = Rows(np.zeros(R), np.empty((R, J + 1), np.uint8), np.ones(R, np.uint8), np.empty(2 * (J + 1) * (J + 1)))
    for r in range(first, R):
        if runs:
            rows.value[r] = suffix_of(problem, node, lists, r)[0, 0, 0]
        else:
            rows.value[r], _ = best_row(problem.fertility, node, lists, r)
    prune(problem, node, chain, lists, trellis, rows, aim)
    for path, before in better:
        assert all(node.live_link[j, r] if r else node.live_null[j, before[j]] for j, r in enumerate(path))
        assert all(node.low[r] <= path.count(r) <= node.high[r] for r in range(first, R))
    assert node.high.min() >= 0  # tables are as large as the highest count


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.integers(1, 4), st.sampled_from([1, 2, 5, 1000]))
def test_a_search_of_any_width_bounds_the_best_live_alignment(seed, I, J, width):
    problem, node = laid_out(np.random.default_rng(seed), I, J, 0.1)
    best = max((total for _, total, _ in live_scores(problem, node)), default=-math.inf)
    path = np.zeros(J, np.int32)
    for known in (-math.inf, best - 0.01, best):  # the better what is known, the more is dropped
        bound, score = search(split(problem), node, Incumbent(path, known, 1e-9), width)
        assert bound >= best - 1e-9
        assert score <= best + 1e-9
        if width == 1000:
            assert bound == pytest.approx(best)
            assert score == pytest.approx(best)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.integers(1, 4), st.booleans())
def test_the_dual_is_the_best_path_plus_the_best_rows(seed, I, J, runs):
    problem, node = laid_out(np.random.default_rng(seed), I, J, 0.1)
    if not runs:
        node.price[1] = node.price[0]
    dual = max((total for _, total, _ in live_paths(problem, node, node.price)), default=-math.inf)
    for r in range(I + 1):
        columns = [j for j in range(J) if (node.live_link[j, r] if r else node.live_null[j].any())]
        cells = (
            sum(node.price[0, j, r] for j in taken) + problem.fertility[r, len(taken)]
            for c in range(len(columns) + 1)
            for taken in itertools.combinations(columns, c)
        )
        dual += max((value for *_, value in row_choices(r, problem, node)) if runs else cells)
    problem = split(problem) if runs else problem
    known = Incumbent(np.zeros(J, np.int32), -math.inf, 1e-9)
    bound, _, used = ascend(problem, node, known, False, 1, -1, np.zeros((J, I + 1)))
    assert used == 1
    assert bound == pytest.approx(dual)


def test_runs_close_a_gap_that_no_prices_of_cells_can_close():
    # Each source word has two target words and wants one; the chain likes both or none.  Half of each is one on average.
    I, J = 4, 8
    emission = np.full((J, I + 1), -30.0)
    emission[:, 0] = emission[np.arange(J), np.arange(J) // 2 + 1] = 0.0
    transition = np.full((I + 1, I), -1.0)
    transition[np.arange(1, I + 1), np.arange(I)] = 2.0
    fertility = np.zeros((I + 1, J + 1))
    fertility[1:] = -4.0
    fertility[1:, 1] = 0.0
    problem = plain_problem(emission, transition, 0.0, fertility, first=1)
    bounds = []
    for arranged in (problem, split(problem)):
        live = np.tile(np.arange(I + 1) > 0, (J, 1)).astype(np.uint8), np.ones((J, I + 1), np.uint8)
        counts = np.zeros(I + 1, np.int32), np.full(I + 1, J, np.int32)
        known = Incumbent(np.zeros(J, np.int32), -math.inf, 1e-9)
        node = Node(*counts, *live, np.zeros((2, J, I + 1)))
        bounds.append(ascend(arranged, node, known, False, 300, -1, np.zeros(emission.shape))[0])
    assert bounds[0] >= 0.5 * I
    assert bounds[1] <= -1.0 * I + 0.01  # the score of the best alignment, one link per word


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.integers(1, 4))
def test_each_live_alignment_is_in_exactly_one_branch(seed, I, J):
    rng = np.random.default_rng(seed)
    problem, node = laid_out(rng, I, J, 0.2)
    options = node.live_link.sum(axis=1) + node.live_null.any(axis=1)
    if options.max() < 2:
        return  # one row per column: nothing to split
    whole = {path for path, *_ in live_scores(problem, node)}
    parts = [
        {path for path, *_ in live_scores(problem, part)}
        for part in _branches(node, rng.integers(0, 5, size=problem.emission.shape) + 0.1)
    ]
    assert parts[0] | parts[1] == whole
    assert not parts[0] & parts[1]
    for part in _branches(node, rng.random(problem.emission.shape)):
        assert part.live_link.sum() + part.live_null.sum() < node.live_link.sum() + node.live_null.sum()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40))
def test_equal_keys_do_not_unite_different_states(seed, m):
    rng = np.random.default_rng(seed)
    R, n = 4, 6
    position, counts = rng.integers(0, R, (1, n)).astype(np.int32), rng.integers(0, 2, (1, n, 3)).astype(np.int16)
    slot = np.array([-1, 0, 1, 2], np.int32)
    left = np.array([1, 1, 2, 0], np.int32)  # rows 1 and 2 are counted, row 3 no more
    parent, choice = rng.integers(0, n, m).astype(np.int32), rng.integers(0, R, m).astype(np.int32)
    bounds = rng.normal(size=m)
    best = {}
    for s, r, bound in zip(parent, choice, bounds, strict=True):
        counted = [counts[0, s, k] + (slot[r] == k) for k in range(2)]
        state = (r or position[0, s], *counted)
        best[state] = max(best.get(state, -math.inf), bound)
    tracked = Counted(slot, np.zeros(4, np.uint64), left, np.zeros(R, np.int32))
    states = States(position, np.zeros((1, n)), np.zeros((1, n), np.uint64), counts)
    children = Children(parent, choice, np.zeros(m), bounds, np.zeros(m, np.uint64))
    assert _unite(tracked, states, children, 0, m) == len(best)
    assert sorted(bounds[choice >= 0]) == sorted(best.values())
