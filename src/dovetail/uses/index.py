"""Where words stand and what they are linked to: an index of an aligned text, built once, then mapped into memory.

Both sides are indexed alike.  Tokens of a side are numbered through the whole text; for each word its tokens are listed
(`postings`), for each token those of the other side that it is linked to (`partners`), and for each word the words that it
is ever linked to (`entries`).  `concordance` and `dictionary` look things up in it, and read no more than they need.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from array import array
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.errors import InputError
from dovetail.uses.aligned import Aligned, AlignedPair
from dovetail.uses.tally import LOW, ONE, TARGET_BITS, Numbering, Sums, link_weights, pair_keys

VERSION = 2
ABOUT = "about.json"  # written last: a folder without it is no index
SIDES = ("source", "target")
LARGEST = 2**32 - 1  # tokens of a side
CHANCE, SURE = np.uint16, 2**16 - 1  # how a link's probability is kept; this is 1
BLOCK = 1 << 20  # tokens that are looked at at a time, when an index is made
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # mixes the numbers of several linked words into one


@dataclass(frozen=True)
class Entries:
    """The words of the other side that each word is linked to, word by word."""

    others: np.ndarray  # int32 (entries,)
    starts: np.ndarray  # int64 (words + 1,)
    links: np.ndarray  # int64 (entries,): how many links that are
    weights: np.ndarray  # int64 (entries,): the sum of their probabilities, in parts of `tally.ONE`

    def of(self, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Others, links and weights of one word."""
        low, high = self.starts[number : number + 2].tolist()
        return self.others[low:high], self.links[low:high], self.weights[low:high]


