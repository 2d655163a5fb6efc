"""Where words stand and what they are linked to: an index of an aligned text, built once, then mapped into memory.

Both sides are indexed alike.  Tokens of a side are numbered through the whole text; for each word its tokens are listed
(`postings`), for each token those of the other side that it is linked to (`partners`).  A look-up reads what it needs.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from array import array
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dovetail.errors import InputError
from dovetail.uses.aligned import Aligned
from dovetail.uses.tally import Numbering

VERSION = 1
ABOUT = "about.json"  # written last: a folder without it is no index
SIDES = ("source", "target")
LARGEST = 2**32 - 1  # tokens of a side
BLOCK = 1 << 20  # tokens that are looked at at a time, when an index is made
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # mixes the numbers of several linked words into one


class Hit(NamedTuple):
    """One place: the pair, from 1, its words, and which of them were asked for (`here`) and are linked to those (`there`).

    `words` are those of the side that was asked, `others` those of the other one.
    """

    pair: int
    words: list[str]
    others: list[str]
    here: list[int]
    there: list[int]


class Group(NamedTuple):
    """All places with one translation, empty where there is no link; `hits` are the first of them."""

    translation: str
    count: int  # type: ignore[assignment]  # tuples count, too
    hits: list[Hit]


class Concordance(NamedTuple):
    """Everything found, the most frequent translation first; `groups` may be fewer than there are `translations`."""

    query: str
    count: int  # type: ignore[assignment]
    translations: int
    groups: list[Group]


@dataclass(frozen=True)
class _Side:
    """One side of an index; arrays are mapped."""

    words: np.ndarray  # bytes of all words, in the order of their numbers
    word_ends: np.ndarray  # int64 (words + 1,)
    alphabet: np.ndarray  # int32 (words,): numbers of words in the order of their bytes
    tokens: np.ndarray  # int32 (tokens,): the word of each
    sentences: np.ndarray  # int64 (pairs + 1,): first token of each
    postings: np.ndarray  # uint32 (tokens,): tokens, word by word
    kinds: np.ndarray  # int32 (tokens,): the translation of each posting, see `_kinds`
    word_starts: np.ndarray  # int64 (words + 1,): where each word's postings begin
    partners: np.ndarray  # uint32 (links,): linked tokens of the other side, token by token
    partner_starts: np.ndarray  # int64 (tokens + 1,)

    def word(self, number: int) -> str:
        low, high = self.word_ends[number : number + 2].tolist()
        return self.words[low:high].tobytes().decode("utf-8", "replace")

    def numbers(self, word: str, ignore_case: bool) -> list[int]:
        """The numbers of a word, or of all its spellings in large and small letters."""
        if ignore_case:
            wanted = word.casefold()
            blob, ends = self.words.tobytes(), self.word_ends.tolist()
            spelled = (blob[low:high].decode("utf-8", "replace") for low, high in pairwise(ends))
            return [number for number, other in enumerate(spelled) if other.casefold() == wanted]
        wanted_bytes = word.encode("utf-8", "replace")
        low, high = 0, len(self.alphabet)
        while low < high:
            middle = (low + high) // 2
            number = int(self.alphabet[middle])
            start, end = self.word_ends[number : number + 2].tolist()
            found = self.words[start:end].tobytes()
            if found == wanted_bytes:
                return [number]
            low, high = (middle + 1, high) if found < wanted_bytes else (low, middle)
        return []

    def postings_of(self, word: str, ignore_case: bool) -> tuple[np.ndarray, np.ndarray]:
        """All tokens of a word, in order, and their kinds."""
        parts = [slice(*self.word_starts[n : n + 2].tolist()) for n in self.numbers(word, ignore_case)]
        if len(parts) == 1:
            return self.postings[parts[0]].astype(np.int64), np.asarray(self.kinds[parts[0]])
        tokens = np.concatenate([np.empty(0, np.int64), *(self.postings[part] for part in parts)]).astype(np.int64)
        kinds = np.concatenate([np.empty(0, np.int32), *(self.kinds[part] for part in parts)])
        order = np.argsort(tokens)
        return tokens[order], kinds[order]

    def places(self, words: Sequence[str], ignore_case: bool) -> np.ndarray:
        """First tokens of all places where these words follow each other in a sentence, in order."""
        found, _ = self.postings_of(words[0], ignore_case)
        found = found[found + len(words) <= len(self.tokens)]
        for step, word in enumerate(words[1:], 1):
            found = found[np.isin(self.tokens[found + step], self.numbers(word, ignore_case))]
        starts = self.sentences[self.sentence_of(found + len(words) - 1)]
        return found[starts <= found]

    def sentence_of(self, tokens: np.ndarray) -> np.ndarray:
        return np.searchsorted(self.sentences, tokens, side="right") - 1

    def sentence(self, pair: int) -> list[str]:
        low, high = self.sentences[pair : pair + 2].tolist()
        return [self.word(number) for number in self.tokens[low:high].tolist()]


class Index:
    """An index on disk; `open_index` makes or opens one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pairs = json.loads((folder / ABOUT).read_text("utf-8"))["pairs"]
        self._sides = tuple(_Side(**{name: _mapped(folder, side, name) for name in FILES}) for side in SIDES)

    def find(
        self, query: str, *, side: str = "source", ignore_case: bool = False, groups: int = 10, hits: int = 5
    ) -> Concordance:
        """All places of a word, or of several that follow each other, by what they are linked to."""
        words = query.split()
        if not words:
            raise InputError("nothing to look for", remedy="Name a word.")
        here, there = self._sides if side == "source" else self._sides[::-1]
        if len(words) == 1:
            places, kinds = here.postings_of(words[0], ignore_case)
        else:
            places = here.places(words, ignore_case)
            kinds = self._kinds_of_phrase(here, there, places, len(words))
        kinds, counts, firsts = _numbered(kinds)
        order = np.lexsort((firsts, -counts))
        shown = []
        for kind in order[:groups].tolist():
            members = np.flatnonzero(kinds == kind)[:hits]
            found = [self._hit(here, there, int(places[n]), len(words)) for n in members.tolist()]
            translation = _phrase(found[0].others, found[0].there)
            shown.append(Group(translation, int(counts[kind]), found))
        return Concordance(query, len(places), len(counts), shown)

    def _kinds_of_phrase(self, here: _Side, there: _Side, places: np.ndarray, size: int) -> np.ndarray:
        """The kind of each place's translation: several words may be linked to the same one, and in any order."""
        starts = here.partner_starts[places]
        counts = here.partner_starts[places + size] - starts
        rows = np.repeat(np.arange(len(places)), counts)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        tokens = here.partners[np.repeat(starts, counts) + within].astype(np.int64)
        row_and_token = np.sort(
            (rows << 32) | tokens, kind="stable"
        )  # they are nearly in order, which this makes use of
        row_and_token = row_and_token[np.diff(row_and_token, prepend=-1) != 0]
        counts = np.bincount(row_and_token >> 32, minlength=len(places))
        return _kinds(there.tokens[row_and_token & 0xFFFFFFFF], counts, len(there.alphabet))

    def _linked(self, here: _Side, place: int, size: int) -> list[int]:
        low, high = here.partner_starts[[place, place + size]].tolist()
        return sorted(set(here.partners[low:high].tolist()))

    def _hit(self, here: _Side, there: _Side, place: int, size: int) -> Hit:
        pair = int(here.sentence_of(np.array([place]))[0])
        first, other = int(here.sentences[pair]), int(there.sentences[pair])
        return Hit(
            pair + 1,
            here.sentence(pair),
            there.sentence(pair),
            list(range(place - first, place - first + size)),
            [token - other for token in self._linked(here, place, size)],
        )


