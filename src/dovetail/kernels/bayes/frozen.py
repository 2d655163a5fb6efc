"""Sampling new text's alignments with all parameters as they are: the HMM with jumps and fertility, by sentence."""

from __future__ import annotations

import math

import numpy as np

from dovetail.kernels import kernel, leaf
from dovetail.kernels.bayes.draw import STAYS, credit, draw_link, draws_of, look_around
from dovetail.kernels.bayes.records import FrozenRoom, Sentence
from dovetail.kernels.gibbs.random import stream, uniform
from dovetail.kernels.hmm.best import NULL, best_partner
from dovetail.kernels.hmm.dense import largest
from dovetail.kernels.records import CELL


@leaf
def more(model, word, count):
    """p(count + 1 | word) / p(count | word): a column of `ratios`, then `tail`."""
    return model.ratios[word, count] if count < model.ratios.shape[1] else np.float32(model.tail)


@leaf
def begin(sentence, model, draws):
    """A start from left to right: for each word the best place given the one before, NULL where that is better."""
    J, I = sentence.emission.shape
    jump, first, _ = model.moves
    middle = len(jump) // 2
    p0 = np.float32(model.p0)
    before = NULL
    for j in range(J):
        for i in range(I):
            move = first[i] if before == NULL else jump[middle + i - before]
            draws.weight[i] = draws.reach.link * sentence.emission[j, i] * move
        # NULL leaves the jump to the next word, which will be one to the right more often than not.
        best = best_partner(draws.weight, 0, 1, I, p0 * sentence.nulls[j] * jump[middle + 1])
        sentence.alignment[j] = best
        if best != NULL:
            before = best


@leaf
def log_score(sentence, model, links):
    """log of the joint probability of the sentence and its alignment; logarithms are taken of long products only.

    Without a factor of its own for NULL's number and with one for the last link: not the score of `gibbs.tally`.
    """
    J, I = sentence.emission.shape
    jump, first, last = model.moves
    middle = len(jump) // 2
    p0 = np.float32(model.p0)
    before = NULL
    score = 0.0
    for i in range(I):
        score += model.zero[sentence.words[i]]
        links[i] = 0
    product = 1.0
    for j in range(J):
        i = sentence.alignment[j]
        if i == NULL:
            product *= np.float64(p0) * sentence.nulls[j]
        else:
            product *= (1.0 - p0) * sentence.emission[j, i] * more(model, sentence.words[i], links[i])
            product *= first[i] if before == NULL else jump[middle + i - before]
            links[i] += 1
            before = i
        if product < 1e-200:
            score += math.log(product) if product > 0.0 else -1e6
            product = 1.0
    if before != NULL:
        product *= last[I - 1 - before]
    return score + (math.log(product) if product > 0.0 else -1e6)


@leaf
def sweep(key, sentence, model, weight, draws):
    """Draw every link once, from left to right; `weight` is what the sweep counts, nothing while burning in."""
    J, I = sentence.emission.shape
    words, alignment = sentence.words, sentence.alignment
    links, gains = draws.links, draws.scale
    p0 = np.float32(model.p0)
    look_around(alignment, I, draws)
    for i in range(I):
        gains[i] = more(model, words[i], links[i])
    before = NULL
    for j in range(J):
        old = alignment[j]
        if old != NULL:
            links[old] -= 1
            gains[old] = more(model, words[old], links[old])
        row, null = sentence.emission[j], p0 * sentence.nulls[j]
        new, null, total = draw_link(row, np.float32(0.0), null, before, draws.after[j], uniform(key, j), draws)
        if new == STAYS:
            new = old
        elif weight > np.float32(0.0):
            sentence.null_mean[j] += null * (weight / total)
            credit(draws.weight, I, weight / total, sentence.mean[j], 0, 1)
        alignment[j] = new
        if new != NULL:
            links[new] += 1
            gains[new] = more(model, words[new], links[new])
            before = new


@leaf
def sample_piece(line, direction, model, chains, cells, null_posterior, scratch):
    """Sample one piece; returns the best log-score."""
    given, made, reverse = direction.given, direction.made, direction.reverse
    I, J = line[given.length], line[made.length]
    words = direction.given_ids[line[given.start] : line[given.start] + I]
    emission, mean = scratch.emission[: I * J].reshape(J, I), scratch.mean[: I * J].reshape(J, I)
    sentence = Sentence(words, emission, scratch.nulls[:J], mean, scratch.null_mean[:J], scratch.alignment[:J])
    # Cell (i, j) of this direction is at i * stride + j * step.
    step, stride = (I, 1) if reverse else (1, J)
    for j in range(J):
        sentence.nulls[j] = model.nulls[direction.made_ids[line[made.start] + j]]
        sentence.null_mean[j] = np.float32(0.0)
        for i in range(I):
            sentence.emission[j, i] = cells[line[CELL] + i * stride + j * step]
            sentence.mean[j, i] = np.float32(0.0)
    sweeps = chains.burn_in + chains.samples
    best = -np.inf
    for restart in range(chains.restarts):
        begin(sentence, model, scratch.draws)
        for turn in range(sweeps):
            counted = turn >= chains.burn_in
            key = stream(chains.seed, restart * sweeps + turn, I << 20 | J)
            weight = np.float32(1.0 / (chains.restarts * chains.samples)) if counted else np.float32(0.0)
            sweep(key, sentence, model, weight, scratch.draws)
            if counted:
                best = max(best, log_score(sentence, model, scratch.draws.links))
    for j in range(J):
        null_posterior[line[made.place] + j] = sentence.null_mean[j]
        for i in range(I):
            cells[line[CELL] + i * stride + j * step] = sentence.mean[j, i]
    return best


@kernel
def sample(first_piece, last_piece, direction, model, chains, cells, null_posterior, scores):
    """Pieces first_piece..last_piece - 1 of a block in one direction: `cells` hold probabilities and then marginals.

    What is averaged is not the draws but the conditional probabilities that they are drawn from.  The random numbers depend
    on a piece's lengths and not on its place in the text.  `scores` (pieces,) get the log-score of the best alignment seen.
    """
    longest, largest_cells = largest(first_piece, last_piece, direction.pieces.lines)
    link = np.float32(1.0) - np.float32(model.p0)
    draws = draws_of(longest, model.moves, link, True, 4)
    areas, rows = np.empty((2, largest_cells), np.float32), np.empty((2, longest), np.float32)
    scratch = FrozenRoom(draws, areas[0], areas[1], rows[0], rows[1], np.empty(longest, np.int64))
    for piece in range(first_piece, last_piece):
        line = direction.pieces.lines[piece]
        scores[piece] = sample_piece(line, direction, model, chains, cells, null_posterior, scratch)
