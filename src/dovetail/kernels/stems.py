"""Slots of stem pairs: what word pairs share when their stems are the same."""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel


@kernel
def group_slots(words_by_stem, stem_starts, row_start, target, target_stem, n_target_stems, group):
    """Number the pairs (stem of e, stem of f) over all slots: `group[slot]` (int32).

    Walks each source stem's words and numbers their target stems as they first appear.  Returns the target stem of
    each group and where each source stem's groups start.
    """
    seen = np.full(n_target_stems, -1, np.int64)
    partners = np.empty(len(target), np.int32)
    starts = np.zeros(len(stem_starts), np.int64)
    used = 0
    for stem in range(len(stem_starts) - 1):
        first = used
        for k in range(stem_starts[stem], stem_starts[stem + 1]):
            e = words_by_stem[k]
            for slot in range(row_start[e], row_start[e + 1]):
                f = target_stem[target[slot]]
                if seen[f] < first:
                    seen[f] = used
                    partners[used] = f
                    used += 1
                group[slot] = seen[f]
        starts[stem + 1] = used
    return partners[:used].copy(), starts


@kernel
def add_up(group, counts, totals):
    """totals[group[slot]] += counts[slot]."""
    for slot in range(len(group)):
        totals[group[slot]] += counts[slot]
