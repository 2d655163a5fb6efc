"""One HTML file with everything in it: text, links, style and program.  It opens from disk and asks no network."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from dovetail.alignments.gold import Gold
from dovetail.bitext.corpus import Bitext
from dovetail.bitext.vocabulary import Vocabulary
from dovetail.errors import InputError
from dovetail.report.packing import pack, to_json
from dovetail.report.systems import System

# Modules in the order of their dependencies: each uses only those before it.
DRAWING = ("words.js", "tabs.js", "links.js", "matrix.js", "panels.js", "dictionary.js")
VIEW = (*DRAWING, "data.js", "scores.js", "finder.js", "lexicon.js", "list.js", "charts.js", "summary.js", "view.js")
LIVE = (*DRAWING, "live.js")
ANNOTATE = ("words.js", "annotate/saving.js", "annotate/sheet.js", "annotate/threads.js", "annotate/annotate.js")


def view_page(
    bitext: Bitext,
    systems: Sequence[System],
    gold: Gold | None = None,
    *,
    title: str = "Alignments",
    gold_start: int = 0,
    limit: int | None = None,
    vocabularies: tuple[Vocabulary, Vocabulary] | None = None,
) -> str:
    """The page of `dovetail view`; the arguments are those of `packing.pack`."""
    title = title.encode("utf-8", "replace").decode("utf-8")  # a file's name may be no text at all
    data = pack(bitext, systems, gold, title=title, gold_start=gold_start, limit=limit, vocabularies=vocabularies)
    return _render("view.html", VIEW, title=title, data=to_json(data))


def live_page(models: Sequence[str], pairs: int | None = None) -> str:
    """The page of `dovetail serve`, which asks its own server: for alignments, and for the words of a text of `pairs`."""
    data = to_json({"models": list(models), "pairs": pairs})
    return _render("live.html", LIVE, title="Dovetail", data=data, connect="'self'")


def annotate_page(title: str, *, who: str, suggests: bool, gold: str, identity: str) -> str:
    """The page of `dovetail annotate`, which asks its own server for one pair at a time."""
    title = title.encode("utf-8", "replace").decode("utf-8")
    data = to_json({"who": who, "suggests": suggests, "gold": gold, "identity": identity})
    styles = ("page.css", "annotate/annotate.css")
    return _render("annotate/annotate.html", ANNOTATE, styles, title=title, data=data, connect="'self'")


def docs_page(description: Mapping[str, Any]) -> str:
    """An OpenAPI description, as a page to read."""
    return _render("docs.html", (), title="Dovetail for programs", api=description)


def error_page(status: int, problem: str, remedy: str) -> str:
    """What a browser sees when something went wrong."""
    return _render("error.html", (), title=f"{status}: {problem}", status=status, problem=problem, remedy=remedy)


def _render(
    template: str,
    modules: Sequence[str],
    styles: Sequence[str] = ("page.css",),
    *,
    connect: str = "'none'",
    **values: Any,
) -> str:
    try:
        from jinja2 import Environment, FunctionLoader
    except ImportError as error:
        raise InputError("pages need the package jinja2", remedy="Install it: python -m pip install jinja2.") from error
    style, program = "".join(map(_read, styles)), _program(modules)
    policy = (
        f"default-src 'none'; script-src '{_digest(program)}'; style-src '{_digest(style)}'; connect-src {connect}; "
        "base-uri 'none'; form-action 'none'"
    )
    pages = Environment(loader=FunctionLoader(_read), autoescape=True, keep_trailing_newline=True)
    return pages.get_template(template).render(style=style, program=program, policy=policy, **values)


def _program(modules: Sequence[str]) -> str:
    """The modules as one: a page that opens from disk cannot import, so imports and exports fall away.

    All modules then share one scope; a name that two of them declare is a syntax error, which the tests see.
    """
    parts = []
    for name in modules:
        text = re.sub(r"^import [^;]*;\n", "", _read(name), flags=re.MULTILINE)
        parts.append(re.sub(r"^export (?=(async )?function|const|class|let)", "", text, flags=re.MULTILINE))
    return "\n" + "\n".join(parts)


def _digest(text: str) -> str:
    """A script or style that the page's policy allows, by its hash: nothing else runs, whatever the words contain."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


def _read(name: str) -> str:
    return (files("dovetail.report") / "page" / name).read_text("utf-8")
