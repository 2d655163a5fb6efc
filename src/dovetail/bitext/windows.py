"""Very long pairs are aligned in overlapping windows along the diagonal, a band in effect; none is dropped.

Every other room sees *pieces*: a piece is a pair of token ranges that is aligned as a whole.  An ordinary pair is one
piece, a pair with an empty side is none, and a pair with more than `LONGEST` tokens on a side is several, cut in
proportion and overlapping by `OVERLAP` tokens, so that a link may stray that far from the diagonal.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

LONGEST = 1024
STEP = 256
OVERLAP = 128


@dataclass(frozen=True)
class Windows:
    """Arrays with one entry per piece, in order of pairs.

    `source_start` and `target_start` point into the packed ids, `source_length` (I) and `target_length` (J) count
    tokens.  A piece's answers hold only in its *core*, ranges of positions relative to the piece; cores tile the pair.
    `pair` is the pair's number, `source_offset` and `target_offset` where the piece starts within it.
    """

    pair: np.ndarray
    source_start: np.ndarray
    target_start: np.ndarray
    source_length: np.ndarray
    target_length: np.ndarray
    source_offset: np.ndarray
    target_offset: np.ndarray
    source_core: np.ndarray  # (P, 2)
    target_core: np.ndarray  # (P, 2)

    def __len__(self) -> int:
        return len(self.pair)

    def part(self, first: int, last: int) -> Windows:
        """Pieces first..last - 1, where they are."""
        return Windows(*(getattr(self, own.name)[first:last] for own in fields(self)))


def cut(source_offsets: np.ndarray, target_offsets: np.ndarray, longest: int = LONGEST) -> Windows:
    """The pieces of a packed bitext; offsets are (N + 1,) and point into the ids."""
    source_length = np.diff(source_offsets)
    target_length = np.diff(target_offsets)
    full = (source_length > 0) & (target_length > 0)
    long = full & (np.maximum(source_length, target_length) > longest)
    pair = np.flatnonzero(full & ~long)
    I, J = source_length[pair], target_length[pair]
    zeros = np.zeros(len(pair), np.int64)
    rows = np.stack([pair, source_offsets[pair], target_offsets[pair], I, J, zeros, zeros, zeros, I, zeros, J], axis=1)
    if long.any():
        more = [row for n in np.flatnonzero(long) for row in _windows(int(n), source_offsets, target_offsets)]
        rows = np.concatenate([rows, more])
        rows = rows[np.lexsort(rows.T[[6, 5, 0]])]
    small, columns = rows.astype(np.int32), np.ascontiguousarray(rows[:, :3].T)
    lengths_and_offsets = np.ascontiguousarray(small[:, 3:7].T)
    parts = [*columns, *lengths_and_offsets, small[:, 7:9].copy(), small[:, 9:].copy()]
    return Windows(*parts)


def _windows(n: int, source_offsets: np.ndarray, target_offsets: np.ndarray) -> list[tuple[int, ...]]:
    """Windows of one long pair: cores are the k-th of K equal shares of either side, margins are `OVERLAP` tokens."""
    I = int(source_offsets[n + 1] - source_offsets[n])
    J = int(target_offsets[n + 1] - target_offsets[n])
    K = -(-max(I, J) // STEP)
    rows: list[tuple[int, ...]] = []
    for k in range(K):
        i_low, i_high = k * I // K, (k + 1) * I // K
        j_low, j_high = k * J // K, (k + 1) * J // K
        i_first, i_last = max(0, i_low - OVERLAP), min(I, i_high + OVERLAP)
        j_first, j_last = max(0, j_low - OVERLAP), min(J, j_high + OVERLAP)
        starts = int(source_offsets[n]) + i_first, int(target_offsets[n]) + j_first
        cores = i_low - i_first, i_high - i_first, j_low - j_first, j_high - j_first
        rows.append((n, *starts, i_last - i_first, j_last - j_first, i_first, j_first, *cores))
    return rows
