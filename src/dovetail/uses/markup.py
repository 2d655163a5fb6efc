"""Inline markup of a sentence: HTML, XLIFF 1.2 and 2, placeholders; taken out of the text, and kept as a tree.

What is an element (`<b>...</b>`, `<g id="1">...</g>`, `<bpt id="1"/>...<ept id="1"/>`, `{b}...{/b}`) becomes a `Node` over a
part of the text; what stands alone (`<br/>`, `<x id="1"/>`, `{1}`), and what has lost its partner or crosses another
element, becomes a `Single` at a place in it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from dovetail.errors import InputError

DEEPEST = 200  # elements within each other; nobody writes so many, and each takes some of Python's stack

_NATIVE = "bpt|ept|ph|it|ut"  # what these elements hold is code, not text
_ATTRIBUTES = r"""(?:"[^"]*"|'[^']*'|[^'"<>])*"""
_MARKUP = rf"""
    <!--.*?-->
  | <(?P<native>{_NATIVE})\b{_ATTRIBUTES}(?<!/)>.*?</(?P=native)\s*>
  | </?(?P<name>[A-Za-z][\w:.-]*|\d+){_ATTRIBUTES}>
  | \{{/?(?P<brace>[\w.:-]+)/?\}}
  | \{{(?P<opened>\w+)>
  | <(?P<closed>\w+)\}}
"""

# HTML elements that never have a content, and those between which no word goes on.
_EMPTY = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"}
_SEPARATE = {
    "br",
    "hr",
    "p",
    "div",
    "li",
    "ul",
    "ol",
    "dl",
    "dt",
    "dd",
    "td",
    "th",
    "tr",
    "table",
    "blockquote",
    "pre",
    "section",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
}

# Milestones: two tags that belong together by number.
_OPENS = {"bpt": "ept", "bx": "ex", "sc": "ec", "sm": "em"}
_CLOSES = {closing: opening for opening, closing in _OPENS.items()}
_REFERENCE = re.compile(r"""\b(startRef|rid|id|i)\s*=\s*("[^"]*"|'[^']*')""")


@dataclass
class Single:
    """A tag at a place of the text.  `spaced`: with white space (or an end) on both sides; `joined` to the tag before."""

    text: str
    place: int
    spaced: bool = False
    joined: bool = False
    opens: bool = False  # belongs to what follows, not to what comes before
    pair: str | None = None  # of two that belong together and are no element


@dataclass
class Node:
    """An element over characters first..last - 1 of the text."""

    opening: Single
    closing: Single
    children: list[Node | Single] = field(default_factory=list)

    @property
    def first(self) -> int:
        return self.opening.place

    @property
    def last(self) -> int:
        return self.closing.place


@dataclass(frozen=True)
class Marked:
    """A sentence without its markup, and the markup: elements and single tags in order."""

    text: str
    children: list[Node | Single]


@dataclass
class _Tag:
    single: Single
    key: str  # of what opens and closes each other
    opening: bool
    closing: bool
    milestone: bool
    partner: int = -1


def parse(line: str, patterns: Sequence[str] = ()) -> Marked:
    """A line with markup; `patterns` are regular expressions of further placeholders, say `%[a-z]`.

    >>> marked = parse('Press <b>Enter</b>.<br/>')
    >>> marked.text, [type(child).__name__ for child in marked.children]
    ('Press Enter. ', ['Node', 'Single'])
    """
    text, tags = _cut(line, patterns)
    _find_partners(tags)
    root: list[Node | Single] = []
    open_nodes: list[Node] = []
    for n, tag in enumerate(tags):
        inside = open_nodes[-1].children if open_nodes else root
        if tag.partner > n:
            node = Node(tag.single, tags[tag.partner].single)
            node.opening.opens, node.closing.opens = True, False
            inside.append(node)
            open_nodes.append(node)
            if len(open_nodes) > DEEPEST:
                raise InputError(f"elements within each other, more than {DEEPEST} deep")
        elif tag.partner >= 0:
            open_nodes.pop()
        else:
            inside.append(tag.single)
    return Marked(text, root)