@dataclass(frozen=True)
class Side:
    """One side of an index; arrays are mapped."""

    words: np.ndarray  # bytes of all words, in the order of their numbers
    word_ends: np.ndarray  # int64 (words + 1,)
    alphabet: np.ndarray  # int32 (words,): numbers of words in the order of the alphabet, see `_order`
    ranks: np.ndarray  # int32 (words,): the place of each word in it
    tokens: np.ndarray  # int32 (tokens,): the word of each
    sentences: np.ndarray  # int64 (pairs + 1,): first token of each
    postings: np.ndarray  # uint32 (tokens,): tokens, word by word
    kinds: np.ndarray  # int32 (tokens,): the translation of each posting, see `kinds_of`
    word_starts: np.ndarray  # int64 (words + 1,): where each word's postings begin
    partners: np.ndarray  # uint32 (links,): linked tokens of the other side, token by token
    partner_starts: np.ndarray  # int64 (tokens + 1,)
    entries: Entries

    def word(self, number: int) -> str:
        low, high = self.word_ends[number : number + 2].tolist()
        return self.words[low:high].tobytes().decode("utf-8", "replace")

    def before(self, folded: str) -> int:
        """How many words stand before this in the alphabet."""
        return bisect_left(self.alphabet, folded, key=lambda number: self.word(number).casefold())

    def numbers(self, word: str, ignore_case: bool) -> list[int]:
        """The numbers of a word, or of all its spellings in large and small letters."""
        spelled = word.encode("utf-8", "replace").decode("utf-8")
        folded = spelled.casefold()
        found = []
        for place in range(self.before(folded), len(self.alphabet)):
            number = int(self.alphabet[place])
            other = self.word(number)
            if other.casefold() != folded:
                break
            if ignore_case or other == spelled:
                found.append(number)
        return found

    def postings_of(self, numbers: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """All tokens of these words, in order, and their kinds."""
        parts = [slice(*self.word_starts[n : n + 2].tolist()) for n in numbers]
        if len(parts) == 1:
            return self.postings[parts[0]].astype(np.int64), np.asarray(self.kinds[parts[0]])
        tokens = np.concatenate([np.empty(0, np.int64), *(self.postings[part] for part in parts)]).astype(np.int64)
        kinds = np.concatenate([np.empty(0, np.int32), *(self.kinds[part] for part in parts)])
        order = np.argsort(tokens)
        return tokens[order], kinds[order]

    def partners_of(self, tokens: np.ndarray, size: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """What these tokens, and the `size` - 1 behind each, are linked to: which of them, and a token of the other side."""
        starts = self.partner_starts[tokens]
        counts = self.partner_starts[tokens + size] - starts
        rows = np.repeat(np.arange(len(tokens)), counts)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        return rows, self.partners[np.repeat(starts, counts) + within].astype(np.int64)

    def sentence_of(self, tokens: np.ndarray) -> np.ndarray:
        return np.searchsorted(self.sentences, tokens, side="right") - 1

    def sentence(self, pair: int) -> list[str]:
        low, high = self.sentences[pair : pair + 2].tolist()
        return [self.word(number) for number in self.tokens[low:high].tolist()]


class Index:
    """An index on disk; `open_index` and `build_index` return one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pairs: int = json.loads((folder / ABOUT).read_text("utf-8"))["pairs"]
        self.source, self.target = (_side(folder, side) for side in SIDES)
        self._chances = _mapped(folder, "source", "chances", CHANCE)  # of the links, in the order of `source.partners`

    def sides(self, first: str) -> tuple[Side, Side]:
        """Both sides, the named one first."""
        return (self.source, self.target) if first == "source" else (self.target, self.source)

    def pair(self, n: int) -> AlignedPair:
        """Pair n, counted from 0."""
        low, high = self.source.sentences[n : n + 2].tolist()
        rows, partners = self.source.partners_of(np.arange(low, high))
        links = list(zip(rows.tolist(), (partners - self.target.sentences[n]).tolist(), strict=True))
        start, end = self.source.partner_starts[[low, high]].tolist()
        probabilities = (self._chances[start:end] / SURE).tolist()
        return AlignedPair(self.source.sentence(n), self.target.sentence(n), links, probabilities)


def kinds_of(linked: np.ndarray, counts: np.ndarray, words: int) -> np.ndarray:
    """A number for each translation, of `counts[n]` words in `linked`: that word's own, or `words` where there is none.

    Translations of several words are numbered from there on, by a mixture of their words' numbers.
    """
    kinds = np.full(len(counts), words, np.int32)
    several, mixtures = [np.empty(0, np.int64)], [np.empty(0, np.uint64)]
    start = 0
    for first in range(0, len(counts), BLOCK):
        block = np.asarray(counts[first : first + BLOCK], np.int64)
        begin = start + np.cumsum(block) - block
        single, more = np.flatnonzero(block == 1), np.flatnonzero(block > 1)
        kinds[first + single] = linked[begin[single]]
        mixed = np.zeros(len(more), np.uint64)
        for step in range(int(block.max())):
            still = np.flatnonzero(block[more] > step)
            numbers = linked[begin[more[still]] + step].astype(np.uint64)
            mixed[still] = (mixed[still] ^ (numbers + np.uint64(1))) * MULTIPLIER
        several.append(first + more)
        mixtures.append(mixed)
        start += int(block.sum())
    kinds[np.concatenate(several)] = words + 1 + np.unique(np.concatenate(mixtures), return_inverse=True)[1]
    return kinds


FILES: dict[str, type[np.generic]] = {
    "words": np.uint8,
    "word_ends": np.int64,
    "alphabet": np.int32,
    "ranks": np.int32,
    "tokens": np.int32,
    "sentences": np.int64,
    "postings": np.uint32,
    "kinds": np.int32,
    "word_starts": np.int64,
    "partners": np.uint32,
    "partner_starts": np.int64,
}
ENTRY_FILES: dict[str, type[np.generic]] = {
    "entries": np.int32,
    "entry_starts": np.int64,
    "entry_links": np.int64,
    "entry_weights": np.int64,
}


def _side(folder: Path, side: str) -> Side:
    entries = Entries(*(_mapped(folder, side, name, kind) for name, kind in ENTRY_FILES.items()))
    return Side(**{name: _mapped(folder, side, name, kind) for name, kind in FILES.items()}, entries=entries)


def _mapped(folder: Path, side: str, name: str, kind: type[np.generic]) -> np.ndarray:
    path = folder / f"{side}.{name}"
    if not path.stat().st_size:
        return np.empty(0, kind)
    return np.memmap(path, kind, "r").view(np.ndarray)  # of which small parts are taken faster


def open_index(folder: str | os.PathLike[str], about: Mapping[str, Any]) -> Index | None:
    """The index in a folder if it was made of what `about` tells of; None if there is none, or a stale one."""
    place = Path(folder)
    try:
        known = json.loads((place / ABOUT).read_text("utf-8"))
    except (OSError, ValueError):
        return None
    if known.get("version") != VERSION or known.get("about") != json.loads(json.dumps(about)):
        return None
    try:
        return Index(place)
    except OSError:  # some of its files are gone
        return None


def build_index(aligned: Aligned, folder: str | os.PathLike[str], about: Mapping[str, Any]) -> Index:
    """Index an aligned text, in the place of what was in the folder before; `about` is kept, to know a stale one by."""
    place = Path(os.path.abspath(folder))
    if place.exists() and not (place / ABOUT).exists():
        raise InputError("this is there, and is no index", path=str(folder), remedy="Name another place with --index.")
    try:
        work = Path(tempfile.mkdtemp(prefix=f".{place.name}.", dir=place.parent))
    except OSError as error:
        raise InputError(
            f"no index can be written there ({error.strerror})", path=str(folder), remedy="Name a place with --index."
        ) from error
    try:
        pairs = _write_index(aligned, work)
        facts = {"version": VERSION, "pairs": pairs, "about": about}
        (work / ABOUT).write_text(json.dumps(facts), "utf-8")
        if place.exists():
            shutil.rmtree(place)
        os.replace(work, place)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise
    return Index(place)


def _write_index(aligned: Aligned, folder: Path) -> int:
    numberings = Numbering(), Numbering()
    lengths = array("i"), array("i")
    entries = Sums(2)
    pairs = 0
    with ExitStack() as stack:
        tokens = [stack.enter_context(open(folder / f"{side}.tokens", "wb")) for side in SIDES]
        links = [stack.enter_context(open(folder / f"{side}.links", "wb")) for side in SIDES]
        chances = stack.enter_context(open(folder / "source.chances", "wb"))
        written = [0, 0]
        for part in aligned.parts():
            alignments = part.alignments
            sides = part.bitext.source, part.bitext.target
            pair = np.repeat(np.arange(len(alignments)), np.diff(alignments.offsets))
            ids = [numberings[side].ids(sides[side]) for side in range(2)]
            places = [sides[0].offsets[pair] + alignments.source, sides[1].offsets[pair] + alignments.target]
            for side in range(2):
                ids[side].astype(np.int32).tofile(tokens[side])
                lengths[side].frombytes(sides[side].lengths.astype(np.int32).tobytes())
                (written[side] + places[side]).astype(np.uint32).tofile(links[side])
            weights = link_weights(alignments)
            np.rint(weights * (SURE / ONE)).astype(CHANCE).tofile(chances)
            entries.add(
                pair_keys(ids[0][places[0]], ids[1][places[1]]), np.column_stack([np.ones_like(weights), weights])
            )
            written = [written[side] + len(sides[side].ids) for side in range(2)]
            pairs += len(part.bitext)
    if max(written) > LARGEST:
        raise InputError(f"{max(written):,} tokens on one side", remedy="Index the text in parts.")
    for side, name in enumerate(SIDES):
        _write_words(folder, name, list(numberings[side].words))
        _starts(np.frombuffer(lengths[side], np.int32)).tofile(folder / f"{name}.sentences")
    for side, name in enumerate(SIDES):
        words = len(numberings[side]), len(numberings[1 - side])
        _write_links(folder, name, SIDES[1 - side], written[side], words)
    keys, sums = entries.result()
    _write_entries(folder, "source", keys >> TARGET_BITS, keys & LOW, sums, len(numberings[0]))
    order = np.argsort(keys & LOW, kind="stable")
    keys, sums = keys[order], sums[order]
    _write_entries(folder, "target", keys & LOW, keys >> TARGET_BITS, sums, len(numberings[1]))
    for name in SIDES:
        (folder / f"{name}.links").unlink()
    return pairs


def _write_words(folder: Path, name: str, words: list[str]) -> None:
    spelled = [word.encode("utf-8", "replace") for word in words]
    (folder / f"{name}.words").write_bytes(b"".join(spelled))
    _starts(np.array([len(word) for word in spelled], np.int64)).tofile(folder / f"{name}.word_ends")
    alphabet = np.array(_order([word.decode("utf-8") for word in spelled]), np.int32)
    alphabet.tofile(folder / f"{name}.alphabet")
    ranks = np.empty_like(alphabet)
    ranks[alphabet] = np.arange(len(words))
    ranks.tofile(folder / f"{name}.ranks")


def _order(words: list[str]) -> list[int]:
    """The words' numbers in an order where spellings in large and small letters are neighbours."""
    keys = [(word.casefold(), word) for word in words]
    return sorted(range(len(words)), key=keys.__getitem__)


def _write_links(folder: Path, name: str, other: str, size: int, words: Sequence[int]) -> None:
    """What the tokens of a side are linked to, and its postings; `words` counts those of this side and the other."""
    own, partners = (np.fromfile(folder / f"{side}.links", np.uint32) for side in (name, other))
    if name == SIDES[1]:  # links come sorted by source token
        partners = partners[np.argsort(own, kind="stable")]
    partners.tofile(folder / f"{name}.partners")
    counts = np.bincount(own, minlength=size).astype(np.int32)
    del own
    _starts(counts).tofile(folder / f"{name}.partner_starts")
    kinds = kinds_of(np.fromfile(folder / f"{other}.tokens", np.int32)[partners], counts, words[1])
    del partners, counts
    tokens = np.fromfile(folder / f"{name}.tokens", np.int32)
    postings = np.argsort(tokens, kind="stable")
    postings.astype(np.uint32).tofile(folder / f"{name}.postings")
    kinds[postings].tofile(folder / f"{name}.kinds")
    _starts(np.bincount(tokens, minlength=words[0])).tofile(folder / f"{name}.word_starts")


def _write_entries(folder: Path, name: str, own: np.ndarray, other: np.ndarray, sums: np.ndarray, words: int) -> None:
    """What each word of a side is linked to; entries come sorted by it."""
    other.astype(np.int32).tofile(folder / f"{name}.entries")
    _starts(np.bincount(own, minlength=words)).tofile(folder / f"{name}.entry_starts")
    sums[:, 0].tofile(folder / f"{name}.entry_links")
    sums[:, 1].tofile(folder / f"{name}.entry_weights")


def _starts(counts: np.ndarray) -> np.ndarray:
    result = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=result[1:])
    return result


def files_and_times(paths: Mapping[str, str | os.PathLike[str] | None]) -> dict[str, Any]:
    """What tells a file from a later one of the same name: where it is, its size, and when it was written."""
    found: dict[str, Any] = {}
    for name, path in paths.items():
        if path is None:
            continue
        try:
            status = os.stat(path)
        except OSError:
            found[name] = os.fspath(path)  # whoever reads it says what is wrong
            continue
        found[name] = [os.path.abspath(path), status.st_size, status.st_mtime_ns]
    return found
