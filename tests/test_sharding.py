"""A text in many shards: nothing that is learned shows how it was cut."""

from __future__ import annotations

import errno
import os
import threading
from dataclasses import fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save

import naive
import same_bytes
from dovetail import Aligner, Bitext, Dictionary, Gold, InputError, Limit, MaximumFertility, PairConstraint, fitting
from dovetail.bitext import sharding, shards, source, store, stream, windows
from dovetail.bitext.sharding import ManyShards, packed, unpacked
from dovetail.bitext.shards import Shard, shard_of
from dovetail.bitext.source import TextSource
from dovetail.bitext.store import Folder, Store, file_of, map_of, release
from dovetail.cli.links_out import LinksOut
from dovetail.durable import allocate
from dovetail.laboratory.papers import PAPERS
from dovetail.pool import Pool
from dovetail.recipes import find_recipe, recipes
from dovetail.training.drawing import lesson
from dovetail.training.train import trainings
from folders import contents
from test_cli import dovetail  # noqa: F401
from test_models import bitexts

POOL = Pool(2)
SOME = {"sample": 4000}  # cells that the flagship learns from first: it goes over the rest shard by shard
MANY = [
    ("ibm1", {"additive": 0.01, "variational": True}),
    ("hmm", {}),
    ("ibm1-agreement", {}),
    ("hmm-agreement", {"tolerance": 0.01}),
    ("hmm-symmetric", {}),
    ("hmm-bijective", {"warm_multipliers": False}),
    ("ibm1-bijective", {}),
    ("hmm-fertility", {"samples": 3}),
    ("hmm-fertility", {"samples": 3, "fertility": "categorical", "soft_counts": False}),
    ("ibm1-fertility", {"samples": 2, "restarts": 2}),
    ("hmm-fertility-hard", {"samples": 2, "hard_iterations": 1}),
    ("zhao2010-ibm1", {}),
    ("zhao2010-hmm", {}),
    ("zhao2010-ibm1f", {"samples": 2, "restarts": 1, "decoding_samples": 2, "decoding_restarts": 1}),
    ("zhao2010-hmmf", {"samples": 2, "decoding_samples": 2, "decoding_restarts": 1}),
    ("graca2010-bijective", {}),
    ("graca2010-bijective", {"longest_pair": 14, "project_decoding": False}),
    ("graca2010-symmetric", {"longest_pair": 14, "hmm_iterations": 3, "warm_multipliers": True}),
    ("graca2010-symmetric", {"longest_pair": 2, "hmm_iterations": 1}),
    ("joint-best", SOME),
    ("joint-best", {**SOME, "whole_iterations": 1}),
    ("joint", {**SOME, "whole_cells": 1_000_000, "leave_one_out": False}),
    ("joint", {**SOME, "whole_cells": 10_000}),
    ("joint-fast", {**SOME, "spelling": False}),
]
BAYES = [  # each block is a strand: as in one shard, if there is one block
    ("hmm-bayes", {"chains": 1, "ibm1_sweeps": 2, "hmm_sweeps": 2, "burn_in": 2, "samples": 3, "lag": 2}),
    ("ibm1-bayes", {"chains": 2, "burn_in": 4, "samples": 3, "annealing": False}),
    ("mermer2011", {"chains": 1, "burn_in": 4, "samples": 4, "lag": 2}),
    ("mermer2011", {"chains": 2, "burn_in": 2, "samples": 3, "lag": 1}),
]
ALL = [find_recipe(name) for name in (*recipes, *PAPERS)]


def cut_into(monkeypatch, cells: int) -> None:
    """Let aligners cut texts into shards of so many cells."""
    monkeypatch.setattr(fitting, "WHOLE_CELLS", cells)
    monkeypatch.setattr(fitting, "SHARD_CELLS", cells)


@pytest.fixture(scope="module")
def demo():
    return same_bytes.demo().part(0, 400)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(shards, "BLOCK_CELLS", 5000)


def of_numbers(pairs) -> Bitext:
    return Bitext.from_pairs([([f"s{e}" for e in source], [f"t{f}" for f in target]) for source, target in pairs])


def same(one: Shard, other: Shard) -> None:
    mine, theirs = packed(one), packed(other)
    assert mine.keys() == theirs.keys()
    for name, values in mine.items():
        np.testing.assert_array_equal(values, theirs[name], err_msg=name)


