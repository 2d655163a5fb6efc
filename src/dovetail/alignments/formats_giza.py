"""`giza`: the three lines per pair of GIZA++'s A3 files.

    # Sentence pair (1) source length 2 target length 3 alignment score : 1.2e-3
    la maison bleue
    NULL ({ }) the ({ 1 }) house ({ 2 3 })

Each source word is followed by the target positions linked to it, counted from 1; NULL takes those without a
link.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from itertools import islice
from typing import NoReturn, TextIO

import numpy as np

from dovetail.alignments.alignments import Alignment, Alignments
from dovetail.alignments.formats_packing import check_pairs, outside_error, pack
from dovetail.alignments.formats_text import Text, sentences, tokens
from dovetail.errors import InputError

HEADER = re.compile(
    r"# Sentence pair \(([0-9]+)\) source length ([0-9]{1,9}) target length ([0-9]{1,9}) alignment score : \S+\s*"
)
WORD = re.compile(r"([^ ]+) \(\{((?: [0-9]{1,9})*) \}\) ?")
BLANKS = re.compile(r"[ \t\n\r\v\f]+")


def write_giza(handle: TextIO, alignments: Alignments, text: Text | None, first_id: int) -> None:
    assert text is not None
    for n, alignment in enumerate(alignments):
        source, target = (_words(tokens(sentence)) for sentence in sentences(text, alignments, n))
        positions: list[list[int]] = [[] for _ in source]
        for i, j in alignment.links:
            positions[i].append(j + 1)
        linked = {j for _, j in alignment.links}
        free = [j + 1 for j in range(len(target)) if j not in linked]
        handle.write(
            f"# Sentence pair ({first_id + n + 1}) source length {len(source)} target length {len(target)}"
            f" alignment score : {_score(alignment)}\n"
        )
        handle.write(" ".join(target) + "\n")
        items = zip(["NULL", *source], [free, *positions], strict=True)
        handle.write(" ".join(f"{word} ({{{''.join(f' {j}' for j in group)} }})" for word, group in items) + "\n")


def _words(words: list[str]) -> list[str]:
    """A word with blanks inside would become two."""
    return [BLANKS.sub("_", word) or "_" for word in words]


def _score(alignment: Alignment) -> str:
    """exp(score_forward), which need not fit into a float; 1 where the score is not known."""
    score = alignment.details.get("score_forward")
    if score is None or math.isnan(score) or score == math.inf:
        return "1"
    if score == -math.inf:
        return "0"
    exponent = math.floor(score / math.log(10))
    mantissa = f"{math.exp(score - exponent * math.log(10)):.6g}"
    if mantissa == "10":
        mantissa, exponent = "1", exponent + 1
    return mantissa if exponent == 0 else f"{mantissa}e{exponent}"


def read_giza(lines: Iterable[str], path: str, lengths: np.ndarray | None) -> Alignments:
    """Links and lengths; the words and the score are left aside."""
    counts: list[int] = []
    sizes: list[tuple[int, int]] = []
    found: list[tuple[int, int]] = []
    remaining = iter(lines)
    previous = None
    while block := list(islice(remaining, 3)):
        line = 3 * len(counts) + 1
        pair, I, J = _header(block[0], path, line)
        if previous is not None and pair != previous + 1:
            raise InputError(
                f"pair {pair:,} follows pair {previous:,}",
                path=path,
                line=line,
                remedy="Merge the parts of a divided run into one file, in the order of the pairs.",
            )
        previous = pair
        if len(block) < 3:
            _refuse("the file ends inside a pair", path, line + len(block) - 1)
        words, links = _words_and_links(block[2], path, line + 2)
        if words != I:
            _refuse(f"{words:,} source words after NULL, but a source length of {I:,}", path, line + 2)
        if lengths is not None and len(counts) < len(lengths):
            I, J = min(I, int(lengths[len(counts), 0])), min(J, int(lengths[len(counts), 1]))
        for i, j in links:
            if not (i < I and 0 <= j < J):
                raise outside_error(path, line + 2, f"of word {i + 1:,} to position {j + 1:,}", (I, J))
        counts.append(len(links))
        sizes.append((I, J))
        found += links
    if lengths is not None:
        check_pairs(path, 3 * len(counts), len(counts), len(lengths))
    source, target = np.array(found, np.int32).reshape(-1, 2).T
    own = np.array(sizes, np.int64).reshape(-1, 2) if lengths is None else lengths
    return pack(np.array(counts, np.int64), source, target, np.ones(len(found), np.float32), own)


def _header(text: str, path: str, line: int) -> tuple[int, int, int]:
    match = HEADER.fullmatch(text)
    if match is None:
        _refuse("not the first line of a pair", path, line)
    pair, I, J = match.groups()
    return int(pair), int(I), int(J)


def _words_and_links(text: str, path: str, line: int) -> tuple[int, list[tuple[int, int]]]:
    """How many words a pair's third line has after NULL, and their links.

    It is read word by word, so that a word such as `({` misleads nobody.
    """
    links: list[tuple[int, int]] = []
    place, i = 0, -1
    text = text.strip(" ")
    while place < len(text):
        match = WORD.match(text, place)
        if match is None or (i < 0 and match[1] != "NULL"):
            _refuse("not a line of words and positions that starts with NULL", path, line)
        if i >= 0:
            links += [(i, int(position) - 1) for position in match[2].split()]
        place, i = match.end(), i + 1
    if i < 0:
        _refuse("no words, not even NULL", path, line)
    return i, links


def _refuse(problem: str, path: str, line: int) -> NoReturn:
    raise InputError(
        problem,
        path=path,
        line=line,
        remedy="A pair takes three lines: `# Sentence pair (1) …`, the target, `NULL ({ }) word ({ 1 }) …`.",
    )
