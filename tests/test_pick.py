"""Which pairs to annotate, against a slow choice that looks at every pair anew."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail import Alignments, Bitext
from dovetail.learning import pick
from dovetail.learning.pick import worth_annotating


def bits(p):
    p = min(max(p, 1e-6), 1 - 1e-6)
    return -(p * math.log2(p) + (1 - p) * math.log2(1 - p))


def slow_choice(pairs, cells, number):
    """Of each class of lengths in turn the pair with most open, every value counted anew for every choice."""

    def still_open(n):
        source, target = pairs[n]
        return sum(
            bits(p) / (1 + (times[0].get(source[i], 0) + times[1].get(target[j], 0)) / 2)
            for (i, j), p in cells[n].items()
        )

    times, best, owner = [{}, {}], [], {}
    alone = {n: still_open(n) for n in range(len(pairs)) if all(0 < len(side) <= pick.LONGEST for side in pairs[n])}
    for n in sorted(alone, key=lambda n: (-round(alone[n], 9), n)):
        same = [owner[key] for key in ((0, tuple(pairs[n][0])), (1, tuple(pairs[n][1]))) if key in owner]
        if not same:
            best.append(n)
        for side in (0, 1):
            owner.setdefault((side, tuple(pairs[n][side])), n)
    ordered = sorted(best, key=lambda n: -sum(map(len, pairs[n])))
    classes = [part.tolist() for part in np.array_split(np.array(ordered, int), pick.CLASSES)]
    taken = []
    while len(taken) < number and any(classes):
        of = classes[len(taken) % pick.CLASSES] or next(filter(None, classes))
        chosen = min(of, key=lambda n: (-round(still_open(n), 9), n))
        of.remove(chosen)
        taken.append(chosen)
        for side, other in ((0, 0), (1, 1)):
            for word in {pairs[chosen][side][cell[other]] for cell in cells[chosen]}:
                times[side][word] = times[side].get(word, 0) + 1
    return taken


@st.composite
def doubted(draw):
    """Pairs of few words, all different sentences, with probabilities that have no ties."""
    size = draw(st.integers(1, 14))
    seed = draw(st.integers(0, 2**32 - 1))
    random = np.random.default_rng(seed)
    pairs, cells = [], []
    for n in range(size):
        I, J = random.integers(1, 7, 2)
        source = [f"s{k}" for k in random.integers(0, 6, I)] + [f"only{n}"]
        target = [f"t{k}" for k in random.integers(0, 6, J)] + [f"only{n}"]
        pairs.append((source, target))
        places = {(int(i), int(j)) for i, j in zip(random.integers(0, I, 6), random.integers(0, J, 6), strict=True)}
        cells.append({place: float(np.float32(random.uniform(0.01, 1))) for place in sorted(places)})
    return pairs, cells, draw(st.integers(1, size + 2))


@settings(deadline=None, max_examples=150)
@given(doubted())
def test_the_quick_choice_is_the_slow_one(drawn):
    pairs, cells, number = drawn
    bitext = Bitext.from_pairs(pairs)
    candidates = Alignments.from_links([list(c) for c in cells], [list(c.values()) for c in cells], bitext.lengths)
    assert worth_annotating(candidates, bitext, number) == slow_choice(pairs, cells, number)


def chosen(pairs, cells, number):
    bitext = Bitext.from_pairs(pairs)
    candidates = Alignments.from_links([list(c) for c in cells], [list(c.values()) for c in cells], bitext.lengths)
    return worth_annotating(candidates, bitext, number)


def test_lengths_take_turns_and_words_are_not_asked_for_twice():
    pairs = [([f"a{n}"] * size, [f"b{n}"] * size) for n, size in enumerate((30, 29, 28, 12, 11, 10, 3, 2, 1))]
    cells = [{(i, i): 0.5 for i in range(len(source))} for source, _ in pairs]
    assert chosen(pairs, cells, 6) == [0, 3, 6, 1, 4, 7]
    same = [(["house", f"x{n}"], ["maison", f"y{n}"]) for n in range(3)] + [(["cat", "z"], ["chat", "w"])]
    doubts = [{(0, 0): 0.5}] * 3 + [{(0, 0): 0.3}]
    order = chosen(same * 1, doubts, 4)
    assert order[0] == 0
    assert order.index(3) < 3, "a new word comes before one that was asked for, though it is less doubtful"


def test_pairs_that_nobody_would_annotate_are_left_out():
    words = [f"w{n}" for n in range(70)]
    pairs = [(words, words), (["a"], []), (["b"], ["c"]), (["b"], ["d"])]
    cells = [{(0, 0): 0.5}, {}, {(0, 0): 0.4}, {(0, 0): 0.5}]
    assert chosen(pairs, cells, 4) == [3], "too long; without words; and of two with one sentence the more doubtful"


def test_behind_the_spread_ones_the_others_follow_by_their_doubt(monkeypatch):
    monkeypatch.setattr(pick, "SPREAD", 2)
    pairs = [([f"a{n}"] * (n + 1), [f"b{n}"]) for n in range(6)]
    cells = [{(0, 0): 0.5 - 0.02 * n} for n in range(6)]
    first, second, *rest = chosen(pairs, cells, 6)
    assert rest == [n for n in range(6) if n not in (first, second)]
