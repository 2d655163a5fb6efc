"""Alignments as one position per token: where chains begin, and what becomes of the one that is chosen."""

from __future__ import annotations

from dovetail.kernels import kernel
from dovetail.kernels.hmm.best import NULL, best_partner
from dovetail.kernels.hmm.viterbi import FORWARD, REVERSE
from dovetail.kernels.records import CELL, COLUMN, LENGTH_I, LENGTH_J, ROW, SOURCE, TARGET


@kernel
def best_words(first_piece, last_piece, pieces, nulls, work, a, b):
    """IBM Model 1's best alignments: forward's to `a`, one entry per target token, reverse's to `b`, one per source token.

    The workspace has the translation probabilities.
    """
    for piece in range(first_piece, last_piece):
        line = pieces.lines[piece]
        I, J, cell = line[LENGTH_I], line[LENGTH_J], line[CELL]
        for j in range(J):
            null = nulls.forward[pieces.target_ids[line[TARGET] + j]]
            a[line[COLUMN] + j] = best_partner(work.forward, cell + j, J, I, null)
        for i in range(I):
            null = nulls.reverse[pieces.source_ids[line[SOURCE] + i]]
            b[line[ROW] + i] = best_partner(work.reverse, cell + i * J, 1, J, null)


@kernel
def mark(first_piece, last_piece, lines, a, b, marks):
    """Mark the links of alignments `a` and `b`, laid out as `best_words` does."""
    for piece in range(first_piece, last_piece):
        line = lines[piece]
        J, cell = line[LENGTH_J], line[CELL]
        for j in range(J):
            i = a[line[COLUMN] + j]
            if i != NULL:
                marks[cell + i * J + j] |= FORWARD
        for i in range(line[LENGTH_I]):
            j = b[line[ROW] + i]
            if j != NULL:
                marks[cell + i * J + j] |= REVERSE
