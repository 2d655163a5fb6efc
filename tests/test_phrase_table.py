"""The phrase table against its slow twin, its bounds, and Thot's own table."""

from __future__ import annotations

import io
from collections import Counter, defaultdict
from itertools import groupby, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.alignments.alignments import Alignments
from dovetail.alignments.formats import write_alignments
from dovetail.bitext.corpus import Bitext
from dovetail.uses.aligned import AlignedText
from dovetail.uses.phrase_lines import LINES
from dovetail.uses.phrase_table import phrase_blocks, phrase_table
from dovetail.uses.phrases import phrase_pairs
from dovetail.uses.spill import Spill


@st.composite
def aligned_texts(draw, letters="abc", shortest=0, longest=5):
    """A few short sentence pairs of few words, so that phrases come again, with any links."""
    pairs, links, probabilities = [], [], []
    for _ in range(draw(st.integers(1, 4))):
        source, target = (
            draw(st.lists(st.sampled_from(letters), min_size=shortest, max_size=longest)) for _ in range(2)
        )
        cells = [(i, j) for i in range(len(source)) for j in range(len(target))]
        row = sorted(draw(st.sets(st.sampled_from(cells), max_size=7))) if cells else []
        pairs.append((source, target))
        links.append(row)
        probabilities.append([draw(st.sampled_from([1.0, 0.5, 0.25])) for _ in row])
    bitext = Bitext.from_pairs(pairs)
    return AlignedText(bitext, Alignments.from_links(links, probabilities, bitext.lengths))


def naive_lexicon(aligned):
    """w(target | source) and w(source | target), NULL (None) included, as Koehn, Och and Marcu (2003) estimate them."""
    links, sources, targets = Counter(), Counter(), Counter()
    for source, target, row, _ in aligned:
        found = [(source[i], target[j]) for i, j in row]
        found += [(source[i], None) for i in range(len(source)) if i not in {i for i, _ in row}]
        found += [(None, target[j]) for j in range(len(target)) if j not in {j for _, j in row}]
        links.update(found)
        sources.update(s for s, _ in found)
        targets.update(t for _, t in found)
    return {pair: (n / sources[pair[0]], n / targets[pair[1]]) for pair, n in links.items()}


def naive_orientation(links, I, J, corner, opposite):
    """Monotone, swap or other; the sentence pair's ends count as linked."""
    points = set(links) | {(-1, -1), (I, J)}
    return {(True, False): "m", (False, True): "s"}.get((corner in points, opposite in points), "o")


def naive_table(aligned, longest):
    lexicon = naive_lexicon(aligned)
    found, turns, right, places = defaultdict(Counter), defaultdict(Counter), Counter(), defaultdict(set)
    for n, (source, target, links, probabilities) in enumerate(aligned):
        for a, b, c, d in phrase_pairs(links, len(source), len(target), longest):
            key = " ".join(source[a : b + 1]), " ".join(target[c : d + 1])
            places[key].add(n)
            inside = [(i, j) for i, j in links if a <= i <= b]
            found[key][tuple((i - a, j - c) for i, j in inside)] += 1
            shape = links, len(source), len(target)
            turns[key]["before", naive_orientation(*shape, (a - 1, c - 1), (b + 1, c - 1))] += 1
            turns[key]["behind", naive_orientation(*shape, (b + 1, d + 1), (a - 1, d + 1))] += 1
            right[key] += np.prod([p for link, p in zip(links, probabilities, strict=True) if link in inside])
    table = {}
    for (source, target), shapes in found.items():
        # the first of the most frequent, by the bits of its links, in which i counts more than j
        links = min(shapes, key=lambda shape: (-shapes[shape], _bits(shape, longest)))
        lexical = []
        for words, others, side in ((source.split(), target.split(), 0), (target.split(), source.split(), 1)):
            weight = 1.0
            for k, word in enumerate(words):
                partners = [link[1 - side] for link in links if link[side] == k]
                pairs = [(word, others[x]) for x in partners] or [(word, None)]
                pairs = [pair if side == 0 else pair[::-1] for pair in pairs]
                weight *= np.mean([lexicon[pair][1 - side] for pair in pairs])
            lexical.append(weight)
        count = sum(shapes.values())
        of_source = sum(sum(c.values()) for (s, _), c in found.items() if s == source)
        of_target = sum(sum(c.values()) for (_, t), c in found.items() if t == target)
        order = [
            (turns[source, target][side, kind] + 0.5) / (count + 1.5) for side in ("before", "behind") for kind in "mso"
        ]
        scores = [count / of_target, lexical[0], count / of_source, lexical[1]]
        table[source, target] = (
            scores,
            list(links),
            (of_target, of_source, count, len(places[source, target])),
            right[source, target],
            order,
        )
    return table


def _bits(shape, longest):
    """What the table compares: 32 links at a time, the first of them first."""
    bits = sum(1 << (i * longest + j) for i, j in shape)
    return [bits >> shift & 0xFFFFFFFF for shift in range(0, longest * longest, 32)]


@given(aligned_texts(), st.integers(1, 6), st.sampled_from([1 << 27, 1]))
@settings(deadline=None, max_examples=60)
def test_the_table_is_the_slow_twins_in_any_memory(aligned, longest, memory):
    expected = naive_table(aligned, longest)
    found = list(phrase_table(aligned, longest, memory=memory))
    assert {(phrase.source, phrase.target) for phrase in found} == set(expected)
    for phrase in found:
        scores, links, counts, right, order = expected[phrase.source, phrase.target]
        assert list(phrase.links) == links
        assert (phrase.target_count, phrase.source_count, phrase.count, phrase.pairs) == counts
        given_scores = [phrase.inverse, phrase.inverse_lexical, phrase.direct, phrase.direct_lexical]
        assert given_scores == pytest.approx(scores)
        assert phrase.expected == pytest.approx(right)
        assert list(phrase.orientations) == pytest.approx(order)


