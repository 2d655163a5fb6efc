"""From candidates to log-odds: what is known of some hundred of them at a time, and both stages of trees over that."""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.learned.features import FEATURES, OBSERVED, describe, describe_beliefs
from dovetail.kernels.learned.habits import recall_pairs, recall_words
from dovetail.kernels.learned.records import Desk
from dovetail.kernels.learned.trees import log_odds

ALL, OF_WORDS, OF_PAIRS = len(FEATURES), len(OBSERVED), len(FEATURES) - 2
TOGETHER = 512  # candidates whose facts stay in the second cache
LOWEST = -700.0  # exp(700) still is a number


@kernel
def judge(first, last, pieces, facts, translations, work, numbers, cells, stages, limits, sums):
    """Log-odds of the candidates `cells`, `numbers` per piece of first..last - 1, in `sums`."""
    desk = set_up(max(TOGETHER, numbers.max()), stages.facts)
    begin, done = first, 0
    while begin < last:
        end, number = begin + 1, numbers[begin - first]
        while end < last and number + numbers[end - first] <= TOGETHER:
            number += numbers[end - first]
            end += 1
        here, those = numbers[begin - first : end - first], cells[done : done + number]
        describe(begin, end, pieces, facts, translations, work, here, those, desk.told)
        recall_words(begin, end, pieces, facts.source_habits, facts.target_habits, here, those, OF_WORDS, desk.told)
        recall_pairs(begin, end, pieces, facts.pairs, here, those, OF_PAIRS, desk.told)
        ask(begin, end, pieces[0], here, those, stages, limits, desk, sums[done : done + number])
        begin, done = end, done + number


@kernel
def judge_told(first, last, lines, numbers, cells, told, stages, limits, sums):
    """The same of candidates that are described already, in `told` (facts, candidates)."""
    number = len(cells)
    desk = set_up(number, stages.facts)
    desk.told[: len(told), :number] = told[: stages.facts]
    ask(first, last, lines, numbers, cells, stages, limits, desk, sums)


@kernel
def set_up(number, facts):
    """A desk for so many candidates."""
    columns = (
        (number + 15) // 16 | 1
    ) * 16  # an odd number of cache lines: a column's facts do not push each other out
    total, belief = np.empty(columns, np.float32), np.empty(columns, np.float32)
    place, kept = np.empty(columns, np.int64), np.empty(columns, np.int64)
    told, known = np.zeros((facts, columns), np.float32), np.zeros((facts, columns), np.float32)
    return Desk(told, known, total, place, kept, np.empty(columns, np.bool_), belief)


@kernel
def ask(first, last, lines, numbers, cells, stages, limits, desk, sums):
    """Both stages about what lies on the desk; the second about those that the first left in doubt."""
    number, waiting, belief = len(cells), desk.waiting, desk.belief
    waiting[:number] = True
    log_odds(stages.first, ALL, number, waiting, limits.hopeless, limits.given_up, desk, sums)
    if len(stages.second.feature) == 0:
        return
    for k in range(number):
        belief[k] = np.float32(1.0 / (1.0 + np.exp(-max(np.float64(sums[k]), LOWEST))))
        waiting[k] = waiting[k] and sums[k] < limits.doubt
    describe_beliefs(first, last, lines, numbers, cells, belief, waiting, ALL, desk.told)
    log_odds(stages.second, stages.facts, number, waiting, limits.hopeless, limits.given_up, desk, sums)