@given(pairs=bitexts, shard_cells=st.sampled_from([1, 9, 30]), block_cells=st.sampled_from([1, 9]))
@settings(deadline=None, max_examples=60)
def test_the_slots_of_all_shards_are_those_of_one(pairs, shard_cells, block_cells):
    bitext = of_numbers(pairs)
    whole = shard_of(bitext, POOL)
    many = ManyShards(bitext, POOL, Store(), shard_cells, block_cells)
    np.testing.assert_array_equal(many.slots.row_start, whole.slots.row_start)
    np.testing.assert_array_equal(many.slots.target, whole.slots.target)
    assert sum(len(shard.pieces) for shard in many) == len(whole.pieces)
    assert sum(shard.total for shard in many) == many.total == whole.total
    for shard in many:
        np.testing.assert_array_equal(whole.slots.target[shard.place.slots], shard.slots.target)
        np.testing.assert_array_equal(whole.slots.source[shard.place.slots], shard.slots.source)
        assert len(np.unique(shard.place.slots)) == len(shard.slots)


@given(pairs=bitexts)
@settings(deadline=None, max_examples=20)
def test_the_slots_of_all_shards_are_the_pairs_that_meet(pairs):
    bitext = of_numbers(pairs)
    many = ManyShards(bitext, POOL, Store(), 1, 1)
    numbered = [
        [side.ids[slice(*side.offsets[n : n + 2])] for side in (bitext.source, bitext.target)]
        for n in range(len(bitext))
    ]
    assert set(zip(many.slots.source, many.slots.target, strict=True)) == naive.co_occurrences(numbered)


@given(pairs=bitexts, shard_cells=st.sampled_from([1, 9, 1000]), block_cells=st.sampled_from([1, 9, 1000]))
@settings(deadline=None, max_examples=30)
def test_blocks_are_the_same_in_shards_of_any_size(pairs, shard_cells, block_cells):
    bitext = of_numbers(pairs)
    many = ManyShards(bitext, POOL, Store(), shard_cells, block_cells)
    (one,) = ManyShards(bitext, POOL, Store(), 1 << 40, block_cells)
    blocks = [block for shard in many for block in shard]
    assert len(blocks) == len(one.blocks)
    for mine, theirs in zip(blocks, one, strict=True):
        assert mine.tasks == theirs.tasks
        assert mine.longest == theirs.longest
        np.testing.assert_array_equal(mine.order, theirs.order)
        np.testing.assert_array_equal(mine.lines[:, :3], theirs.lines[:, :3])


@pytest.mark.usefixtures("small_blocks")
def test_a_shard_with_too_long_rows_is_halved_until_it_has_none(demo, tmp_path, monkeypatch):
    whole = shard_of(demo, POOL)
    monkeypatch.setattr(sharding, "RANK_LIMIT", 300)
    many = ManyShards(demo, POOL, Folder(tmp_path), 1 << 40)
    assert len(many) > 1
    for shard in many:
        assert len(shard.blocks) == 1 or np.diff(shard.slots.row_start).max() <= 300
    np.testing.assert_array_equal(many.slots.target, whole.slots.target)
    assert sum(map(many.pieces_of, range(len(many)))) == len(whole.pieces)
    again = ManyShards(demo, POOL, Folder(tmp_path), 1 << 40)  # finds them in the folder
    assert [len(shard.pieces) for shard in again] == [len(shard.pieces) for shard in many]
    for name in ("shard-00001", f"shard-{len(many) - 1:05d}"):  # or goes on behind the first one
        Folder(tmp_path).remove(name)
    again = ManyShards(demo, POOL, Folder(tmp_path), 1 << 40)
    np.testing.assert_array_equal(again.slots.target, whole.slots.target)
    assert sum(map(again.pieces_of, range(len(again)))) == len(whole.pieces)


@given(pairs=bitexts)
@settings(deadline=None, max_examples=20)
def test_a_shard_comes_out_of_a_folder_as_it_went_in(pairs, tmp_path_factory):
    shard = shard_of(of_numbers(pairs), POOL)
    folder = Folder(tmp_path_factory.mktemp("store"))
    folder.put("shard", packed(shard))
    same(unpacked(folder.get("shard"), None, shard.slots.n_targets, shard.longest), shard)


def test_a_table_that_is_released_keeps_what_was_written(tmp_path):
    table = Folder(tmp_path).table("table", (5000, 2), np.float64)
    table[:] = np.arange(10_000).reshape(5000, 2)
    for first in range(0, 5000, 700):
        release(table[first : first + 700])
    np.testing.assert_array_equal(table, np.arange(10_000).reshape(5000, 2))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("allocation", ["the system's", "none", "not on this file system"])
