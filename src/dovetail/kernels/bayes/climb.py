"""Climbing from an alignment to a likelier one by moving many links of a generated word f at once.

A sampler that draws one link at a time has to pay for a new word pair alone: the first link of a pair is worth alpha, the
second a thousand times as much.  Links of f that are scattered over many partners therefore stay so, even where all of f's
sentences have a word e in common and the posterior would rather have f there.  A *block move* takes all tokens of f
whose sentence has e to e, however many partners they come from, if the collapsed posterior (Mermer and Saraçlar 2011,
equation 6) is higher afterwards:

    P(F, A | E) is proportional to the product over e of  Gamma(alpha V) / Gamma(n(e) + alpha V)
                                              and over f of  Gamma(n(e, f) + alpha) / Gamma(alpha)
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.kernels import kernel, leaf
from dovetail.kernels.bayes.records import ClimbRoom
from dovetail.kernels.bayes.slots import link_slot
from dovetail.kernels.hmm.best import NULL

ABSENT = -2
TURNS = 5  # moves of one word in a row
MARGIN = 1e-6  # of log P: less may be rounding


@kernel
def worth(n, total, k, alpha, mass):
    """log of what k more links add to P, of a pair that has n to a word that has `total`."""
    if k == 1:
        return math.log((n + alpha) / (total + mass))
    if k == 2:
        return math.log((n + alpha) * (n + 1 + alpha) / ((total + mass) * (total + 1 + mass)))
    value = math.lgamma(n + k + alpha) - math.lgamma(n + alpha)
    return value - math.lgamma(total + k + mass) + math.lgamma(total + mass)


@leaf
def parameters(word, totals, prior):
    """alpha and its sum, of a word's translations or of NULL's."""
    null = word == len(totals) - 1
    return prior.null_alpha if null else prior.alpha, prior.null_mass if null else prior.mass


@leaf
def word_at(i, line, direction, totals):
    """The word at a position of a piece, NULL's number for NULL."""
    return len(totals) - 1 if i == NULL else np.int64(direction.given_ids[line[direction.given.start] + i])


@leaf
def position(word, line, direction, totals):
    """The first position of a word in a piece, NULL for that, ABSENT if it has none."""
    if word == len(totals) - 1:
        return NULL
    for i in range(line[direction.given.length]):
        if direction.given_ids[line[direction.given.start] + i] == word:
            return i
    return ABSENT


@kernel
def best_word(tokens, token_piece, stamp, direction, totals, prior, scratch):
    """The word to which the tokens' links would best be moved, by a quick estimate; -1 if none looks better.

    The estimate shares out the worth of a pair's links evenly, as if a pair lost all of them or none.  Token t has the
    number stamp + t.
    """
    at, links, hits, held, _, words, met = scratch
    n_words = 0
    for t in range(len(tokens)):
        line = direction.pieces.lines[token_piece[tokens[t]]]
        here = at[t]
        alpha, mass = parameters(here, totals, prior)
        count = links[here]
        value = worth(0.0, totals[here] - count, count, alpha, mass) / count
        for i in range(-1, line[direction.given.length]):
            word = word_at(i, line, direction, totals)
            if word == here or met[word] == stamp + t:
                continue
            met[word] = stamp + t
            if hits[word] == 0:
                words[n_words] = word
                n_words += 1
                held[word] = 0.0
            hits[word] += 1
            held[word] += value
    best = -1
    gain = MARGIN
    for k in range(n_words):
        word = words[k]
        if hits[word] > 1:  # a single link is the sampler's business
            alpha, mass = parameters(word, totals, prior)
            value = worth(links[word], totals[word], hits[word], alpha, mass) - held[word]
            if value > gain:
                gain = value
                best = word
        hits[word] = 0
    return best


@kernel
def gain_of(word, tokens, token_piece, direction, totals, prior, scratch):
    """What log P gains if all the tokens' links that can go to the word do."""
    at, links, lost = scratch.at, scratch.links, scratch.lost
    moved = 0
    value = 0.0
    for t in range(len(tokens)):
        here = at[t]
        if here == word:
            continue
        if position(word, direction.pieces.lines[token_piece[tokens[t]]], direction, totals) == ABSENT:
            continue
        lost[here] += 1
        moved += 1
        alpha, mass = parameters(here, totals, prior)
        value -= math.log((links[here] - lost[here] + alpha) / (totals[here] - lost[here] + mass))
    for t in range(len(tokens)):
        lost[at[t]] = 0
    alpha, mass = parameters(word, totals, prior)
    return value + worth(links[word], totals[word], moved, alpha, mass) if moved else 0.0


@kernel
def climb(occurrences, direction, counts, prior, most, alignment):
    """Make block moves of every generated word with 2 to `most` tokens, as long as they pay.

    `direction` and `alignment` are of the whole text.  Changes the alignment, totals and NULL's counts; counts of slots,
    which are left as they were, are to be brought after (`counts.move_links`).  Returns the number of links that moved.
    """
    order, starts, token_piece = occurrences
    totals, lines = counts.totals, direction.pieces.lines
    size = len(totals)
    at, values, numbers = np.empty(most, np.int64), np.zeros((2, size)), np.zeros((3, size), np.int64)
    links, met = values[0], np.full(size, -1, np.int64)
    scratch = ClimbRoom(at, links, numbers[0], values[1], numbers[1], numbers[2], met)
    stamp = 0
    moved = 0
    for f in range(len(starts) - 1):
        tokens = order[starts[f] : starts[f + 1]]
        if len(tokens) < 2 or len(tokens) > most:
            continue
        for t in range(len(tokens)):
            line = lines[token_piece[tokens[t]]]
            j = tokens[t] - line[direction.made.place]
            for i in range(line[direction.given.length]):
                links[word_at(i, line, direction, totals)] = counts.links[link_slot(line, i, j, direction)]
            at[t] = word_at(np.int64(alignment[tokens[t]]), line, direction, totals)
        links[size - 1] = counts.nulls[f]
        for _ in range(TURNS):
            word = best_word(tokens, token_piece, stamp, direction, totals, prior, scratch)
            stamp += len(tokens)
            if word < 0:
                break
            if gain_of(word, tokens, token_piece, direction, totals, prior, scratch) <= MARGIN:
                break
            for t in range(len(tokens)):
                i = position(word, lines[token_piece[tokens[t]]], direction, totals)
                if at[t] == word or i == ABSENT:
                    continue
                links[at[t]] -= 1.0
                totals[at[t]] -= 1.0
                links[word] += 1.0
                totals[word] += 1.0
                alignment[tokens[t]] = i
                at[t] = word
                moved += 1
        counts.nulls[f] = links[size - 1]
    return moved
