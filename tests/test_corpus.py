"""The packed bitext: numbers that stand for the right words, text that stays as it was; long pairs end to end."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail import Aligner, Alignments, Bitext, InputError, TextOptions, read_bitext
from dovetail.alignments.whitespace import on_whitespace_tokens
from dovetail.bitext.normalise import Normaliser
from dovetail.bitext.numbering import TokenNumbers
from dovetail.bitext.readers import read_pairs
from dovetail.bitext.vocabulary import Vocabulary

words = st.text(st.characters(), min_size=1, max_size=6)  # any character at all, lone surrogates too
sentences = st.lists(words, max_size=6)
bitexts = st.lists(st.tuples(sentences, sentences), max_size=6)


def spelled(side, n):
    """Sentence n by its numbers."""
    return [side.vocabulary[word] for word in side.ids[side.offsets[n] : side.offsets[n + 1]]]


@given(pairs=bitexts)
def test_token_lists_come_back_by_text_and_by_number(pairs):
    bitext = Bitext.from_pairs(pairs)
    assert len(bitext) == len(pairs)
    assert bitext.lengths == [(len(source), len(target)) for source, target in pairs]
    for n, (source, target) in enumerate(pairs):
        assert bitext.tokens(n) == (source, target)
        assert (spelled(bitext.source, n), spelled(bitext.target, n)) == (source, target)


@given(pairs=bitexts)
def test_words_are_numbered_by_first_appearance_and_counted(pairs):
    vocabulary = Bitext.from_pairs(pairs).source.vocabulary
    tokens = [word for source, _ in pairs for word in source]
    assert vocabulary.words == list(dict.fromkeys(tokens))
    assert vocabulary.counts.tolist() == [tokens.count(word) for word in vocabulary]
    assert [vocabulary.id(word) for word in vocabulary] == list(range(len(vocabulary)))


@given(lines=st.lists(st.text(st.characters(exclude_characters="\n"), max_size=20), max_size=5))
@settings(max_examples=200, deadline=None)
def test_strings_are_cut_at_ascii_whitespace_and_nowhere_else(lines):
    bitext = Bitext.from_pairs([(line, line) for line in lines])
    for n, line in enumerate(lines):
        expected = [token for token in line.translate(str.maketrans("\t\r\v\f", "    ")).split(" ") if token]
        assert bitext.tokens(n)[0] == expected
        assert spelled(bitext.source, n) == expected
        raw, spans = bitext.text.source(n)
        assert raw == line
        assert [raw[start:end] for start, end in spans] == expected


@pytest.mark.parametrize("keep_text", [True, False])
def test_raw_lines_are_numbered_in_batches_as_the_same_tokens_one_by_one(keep_text, monkeypatch):
    random = np.random.default_rng(0)
    words = [f"wörter{n}"[: 3 + n % 9] + str(n) for n in range(12_000)]
    lines = [" ".join(random.choice(words, random.integers(0, 40))) for _ in range(400)]
    lines[7] = "  ".join(words)  # more new words in one line than the table has room for
    expected = Bitext.from_pairs([(line.split(), line.split()[::-1]) for line in lines])
    for batch in (1 << 22, 1000, 0):
        monkeypatch.setattr("dovetail.bitext.corpus.BATCH", batch)
        found = Bitext.from_pairs(((line, " ".join(line.split()[::-1])) for line in lines), keep_text=keep_text)
        for side, wanted in ((found.source, expected.source), (found.target, expected.target)):
            assert (side.ids == wanted.ids).all()
            assert (side.offsets == wanted.offsets).all()
            assert side.vocabulary.words == wanted.vocabulary.words
            assert side.ids.dtype == np.int32
        assert not keep_text or found.tokens(7) == expected.tokens(7)


lines_of_bytes = st.lists(
    st.sampled_from([b"a", b"b ", b" sentence", b"sentences ", "é".encode(), b"\t", b"\0", b"\r", b"\n", b"\r\n"]),
    max_size=20,
).map(b"".join)


@given(source=lines_of_bytes, target=lines_of_bytes, size=st.sampled_from([1, 3, 1 << 17]))
@settings(deadline=None)
def test_files_of_lines_are_packed_as_their_pairs_one_by_one(tmp_path_factory, source, target, size):
    folder = tmp_path_factory.mktemp("lines")
    more = source.count(b"\n") - target.count(b"\n")
    paths = folder / "source", folder / "target"
    paths[0].write_bytes(source + b"\n" * (1 - min(more, 0)))
    paths[1].write_bytes(target + b"\n" * (1 + max(more, 0)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dovetail.bitext.text._BUFFER_BYTES", size)
        pairs = list(read_pairs(*paths))
        expected, found = Bitext.from_pairs(pairs), read_bitext(*paths)
        unkept = read_bitext(*paths, keep_text=False)
    for side in ("source", "target"):
        wanted = getattr(expected, side)
        for bitext in (found, unkept):
            packed = getattr(bitext, side)
            assert packed.ids.tolist() == wanted.ids.tolist()
            assert packed.offsets.tolist() == wanted.offsets.tolist()
            assert packed.vocabulary.words == wanted.vocabulary.words
            assert packed.vocabulary.counts.tolist() == wanted.vocabulary.counts.tolist()
    for n, (line, other) in enumerate(pairs):
        assert (found.text.source(n)[0], found.text.target(n)[0]) == (line, other)
        assert found.tokens(n) == expected.tokens(n)


def test_words_of_eight_bytes_and_more_are_told_apart_to_their_end():
    tokens = ["a", "a\0", "a\0\0", "abcdefgh", "abcdefghi", "abcdefghj", "abcdefgh\0", "bbcdefghi", "abcdefg"]
    bitext = Bitext.from_pairs([(" ".join(tokens * 2), "x")])
    assert bitext.source.ids.tolist() == [*range(len(tokens))] * 2
    assert bitext.source.vocabulary.words == tokens


def test_spans_of_token_lists_point_into_the_tokens_joined_by_blanks():
    bitext = Bitext.from_pairs([(["New York", "", "𝒳"], ["nyc"])])
    raw, spans = bitext.text.source(0)
    assert raw == "New York  𝒳"
    assert [raw[start:end] for start, end in spans] == ["New York", "", "𝒳"]


def test_the_callers_list_may_change_afterwards():
    tokens = ["a", "b"]
    bitext = Bitext.from_pairs([(tokens, tokens)])
    tokens.append("c")
    assert bitext.tokens(0) == (["a", "b"], ["a", "b"])


def test_pairs_may_come_from_a_generator_and_be_none():
    assert len(Bitext.from_pairs((["a"], ["b"]) for _ in range(3))) == 3
    empty = Bitext.from_pairs([])
    assert len(empty) == 0
    assert empty.lengths == []


def test_strings_and_token_lists_do_not_mix():
    for pairs in ([("a b", ["c"])], [(["a"], "b")], [("a", "b"), (["a"], ["b"])]):
        with pytest.raises(TypeError, match="pair"):
            Bitext.from_pairs(pairs)


def test_case_and_form_change_the_numbers_but_not_the_text(tmp_path):
    composed, decomposed = "Caf\u00e9", "CAFE\u0301"
    (tmp_path / "a").write_text(f"{composed} {decomposed}\nﬁn fin\n", "utf-8")
    (tmp_path / "b").write_text("x\ny\n")
    plain = read_bitext(tmp_path / "a", tmp_path / "b")
    assert len(plain.source.vocabulary) == 4
    folded = read_bitext(tmp_path / "a", tmp_path / "b", lower=True, form="NFKC")
    assert folded.source.vocabulary.words == ["caf\u00e9", "fin"]
    assert folded.source.ids.tolist() == [0, 0, 1, 1]
    assert folded.tokens(0)[0] == [composed, decomposed]
    assert folded.tokens(1)[0] == ["ﬁn", "fin"]
    with pytest.raises(InputError, match="NFX"):
        read_bitext(tmp_path / "a", tmp_path / "b", form="NFX")


def test_a_tokenizer_cuts_raw_text_and_keeps_its_spans(tmp_path):
    (tmp_path / "a.tsv").write_text("Don't go!\tN'y va pas\u00a0!\n", "utf-8")
    bitext = read_bitext(tmp_path / "a.tsv", tokenizer="unicode")
    assert bitext.tokens(0) == (["Do", "n't", "go", "!"], ["N'", "y", "va", "pas", "!"])
    raw, spans = bitext.text.target(0)
    assert raw == "N'y va pas\u00a0!"
    assert spans[-1] == (11, 12)
    with pytest.raises(InputError, match="tokenizer"):
        read_bitext(tmp_path / "a.tsv", tokenizer="guess")


def test_text_that_is_not_kept_leaves_the_normalised_words(tmp_path):
    (tmp_path / "a.tsv").write_text("The House\tLa Maison\n")
    bitext = read_bitext(tmp_path / "a.tsv", lower=True, keep_text=False)
    assert bitext.text is None
    assert bitext.tokens(0) == (["the", "house"], ["la", "maison"])
    with pytest.raises(InputError, match="keep_text"):
        on_whitespace_tokens(Alignments.from_links([[]]), bitext)


def test_compressed_files_read_the_same(tmp_path):
    (tmp_path / "a").write_text("a b\n\nc\n")
    with gzip.open(tmp_path / "a.gz", "wt") as handle:
        handle.write("a b\n\nc\n")
    plain, packed = (read_bitext(tmp_path / name, tmp_path / name) for name in ("a", "a.gz"))
    assert plain.lengths == packed.lengths == [(2, 2), (0, 0), (1, 1)]
    assert (plain.source.ids == packed.source.ids).all()


@given(pairs=bitexts, data=st.data())
def test_a_part_is_those_pairs_with_the_same_vocabulary(pairs, data):
    bitext = Bitext.from_pairs(pairs)
    first = data.draw(st.integers(0, len(pairs)))
    last = data.draw(st.integers(first, len(pairs)))
    part = bitext.part(first, last)
    assert len(part) == last - first
    assert part.lengths == bitext.lengths[first:last]
    assert part.source.vocabulary is bitext.source.vocabulary
    for n in range(len(part)):
        assert part.tokens(n) == tuple(map(list, pairs[first + n]))


def test_vocabularies_find_their_words_in_each_other():
    here, there = Vocabulary(["a", "b", "c"]), Vocabulary(["c", "x", "a"])
    assert here.numbers_in(there).tolist() == [2, -1, 0]
    assert Vocabulary([]).numbers_in(here).tolist() == []
    assert here.id("z") == -1


@given(*[st.lists(st.text("abé日\udcff", min_size=1, max_size=12), max_size=20, unique=True)] * 2)
@settings(deadline=None)
def test_words_as_they_were_read_are_found_as_strings_are(here, there):
    read, known = (Bitext.from_pairs([(" ".join(words), "")]).source.vocabulary for words in (here, there))
    wanted = Vocabulary(here).numbers_in(Vocabulary(there)).tolist()
    assert read.numbers_in(known).tolist() == read.numbers_in(Vocabulary(there)).tolist() == wanted
    assert read.words == list(read) == here
    assert len(read) == len(here)


def test_odd_characters_are_words_like_any_other():
    odd = ["\x00", "\u200b", "\u00a0", "\x85", "\u2028", "\ufeff", "\x1c", "\udcff", "\U0010ffff", "😀"]
    bitext = Bitext.from_pairs([(odd, odd), (" ".join(odd).split(" "), odd)])
    assert bitext.lengths == [(10, 10)] * 2
    assert bitext.source.vocabulary.words == odd
    raw = Bitext.from_pairs([(" ".join(odd), " ".join(odd))])
    assert raw.tokens(0)[0] == odd


def test_options_survive_the_way_through_json():
    options = TextOptions("unicode", Normaliser(lower=True, form="NFC"))
    assert TextOptions.from_dict(options.to_dict()) == options


def test_a_dictionary_is_compared_as_the_text_is():
    options = TextOptions(normaliser=Normaliser(lower=True))
    bitext = Bitext.from_pairs([("The House", "La Maison"), ("A b", "C d")] * 2, options=options)
    posteriors = [
        Aligner("ibm1", threads=1, ibm1_iterations=1).fit(bitext, dictionary=words).posteriors("House", "Maison")
        for words in ({("HOUSE", "MAISON"): 1.0}, {("house", "maison"): 1.0}, {("house", "la"): 1.0})
    ]
    assert posteriors[0] == posteriors[1]
    assert posteriors[0] > posteriors[2]
    for wrong in (0.0, -1.0, 1.5, float("nan")):
        with pytest.raises(InputError, match="dictionary"):
            Aligner().fit(bitext, dictionary={("house", "maison"): wrong})


def test_a_link_on_whitespace_tokens_is_the_best_of_its_parts():
    options = TextOptions("unicode")
    bitext = Bitext.from_pairs([("I don't.", "Moi\u00a0non ."), ("", " a")], options=options)
    assert bitext.tokens(0) == (["I", "do", "n't", "."], ["Moi", "non", "."])
    links = Alignments.from_links([[(1, 0), (2, 1), (3, 2)], []], [[0.5, 0.75, 0.25], []], bitext.lengths)
    result, text = on_whitespace_tokens(links, bitext)
    assert result[0].links == [(1, 0), (1, 1)]
    assert result[0].probabilities == [0.75, 0.25]
    assert (result[0].source_length, result[0].target_length) == (2, 2)
    assert (result[1].links, result[1].source_length, result[1].target_length) == ([], 0, 1)
    assert text.target(0) == ("Moi\u00a0non .", [(0, 7), (8, 9)])


@pytest.mark.parametrize(("I", "J"), [(3000, 3000), (3000, 2400)])
def test_a_pair_of_thousands_of_words_comes_out_near_its_diagonal(I, J):
    generator = np.random.default_rng(5)
    source = generator.integers(400, size=I)
    kept = np.sort(generator.permutation(I)[:J])  # the target leaves some words out
    pair = [f"s{word}" for word in source], [f"t{word}" for word in source[kept]]
    short = [([f"s{a}", f"s{b}"], [f"t{a}", f"t{b}"]) for a, b in generator.integers(400, size=(800, 2))]
    bitext = Bitext.from_pairs([*short, pair])
    aligner = Aligner("hmm", threads=2, ibm1_iterations=3, hmm_iterations=2).fit(bitext)
    result = aligner.align(bitext)[len(short)]
    truth = set(zip(kept.tolist(), range(J), strict=True))
    found = set(result.links)
    assert len(found & truth) > 0.95 * J
    assert len(found - truth) < 0.05 * J
    assert result.links == sorted(found)


def test_a_word_against_a_very_long_line_is_aligned_in_bounds():
    bitext = Bitext.from_pairs([(["a"], ["x"] * 5000), (["a"] * 5000, ["x"]), (["a", "b"], ["x", "y"])])
    aligner = Aligner("hmm", threads=2).fit(bitext)
    for alignment, (I, J) in zip(aligner.align(bitext), bitext.lengths, strict=True):
        assert all(i < I and j < J for i, j in alignment.links)


@given(tokens=st.lists(st.text(st.characters(), max_size=6), unique=True, max_size=12), data=st.data())
@settings(deadline=None)
def test_tokens_come_back_from_their_numbers(tokens, data):
    """Whatever is in them, ends of lines too."""
    numbered = TokenNumbers.of(tokens)
    assert numbered.tokens() == tokens
    chosen = data.draw(st.lists(st.integers(0, len(tokens) - 1), max_size=8) if tokens else st.just([]))
    codes, lengths = numbered.letters(np.array(chosen, np.int64))
    assert "".join(map(chr, codes)) == "".join(tokens[number] for number in chosen)
    assert lengths.tolist() == [len(tokens[number]) for number in chosen]
