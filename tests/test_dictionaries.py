"""Dictionaries of the user's own: formats they are read from, and the prior that they are."""

import gzip
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail import Aligner, Bitext
from dovetail.bitext.dictionaries import read_dictionary
from dovetail.bitext.shards import shard_of
from dovetail.errors import InputError
from dovetail.models.lexicon.dictionary import DictionaryPrior
from dovetail.uses.aligned import AlignedText
from dovetail.uses.lexicon import lexicon
from dovetail.uses.lexicon_formats import Job, lexicon_formats

ARTICLES = [
    "Haus /haʊs/ <neut, n, sg>\nhouse <n>, building <n> [Am.]\n         Note: of stone\n   Synonym: {Bau}\n",
    "das alte Haus, altes Haus\n1. (coll.) old chap\n2. old house (e.g. in a town (small))\n",
    '[geh.] Anerkenntnis\nacknowledgement of sth.\n      "Ein Satz."  - A sentence.\n',
]


def base64(number):
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    return letters[number] if number < 64 else base64(number // 64) + letters[number % 64]


@pytest.fixture
def dictd(tmp_path):
    index, place = ["00databaseinfo\tA\tA"], 0
    for article in ARTICLES:
        size = len(article.encode())
        index += [f"{word}\t{base64(place)}\t{base64(size)}" for word in (article[:4].lower(), "again")]
        place += size
    (tmp_path / "d.index").write_text("\n".join(index) + "\n", "utf-8")
    (tmp_path / "d.dict.dz").write_bytes(gzip.compress("".join(ARTICLES).encode()))
    return tmp_path / "d.index"


def test_dictd_is_read_without_pronunciation_grammar_notes_and_examples(dictd):
    expected = {
        ("Haus", "house"): 1.0,
        ("Haus", "building"): 1.0,
        ("das alte Haus", "old chap"): 1.0,
        ("das alte Haus", "old house"): 1.0,
        ("altes Haus", "old chap"): 1.0,
        ("altes Haus", "old house"): 1.0,
        ("Anerkenntnis", "acknowledgement of sth."): 1.0,
    }
    assert read_dictionary(dictd) == expected
    assert read_dictionary(dictd.with_name("d.dict.dz")) == expected


FILES = {
    "tabs": ("house\tmaison\t0.25\n\nold\tvieille dame\n", {("house", "maison"): 0.25, ("old", "vieille dame"): 1.0}),
    "edict": (
        "#\n食べる(P);喰べる [たべる] /(v1,vt) (1) to eat/(2) to live on (as a salary)/(P)/EntL13X/\n犬 /dog/\n",
        {(word, gloss): 1.0 for word in ("食べる", "喰べる", "たべる") for gloss in ("to eat", "to live on")}
        | {("犬", "dog"): 1.0},
    ),
    "cedict": (
        "# CC-CEDICT\n傳統 传统 [chuan2 tong3] /tradition/(of old) traditional; old/\n",
        {(word, gloss): 1.0 for word in ("傳統", "传统") for gloss in ("tradition", "traditional", "old")},
    ),
    "tbx of 2008": (
        '<?xml version="1.0"?>\n<martif type="TBX"><text><body>\n<termEntry id="1"><langSet xml:lang="en-GB"><tig>'
        "<term>house</term></tig><tig><term>home</term></tig></langSet>"
        '<langSet xml:lang="fr"><ntig><termGrp><term>maison</term></termGrp></ntig></langSet></termEntry>\n'
        "</body></text></martif>\n",
        {("house", "maison"): 1.0, ("home", "maison"): 1.0},
    ),
    "json": ('{"source": "house", "target": "maison", "p_target": 0.5}\n', {("house", "maison"): 0.5}),
    "columns": ("maison house 0.5\nNULL house 0.5\n", {("house", "maison"): 0.5}),
}


@pytest.mark.parametrize("name", FILES)
def test_formats_are_seen_by_their_first_line(name, tmp_path):
    content, expected = FILES[name]
    (tmp_path / "words").write_text(content, "utf-8")
    assert read_dictionary(tmp_path / "words") == expected


@pytest.mark.parametrize("name", list(lexicon_formats))
def test_what_dovetail_writes_as_a_lexicon_it_reads_as_a_dictionary(name, tmp_path):
    text = Bitext.from_pairs([("a b c", "x y z"), ("a b", "x y"), ("a", "x"), ("c", "z")] * 3)
    entries = lexicon(AlignedText(text, Aligner("ibm1", threads=1).fit(text).align(text)))
    job = Job(entries, {}, "en", "fr")
    kind = lexicon_formats[name]
    if kind.write is not None:
        with (tmp_path / "out").open("w", encoding="utf-8") as handle:
            kind.write(handle, job)
        files = [tmp_path / "out"]
    else:
        kind.write_files(str(tmp_path / "out"), job)
        files = [path for path in sorted(tmp_path.iterdir()) if not path.name.endswith((".idx", ".dict"))]
    for file in files:
        read = read_dictionary(file)
        assert set(read) == {(entry.source, entry.target) for entry in entries}
        if name != "moses":  # where NULL has a share of its own
            assert read["a", "x"] == pytest.approx(1.0)


BROKEN = {
    "house\tmaison\n\nno tab here\n": 3,
    "house\tmaison\tnan\n": 1,
    "house\tmaison\t0\n": 1,
    "house\tmaison\t2\n": 1,
    "\tmaison\n": 1,
    "house\tmaison\t0.5\tmore\n": 1,
    '{"source": "a", "target": "b"}\n{"source": 1, "target": "b"}\n': 2,
    '{"source": "a", "target": "b"}\n[[[[\n': 2,
    "source\ttarget\tp_target\na\tb\tmuch\n": 2,
    'source,target,p_target\n"a,b,1\n': 2,
    "maison house 0.5\nmaison house\n": 2,
    "犬 /dog/\n猫\n": 2,
    "傳統 传统 [chuan2] /tradition/\nnothing\n": 2,
    "<tbx>\n<conceptEntry></tbx>\n": 2,
}


@pytest.mark.parametrize("content", BROKEN)
def test_a_broken_dictionary_is_refused_with_its_line(content, tmp_path):
    (tmp_path / "words").write_text(content, "utf-8")
    with pytest.raises(InputError, match=rf"words, line {BROKEN[content]}\b") as caught:
        read_dictionary(tmp_path / "words")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "line", ["only a headword", "word\tA\tzzzzzz", "word\t?\tA"], ids=["columns", "outside", "no number"]
)
def test_a_broken_index_of_dictd_is_refused_with_its_line(line, dictd):
    dictd.write_text(f"00databaseinfo\tA\tA\n{line}\n")
    with pytest.raises(InputError, match=r"d\.index, line 2"):
        read_dictionary(dictd)