def test_a_table_has_its_room_on_the_disk_before_it_is_written_to(tmp_path, monkeypatch, allocation):
    if allocation == "none":
        monkeypatch.delattr(os, "posix_fallocate", raising=False)
    elif allocation != "the system's":
        monkeypatch.setattr(os, "posix_fallocate", failing(errno.EOPNOTSUPP), raising=False)
    with open(tmp_path / "file", "w+b") as file:
        allocate(file, 3_000_000)
        assert os.fstat(file.fileno()).st_blocks * 512 >= 3_000_000
    assert (tmp_path / "file").read_bytes() == bytes(3_000_000)


def test_a_full_disk_is_told_with_a_remedy_and_nothing_half_is_left(tmp_path, monkeypatch):
    folder = Folder(tmp_path)
    monkeypatch.setattr(os, "posix_fallocate", failing(errno.ENOSPC), raising=False)
    monkeypatch.setattr(store, "file_of", failing(errno.ENOSPC))
    with pytest.raises(InputError, match=f"{tmp_path}: no room left .* Free some space"):
        folder.table("table", (5000, 2), np.float64)
    for pool in (None, POOL):
        with pytest.raises(InputError, match=f"{tmp_path}: no room left .* Free some space"):
            folder.put("some", {"array": np.zeros(3)}, pool)
    assert list(tmp_path.iterdir()) == []


def failing(number):
    def fail(*arguments, **settings):
        raise OSError(number, os.strerror(number))

    return fail


def test_a_store_of_files_forgets_what_is_removed(tmp_path):
    folder = Folder(tmp_path)
    folder.put("some", {"bits": np.array([True, False]), "none": np.empty((0, 3), np.float32)})
    assert "some" in folder
    assert folder.get("some")["none"].shape == (0, 3)
    folder.get("some")["bits"][:] = False  # a copy is written to, not the file
    assert folder.get("some")["bits"].tolist() == [True, False]
    folder.remove("some")
    assert "some" not in folder
    assert list(tmp_path.iterdir()) == []


@given(st.lists(st.lists(st.integers(-9, 9), max_size=9), min_size=1))
@settings(deadline=None, max_examples=30)
def test_an_array_that_grows_in_a_file_is_what_it_is_in_memory(parts):
    with TemporaryDirectory() as name:
        for shape, dtype in (((-1,), np.int32), ((-1, 1), np.int64)):
            growing = Store().growing(), Folder(name).growing()
            for part in parts:
                for own in growing:
                    own.append(np.array(part, dtype).reshape(shape))
            memory, file = (own.whole() for own in growing)
            assert (file.dtype, file.shape) == (memory.dtype, memory.shape)
            np.testing.assert_array_equal(file, memory)
            release(file)
            np.testing.assert_array_equal(file, memory)
            assert (map_of(file) is not None) == bool(file.size)
        assert list(Path(name).iterdir()) == []


@pytest.fixture
def files(demo, tmp_path):
    """The demo's text, in files."""
    for suffix, side in (("en", 0), ("fr", 1)):
        lines = (" ".join(demo.tokens(n)[side]) + "\n" for n in range(len(demo)))
        (tmp_path / f"x.{suffix}").write_text("".join(lines), "utf-8")
    return TextSource(tmp_path / "x.en", tmp_path / "x.fr")


DTYPES = [f"{kind}{size}" for kind in "iu" for size in (1, 2, 4, 8)] + ["f2", "f4", "f8", "?", ">i4", ">f8"]


@given(
    st.dictionaries(st.text(max_size=3), st.tuples(st.sampled_from(DTYPES), st.lists(st.integers(0, 3), max_size=3)))
)
@settings(deadline=None)
def test_files_are_those_of_the_library(described):
    arrays = {
        name: np.arange(np.prod(shape, dtype=int)).astype(dtype).reshape(shape)
        for name, (dtype, shape) in described.items()
    }
    assert b"".join(file_of(arrays)) == save(arrays)
    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "COPIED_AT_ONCE", 16)  # many tasks
        Folder(name).put("some", arrays, POOL)
        assert (Path(name) / "some.safetensors").read_bytes() == save(arrays)


