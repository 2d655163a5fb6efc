"""Which cells of which pieces a constraint on pairs of word classes speaks of."""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.lexicon.search import place_of


@kernel
def list_pairs(
    source_ids, target_ids, source_start, target_start, source_length, target_length, source_class, target_class, keys,
    width, by_word,
):  # fmt: skip
    """Cells whose source_class * width + target_class is among `keys`, gathered into constraints a direction and piece.

    A piece has one constraint a direction, or, `by_word`, one for each word type that chooses in that direction: each
    target word in the forward direction, each source word in reverse.  Returns, a constraint: its piece, and how many
    links it can have at most (the lesser of the tokens of either side that it touches); an entry: piece, direction, cell,
    constraint (counted from the piece's first).
    """
    n = 0
    for piece in range(len(source_start)):
        for i in range(source_length[piece]):
            e = source_class[source_ids[source_start[piece] + i]]
            if e >= 0:
                for j in range(target_length[piece]):
                    f = target_class[target_ids[target_start[piece] + j]]
                    if f >= 0 and place_of(e * width + f, keys, 0, len(keys)) >= 0:
                        n += 2
    bound_piece = np.empty(n, np.int64)
    number = np.empty(n, np.float64)
    entry_piece = np.empty(n, np.int64)
    direction = np.empty(n, np.uint8)
    cell = np.empty(n, np.int32)
    constraint = np.empty(n, np.int32)
    classes = 1
    if by_word:
        classes = max(1, len(source_class), len(target_class))
    owner = np.full(classes, -1, np.int64)
    used, bounds = 0, 0
    for piece in range(len(source_start)):
        I, J = source_length[piece], target_length[piece]
        first, first_entry = bounds, used
        for d in range(2):
            here = bounds
            for i in range(I):
                e = source_class[source_ids[source_start[piece] + i]]
                if e < 0:
                    continue
                for j in range(J):
                    f = target_class[target_ids[target_start[piece] + j]]
                    if f < 0 or place_of(e * width + f, keys, 0, len(keys)) < 0:
                        continue
                    group = 0
                    if by_word:
                        group = f if d == 0 else e
                    if owner[group] < here:
                        owner[group] = bounds
                        bound_piece[bounds] = piece
                        bounds += 1
                    entry_piece[used] = piece
                    direction[used] = d
                    cell[used] = i * J + j
                    constraint[used] = owner[group] - first
                    used += 1
        for k in range(first, bounds):
            sources, targets = 0, 0
            for i in range(I):
                for x in range(first_entry, used):
                    if constraint[x] == k - first and cell[x] // J == i:
                        sources += 1
                        break
            for j in range(J):
                for x in range(first_entry, used):
                    if constraint[x] == k - first and cell[x] % J == j:
                        targets += 1
                        break
            number[k] = min(sources, targets) if by_word else 1.0
    return bound_piece[:bounds], number[:bounds], entry_piece, direction, cell, constraint
