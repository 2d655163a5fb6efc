"""A text in its files: the same pairs however it is cut and read, and a sample that depends on the pairs alone."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail import Aligner, Bitext, InputError, read_bitext
from dovetail.bitext import source as source_module
from dovetail.bitext.joining import joined, picked
from dovetail.bitext.paths import files_of_sides
from dovetail.bitext.source import TextSource, hold, pair_cells
from dovetail.bitext.text import atomic_writer, read_lines
from dovetail.kernels.text.lines import every_line
from dovetail.pool import Pool
from dovetail.training.drawing import SampleOptions, lesson

SENTENCES = st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), max_size=6)
PAIRS = st.lists(st.tuples(SENTENCES, SENTENCES), min_size=1, max_size=40)
LARGE = {"sample": 2000, "whole_cells": 5000, "largest_sample": 3000}  # what makes a small text a large one


def same(one, other):
    """Whether two bitexts are alike to the last number."""
    sides = (one.source, other.source), (one.target, other.target)
    return len(one) == len(other) and all(
        np.array_equal(a.ids, b.ids)
        and np.array_equal(a.offsets, b.offsets)
        and a.vocabulary.words == b.vocabulary.words
        and np.array_equal(a.vocabulary.counts, b.vocabulary.counts)
        for a, b in sides
    )


@given(PAIRS, st.data())
@settings(deadline=None)
def test_what_is_picked_and_joined_is_what_would_have_been_read(pairs, data):
    bitext = Bitext.from_pairs(pairs)
    chosen = data.draw(st.lists(st.sampled_from(range(len(pairs))), unique=True).map(sorted))
    part = picked(bitext, np.array(chosen, np.int64))
    assert same(part, Bitext.from_pairs([pairs[n] for n in chosen]))
    assert [part.tokens(n) for n in range(len(chosen))] == [
        (list(a), list(b)) for a, b in map(pairs.__getitem__, chosen)
    ]
    cut = data.draw(st.integers(0, len(pairs)))
    whole = joined([Bitext.from_pairs(pairs[:cut]), Bitext.from_pairs(pairs[cut:])])
    assert same(whole, bitext)
    assert [whole.tokens(n) for n in range(len(pairs))] == [bitext.tokens(n) for n in range(len(pairs))]


@given(st.lists(st.binary(max_size=5).map(lambda line: line.replace(b"\n", b"")), min_size=1), st.data())
@settings(deadline=None)
def test_every_nth_line_of_raw_text_is_what_splitting_it_gives(lines, data):
    first, step = data.draw(st.integers(0, len(lines) + 2)), data.draw(st.integers(1, 5))
    ended = [line + b"\n" for line in lines[:-1]] + [lines[-1] + data.draw(st.sampled_from([b"", b"\n"]))]
    text = b"".join(ended)
    chosen = np.empty(len(text), np.uint8)
    used = every_line(np.frombuffer(text, np.uint8), first, step, chosen)
    assert chosen[:used].tobytes() == b"".join(ended[first::step])


def text_of(count, seed=3):
    """Lines that translate word by word."""
    chance = random.Random(seed)
    for n in range(count):
        words = chance.choices([f"w{k}" for k in range(60)], k=chance.randrange(9)) + [f"rare{n}"] * (n % 7 == 0)
        yield " ".join(words), " ".join(word.upper() for word in words)


def test_vocabularies_of_any_size_are_joined():
    sides = [[f"w{n}" for n in range(0, 30_000, step)] + ["x" * 100_000, "é" * step] for step in (3, 2)]
    parts = [Bitext.from_pairs([(words, words[::-1])]) for words in sides]
    whole = joined(parts)
    for n, words in enumerate(sides):
        assert whole.tokens(n) == (words, words[::-1])
    assert whole.source.vocabulary.words == list(dict.fromkeys(sides[0] + sides[1]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """x.en and x.fr, the same in three files each (part-*.en, part-*.fr), as x.tsv, and compressed."""
    place = tmp_path_factory.mktemp("source")
    pairs = list(text_of(600))
    cuts = {"x": (0, 600), "part-1": (0, 7), "part-2": (7, 450), "part-3": (450, 600)}
    for name, (first, last) in cuts.items():
        for side, suffix in enumerate(("en", "fr")):
            (place / f"{name}.{suffix}").write_text("".join(f"{p[side]}\n" for p in pairs[first:last]), "utf-8")
    for name in ("x", "part-1"):
        first, last = cuts[name]
        (place / f"{name}.tsv").write_text("".join(map("{0[0]}\t{0[1]}\n".format, pairs[first:last])), "utf-8")
    for side, suffix in enumerate(("en", "fr")):
        with atomic_writer(place / f"packed.{suffix}.zst") as handle:
            handle.writelines(f"{pair[side]}\n" for pair in pairs)
    return place


SHAPES = {
    "two files": ("x.en", "x.fr", {}),
    "a pattern per side": ("part-*.en", "part-*.fr", {}),
    "one file": ("x.tsv", None, {}),
    "compressed": ("packed.en.zst", "packed.fr.zst", {}),
    "another tokenizer": ("part-?.en", "part-?.fr", {"tokenizer": "unicode"}),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("most", [None, 100_000, 5_000, 1_000, 10])
@pytest.mark.parametrize("threads", [1, 3])
def test_what_is_held_depends_on_the_pairs_alone(folder, shape, most, threads, monkeypatch):
    monkeypatch.setattr(source_module, "HELD_AT_ONCE", 50)
    source, target, reading = SHAPES[shape]
    text = TextSource(folder / source, target and folder / target, reading)
    whole = read_bitext(folder / "x.en", folder / "x.fr", tokenizer=reading.get("tokenizer", "whitespace"))
    held = text.held(most, pool=Pool(threads))
    if most is None:
        assert (held.step, held.pairs, held.cells) == (1, 600, pair_cells(whole).sum())
        assert same(held.bitext, whole)
    else:
        expected = hold(whole, most)
        assert held[1:] == expected[1:]
        assert same(held.bitext, expected.bitext)


@given(PAIRS, st.integers(0, 200))
def test_as_many_pairs_are_held_as_the_bound_allows(pairs, most):
    bitext = Bitext.from_pairs(pairs)
    held = hold(bitext, most)
    cells = np.array([len(a) * len(b) for a, b in pairs])
    assert same(held.bitext, Bitext.from_pairs(pairs[:: held.step]))
    assert cells[:: held.step].sum() <= most or held.step >= len(pairs)
    if held.step > 1:
        assert cells[:: held.step // 2].sum() > most


def test_a_part_of_a_text_in_files_is_that_of_the_whole(folder):
    text, whole = TextSource(folder / "part-*.en", folder / "part-*.fr"), read_bitext(folder / "x.en", folder / "x.fr")
    part = text.part(440, 470)
    assert [part.tokens(n) for n in range(30)] == [whole.tokens(n) for n in range(440, 470)]
    for first in (0, 5, 449, 450, 599):
        parts = list(text.parts(first))
        assert parts[0].first == first
        found = [part.tokens(n) for part in parts for n in range(len(part))]
        assert found == [whole.tokens(n) for n in range(first, 600)]


@pytest.mark.parametrize("cells", [10, 5000, 5001, 40_000, 10**9])
def test_a_sample_grows_as_the_square_root_and_no_further_than_its_bound(cells):
    options = SampleOptions(sample=1000, whole_cells=5000, largest_sample=3000)
    size = options.drawn(cells)
    if cells <= 5000:
        assert size is None
    else:
        assert size == min(int(1000 * (cells / 5000) ** 0.5), 3000)


def test_a_large_text_is_learned_from_by_an_even_sample_of_bounded_size():
    pairs = [(a.split(), b.split()) for a, b in text_of(3000)]
    bitext = Bitext.from_pairs(pairs)
    options = Aligner("default", **LARGE).recipe.options
    drawn = lesson(bitext, options)
    assert drawn.sampled
    assert drawn.pairs == 3000
    cells = pair_cells(bitext).sum()
    assert abs(drawn.cells / cells - 1) < 0.1
    assert abs(pair_cells(drawn.bitext).sum() / 3000 - 1) < 0.15
    places = [
        pairs.index(drawn.bitext.tokens(n)) for n in range(len(drawn.bitext)) if len(drawn.bitext.tokens(n)[0]) > 5
    ]
    assert max(np.diff(places)) < 12 * 3000 / len(drawn.bitext)  # no stretch of the text is left out
    assert not lesson(bitext, Aligner("default").recipe.options).sampled
    assert not lesson(bitext, Aligner("best").recipe.options).sampled


def test_learning_from_files_is_learning_from_the_bitext(folder):
    whole = read_bitext(folder / "x.en", folder / "x.fr")
    for options in ({}, LARGE):
        aligner = Aligner("fast", **options).fit(whole)
        text = TextSource(folder / "part-*.en", folder / "part-*.fr")
        other = Aligner("fast", threads=1, **options).fit(text)
        links = [pair.links for pair in aligner.align(whole)]
        assert [pair.links for _, part in other.align_stream(text) for pair in part] == links
        made = other.align_stream(text, each=lambda part, found: (part.first, [pair.links for pair in found]))
        assert [pair for first, part in sorted(made) for pair in part] == links
        assert other.source_vocabulary.words == aligner.source_vocabulary.words
    assert len(other.source_vocabulary) < len(whole.source.vocabulary)


def test_development_gold_of_a_text_in_files_belongs_to_its_pairs(folder):
    from dovetail.alignments.gold import Gold

    whole, text = read_bitext(folder / "x.en", folder / "x.fr"), TextSource(folder / "part-*.en", folder / "part-*.fr")
    lengths = whole.lengths[440:470]
    gold = Gold.from_links([[(n, n) for n in range(min(pair))] for pair in lengths], lengths=lengths)
    chosen = [Aligner("fast", **LARGE).fit(learned, development=(440, gold)).tuned for learned in (whole, text)]
    assert chosen[0] == chosen[1] is not None
    with pytest.raises(InputError, match="600"):
        Aligner("fast", **LARGE).fit(text, development=(590, gold))


def test_patterns_that_do_not_match_are_refused_in_one_line(folder):
    with pytest.raises(InputError, match=r"stands for 3 files, but .* for 1\. Each file needs its counterpart"):
        files_of_sides(folder / "part-*.en", folder / "x.fr")
    with pytest.raises(InputError, match="no file matches"):
        files_of_sides(folder / "nothing-*.en", folder / "x.fr")
    with pytest.raises(InputError, match=r"part-2\.en, line 151: no matching line"):
        read_bitext(folder / "part-2.en", folder / "part-3.fr")


def test_a_file_that_is_named_like_a_pattern_is_that_file(tmp_path):
    (tmp_path / "x[1].tsv").write_text("a\tb\n", "utf-8")
    (tmp_path / "x1.tsv").write_text("c\td\n", "utf-8")
    assert read_bitext(tmp_path / "x[1].tsv").tokens(0) == (["a"], ["b"])


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz", ".zst"])
def test_files_behind_addresses_are_read_and_written_as_those_here(suffix):
    fsspec = pytest.importorskip("fsspec")
    store = fsspec.filesystem("memory")
    for name, lines in (("a", ["x y", "z"]), ("b", ["w"])):
        for side in ("en", "fr"):
            with atomic_writer(f"memory://text/{name}.{side}{suffix}") as handle:
                handle.writelines(f"{line}\n" for line in lines)
    assert list(read_lines(f"memory://text/a.en{suffix}")) == ["x y", "z"]
    both = read_bitext(f"memory://text/*.en{suffix}", f"memory://text/*.fr{suffix}")
    assert [both.tokens(n)[0] for n in range(3)] == [["x", "y"], ["z"], ["w"]]
    with pytest.raises(ZeroDivisionError), atomic_writer("memory://text/half") as handle:
        handle.write(f"half{1 // 0}")
    assert not store.exists("/text/half")
    with pytest.raises(InputError, match="could not be opened"):
        list(read_lines("memory://text/nothing"))
    with pytest.raises(InputError, match="Check the address"):
        list(read_lines("nosuchprotocol://text/a"))
    store.rm("/text", recursive=True)


def test_several_translation_memories_need_their_languages_named(tmp_path):
    unit = '<tu><tuv xml:lang="en"><seg>a b</seg></tuv><tuv xml:lang="fr"><seg>c</seg></tuv></tu>'
    for name in ("1.tmx", "2.tmx"):
        (tmp_path / name).write_text(f"<tmx><body>{unit}</body></tmx>", "utf-8")
    with pytest.raises(InputError, match=r"several translation memories .* --source-language, --target-language"):
        read_bitext(tmp_path / "*.tmx")
    assert len(read_bitext(tmp_path / "*.tmx", source_language="en", target_language="fr")) == 2


def test_a_dictionary_speaks_of_words_that_the_sample_lacks(folder):
    whole = read_bitext(folder / "x.en", folder / "x.fr")
    aligner = Aligner("fast", **LARGE).fit(whole, dictionary={("rare7", "RARE7"): 1.0, ("w1", "W1"): 1.0})
    assert aligner.source_vocabulary.id("rare7") == -1
    (prior,) = aligner.model.lexicon.priors
    assert "rare7" in prior.sources