@pytest.mark.parametrize("kind", [Store, Folder])
def test_a_group_that_is_not_filled_to_its_end_is_not_there(kind, tmp_path):
    own = kind(*[tmp_path] * (kind is Folder))
    with pytest.raises(ZeroDivisionError), own.room("some", {"array": ((3,), np.int32)}) as group:
        group["array"][:] = 1 // 0
    assert "some" not in own
    with own.room("some", {"array": ((3,), np.int32)}) as group:
        group["array"][:] = range(3)
    assert own.get("some")["array"].tolist() == [0, 1, 2]
    assert len(list(tmp_path.iterdir())) == (kind is Folder)


def test_arrays_that_no_file_can_hold_are_named():
    with pytest.raises(TypeError, match="weights is of type complex128"):
        list(file_of({"weights": np.zeros(2, complex)}))


def test_a_disk_that_is_full_is_told_wherever_an_array_grows(tmp_path, monkeypatch):
    class Full:
        def write(self, data):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(store, "TemporaryFile", lambda **_: Full())
    with pytest.raises(InputError, match="no room left to work in"):
        Folder(tmp_path).growing().append(np.arange(3))


@pytest.mark.parametrize(
    ("recipe", "options", "watched"),
    [("graca2010-bijective", {"longest_pair": 14, "hmm_iterations": 1}, False), ("hmm", {"hmm_iterations": 1}, True)],
)
@pytest.mark.usefixtures("small_blocks")
def test_the_lexicon_of_a_text_in_shards_is_never_put_together_in_memory(recipe, options, watched, demo, monkeypatch):
    cut_into(monkeypatch, 12_000)
    stores = []
    kept = shards.Slots.kept
    monkeypatch.setattr(
        shards.Slots,
        "kept",
        lambda slots, values, least, store=None: (stores.append(store), kept(slots, values, least, store))[1],
    )
    development = (0, Gold.from_links([[(0, 0)]] * 20)) if watched else None
    Aligner(recipe, threads=1, ibm1_iterations=1, **options).fit(demo, development=development)
    assert len(stores) > 1
    assert all(isinstance(store, Folder) for store in stores)


def test_what_was_written_to_a_private_copy_outlasts_its_being_kept(tmp_path):
    store = Folder(tmp_path)
    store.put("before", {"numbers": np.arange(5)})
    mine = store.get("before")["numbers"]
    mine[2] = 7
    store.put("after", {"numbers": mine})
    assert mine.tolist() == store.get("after")["numbers"].tolist() == [0, 1, 7, 3, 4]


@pytest.mark.parametrize(("recipe", "options"), [("hmm", {}), ("best", SOME), ("hmm-bayes", BAYES[0][1])])
@pytest.mark.usefixtures("small_blocks")
def test_smaller_shards_that_a_budget_may_ask_for_teach_the_same(recipe, options, files, tmp_path, monkeypatch):
    cut_into(monkeypatch, 24_000)
    found = set()
    for cells in (None, 12_000, 5_000):
        aligner, work = Aligner(recipe, seed=1, threads=2, **options), tmp_path / f"work-{cells}"
        text = lesson(files, aligner.recipe.options, aside=fitting.aside(tmp_path))
        aligner.fit(replace(text, shard_cells=cells), work=work).save(tmp_path / f"{cells}")
        found.add(hash(b"".join(path.read_bytes() for path in sorted((tmp_path / f"{cells}").rglob("*.*")))))
        assert 0 < fitting.laid_out(work) <= (cells or 24_000)
    assert len(found) == 1
    assert fitting.laid_out(tmp_path / "nowhere") == 0


@pytest.mark.parametrize(("recipe", "options"), [("hmm", {}), ("best", SOME), ("best", {**SOME, "view_cells": 60_000})])
@pytest.mark.usefixtures("small_blocks")
def test_tokens_of_a_large_text_are_in_mapped_files(recipe, options, files, tmp_path, monkeypatch):
    monkeypatch.setattr(source, "HELD_AT_ONCE", 60)
    monkeypatch.setattr(stream, "PART_PAIRS", 60)
    monkeypatch.setattr(fitting, "AT_ONCE", 60)
    monkeypatch.setattr(sharding, "CUT_AT_ONCE", 60)
    monkeypatch.setattr(shards, "AT_ONCE", 7)
    gone_over = []

    class Seen(ManyShards):
        def __init__(self, bitext, *arguments):
            super().__init__(bitext, *arguments)
            gone_over.append(bitext)
            sides = (getattr(side, name) for side in (bitext.source, bitext.target) for name in ("ids", "offsets"))
            pieces = (getattr(self.pieces, field.name) for field in fields(windows.Windows))
            assert all(map_of(values) is not None for values in (*sides, *pieces))

    one = learned(recipe, files.read(), tmp_path / "one", **options)
    cut_into(monkeypatch, 12_000)
    monkeypatch.setattr(fitting, "ManyShards", Seen)
    assert learned(recipe, files, tmp_path / "many", **options) == one
    assert len(gone_over) == 1 + (recipe == "best")


