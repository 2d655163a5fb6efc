"""Sphinx: Markdown pages, the Python reference from docstrings, and tables made from the program itself."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent / "src"))

import docstrings  # noqa: E402
import made  # noqa: E402

from dovetail import __version__  # noqa: E402

project = "Dovetail"
author = "The Dovetail authors"
copyright = "the Dovetail authors, MIT licence"
version = release = __version__

# The last one brings MathJax along: formulas without a network.
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "sphinx-mathjax-offline"]
exclude_patterns = ["_build"]
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True

html_theme = "furo"
html_title = f"Dovetail {__version__}"
html_show_sphinx = False


def setup(app: Any) -> None:
    app.connect("env-get-outdated", _outdated)
    app.connect("source-read", _fill_in)
    app.connect("autodoc-process-docstring", _as_rst)


def _outdated(app: Any, environment: Any, added: Any, changed: Any, removed: Any) -> list[str]:
    """Pages that show the program are made anew by every build: Sphinx cannot see that the program has changed."""
    pages = [page for page in environment.found_docs if (HERE / f"{page}.md").is_file()]
    return [page for page in pages if made.MARK.search((HERE / f"{page}.md").read_text("utf-8"))]


def _fill_in(app: Any, page: str, source: list[str]) -> None:
    source[0] = made.filled(source[0])


def _as_rst(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    lines[:] = docstrings.as_rst(lines)
