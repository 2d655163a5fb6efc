"""Alignments as a position a token: where chains begin, and what becomes of the one that is chosen."""

from __future__ import annotations

from dovetail.kernels import kernel
from dovetail.kernels.gibbs.sweep import NULL
from dovetail.kernels.records import CELL, COLUMN, LENGTH_I, LENGTH_J, ROW, SOURCE, TARGET


@kernel
def best_words(
    first_piece, last_piece, lines, source_ids, target_ids, null_forward, null_reverse, forward, reverse, a, b
):
    """IBM Model 1's best alignments: forward's to `a`, an entry a target token, and reverse's to `b`, one a source token."""
    for piece in range(first_piece, last_piece):
        line = lines[piece]
        I, J, cell = line[LENGTH_I], line[LENGTH_J], line[CELL]
        for j in range(J):
            best = NULL
            value = null_forward[target_ids[line[TARGET] + j]]
            for i in range(I):
                if forward[cell + i * J + j] > value:
                    value = forward[cell + i * J + j]
                    best = i
            a[line[COLUMN] + j] = best
        for i in range(I):
            best = NULL
            value = null_reverse[source_ids[line[SOURCE] + i]]
            for j in range(J):
                if reverse[cell + i * J + j] > value:
                    value = reverse[cell + i * J + j]
                    best = j
            b[line[ROW] + i] = best


@kernel
def mark(first_piece, last_piece, lines, a, b, forward_mark, reverse_mark, marks):
    """Mark the links of alignments `a` and `b`, laid out as `best_words` does."""
    for piece in range(first_piece, last_piece):
        line = lines[piece]
        J, cell = line[LENGTH_J], line[CELL]
        for j in range(J):
            if len(a) > 0 and a[line[COLUMN] + j] != NULL:
                marks[cell + a[line[COLUMN] + j] * J + j] |= forward_mark
        for i in range(line[LENGTH_I]):
            if len(b) > 0 and b[line[ROW] + i] != NULL:
                marks[cell + i * J + b[line[ROW] + i]] |= reverse_mark