def learned(recipe, bitext, folder, **options):
    """The files of a model, and the links of its text."""
    aligner = Aligner(recipe, seed=1, threads=2, **options).fit(bitext)
    aligner.save(folder)
    text = bitext.read() if isinstance(bitext, TextSource) else bitext
    return contents(folder), same_bytes.hashes(aligner.align(text))


@pytest.mark.parametrize(("recipe", "options"), MANY)
@pytest.mark.usefixtures("small_blocks")
def test_many_shards_teach_what_one_does(recipe, options, demo, tmp_path, monkeypatch):
    one = learned(recipe, demo, tmp_path / "one", **options)
    cut_into(monkeypatch, 12_000)
    assert len(ManyShards(demo, POOL, Store(), 12_000)) > 2
    assert learned(recipe, demo, tmp_path / "many", **options) == one


@pytest.mark.parametrize(("recipe", "options"), [("hmm", {}), ("joint-best", SOME)])
@pytest.mark.usefixtures("small_blocks")
def test_shards_side_by_side_teach_what_they_do_in_turn(recipe, options, demo, monkeypatch):
    cut_into(monkeypatch, 12_000)
    found = [Aligner(recipe, seed=1, threads=threads, **options).fit(demo) for threads in (1, 2, 5)]
    first, *others = [aligner.model.lexicon.arrays() | aligner.model.arrays() for aligner in found]
    for other in others:
        for name, values in first.items():
            np.testing.assert_array_equal(values, other[name], err_msg=name)


@pytest.mark.usefixtures("small_blocks")
def test_progress_is_told_in_the_callers_thread(demo, monkeypatch):
    cut_into(monkeypatch, 12_000)
    seen = []

    def watch(progress):
        seen.append((progress, threading.current_thread()))
        if progress.iteration == 1 and progress.done % progress.total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Aligner("hmm", threads=3, ibm1_iterations=2).fit(demo, watch)
    assert {thread for _, thread in seen} == {threading.current_thread()}
    assert sorted(progress.done for progress, _ in seen) == [progress.done for progress, _ in seen]
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("dovetail-side")]


@pytest.mark.parametrize("what", ["shard-from", "memory", "counts"])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.usefixtures("small_blocks")
def test_a_disk_that_is_full_is_told_whoever_writes_a_shard(what, threads, demo, monkeypatch):
    cut_into(monkeypatch, 12_000)
    put, left = Folder.put, [2]

    def failing_put(folder, name, arrays, *settings):
        if name.startswith(what):
            left[0] -= 1
        if left[0] < 0:
            monkeypatch.setattr(store, "file_of", failing(errno.ENOSPC))
            monkeypatch.setattr(os, "posix_fallocate", failing(errno.ENOSPC), raising=False)
        put(folder, name, arrays, *settings)

    monkeypatch.setattr(Folder, "put", failing_put)
    with pytest.raises(InputError, match=r"no room left to work in .* Free some space"):
        Aligner("joint-best", threads=threads, **SOME).fit(demo)


@pytest.mark.parametrize(("recipe", "options"), BAYES)
def test_a_chain_over_one_stored_block_is_one_in_memory(recipe, options, demo, tmp_path, monkeypatch):
    seed = Aligner(recipe, seed=2, threads=2, **options).fit(demo.part(0, 100))
    for name, start in (("alone", None), ("warm", seed)):
        cut_into(monkeypatch, 1 << 40)
        one = Aligner(recipe, seed=1, threads=2, **options).fit(demo, warm_start=start)
        one.save(tmp_path / f"one {name}")
        monkeypatch.setattr(fitting, "WHOLE_CELLS", 1)
        many = Aligner(recipe, seed=1, threads=2, **options).fit(demo, warm_start=start)
        many.save(tmp_path / f"many {name}")
        if options["chains"] == 1:  # else one after another
            np.testing.assert_allclose([v for _, v in many.history], [v for _, v in one.history], rtol=1e-12)
        assert same_bytes.hashes(many.align(demo)) == same_bytes.hashes(one.align(demo))
        if start is None:  # else means of jumps are rounded otherwise
            assert contents(tmp_path / f"many {name}") == contents(tmp_path / f"one {name}")