def _cut(line: str, patterns: Sequence[str]) -> tuple[str, list[_Tag]]:
    """The text without its tags, and the tags with their places in it."""
    own = "".join(f"|(?-x:{pattern})" for pattern in patterns)
    try:
        found = [match for match in re.finditer(_MARKUP + own, line, re.VERBOSE | re.DOTALL) if match[0]]
    except re.error as error:
        raise InputError(f"{' '.join(patterns)} is no regular expression ({error})") from None
    parts: list[str] = []
    tags: list[_Tag] = []
    place = end = 0
    for match in found:
        parts.append(line[end : match.start()])
        place += match.start() - end
        tags.append(_tag(match, place, joined=bool(tags) and end == match.start()))
        if (match["name"] or "").lower() in _SEPARATE:
            parts.append(" ")
            place += 1
        end = match.end()
    _find_spaces(line, found, tags)
    return "".join([*parts, line[end:]]), tags


def _find_spaces(line: str, found: Sequence[re.Match[str]], tags: Sequence[_Tag]) -> None:
    """Which tags have white space beside them, those of one run (nothing stands between them) all together."""
    first = 0
    for n in range(len(tags)):
        if n + 1 < len(tags) and tags[n + 1].single.joined:
            continue
        before, behind = line[: found[first].start()][-1:], line[found[n].end() :][:1]
        for tag in tags[first : n + 1]:
            tag.single.spaced = not before.strip() and not behind.strip()
            tag.single.opens = not before.strip()
        first = n + 1


def _tag(match: re.Match[str], place: int, joined: bool) -> _Tag:
    written = match[0]
    name = match["name"] or match["native"]
    reference = _reference(written)
    opening = closing = milestone = False
    key = ""
    if name in _OPENS or name in _CLOSES:
        milestone, opening, closing = True, name in _OPENS, name in _CLOSES
        key = f"{name if opening else _CLOSES[name]} {reference}"
    elif match["name"]:
        closing = written.startswith("</")
        opening = not (closing or written.endswith("/>") or name.lower() in _EMPTY)
        key = f"<{name}"
    elif match["brace"]:
        closing = written.startswith("{/")
        opening = not (closing or written.endswith("/}"))
        milestone, key = True, f"{{{match['brace']}"
    elif match["opened"] or match["closed"]:
        opening, closing = bool(match["opened"]), bool(match["closed"])
        milestone, key = True, f"{{{match['opened'] or match['closed']}>"
    return _Tag(Single(written, place, joined=joined), key, opening, closing, milestone)


def _reference(written: str) -> str:
    """The number by which a milestone and its partner know each other: startRef, rid, else id or i."""
    found = {name: value[1:-1] for name, value in _REFERENCE.findall(written.partition(">")[0])}
    return next((found[name] for name in ("startRef", "rid", "id", "i") if name in found), "")


def _find_partners(tags: Sequence[_Tag]) -> None:
    """Opening and closing tags that make an element; elements lie apart or within each other."""
    open_tags: list[int] = []
    for n, tag in enumerate(tags):
        if not tag.closing:
            if tag.opening:
                open_tags.append(n)
            continue
        place = next((p for p in range(len(open_tags) - 1, -1, -1) if tags[open_tags[p]].key == tag.key), None)
        if place is None:
            tag.single.pair = tag.key if tag.milestone else None
        elif tag.milestone and place < len(open_tags) - 1:
            # It crosses what opened after it: two tags on their own, of which the first shall stay the first.
            tags[open_tags.pop(place)].single.pair = tag.single.pair = tag.key
        else:
            for lost in open_tags[place + 1 :]:
                tags[lost].single.pair = tags[lost].key if tags[lost].milestone else None
            tag.partner = open_tags[place]
            tags[tag.partner].partner = n
            del open_tags[place:]