@pytest.mark.parametrize("suffix", [".tbx", ".index", ".ifo", ".gz", ".jsonl", ""])
@settings(deadline=None)
@given(content=st.binary(max_size=60))
def test_rubbish_is_an_input_error_or_a_dictionary(suffix, content, tmp_path_factory):
    path = tmp_path_factory.mktemp("rubbish") / f"words{suffix}"
    path.write_bytes(content)
    try:
        read = read_dictionary(path)
    except InputError:
        return
    assert read
    assert all(0 < probability <= 1 for probability in read.values())


def naive_pseudo_counts(dictionary, weight, text):
    """By the formula, over all entries: a number for each pair of words in lower case."""
    known = [{word.lower() for word in side.vocabulary} for side in (text.source, text.target)]
    parts = {}
    for (source, target), probability in dictionary.items():
        one, other = source.lower().split(), target.lower().split()
        if len(one) <= 4 and len(other) <= 4:
            for e, f in product(set(one), set(other)):
                if e in known[0] or f in known[1]:
                    parts.setdefault((e, f), []).append(probability / (len(one) * len(other)))
    return {
        (e, f): weight * max(found) / (sum(e == a for a, _ in parts) * sum(f == b for _, b in parts)) ** 0.5
        for (e, f), found in parts.items()
    }


WORDS = st.sampled_from(["a", "b", "c", "A", "d"])
PHRASES = st.lists(WORDS, min_size=1, max_size=5).map(" ".join)


@pytest.mark.filterwarnings("ignore:no entry of the dictionary")
@settings(deadline=None)
@given(
    st.dictionaries(st.tuples(PHRASES, PHRASES), st.floats(0.01, 1.0), max_size=6),
    st.lists(st.tuples(PHRASES, PHRASES), min_size=1, max_size=4),
)
def test_pseudo_counts_are_the_formulas(dictionary, pairs):
    text = Bitext.from_pairs(pairs)
    slots = shard_of(text, Aligner("ibm1", threads=1).engine.pool).slots
    sides = text.source.vocabulary, text.target.vocabulary
    counts = DictionaryPrior.of(dictionary, text, 2.0).pseudo_counts(slots, *sides)
    expected = naive_pseudo_counts(dictionary, 2.0, text)
    for e, f, count in zip(slots.source, slots.target, counts, strict=True):
        assert count == pytest.approx(expected.get((sides[0][e].lower(), sides[1][f].lower()), 0.0))


AMBIGUOUS = Bitext.from_pairs([("a b", "x y"), ("c d", "u v")] * 3)


@pytest.mark.parametrize("recipe", ["default", "fast", "best", "ibm1", "hmm", "hmm-symmetric", "hmm-fertility"])
def test_a_dictionary_decides_where_the_text_does_not(recipe):
    links = [
        Aligner(recipe, threads=1, dictionary_weight=3.0).fit(AMBIGUOUS, dictionary=words).align(AMBIGUOUS)[0].links
        for words in ({("a", "y"): 1.0, ("b", "x"): 1.0}, {("a", "x"): 1.0, ("b", "y"): 1.0})
    ]
    assert links == [[(0, 1), (1, 0)], [(0, 0), (1, 1)]]


def test_a_saved_model_keeps_its_dictionary_for_words_that_it_never_saw(tmp_path):
    words = {("a", "y"): 1.0, ("b", "x"): 1.0, ("new", "y"): 1.0}
    aligner = Aligner(threads=1, dictionary_weight=3.0).fit(AMBIGUOUS, dictionary=words)
    aligner.save(tmp_path / "model")
    loaded = Aligner.load(tmp_path / "model")
    new = "new b", "x y"
    assert np.array_equal(loaded.posteriors(*new), aligner.posteriors(*new))
    plain = Aligner(threads=1, dictionary_weight=3.0).fit(AMBIGUOUS, dictionary={("a", "y"): 1.0, ("b", "x"): 1.0})
    assert aligner.posteriors(*new)[0, 1] > plain.posteriors(*new)[0, 1]


def test_a_dictionary_the_wrong_way_round_is_noticed():
    with pytest.warns(UserWarning, match="from target to source"):
        Aligner("ibm1", threads=1).fit(AMBIGUOUS, dictionary={("y", "a"): 1.0})


def test_sampled_recipes_take_no_dictionary():
    with pytest.raises(InputError, match="takes no dictionary"):
        Aligner("hmm-bayes").fit(AMBIGUOUS, dictionary={("a", "y"): 1.0})
