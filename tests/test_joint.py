"""The flagship's parts, each alone: counted lexicon, stems, spelling, word jumps, fertility messages, evidence."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dovetail.bitext.corpus import Bitext
from dovetail.bitext.shards import Slots, shard_of
from dovetail.bitext.spelling import LONGEST_WORD, letters, letters_beside, stem_keys, stems
from dovetail.bitext.vocabulary import Vocabulary
from dovetail.kernels.lexicon import spelling as spelling_kernels
from dovetail.kernels.lexicon import stems as stem_kernels
from dovetail.kernels.lexicon.counted import without
from dovetail.kernels.live.messages import speak, speak_to_others
from dovetail.models.jumps.word import BINS, EDGES, WordJumps, bin_limits, bins_of
from dovetail.models.lexicon.counted import CountedLexicon
from dovetail.models.lexicon.spelling import SpellingPrior, compare_spellings
from dovetail.models.lexicon.stems import FormPriors
from dovetail.models.lexicon.stems import _known as known_stems
from dovetail.models.lexicon.table import LexiconCounts, TableLexicon
from dovetail.pool import Pool

chances = st.floats(0.01, 0.99)


def told(posteriors, lump, phi):
    """Messages to the notable cells and to the others, and what the word believes."""
    n = len(posteriors)
    messages, without, counts, belief = np.ones(n, np.float32), np.empty(n), np.empty(5), np.empty(5)
    speak(np.array(posteriors, np.float32), messages, n, lump, phi, without, counts)
    return messages, speak_to_others(without, n, lump, phi, counts, belief), belief


@given(posteriors=st.lists(chances, min_size=1, max_size=5), phi=st.lists(st.floats(0.05, 1), min_size=5, max_size=5))
@settings(deadline=None)
def test_fertility_messages_are_the_enumerated_ratio_of_support(posteriors, phi):
    n, phi = len(posteriors), np.array(phi)
    messages, default, belief = told(posteriors, 0.0, phi)

    def support(left_out, shift):
        total = 0.0
        others = [p for m, p in enumerate(posteriors) if m != left_out]
        for links in product([0, 1], repeat=len(others)):
            weight = np.prod([p if link else 1 - p for p, link in zip(others, links, strict=True)])
            # Counts of four and more share an entry, so one more than four is still four.
            total += weight * phi[min(min(sum(links), 4) + shift, 4)]
        return total

    assert default == pytest.approx(support(None, 1) / support(None, 0), rel=1e-4)
    for m in range(n):
        assert messages[m] == pytest.approx(support(m, 1) / support(m, 0), rel=1e-4)
    assert belief.sum() == pytest.approx(1.0)


def test_a_flat_fertility_says_nothing():
    messages, default, _ = told([0.3, 0.9], 0.1, np.ones(5))
    assert default == pytest.approx(1.0)
    assert messages == pytest.approx([1.0, 1.0])


def test_a_word_that_takes_one_link_talks_a_second_cell_out_of_it():
    phi = np.array([0.05, 0.9, 0.03, 0.01, 0.01])
    messages, default, _ = told([0.95, 0.3], 0.0, phi)
    assert messages[1] < 0.2
    assert default < messages[0]


@given(own=st.floats(0, 1), count=st.floats(0, 5), prior=st.floats(1e-4, 1))
@settings(deadline=None)
def test_a_cell_that_takes_itself_out_leaves_the_counts_of_all_other_cells(own, count, prior):
    """Taking q out of totals that hold q gives what counting without the cell would have given."""

    def words(total, stem):
        # total, prior, (scale), then of each level: the stem's count, p(word | stem), (factor)
        return np.array([total, 0.5, 0, stem, 0.7, 0, stem, 0.2, 0], np.float32)

    got = without(
        np.float32(own),
        np.array([count + own, prior, 2 * count + own, 3 * count + own], np.float32),
        words(7 + own, 9 + own),
        words(1.0, 1.0),
        np.array([1.5, 0.75], np.float32),
    )
    top = count + prior + 1.5 * 2 * count / 10 * 0.7 + 0.75 * 3 * count / 10 * 0.2
    assert got == pytest.approx(top / (7 + 0.5 + 2.25), rel=1e-4, abs=1e-6)


def naive_common_subsequence(one, other):
    if not one or not other:
        return 0
    if one[-1] == other[-1]:
        return naive_common_subsequence(one[:-1], other[:-1]) + 1
    return max(naive_common_subsequence(one[:-1], other), naive_common_subsequence(one, other[:-1]))


def common_subsequence(one, other):
    codes = [np.array([ord(letter) for letter in word], np.int32) for word in (one, other)]
    places = np.zeros(128, np.uint64)
    spelling_kernels.mark_places(codes[0], 0, len(one), places)
    found = spelling_kernels.common_subsequence(places, len(one), codes[1], 0, len(other))
    spelling_kernels.unmark_places(codes[0], 0, len(one), places)
    assert not places.any()
    return found


@given(one=st.text("abc", max_size=6), other=st.text("abc", max_size=6))
@settings(deadline=None)
def test_the_longest_common_subsequence_equals_the_recursive_definition(one, other):
    assert common_subsequence(one, other) == naive_common_subsequence(one, other)


@given(one=st.text("abcd", min_size=60, max_size=64), other=st.text("abcd", min_size=50, max_size=64))
@settings(deadline=None)
def test_the_longest_common_subsequence_of_words_that_fill_the_machine_word(one, other):
    table = np.zeros((len(one) + 1, len(other) + 1), int)
    for i, j in product(range(len(one)), range(len(other))):
        same = table[i, j] + 1 if one[i] == other[j] else 0
        table[i + 1, j + 1] = max(table[i, j + 1], table[i + 1, j], same)
    assert common_subsequence(one, other) == table[-1, -1]


def naive_bin(one, other, like):
    plain = [any(map(str.isalpha, word)) and not any(map(str.isdigit, word)) for word in (one, other)]
    if one == other:
        if not plain[0]:
            return spelling_kernels.IDENTICAL_OTHER
        return spelling_kernels.IDENTICAL if len(one) >= 4 else spelling_kernels.IDENTICAL_SHORT
    if not all(plain) or min(len(one), len(other)) < 3:
        return spelling_kernels.UNCOMPARED
    tenths = 10 * naive_common_subsequence(one, other) // max(len(one), len(other))
    return tenths if tenths >= like else spelling_kernels.UNLIKE


@given(
    words=st.lists(st.text("aaabAc1!\u0101", min_size=1, max_size=7), min_size=1, max_size=6, unique=True),
    like=st.integers(0, 5),
)
@example(words=["banana", "ananas", "aaaaaa", "aaaaab", "123", "12a", "an"], like=5)
@settings(deadline=None)
def test_the_spelling_bin_of_every_pair_is_that_of_its_definition(words, like):
    slots = Slots(
        np.arange(len(words) + 1) * len(words), np.tile(np.arange(len(words), dtype=np.int32), len(words)), len(words)
    )
    bins = compare_spellings(slots, Vocabulary(words), Vocabulary(words[::-1]), Pool(1), like)
    assert bins.tolist() == [naive_bin(fold(one), fold(other), like) for one in words for other in words[::-1]]


def test_how_unlike_words_are_is_told_apart_as_far_as_their_counts_differ():
    wins = np.stack([np.linspace(0.1, 1.0, spelling_kernels.BINS), np.ones(spelling_kernels.BINS)], axis=1)
    learned = SpellingPrior.flat(1e-4, np.empty(0, np.uint8)).calibrated(wins)
    assert learned.like == spelling_kernels.LIKE
    assert (learned.counts[: spelling_kernels.LIKE] == learned.counts[0]).all()
    assert len(np.unique(learned.counts)) == spelling_kernels.BINS - spelling_kernels.LIKE + 1
    told_apart = replace(learned, counts=np.arange(spelling_kernels.BINS, dtype=np.float32))  # as models once did
    assert told_apart.like == 1


def bare(text):
    """Without case and diacritics."""
    return "".join(a for a in unicodedata.normalize("NFD", text.casefold()) if not unicodedata.combining(a))


def fold(word):
    """Letter by letter; a word of nothing but diacritics stays."""
    return "".join(unicodedata.normalize("NFC", bare(letter)) for letter in word) or word


def words_of(packed):
    return ["".join(map(chr, packed.codes[a:b])) for a, b in pairwise(packed.offsets)]


@given(words=st.lists(st.text("ÉßŉİΣς\u0301\u0345\udcff日서Aa1", min_size=1) | st.text(min_size=1), unique=True))
@example(words=["\u0301", "é\u0301x", "\u0301\u0302", "a" * 100, "ŉ" * 40, "x"])
@settings(deadline=None)
def test_words_are_folded_all_at_once_as_one_by_one(words):
    packed = letters(Vocabulary(words))
    assert words_of(packed) == [fold(word)[:LONGEST_WORD] for word in words]
    found = [(any(map(str.isalpha, word)), any(map(str.isdigit, word))) for word in words_of(packed)]
    assert packed.plain.tolist() == [alpha and not digit for alpha, digit in found]
    for word in words:
        assert unicodedata.normalize("NFD", fold(word)) == unicodedata.normalize("NFD", bare(word) or word)


def test_stems_share_their_beginning_or_end_whatever_the_case_and_accents():
    words = Vocabulary(["Décision", "decisions", "Hausboot", "Ruderboot", "日本", "日記"])
    heads, tails = stems(words, 0).numbers, stems(words, 1).numbers
    assert heads[0] == heads[1] != heads[2]
    assert tails[2] == tails[3]
    assert heads[4] == heads[5]
    assert tails[4] != tails[5]
    assert words_of(letters(Vocabulary(["ÉCOLE"]))) == ["ecole"]


def naive_stem(word, level):
    folded = fold(word)
    if re.search("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]", folded):
        return (folded[:1], folded[-1:], folded[:1], folded[1:2] or folded)[level]
    return (folded[:4], folded[-4:], folded[:3], folded[2:6] if len(folded) > 4 else folded)[level]


def test_stems_by_kind():
    words = [
        "podnik",
        "Podát",
        "vyhodnotit",
        "zhodnotit",
        "pod",
        "dvě",
        "日本語",
        "新本",
        "서울",
        "서",
        "25",
        "podnikl",
        "a",
    ]
    for level in range(4):
        names = [naive_stem(word, level) for word in words]
        numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
        assert stems(Vocabulary(words), level).numbers.tolist() == [numbers[name] for name in names]
    assert naive_stem("vyhodnotit", 3) == "hodn"
    assert naive_stem("서울", 0) == "서"


@given(here=st.lists(st.text("abcdé日本서", min_size=1, max_size=7), unique=True, max_size=8), there=st.data())
@settings(deadline=None)
def test_stems_are_found_in_another_vocabulary_by_their_letters(here, there):
    others = there.draw(
        st.lists(
            st.one_of(st.sampled_from(here), st.text("abé本서", min_size=1)) if here else st.text("ab", min_size=1),
            unique=True,
            max_size=8,
        )
    )
    for level in range(4):
        ours, theirs = stems(Vocabulary(here), level), stems(Vocabulary(others), level)
        names = {number: naive_stem(word, level) for word, number in zip(here, ours.numbers.tolist(), strict=True)}
        known = {naive_stem(word, level): number for word, number in zip(others, theirs.numbers.tolist(), strict=True)}
        other = Vocabulary(others, np.arange(len(others)))
        same = Vocabulary(here).numbers_in(other)
        beside = letters_beside(Vocabulary(here), other, same)
        for found, wanted in zip(beside, letters(Vocabulary(here)), strict=True):
            assert found.tolist() == wanted.tolist()
        for values in letters(other):  # as they come from other processes
            values.flags.writeable = False
        assert letters_beside(Vocabulary(here), other, same).offsets.tolist() == beside.offsets.tolist()
        numbers, shares = np.empty(len(here), np.int32), np.empty(len(here))
        stem_kernels.find_stems(same, stem_keys(beside, level), known_stems(theirs, other), numbers, shares)
        assert numbers.tolist() == [known.get(names[number], len(theirs)) for number in ours.numbers.tolist()]
        for word, number, share in zip(here, numbers, shares, strict=True):
            tokens = sum(max(n, 0.5) for n, stem in enumerate(theirs.numbers) if stem == number)
            seen = max(others.index(word), 0.5) if word in others else 0.5
            assert share == pytest.approx(seen / max(tokens, seen))


def test_every_distance_lies_within_the_limits_of_its_bin():
    low, high = bin_limits()
    bins = bins_of(100)
    assert len(low) == BINS
    for distance, number in zip(range(-100, 101), bins, strict=True):
        assert low[number] <= distance <= high[number]
    assert [int(low[number]) for number in bins[100:108]] == list(EDGES[:8])


def test_a_word_with_many_moves_keeps_its_own_jumps_and_a_rare_word_takes_the_shared_ones():
    counts = np.zeros((3, 2, BINS))
    middle = BINS // 2
    counts[:, 1] = 1.0  # as if every distance had been open every time
    counts[0, 0, middle + 1] = 1000.0
    counts[1, 0, middle - 1] = 1000.0
    counts[0:2, 1] *= 1000.0
    counts[2, 0, middle - 1], counts[2, 1] = 0.01, 0.01
    jumps = WordJumps.estimate(counts, np.ones((2, 2, 16)), strength=50.0)
    assert jumps.weights[0, middle + 1] > 10 * jumps.weights[0, middle - 1]
    assert jumps.weights[1, middle - 1] > 10 * jumps.weights[1, middle + 1]
    assert jumps.weights[2] == pytest.approx(jumps.shared, rel=0.05)
    same = WordJumps.estimate(counts, np.ones((2, 2, 16)), strength=0.0)
    assert (same.weights == same.weights[0]).all()


def test_bitext_of_cognates_makes_the_spelling_prior_speak_up():
    bitext = Bitext.from_pairs([(["nation", "station"], ["nation", "gare"])])
    pool = Pool(1)
    shard = shard_of(bitext, pool)
    lexicon = CountedLexicon.empty(
        shard.slots, (bitext.source.vocabulary, bitext.target.vocabulary), FormPriors(), pool
    )
    wins = np.zeros((spelling_kernels.BINS, 2))
    wins[:, 1] = 10.0
    assert lexicon.calibrated(wins).spelling.counts == pytest.approx(1e-4)
    wins[spelling_kernels.IDENTICAL, 0] = 8.0
    speaking = lexicon.calibrated(wins)
    assert speaking.spelling.counts[spelling_kernels.IDENTICAL] == pytest.approx(1e-4 + 0.5 * 0.8**3)
    assert speaking.prior_weights[0] == pytest.approx([0.5 * 0.8**3, 0.0], abs=1e-6)


class Twice:
    """A prior of somebody's own: what the words spell alike is taken as seen twice."""

    def pseudo_counts(self, slots, source, target):
        same = [source[int(e)] == target[int(f)] for e, f in zip(slots.source, slots.target, strict=True)]
        return np.array(same, np.float32) * 2


