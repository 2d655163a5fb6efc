"""Dictionaries as files of many kinds; each writer keeps the rules of who reads them.

A format writes one file, to an open handle, or several beside each other, whose names begin alike.  Words that would break
a line (blanks within, in formats whose columns blanks divide) are left out, and counted: one malformed line in 400,000 stops
some readers, or worse, ends the reading there.
"""

from __future__ import annotations

import csv
import json
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TextIO
from xml.sax.saxutils import escape, quoteattr

from dovetail.bitext.text import atomic_writer
from dovetail.registry import Registry
from dovetail.uses.lexicon import Entry, Lexicon
from dovetail.uses.tokens import one_field

NULL = "NULL"  # Moses' and Marian's name of no word: a word that is spelled so is left out
LEAST = 5e-8  # smaller probabilities would be written as 0
SHARE_OF_BEST = 0.1  # bicleaner drops what is less probable than this share of the best translation
HEADWORD_BYTES = 255  # of a StarDict headword at most
Texts = Mapping[int, tuple[str, str]]


@dataclass(frozen=True)
class Job:
    """What is written: a lexicon, the sentences of its examples where a format shows them, and names of the languages."""

    lexicon: Lexicon
    texts: Texts
    source_language: str = "x-source"
    target_language: str = "x-target"


@dataclass(frozen=True)
class LexiconFormat:
    """`write(handle, job)` for one file, or `write_files(prefix, job)`; both return how many entries were left out."""

    write: Callable[[TextIO, Job], int] | None = None
    write_files: Callable[[str, Job], int] | None = None
    shows_examples: bool = False


lexicon_formats: Registry[LexiconFormat] = Registry("lexicon format")


def write_lexicon(path: str, job: Job, format: str = "tsv") -> int:
    """Write a lexicon to a file (`-` is standard output), or to files that begin with `path`; how many were left out."""
    chosen = lexicon_formats[format]
    if chosen.write is not None:
        with atomic_writer(path) as handle:
            return chosen.write(handle, job)
    assert chosen.write_files is not None
    return chosen.write_files(path, job)


# Tables


def _cells(entry: Entry) -> list[str]:
    numbers = (f"{value:.6g}" if isinstance(value, float) else str(value) for value in entry[2:-1])
    return [entry.source, entry.target, *numbers, " ".join(map(str, entry.examples))]


def write_tsv(handle: TextIO, job: Job) -> int:
    handle.write("\t".join(Entry._fields) + "\n")
    left_out = 0
    for entry in job.lexicon:
        if any(mark in word for word in entry.words for mark in "\t\n\r"):
            left_out += 1
            continue
        handle.write("\t".join(_cells(entry)) + "\n")
    return left_out


def write_csv(handle: TextIO, job: Job) -> int:
    writer = csv.writer(handle, lineterminator="\n")
    writer.writerow(Entry._fields)
    writer.writerows(map(_cells, job.lexicon))
    return 0


def write_jsonl(handle: TextIO, job: Job) -> int:
    for entry in job.lexicon:
        record = entry._asdict()
        record["examples"] = [_example(number, job.texts) for number in entry.examples]
        handle.write(json.dumps(record, ensure_ascii=False) + "\n")
    return 0


def _example(number: int, texts: Texts) -> dict[str, int | str]:
    source, target = texts.get(number, ("", ""))
    return {"pair": number, "source": source, "target": target} if number in texts else {"pair": number}


def write_dictionary(handle: TextIO, job: Job) -> int:
    """`source TAB target TAB probability`: what `align --dictionary` reads."""
    left_out = 0
    for entry in job.lexicon:
        if not (one_field(entry.source) and one_field(entry.target)) or entry.p_target < LEAST:
            left_out += 1
            continue
        handle.write(f"{entry.source}\t{entry.target}\t{min(1.0, entry.p_target):.6g}\n")
    return left_out


# Columns between blanks: the second word given, the first predicted


def _columns(handle: TextIO, rows: Iterable[tuple[str, str, float]]) -> int:
    """`word given-word probability` lines; how many rows a reader would stumble over, and were left out."""
    left_out = 0
    for word, given, probability in rows:
        if not (one_field(word) and one_field(given)) or probability < LEAST:
            left_out += 1
            continue
        handle.write(f"{word} {given} {probability:.7f}\n")
    return left_out