@given(aligned_texts(letters=["a", "ab", "|||", "é", "a!", "\U0001f600", "~"]))
@settings(deadline=None, max_examples=40)
def test_lines_are_sorted_by_their_bytes_and_hold_five_fields(aligned):
    lines = [phrase.moses() for phrase in phrase_table(aligned, 3)]
    beginnings = [line.split(" ||| ")[:2] for line in lines]
    keys = [f"{source} ||| {target} |||".encode() for source, target in beginnings]
    assert keys == sorted(keys)
    assert all(len(line.split(" ||| ")) == 5 for line in lines)


@given(aligned_texts(letters=["a", "ab", "|||", "é", "\U0001f600"]), st.sampled_from([1, 3, 7]))
@settings(deadline=None, max_examples=40)
def test_lines_written_together_are_those_of_single_phrases(aligned, longest):
    blocks = list(phrase_blocks(aligned, longest))
    for name, write in LINES.items():
        lines = "".join(f"{getattr(phrase, name)()}\n" for block in blocks for phrase in block.phrases())
        assert "".join(map(write, blocks)) == lines


def test_a_spill_adds_up_and_keeps_keys_together_however_small_its_memory(tmp_path):
    generator = np.random.default_rng(0)
    keys = generator.integers(0, 5, (2000, 3), dtype=np.uint8)
    values = generator.integers(0, 9, (2000, 2))
    expected = Counter()
    for key, value in zip(map(tuple, keys.tolist()), values.tolist(), strict=True):
        expected[key] += np.array(value)
    for memory in (1, 2000, 1 << 20):
        with Spill(3, 2, memory, tmp_path) as spill:
            for first in range(0, 2000, 100):
                spill.add(keys[first : first + 100], values[first : first + 100])
            blocks = [(block.tolist(), sums.tolist()) for block, sums in spill.merged(together=1)]
        found = [(tuple(key), sums) for block, rows in blocks for key, sums in zip(block, rows, strict=True)]
        assert [key for key, _ in found] == sorted(expected)
        assert all(sums == expected[key].tolist() for key, sums in found)
        assert len({key[0] for block, _ in blocks for key in block}) == sum(
            len({key[0] for key in block}) for block, _ in blocks
        )
    assert not list(tmp_path.iterdir())


def naive_attached(phrase, links, J):
    """Thot's rules by trying all ways to give each run of words without links to a source word of its own."""
    a, b, c, d = phrase
    linked = {j for _, j in links}
    inside = [(i, j) for i, j in links if a <= i <= b]
    runs = [list(run) for free, run in groupby(range(J), key=lambda j: j not in linked) if free]
    runs = [run for run in runs if set(run) & set(range(c, d + 1))]
    if any(run[0] < c or run[-1] > d for run in runs):
        return False
    needy = []
    for run in runs:
        within = any(
            min(t for i, t in inside if i == s) < run[0] and max(t for i, t in inside if i == s) > run[-1]
            for s in {i for i, _ in inside}
        )
        if not within:
            needy.append({i for i, j in inside if j in (run[0] - 1, run[-1] + 1)})
    return any(len(set(owners)) == len(owners) for owners in product(*needy))


@given(aligned_texts(letters="abcdef", shortest=1, longest=7), st.sampled_from([2, 4, 7]))
@settings(deadline=None, max_examples=100)
def test_thots_phrases_are_those_of_its_rules(aligned, longest):
    expected = Counter()
    for source, target, links, _ in aligned:
        for a, b, c, d in phrase_pairs(links, len(source), len(target), longest):
            whole = b - a + 1 == len(source) and d - c + 1 < len(target)
            if not whole and naive_attached((a, b, c, d), links, len(target)):
                expected[" ".join(source[a : b + 1]), " ".join(target[c : d + 1])] += 1
    found = {(phrase.source, phrase.target): phrase.count for phrase in phrase_table(aligned, longest, thot=True)}
    assert found == expected


def thots_own(aligned, longest, place):
    translation = pytest.importorskip("thot").translation
    swapped = Bitext.from_pairs([(target, source) for source, target, *_ in aligned])
    handle = io.StringIO()
    write_alignments(handle, aligned.alignments.swapped(), "giza", swapped.text)
    (place / "links.A3").write_text(handle.getvalue(), "utf-8")
    parameters = translation.PhraseExtractParameters()
    parameters.max_target_phrase_length = longest
    parameters.constrain_source_length = True
    model = translation.PhraseModel()
    assert model.build(str(place / "links.A3"), parameters, False)
    model.print_phrase_table(str(place / "table"))
    return sorted(line.strip() for line in (place / "table").read_text("utf-8").splitlines())


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("thot")


# Thot makes a line of `-nan` from an empty sentence: there is none here.
@given(aligned=aligned_texts(letters="abcdef", shortest=1, longest=9), longest=st.sampled_from([1, 2, 4, 7]))
@settings(deadline=None, max_examples=200)
def test_thots_table_is_the_one_that_thot_makes(aligned, longest, place):
    found = sorted(phrase.thot() for phrase in phrase_table(aligned, longest, thot=True))
    assert found == thots_own(aligned, longest, place)