def test_pseudo_counts_of_priors_are_added_to_those_of_the_pair_and_of_its_words():
    bitext = Bitext.from_pairs([(["a", "b"], ["a", "c"]), (["b"], ["c", "b"])])
    pool, vocabularies = Pool(1), (bitext.source.vocabulary, bitext.target.vocabulary)
    shard = shard_of(bitext, pool)
    plain = CountedLexicon.empty(shard.slots, vocabularies, FormPriors(alpha=0.1, spelling=False), pool)
    leaning = plain.with_priors([Twice()])
    same = Twice().pseudo_counts(shard.slots, *vocabularies) > 0
    assert same.sum() == 2
    support, more = plain.scoring(pool).support, leaning.scoring(pool).support
    assert more[:, 1] - support[:, 1] == pytest.approx(np.where(same, 2.0, 0.0))
    # (0 + 0.1 + 2) / (0 + 0.1 * 3 words + 2 + 6.5 of stems), and nobody else's count changes
    assert leaning.probabilities(pool)[same, 0] == pytest.approx(2.1 / 8.8)
    table = TableLexicon.uniform(shard.slots).with_priors([Twice()], vocabularies)
    table.reestimate(LexiconCounts.zeros(shard.slots), pool)
    assert table.table[same, 0] == pytest.approx(1.0)