def write_marian(handle: TextIO, job: Job) -> int:
    """`target source p(target | source)`; lines with NULL, which Marian skips, are not there."""
    entries = [entry for entry in job.lexicon if NULL not in entry.words]
    rows = ((entry.target, entry.source, entry.p_target) for entry in entries)
    return len(job.lexicon) - len(entries) + _columns(handle, rows)


def write_moses(prefix: str, job: Job) -> int:
    """PREFIX.f2e: `target source p(target | source)`, PREFIX.e2f: `source target p(source | target)`, NULL included."""
    left_out = 0
    for suffix, side in (("f2e", 0), ("e2f", 1)):
        with atomic_writer(f"{prefix}.{suffix}") as handle:
            left_out = max(left_out, _columns(handle, _with_null(job.lexicon, side)))
    return left_out


def _expected(lexicon: Lexicon, side: int) -> tuple[list[tuple[str, str, float]], dict[str, float]]:
    """(given word, predicted word, expected count) of all entries of single words, and the totals of given words.

    A total is that of all links, also of entries that a filter has left out.
    """
    rows, totals = [], {}
    for entry in lexicon:
        probability = (entry.p_target, entry.p_source)[side]
        if " " not in entry.source + entry.target and probability:
            rows.append((entry.words[side], entry.words[1 - side], entry.expected))
            totals[entry.words[side]] = entry.expected / probability
    return rows, totals


def _with_null(lexicon: Lexicon, side: int) -> Iterator[tuple[str, str, float]]:
    """(predicted word, given word, probability), given words of `side` 0, source, or 1; NULL has a share of each."""
    rows, totals = _expected(lexicon, side)
    unlinked, others = lexicon.unlinked[side], lexicon.unlinked[1 - side]
    for given, predicted, expected in rows:
        if NULL not in (given, predicted):
            yield predicted, given, expected / (totals[given] + unlinked.get(given, 0.0))
    for given, free in sorted(unlinked.items()):
        if given != NULL:
            yield NULL, given, free / (totals.get(given, 0.0) + free)
    null = sum(others.values())
    for predicted, free in sorted(others.items()):
        if predicted != NULL:
            yield predicted, NULL, free / null


def write_bicleaner(prefix: str, job: Job) -> int:
    """PREFIX.s2t.gz: `target source p(target | source)`, PREFIX.t2s.gz the other way; lower-cased, without weak entries."""
    left_out = 0
    for suffix, side in (("s2t", 0), ("t2s", 1)):
        with atomic_writer(f"{prefix}.{suffix}.gz") as handle:
            left_out = max(left_out, _columns(handle, _strong(job.lexicon, side)))
    return left_out


def _strong(lexicon: Lexicon, side: int) -> Iterator[tuple[str, str, float]]:
    rows, totals = _expected(lexicon, side)
    lowered: dict[str, float] = {}
    for given, total in totals.items():
        lowered[given.lower()] = lowered.get(given.lower(), 0.0) + total
    expected: dict[str, dict[str, float]] = {}
    for given, predicted, value in rows:
        if NULL.lower() not in (given.lower(), predicted.lower()):
            translations = expected.setdefault(given.lower(), {})
            translations[predicted.lower()] = translations.get(predicted.lower(), 0.0) + value
    for given, translations in sorted(expected.items()):
        best = max(translations.values())
        for predicted, value in sorted(translations.items(), key=lambda pair: (-pair[1], pair[0])):
            if value >= SHARE_OF_BEST * best:
                yield predicted, given, value / lowered[given]


# Termbases and dictionaries for people


def write_tbx(handle: TextIO, job: Job) -> int:
    """TBX-Basic (ISO 30042:2019): one concept per entry, probability and counts as a note, examples as contexts."""
    left_out = 0
    handle.write(
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<tbx type="TBX-Basic" style="dca" xml:lang={quoteattr(job.source_language)} xmlns="urn:iso:std:iso:30042:ed-2">\n'
        "<tbxHeader><fileDesc><sourceDesc><p>Made by dovetail from aligned text.</p></sourceDesc></fileDesc></tbxHeader>\n"
        "<text><body>\n"
    )
    for number, entry in enumerate(job.lexicon, 1):
        if not (_xml(entry.source) and _xml(entry.target)):
            left_out += 1
            continue
        handle.write(f'<conceptEntry id="c{number}"><note>{escape(_summary(entry))}</note>')
        for side, language in enumerate((job.source_language, job.target_language)):
            handle.write(f"<langSec xml:lang={quoteattr(language)}><termSec><term>{escape(entry.words[side])}</term>")
            for pair in entry.examples:
                if pair in job.texts and _xml(job.texts[pair][side]):
                    handle.write(f'<descrip type="context">{escape(job.texts[pair][side])}</descrip>')
            handle.write("</termSec></langSec>")
        handle.write("</conceptEntry>\n")
    handle.write("</body></text>\n</tbx>\n")
    return left_out