@pytest.mark.parametrize(("recipe", "options"), BAYES)
@pytest.mark.usefixtures("small_blocks")
def test_chains_do_not_show_shards(recipe, options, demo, tmp_path, monkeypatch):
    options = {**options, "chains": 2}
    cut_into(monkeypatch, 12_000)
    some = learned(recipe, demo, tmp_path / "some", **options)
    monkeypatch.setattr(fitting, "SHARD_CELLS", 22_000)
    assert learned(recipe, demo, tmp_path / "fewer", **options) == some


@pytest.mark.usefixtures("small_blocks")
def test_a_dictionary_weighs_as_much_in_many_shards(demo, tmp_path, monkeypatch):
    dictionary = {("the", "la"): 0.3, ("house", "maison"): 1.0, ("and", "et"): 0.7}
    for recipe, options in (("hmm", {}), ("joint-best", SOME)):
        cut_into(monkeypatch, 1 << 40)
        one = Aligner(recipe, threads=2, **options).fit(demo, dictionary=dictionary)
        cut_into(monkeypatch, 12_000)
        many = Aligner(recipe, threads=2, **options).fit(demo, dictionary=dictionary)
        assert same_bytes.hashes(many.align(demo)) == same_bytes.hashes(one.align(demo))


class OneTwo(PairConstraint):
    """Speaks of the numbers of pairs."""

    name = "one-two"

    def limits(self, source, target, number):
        if number % 2 and len(source) > 1:
            yield Limit({(1, 0): 1.0}, at_most=0.1, direction="mean")


@pytest.mark.usefixtures("small_blocks")
def test_constraints_ask_the_same_of_many_shards(demo, monkeypatch):
    """Of words, of pairs by their numbers, and where a long pair is several pieces."""
    monkeypatch.setattr(windows.cut, "__defaults__", (12,))
    monkeypatch.setattr(windows, "STEP", 4)
    monkeypatch.setattr(windows, "OVERLAP", 3)
    own = [OneTwo(), Dictionary([("house", "chambre"), ("the", "la")]), MaximumFertility({"the": 2.0}, default=3.0)]
    one = Aligner("hmm-constrained", threads=2, constraints="symmetric").fit(demo, constraints=own)
    cut_into(monkeypatch, 12_000)
    many = Aligner("hmm-constrained", threads=2, constraints="symmetric").fit(demo, constraints=own)
    assert len(windows.cut(demo.source.offsets, demo.target.offsets)) > len(demo)
    assert same_bytes.hashes(many.align(demo)) == same_bytes.hashes(one.align(demo))
    assert many.model.effort.pieces == one.model.effort.pieces > 0


@pytest.mark.usefixtures("small_blocks")
def test_fertilities_are_counted_in_the_text_that_was_fitted(demo, monkeypatch):
    one = Aligner("hmm").fit(demo).fertilities(minimum=5)
    cut_into(monkeypatch, 12_000)
    assert Aligner("hmm").fit(demo).fertilities(minimum=5) == one


@pytest.mark.parametrize("recipe", ["hmm", "best"])
@pytest.mark.parametrize("name", ["x.tsv", "-"])
@pytest.mark.usefixtures("small_blocks")
def test_links_of_many_shards_stream_to_the_same_bytes(recipe, name, demo, tmp_path, monkeypatch, dovetail):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(stream, "PART_PAIRS", 70)
    text = "".join("\t".join(map(" ".join, demo.tokens(n))) + "\n" for n in range(len(demo))).encode()
    (tmp_path / "x.tsv").write_bytes(text)
    options = ["--option=hmm_iterations=3", *(["--option=sample=4000"] if recipe == "best" else [])]
    for form in ("probabilities", "jsonl"):
        given = ["align", name, "--recipe", recipe, "--format", form, *options]
        with monkeypatch.context() as cut:
            cut_into(cut, 12_000)
            cut.setattr(LinksOut, "write", None)  # of what is in memory
            many = dovetail(*given, stdin=text)
            kept = dovetail(*given, "--work", f"work {form}", stdin=text)
        assert many.status == kept.status == 0, many.err + kept.err
        assert many.out == kept.out == dovetail(*given, stdin=text).out


def test_every_training_that_goes_over_shards_is_tested():
    tested = {find_recipe(name).training for name, _ in MANY + BAYES}
    able = {
        name
        for name, training in trainings.items()
        if any(training.many_shards(recipe.options, 1 << 40) for recipe in ALL if recipe.training == name)
    }
    assert tested == able