def _kinds(linked: np.ndarray, counts: np.ndarray, words: int) -> np.ndarray:
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


def _numbered(kinds: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Kinds by numbers without gaps; how often each comes, and where first."""
    times = np.bincount(kinds)
    seen = np.flatnonzero(times)
    renamed = np.zeros(len(times), np.int32)
    renamed[seen] = np.arange(len(seen))
    kinds = renamed[kinds]
    firsts = np.zeros(len(seen), np.int64)
    firsts[kinds[::-1]] = np.arange(len(kinds))[::-1]  # of all that write, the last one stays: the first place
    return kinds, times[seen], firsts


def _phrase(words: list[str], positions: list[int]) -> str:
    """Linked words in their order, with dots where others stand between them."""
    parts: list[str] = []
    for before, position in zip([None, *positions], positions, strict=False):
        if before is not None and position != before + 1:
            parts.append("…")
        parts.append(words[position])
    return " ".join(parts)


FILES = {
    "words": np.uint8,
    "word_ends": np.int64,
    "alphabet": np.int32,
    "tokens": np.int32,
    "sentences": np.int64,
    "postings": np.uint32,
    "kinds": np.int32,
    "word_starts": np.int64,
    "partners": np.uint32,
    "partner_starts": np.int64,
}


def _mapped(folder: Path, side: str, name: str) -> np.ndarray:
    path = folder / f"{side}.{name}"
    if not path.stat().st_size:
        return np.empty(0, FILES[name])
    return np.memmap(path, FILES[name], "r").view(np.ndarray)  # of which small parts are taken faster


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
    pairs = 0
    with ExitStack() as stack:
        tokens = [stack.enter_context(open(folder / f"{side}.tokens", "wb")) for side in SIDES]
        links = [stack.enter_context(open(folder / f"{side}.links", "wb")) for side in SIDES]
        written = [0, 0]
        for part in aligned.parts():
            alignments = part.alignments
            sides = part.bitext.source, part.bitext.target
            pair = np.repeat(np.arange(len(alignments)), np.diff(alignments.offsets))
            ends = (alignments.source, alignments.target)
            for side in range(2):
                numberings[side].ids(sides[side]).astype(np.int32).tofile(tokens[side])
                lengths[side].frombytes(sides[side].lengths.astype(np.int32).tobytes())
                (written[side] + sides[side].offsets[pair] + ends[side]).astype(np.uint32).tofile(links[side])
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
    for name in SIDES:
        (folder / f"{name}.links").unlink()
    return pairs


def _write_words(folder: Path, name: str, words: list[str]) -> None:
    spelled = [word.encode("utf-8", "replace") for word in words]
    (folder / f"{name}.words").write_bytes(b"".join(spelled))
    _starts(np.array([len(word) for word in spelled], np.int64)).tofile(folder / f"{name}.word_ends")
    np.array(sorted(range(len(words)), key=spelled.__getitem__), np.int32).tofile(folder / f"{name}.alphabet")


def _write_links(folder: Path, name: str, other: str, size: int, words: Sequence[int]) -> None:
    """What the tokens of a side are linked to, and its postings; `words` counts those of this side and the other."""
    own, partners = (np.fromfile(folder / f"{side}.links", np.uint32) for side in (name, other))
    if name == SIDES[1]:  # links come sorted by source token
        partners = partners[np.argsort(own, kind="stable")]
    partners.tofile(folder / f"{name}.partners")
    counts = np.bincount(own, minlength=size).astype(np.int32)
    del own
    _starts(counts).tofile(folder / f"{name}.partner_starts")
    kinds = _kinds(np.fromfile(folder / f"{other}.tokens", np.int32)[partners], counts, words[1])
    del partners, counts
    tokens = np.fromfile(folder / f"{name}.tokens", np.int32)
    postings = np.argsort(tokens, kind="stable")
    postings.astype(np.uint32).tofile(folder / f"{name}.postings")
    kinds[postings].tofile(folder / f"{name}.kinds")
    _starts(np.bincount(tokens, minlength=words[0])).tofile(folder / f"{name}.word_starts")


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
