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

from dovetail.kernels import kernel
from dovetail.kernels.bayes.sweep import GIVEN, GIVEN_LENGTH, MADE_PLACE, slot_of
from dovetail.kernels.gibbs.sweep import NULL

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


@kernel
def position(word, nothing, line, side, given_ids):
    """The first position of a word in a piece, NULL for `nothing`, ABSENT if it has none."""
    if word == nothing:
        return NULL
    for i in range(line[side[GIVEN_LENGTH]]):
        if given_ids[line[side[GIVEN]] + i] == word:
            return i
    return ABSENT


@kernel
def best_word(
    tokens, token_piece, lines, side, given_ids, at, links, totals, alpha, mass, hits, share, met, stamp, words
):
    """The word to which the tokens' links would best be moved, by a quick estimate; -1 if none looks better.

    The estimate shares out the worth of a pair's links evenly, as if a pair lost all of them or none.  `hits`, zero before
    and after, is the number of links that would be moved, `share` what they are worth where they are.  A word that has
    met[word] == stamp + t was met in token t's piece.  `words` has room for every word.
    """
    nothing = len(totals) - 1
    n_words = 0
    for t in range(len(tokens)):
        line = lines[token_piece[tokens[t]]]
        here = at[t]
        null = int(here == nothing)
        count = links[here]
        value = worth(0.0, totals[here] - count, count, alpha[null], mass[null]) / count
        for i in range(-1, line[side[GIVEN_LENGTH]]):
            word = nothing if i == NULL else np.int64(given_ids[line[side[GIVEN]] + i])
            if word == here or met[word] == stamp + t:
                continue
            met[word] = stamp + t
            if hits[word] == 0:
                words[n_words] = word
                n_words += 1
                share[word] = 0.0
            hits[word] += 1
            share[word] += value
    best = -1
    gain = MARGIN
    for k in range(n_words):
        word = words[k]
        if hits[word] > 1:  # a single link is the sampler's business
            null = int(word == nothing)
            value = worth(links[word], totals[word], hits[word], alpha[null], mass[null]) - share[word]
            if value > gain:
                gain = value
                best = word
        hits[word] = 0
    return best


@kernel
def gain_of(word, tokens, token_piece, lines, side, given_ids, at, links, totals, alpha, mass, lost):
    """What log P gains if all the tokens' links that can go to the word do.  `lost` is zero before and after."""
    nothing = len(totals) - 1
    moved = 0
    value = 0.0
    for t in range(len(tokens)):
        here = at[t]
        if here == word:
            continue
        if position(word, nothing, lines[token_piece[tokens[t]]], side, given_ids) == ABSENT:
            continue
        lost[here] += 1
        moved += 1
        null = int(here == nothing)
        value -= math.log((links[here] - lost[here] + alpha[null]) / (totals[here] - lost[here] + mass[null]))
    for t in range(len(tokens)):
        lost[at[t]] = 0
    null = int(word == nothing)
    return value + worth(links[word], totals[word], moved, alpha[null], mass[null]) if moved else 0.0


@kernel
def climb(
    order,
    starts,
    token_piece,
    lines,
    side,
    reverse,
    source_ids,
    target_ids,
    row_start,
    rank,
    counts,
    totals,
    null_counts,
    alpha,
    mass,
    most,
    alignment,
):
    """Make block moves of every generated word with 2 to `most` tokens, as long as they pay.

    Tokens of word f are order[starts[f]:starts[f + 1]], in pieces `token_piece`.  `lines`, `rank` and `alignment` are of
    the whole text, `counts`, `totals` and `null_counts` as for `bayes.sweep`; `alpha` and `mass` have the prior's
    parameters of a word's translations and of NULL's.  Changes `alignment`, `totals` and `null_counts`; `counts`, which are
    left as they were, are to be brought after (`bayes_counts.move_links`).  Returns the number of links that moved.
    """
    given_ids = target_ids if reverse else source_ids
    nothing = len(totals) - 1
    at = np.empty(most, np.int64)
    links = np.zeros(len(totals))
    hits = np.zeros(len(totals), np.int64)
    lost = np.zeros(len(totals), np.int64)
    share = np.zeros(len(totals))
    words = np.empty(len(totals), np.int64)
    met = np.full(len(totals), -1, np.int64)
    stamp = 0
    moved = 0
    for f in range(len(starts) - 1):
        tokens = order[starts[f] : starts[f + 1]]
        if len(tokens) < 2 or len(tokens) > most:
            continue
        for t in range(len(tokens)):
            line = lines[token_piece[tokens[t]]]
            j = tokens[t] - line[side[MADE_PLACE]]
            for i in range(line[side[GIVEN_LENGTH]]):
                r, c = (j, i) if reverse else (i, j)
                slot = slot_of(line, r, c, source_ids, target_ids, row_start, rank)
                links[given_ids[line[side[GIVEN]] + i]] = counts[slot]
            i = np.int64(alignment[tokens[t]])
            at[t] = nothing if i == NULL else np.int64(given_ids[line[side[GIVEN]] + i])
        links[nothing] = null_counts[f]
        for _ in range(TURNS):
            word = best_word(
                tokens,
                token_piece,
                lines,
                side,
                given_ids,
                at,
                links,
                totals,
                alpha,
                mass,
                hits,
                share,
                met,
                stamp,
                words,
            )
            stamp += len(tokens)
            if word < 0:
                break
            gain = gain_of(word, tokens, token_piece, lines, side, given_ids, at, links, totals, alpha, mass, lost)
            if gain <= MARGIN:
                break
            for t in range(len(tokens)):
                i = position(word, nothing, lines[token_piece[tokens[t]]], side, given_ids)
                if at[t] == word or i == ABSENT:
                    continue
                links[at[t]] -= 1.0
                totals[at[t]] -= 1.0
                links[word] += 1.0
                totals[word] += 1.0
                alignment[tokens[t]] = i
                at[t] = word
                moved += 1
        null_counts[f] = links[nothing]
    return moved
