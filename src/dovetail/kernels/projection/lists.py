"""Which cells of which pieces a constraint on pairs of word classes speaks of."""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel, leaf
from dovetail.kernels.lexicon.search import place_of


@leaf
def class_at(side, piece, position):
    """The class of a token, or -1."""
    return side.class_of[side.ids[side.start[piece] + position]]


@leaf
def named(e, f, keys, width):
    """Whether a pair of classes is among the keys."""
    return e >= 0 and f >= 0 and place_of(e * width + f, keys, 0, len(keys)) >= 0


@leaf
def touched(entries, constraint, J, length, rows):
    """How many rows, or columns, of a piece have a cell among a constraint's entries."""
    count = 0
    for place in range(length):
        for x in range(len(entries)):
            cell = entries[x, 1]
            if entries[x, 2] == constraint and (cell // J if rows else cell % J) == place:
                count += 1
                break
    return count


@kernel
def list_pairs(source, target, keys, width, by_word):
    """Cells whose source class * width + target class is among `keys`, gathered into constraints by direction and piece.

    A piece has one constraint per direction, or, `by_word`, one for each word type that chooses in that direction: each
    target word in the forward direction, each source word in reverse.  Returns, per constraint: its piece, and how many
    links it can have at most (the lesser of the tokens of either side that it touches); per entry: its piece, and the
    three columns of `records.Listed.entries`.
    """
    n = 0
    for piece in range(len(source.start)):
        for i in range(source.length[piece]):
            e = class_at(source, piece, i)
            for j in range(target.length[piece] if e >= 0 else 0):
                n += 2 * named(e, class_at(target, piece, j), keys, width)
    bound_piece = np.empty(n, np.int64)
    number = np.empty(n, np.float64)
    entry_piece = np.empty(n, np.int64)
    entries = np.empty((n, 3), np.int32)
    owner = np.full(max(1, len(source.class_of), len(target.class_of)) if by_word else 1, -1, np.int64)
    used, bounds = 0, 0
    for piece in range(len(source.start)):
        I, J = source.length[piece], target.length[piece]
        first, first_entry = bounds, used
        for d in range(2):
            here = bounds
            for i in range(I):
                e = class_at(source, piece, i)
                for j in range(J if e >= 0 else 0):
                    f = class_at(target, piece, j)
                    if not named(e, f, keys, width):
                        continue
                    group = 0
                    if by_word:
                        group = f if d == 0 else e
                    if owner[group] < here:
                        owner[group] = bounds
                        bound_piece[bounds] = piece
                        bounds += 1
                    entry_piece[used] = piece
                    entries[used, 0], entries[used, 1], entries[used, 2] = d, i * J + j, owner[group] - first
                    used += 1
        for k in range(first, bounds):
            number[k] = 1.0
            if by_word:
                own = entries[first_entry:used]
                number[k] = min(touched(own, k - first, J, I, True), touched(own, k - first, J, J, False))
    return bound_piece[:bounds], number[:bounds], entry_piece, entries
