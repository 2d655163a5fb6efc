"""Sentence pairs from translation memories (TMX), and what other formats in XML need too."""

from __future__ import annotations

import codecs
import io
import re
import warnings
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, cast

from dovetail.bitext.readers import BitextFormat, Pair, Request
from dovetail.bitext.text import StrPath, display_name, empty_file, open_bytes, reading_problem
from dovetail.errors import InputError

# These hold the codes of the program that the text came from; what `hi` and unknown elements hold is text.
_NATIVE_CODES = ("{*}bpt", "{*}ept", "{*}ph", "{*}it", "{*}ut")
XML_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"


def _read_tmx(request: Request) -> Iterator[Pair]:
    """The pairs of a TMX file in bounded memory; units without a language are skipped, with one warning.

    Languages are compared without regard to case, and `en` stands for `en-GB` too.  Those not asked for are
    the first ones of the first unit that has two.
    """
    name = display_name(request.source)
    wanted = language_of(request.source_language), language_of(request.target_language)
    languages: Pair | None = None
    units = skipped = 0
    present: dict[str, None] = {}  # a set that keeps the order of arrival
    with open_bytes(request.source) as handle:
        try:
            for segments in _units(_mended(handle, request.encoding_errors), request.source):
                units += 1
                present.update(dict.fromkeys(segments))
                languages = languages or choose_languages(list(segments), *wanted)
                source, target = (_segment(segments, language) for language in languages or ("", ""))
                if source is None or target is None or source is target:
                    skipped += 1
                else:
                    yield _text(source), _text(target)
        except (InputError, MemoryError):
            raise
        except Exception as error:  # every decompressor has exception classes of its own
            raise reading_problem(request.source, error) from error
    if not units:
        raise InputError("no translation unit in it", path=name, remedy="Is this a TMX file?")
    lacking = "two languages" if languages is None else f"both {languages[0]} and {languages[1]}"
    if skipped == units:
        raise InputError(f"no unit has {lacking}", path=name, remedy=f"Its languages: {', '.join(present) or 'none'}.")
    if skipped:
        warnings.warn(f"{name}: skipped {skipped:,} of {units:,} units, which lack {lacking}", stacklevel=2)


TMX = BitextFormat(1, _read_tmx, (".tmx",))


def _units(handle: BinaryIO, path: StrPath) -> Iterator[dict[str, Any]]:
    """The `seg` elements of each unit by language, the first one of each, in order."""
    for unit in xml_elements(handle, path, ("{*}tu",)):
        segments: dict[str, Any] = {}
        for variant in unit.iterchildren("{*}tuv"):
            language = language_of(variant.get(XML_LANGUAGE) or variant.get("lang"))
            segment = variant.find("{*}seg")
            if language is not None and segment is not None:
                segments.setdefault(language, segment)
        yield segments


def xml_elements(handle: BinaryIO, path: StrPath, tags: tuple[str, ...]) -> Iterator[Any]:
    """The elements with these tags, one after the other; InputError where the XML is broken.

    Nothing outside the file is ever fetched, and no entity is expanded but XML's own five: a reference to any
    other stays as it is written.
    """
    from lxml import etree  # for XML alone

    elements = etree.iterparse(
        handle,
        events=("end",),
        tag=tags,
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        for _, element in elements:
            yield element
            # What has been read goes, or the tree would grow to the size of the file.
            element.clear()
            parent = element.getparent()
            while parent is not None and element.getprevious() is not None:
                del parent[0]
    except etree.XMLSyntaxError as error:
        # The exception may be a later consequence without a line; the parser's own log begins with the cause.
        if not elements.error_log:
            raise empty_file(path) from error
        cause = elements.error_log[0]
        remedy = "Find the fault with xmllint."
        if "encoding" in cause.message:
            remedy = "Convert the file to UTF-8, or pass --encoding-errors replace."
        raise InputError(
            f"broken XML: {cause.message}", path=display_name(path), line=cause.line, remedy=remedy
        ) from error


def language_of(language: str | None) -> str | None:
    return language.lower().replace("_", "-") if language else None


def _matches(tag: str, language: str) -> bool:
    return tag == language or tag.startswith(language + "-")


def choose_languages(tags: list[str], source: str | None, target: str | None) -> Pair | None:
    """The two languages to read, those not asked for chosen among a unit's tags; None where it has too few.

    The chosen ones lose region and script where they differ without: a later unit may be in another English.
    """
    if source is not None and target is not None:
        return source, target
    free = [tag for tag in tags if not any(other and _matches(tag, other) for other in (source, target))]
    if len(free) < (source, target).count(None):
        return None
    found = source or free.pop(0), target or free.pop(0)
    primary = found[0].split("-")[0], found[1].split("-")[0]
    if primary[0] == primary[1]:
        return found
    return source or primary[0], target or primary[1]


def _segment(segments: dict[str, Any], language: str) -> Any:
    return segments.get(matching_tag(segments, language) or "")


def matching_tag(tags: Iterable[str], language: str) -> str | None:
    """The tag that is this language's, or else the first of one of its kinds."""
    found = [tag for tag in tags if _matches(tag, language)]
    return language if language in found else next(iter(found), None)


def _text(segment: Any) -> str:
    from lxml import etree

    etree.strip_elements(segment, *_NATIVE_CODES, with_tail=False)
    return re.sub("[\r\n\x85\u2028\u2029]+", " ", "".join(segment.itertext()))


def _mended(handle: BinaryIO, encoding_errors: str) -> BinaryIO:
    """An XML file in UTF-8 with the bytes that are not UTF-8 treated; libxml2 itself can only refuse them."""
    if encoding_errors == "strict":
        return handle
    start = handle.peek(256) if isinstance(handle, io.BufferedReader) else b""
    declared = re.match(rb"""[^>]*encoding\s*=\s*["']([^"']*)""", start)
    utf8 = declared[1].upper() in (b"UTF-8", b"UTF8", b"US-ASCII", b"ASCII") if declared else b"\0" not in start[:4]
    if not utf8 or start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return handle
    return cast(BinaryIO, codecs.EncodedFile(handle, "utf-8", "utf-8", encoding_errors))