def _xml(text: str) -> bool:
    """Whether XML can hold the text: no control characters, no lone surrogates."""
    return all(
        letter in "\t\n\r" or " " <= letter < "\ud800" or "\ue000" <= letter not in "\ufffe\uffff" for letter in text
    )


def _summary(entry: Entry) -> str:
    return f"p(target|source) {entry.p_target:.3f}, p(source|target) {entry.p_source:.3f}, count {entry.count:,}"


def write_stardict(prefix: str, job: Job) -> int:
    """PREFIX.ifo, .idx and .dict (StarDict 2.4.2): an article per source word, its translations with counts and examples."""
    articles = []
    left_out = 0
    for source, entries in groupby(job.lexicon, key=lambda entry: entry.source):
        headword = source.encode("utf-8", "replace")
        if not 0 < len(headword) <= HEADWORD_BYTES or b"\0" in headword:
            left_out += sum(1 for _ in entries)
            continue
        articles.append((headword, "\n".join(_article(entries, job.texts)).encode("utf-8", "replace")))
    articles.sort(key=lambda article: (_folded(article[0]), article[0]))
    with atomic_writer(f"{prefix}.ifo") as about:  # which appears when the others are there
        place, index = 0, bytearray()
        with open(f"{prefix}.dict", "wb") as handle:
            for headword, article in articles:
                index += headword + b"\0" + struct.pack(">II", place, len(article))
                place += handle.write(article)
        Path(f"{prefix}.idx").write_bytes(index)
        about.write("StarDict's dict ifo file\nversion=2.4.2\n")
        about.write(f"bookname={Path(prefix).name} ({job.source_language} to {job.target_language})\n")
        about.write(f"wordcount={len(articles)}\nidxfilesize={len(index)}\nsametypesequence=m\n")
    return left_out


def _folded(headword: bytes) -> bytes:
    """How StarDict orders: capital letters of ASCII as small ones, and equals by their bytes."""
    return headword.lower()  # of bytes: ASCII alone


def _article(entries: Iterable[Entry], texts: Texts) -> Iterator[str]:
    for entry in entries:
        yield f"{entry.target}  ({100 * entry.p_target:.0f} %, {entry.count:,})"
        for number in entry.examples:
            if number in texts:
                yield f"    {texts[number][0]}\n    {texts[number][1]}"


lexicon_formats.add("tsv", LexiconFormat(write_tsv), "a table with a header: source, target, probabilities, counts …")
lexicon_formats.add("csv", LexiconFormat(write_csv), "the same, with commas")
lexicon_formats.add(
    "jsonl", LexiconFormat(write_jsonl, shows_examples=True), "one JSON object per entry, examples with their sentences"
)
lexicon_formats.add(
    "dictionary", LexiconFormat(write_dictionary), "source TAB target TAB probability, as `align --dictionary` reads it"
)
lexicon_formats.add(
    "moses", LexiconFormat(write_files=write_moses), "PREFIX.f2e and PREFIX.e2f: Moses' lexical tables, NULL included"
)
lexicon_formats.add(
    "marian", LexiconFormat(write_marian), "a lexical shortlist: `target source p(target|source)`, no NULL"
)
lexicon_formats.add(
    "bicleaner",
    LexiconFormat(write_files=write_bicleaner),
    "PREFIX.s2t.gz and PREFIX.t2s.gz: probabilistic dictionaries, lower-cased",
)
lexicon_formats.add("tbx", LexiconFormat(write_tbx, shows_examples=True), "a termbase, TBX-Basic")
lexicon_formats.add(
    "stardict",
    LexiconFormat(write_files=write_stardict, shows_examples=True),
    "PREFIX.ifo, .idx, .dict: a dictionary for readers and e-readers",
)
