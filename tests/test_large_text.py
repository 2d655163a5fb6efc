"""The generator of large texts: real trigrams, vocabularies that grow as the real text's do, one text per seed."""

from __future__ import annotations

from importlib.resources import files

import numpy as np
import pytest
from benchmarks.large_text import Generator, draw_from_rows, heaps, invented

from dovetail import Aligner, read_bitext


@pytest.fixture(scope="module")
def generator():
    data = files("dovetail") / "data"
    bitext = read_bitext(str(data / "demo.en"), str(data / "demo.fr"))
    return bitext, lambda: Generator(bitext, Aligner("default", threads=1).fit(bitext))


def test_its_sentences_are_made_of_the_texts_trigrams(generator):
    bitext, make = generator
    real = {
        tuple(words[n : n + 3])
        for words in (["<s>", *bitext.tokens(k)[0], "</s>"] for k in range(len(bitext)))
        for n in range(len(words) - 2)
    }
    one = make()
    words, lengths = one.trigrams.draw(200, np.random.default_rng(1))
    ends = np.cumsum(lengths)
    for start, end in zip(ends - lengths, ends, strict=True):
        sentence = ["<s>", *(bitext.source.vocabulary[n] for n in words[start:end]), "</s>"]
        assert all(tuple(sentence[n : n + 3]) in real for n in range(len(sentence) - 2))


def test_vocabularies_grow_by_the_real_texts_law(generator):
    bitext, make = generator
    one = make()
    pairs = list(one.pairs(4000, seed=3))
    assert pairs == list(make().pairs(4000, seed=3))
    assert pairs != list(make().pairs(4000, seed=4))
    tokens = [word for source, _ in pairs for word in source.split()]
    scale, exponent = heaps(bitext.source.ids)
    assert len(set(tokens)) == pytest.approx(scale * len(tokens) ** exponent, rel=0.2)
    lengths = np.array([(len(source.split()), len(target.split())) for source, target in pairs])
    expected = len(bitext.target.ids) / len(bitext.source.ids)
    assert lengths[:, 1].sum() / lengths[:, 0].sum() == pytest.approx(expected, rel=0.25)


def test_entries_are_drawn_by_their_weights():
    start, weight = np.array([0, 2, 5]), np.array([1.0, 3.0, 0.0, 1.0, 1.0])
    rows = np.repeat([0, 1], 4000)
    drawn = draw_from_rows(start, weight, rows, np.random.default_rng(0))
    counts = np.bincount(drawn, minlength=5)
    assert counts[2] == 0
    assert counts[[0, 1, 3, 4]] == pytest.approx([1000, 3000, 2000, 2000], abs=150)


def test_invented_words_differ():
    assert len({invented(n) for n in range(20_000)}) == 20_000
