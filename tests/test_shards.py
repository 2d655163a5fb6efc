"""Slots, ranks, blocks and windows: every cell finds its own pair of word types."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from dovetail.bitext import windows
from dovetail.bitext.shards import lay_out
from dovetail.kernels.lexicon.slots import RANK_LIMIT
from dovetail.kernels.records import CELL, LENGTH_I, LENGTH_J, ROW, SOURCE, TARGET
from dovetail.pool import Pool
from test_models import bitexts, cells_of


def slot_of(shard, block, line, i, j):
    word = shard.source_ids[line[SOURCE] + i]
    return shard.slots.row_start[word] + block.rank[line[CELL] + i * line[LENGTH_J] + j]


@given(pairs=bitexts, block_cells=st.sampled_from([1, 7, 1 << 20]))
@settings(deadline=None)
def test_every_cell_has_the_slot_of_its_word_types(pairs, block_cells):
    shard = cells_of(pairs, block_cells=block_cells)
    found = set()
    for block in shard:
        for line in block.lines:
            for i in range(line[LENGTH_I]):
                for j in range(line[LENGTH_J]):
                    slot = slot_of(shard, block, line, i, j)
                    e = int(np.searchsorted(shard.slots.row_start, slot, side="right")) - 1
                    f = int(shard.slots.target[slot])
                    assert e == shard.source_ids[line[SOURCE] + i]
                    assert f == shard.target_ids[line[TARGET] + j]
                    found.add((e, f))
    assert found == naive.co_occurrences(pairs)
    assert len(found) == len(shard.slots)


@given(pairs=bitexts)
@settings(deadline=None)
def test_tasks_cover_every_row_and_piece_once_and_never_split_a_word(pairs):
    shard = cells_of(pairs)
    for block in shard:
        rows = np.concatenate(block.word_tasks)
        assert sorted(rows) == list(range(block.rows))
        words = [set(_words(shard, block, task)) for task in block.word_tasks]
        assert sum(map(len, words)) == len(set().union(*words))
        assert [piece for first, last in block.tasks for piece in range(first, last)] == list(range(len(block.lines)))


def _words(shard, block, task):
    for row in task:
        line = block.lines[block.row_piece[row]]
        yield int(shard.source_ids[line[SOURCE] + row - line[ROW]])


def test_a_word_with_too_many_partners_for_its_ranks_gets_a_dense_row():
    n = RANK_LIMIT + 10
    # One source word meets more target words than a rank can count, in pairs short enough for no window to cut them.
    pairs = [([0, 1], list(range(start, min(start + 500, n)))) for start in range(0, n, 500)]
    shard = cells_of(pairs)
    assert np.diff(shard.slots.row_start).tolist() == [n, n]
    assert (shard.slots.target[:n] == np.arange(n)).all()


def test_no_pairs_and_empty_sides_lay_out_to_nothing():
    for pairs in ([], [([], [0]), ([0], []), ([], [])]):
        shard = cells_of(pairs)
        assert len(shard.pieces) == 0
        assert shard.blocks == []


@pytest.mark.parametrize(("I", "J"), [(20_000, 19_000), (3000, 7), (1, 5000), (1025, 1025)])
def test_windows_of_a_long_pair_tile_it_and_stay_small(I, J):
    pieces = windows.cut(np.array([0, I]), np.array([0, J]))
    assert len(pieces) > 1
    assert pieces.source_length.max() <= windows.LONGEST
    assert pieces.target_length.max() <= windows.LONGEST
    for core, offset, total in (
        (pieces.source_core, pieces.source_offset, I),
        (pieces.target_core, pieces.target_offset, J),
    ):
        owned = [p + o for (low, high), o in zip(core, offset, strict=True) for p in range(low, high)]
        assert owned == list(range(total))


def test_the_number_of_threads_does_not_change_the_layout():
    generator = np.random.default_rng(1)
    ids = generator.integers(0, 50, 3000).astype(np.int32), generator.integers(0, 60, 3000).astype(np.int32)
    offsets = np.arange(0, 3001, 10).astype(np.int64)
    one, four = (lay_out(ids[0], offsets, ids[1], offsets, 50, 60, Pool(n)) for n in (1, 4))
    assert (one.slots.target == four.slots.target).all()
    assert all((a.rank == b.rank).all() for a, b in zip(one, four, strict=True))
