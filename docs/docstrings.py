"""Docstrings are written to be read in the source: plain text, `code` between backticks, formulas as they come.

Sphinx takes them for reStructuredText, to which `alpha ** 2` or a word that ends in an underscore is markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

SPECIAL = re.compile(r"([\\*|])|_(?!\w)")  # what has a meaning in reStructuredText, outside of code


def as_rst(lines: Iterable[str]) -> list[str]:
    """The same text with everything escaped that only looks like markup; indented paragraphs are shown as they are."""
    result: list[str] = []
    literal = listed = False
    for paragraph in _paragraphs(lines):
        first = paragraph[0]
        if first.startswith(">>>"):
            result += [*paragraph, ""]
            literal = listed = False
        elif first.startswith(" ") and not listed:
            result += [*([] if literal else ["::", ""]), *(f"    {line}" for line in paragraph), ""]
            literal = True
        else:
            result += [*_with_gaps(_text("\n".join(paragraph)).split("\n")), ""]
            literal, listed = False, first.lstrip().startswith("- ")
    return result


def _with_gaps(lines: list[str]) -> list[str]:
    """A list, or a formula, that follows a sentence without an empty line gets one, and one behind it."""
    result: list[str] = []
    in_list = in_formula = False
    for k, line in enumerate(lines):
        item, indented = line.startswith("- "), line.startswith(" ")
        if in_list:
            if not item and not indented:
                result.append("")
                in_list = False
        elif item:
            result += [""] if k else []
            in_list = True
        elif indented and not in_formula:
            result += ["", "::", ""]
            in_formula = True
        elif in_formula and not indented:
            result.append("")
            in_formula = False
        result.append(line)
    return result


def _paragraphs(lines: Iterable[str]) -> Iterable[list[str]]:
    paragraph: list[str] = []
    for line in lines:
        if line.strip():
            paragraph.append(line.rstrip())
        elif paragraph:
            yield paragraph
            paragraph = []
    if paragraph:
        yield paragraph


def _text(text: str) -> str:
    pieces = text.split("`")
    if len(pieces) % 2 == 0:  # a backtick that nobody closed
        return SPECIAL.sub(r"\\\g<0>", text.replace("`", "'"))
    result = []
    for k, piece in enumerate(pieces):
        if k % 2 == 0:
            result.append(SPECIAL.sub(r"\\\g<0>", piece))
        elif piece.strip():
            result.append(f"\\ ``{' '.join(piece.split())}``\\ ")
    return "".join(result)
