"""The documentation keeps pace with the program: commands run, names and recipes are there, links lead somewhere."""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path

import click
import pytest

import dovetail
from dovetail.cli import COMMANDS
from dovetail.cli import dovetail as program
from dovetail.decoding.bidirectional import methods as bidirectional_methods
from dovetail.decoding.fertility import methods as fertility_methods
from dovetail.recipes import PRESETS, recipes

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
if not (DOCS / "conf.py").is_file():
    pytest.skip("the documentation is not part of this distribution", allow_module_level=True)
sys.path.insert(0, str(DOCS))

import docstrings  # noqa: E402
import made  # noqa: E402
import refresh  # noqa: E402

WRITTEN_LATER = {"benchmarks/RESULTS.md"}  # by the benchmark command
PAGES = sorted(
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
    + [page for page in DOCS.rglob("*.md") if "_build" not in page.parts]
)
# A contract, and a module that tests/plugins has as it runs; a server that tests/test_client.py has; files of one's own.
SKETCHES = {DOCS / "cluster.md", DOCS / "design.md", DOCS / "serve.md"}


def name_of(page):
    return page.relative_to(ROOT).as_posix()


def fences(page, *languages):
    """The blocks of a page in one of the languages."""
    text = page.read_text("utf-8")
    return [block for kind, block in re.findall(r"^```(\w+)\n(.*?)^```$", text, re.M | re.S) if kind in languages]


def command_lines(page):
    """Every line that calls dovetail: first command only, without what the shell does with its output."""
    for block in fences(page, "sh", "console", "bash", "shell"):
        for line in block.replace("\\\n", " ").splitlines():
            line = line.removeprefix("$ ").strip()
            if line.startswith("dovetail "):
                yield re.split(r" [|>]|&&|;", line)[0]


def the_code(page):
    return " ".join(made._code(page.read_text("utf-8")))


def names(text, name):
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) is not None


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_command_line_on_a_page_parses(page, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tests" / "plugins")  # where the modules are that pages plug in
    for line in command_lines(page):
        words = [word for word in shlex.split(line, comments=True)[1:] if word not in ("...", "…")]
        assert words[0] in COMMANDS or words[0].startswith("-"), f"{line}: no such command"
        try:
            context = program.make_context("dovetail", list(words))
            command = program.get_command(context, words[0])
            command.make_context(words[0], words[1:], parent=context)
        except click.exceptions.Exit:  # --help, --version
            pass
        except click.ClickException as error:
            pytest.fail(f"{line}\n{error.format_message()}")


def test_there_are_command_lines_to_check():
    assert len(list(command_lines(ROOT / "README.md"))) >= 3
    assert len(list(command_lines(DOCS / "tutorial.md"))) >= 8


def shape(output):
    """Output without what depends on the last digit of a model: numbers, and how many links there are."""
    links = re.sub(r"\d+[-?]\d+(:[\d.e-]+)?( \d+[-?]\d+(:[\d.e-]+)?)*", "LINKS", output)
    return re.sub(r"[-+]?\d[\d.,]*", "N", re.sub(r"sha256:\w+", "sha256", links))


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="the pages' commands are for a Unix shell")
@pytest.mark.parametrize("page", refresh.PAGES, ids=name_of)
def test_the_commands_of_a_page_print_what_it_shows(page):
    with refresh.playground() as place:
        for block in refresh.blocks(page.read_text("utf-8")):
            for command, shown in refresh.steps(block):
                printed = refresh.run(command, place)
                assert shape(printed) == shape(shown), f"`{command}` prints something else: run python docs/refresh.py"


RUNNABLE = [page for page in PAGES if page not in SKETCHES and fences(page, "python")]


@pytest.mark.slow
@pytest.mark.parametrize("page", RUNNABLE, ids=name_of)
def test_the_python_of_a_page_runs(page, monkeypatch, capsys):
    """One block after the other, in a folder with the demo's files; a page that prints shows something."""
    blocks = fences(page, "python")
    with refresh.playground() as place:
        monkeypatch.chdir(place)
        exec(compile("\n".join(blocks), name_of(page), "exec"), {"__name__": "__page__"})
        monkeypatch.undo()  # Windows cannot remove the folder one is in
    printed = capsys.readouterr().out
    assert bool(printed) == any("print(" in block for block in blocks)
    if page.name == "tutorial.md":  # its last loop shows links in doubt: there must be some
        assert len(printed.splitlines()) > 1


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_python_of_every_page_is_python(page):
    for block in fences(page, "python"):
        compile(re.sub(r"^(>>>|\.\.\.) ?", "", block, flags=re.M), name_of(page), "exec")


def links_of(page):
    text = re.sub(r"^```.*?^```$|`[^`\n]*`", "", page.read_text("utf-8"), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if not re.match(r"[a-z]+:|#", target):
            yield target.partition("#")[0]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_between_pages_lead_somewhere(page):
    for target in links_of(page):
        place = DOCS / target[1:] if target.startswith("/") else page.parent / target
        if os.path.relpath(place, ROOT).replace(os.sep, "/") not in WRITTEN_LATER:
            assert place.exists(), f"{name_of(page)} links to {target}, which does not exist"


def test_every_page_is_in_the_table_of_contents():
    text = (DOCS / "index.md").read_text("utf-8") + made.filled((DOCS / "recipes" / "index.md").read_text("utf-8"))
    listed = {line.strip() for block in re.findall(r"```{toctree}(.*?)```", text, re.S) for line in block.splitlines()}
    for page in DOCS.rglob("*.md"):
        if "_build" not in page.parts and page != DOCS / "index.md":
            inside = page.relative_to(DOCS).with_suffix("").as_posix()
            places = {inside, inside.removeprefix("recipes/"), f"{page.parent.relative_to(DOCS).as_posix()}/*"}
            assert places & listed, f"{inside} is in no table of contents"


def test_every_public_name_is_documented():
    page = made.filled((DOCS / "python.md").read_text("utf-8"))
    for name in dovetail.__all__:
        assert re.search(rf"^\.\. (auto|py:)\w+:: dovetail\.[\w.]*\b{name}$", page, re.M), (
            f"dovetail.{name} is not on the page docs/python.md: see NAMES in docs/made.py"
        )
        value = getattr(dovetail, name)
        assert getattr(value, "__doc__", None), f"dovetail.{name} has no docstring"


def test_the_exact_decoders_and_uses_are_documented():
    page = made.filled((DOCS / "python.md").read_text("utf-8"))
    for name in ("decoding.fertility_map", "decoding.bidirectional_map", "uses.phrase_table.phrase_table"):
        assert f".. autofunction:: dovetail.{name}\n" in page


def test_what_an_aligner_has_from_another_class_is_on_the_page_of_names():
    entry = made.python([]).partition(".. autoclass:: dovetail.Aligner\n")[2].partition("```")[0]
    assert ":inherited-members:" in entry


def test_methods_that_pages_call_have_a_word_on_the_page_of_names():
    """Sphinx leaves out a method without a docstring, without a word."""
    for name in (name for group in ("Text in", "Aligning", "Links out", "Evaluation") for name in made.NAMES[group]):
        value = getattr(dovetail, name)
        for method, body in vars(value).items() if isinstance(value, type) else ():
            if not method.startswith("_") and callable(body):
                assert body.__doc__, f"dovetail.{name}.{method} has no docstring"


def test_every_recipe_has_a_word_on_a_page():
    pages = [DOCS / "choosing.md", *(DOCS / "recipes").glob("*.md")]
    written = " ".join(map(the_code, pages))
    for name in [*recipes, *PRESETS]:
        assert names(written, name), (
            f"No page tells of the recipe {name!r}.  Write a word on it in docs/choosing.md, "
            f"and, if it is of a new group, a page in docs/recipes/ (between backticks)."
        )


def test_the_readme_lists_the_recipes_and_presets_that_there_are():
    text = (ROOT / "README.md").read_text("utf-8")
    section = text[text.index("## Presets and recipes") : text.index("## Documentation")]
    listed = re.findall(r"^\| `([\w-]+)` \|", section, re.M)
    missing = [name for name in [*PRESETS, *recipes] if name not in listed]
    assert not missing, f"README.md, table of recipes: add a line for {', '.join(missing)}"
    gone = [name for name in listed if name not in recipes and name not in PRESETS]
    assert not gone, f"README.md, table of recipes: there is no {', '.join(gone)}"
    for preset, recipe in PRESETS.items():
        assert f"| `{preset}` | `{recipe}` |" in section


def test_every_option_is_explained():
    for name, recipe in recipes.items():
        for entry in recipe.options.entries.values():
            assert len(entry.metadata["help"].split()) > 2, f"{name}: nothing says what {entry.name} does"


@pytest.mark.parametrize(
    ("page", "known"), [("bidirectional", bidirectional_methods), ("fertility", fertility_methods)]
)
def test_every_method_of_a_search_is_in_its_pages_table(page, known):
    rows = [line for line in (DOCS / "recipes" / f"{page}.md").read_text("utf-8").splitlines() if line.startswith("|")]
    assert not [name for name in known if not any(f"`{name}`" in row for row in rows)]


def test_every_error_family_has_its_remedy():
    """Messages that the command line's newcomers meet: those of text, links, gold links and models."""
    page = (DOCS / "troubleshooting.md").read_text("utf-8").replace("\\|", "|")
    for module in ("bitext/text.py", "bitext/readers.py", "bitext/tmx.py", "alignments/gold.py", "models/storage.py"):
        source = (ROOT / "src" / "dovetail" / module).read_text("utf-8")
        for problem in re.findall(r"InputError\(\s*f?\"([^\"{(]{12,}?)[\"{(]", source):
            start = " ".join(problem.split()[:3]).rstrip(":")
            assert start in page, f"docs/troubleshooting.md does not tell of {problem!r} ({module})"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_made_part_can_be_made(page):
    text = page.read_text("utf-8")
    assert text.count("<!-- made:") == len(made.MARK.findall(text))
    filled = made.filled(text)
    assert "<!-- made:" not in filled
    assert len(filled) >= len(text.replace("<!-- made:", ""))


def test_the_command_line_page_has_every_command_and_option():
    page = made.commands()
    for name in COMMANDS:
        assert f"## dovetail {name}\n" in page
    for option in ("--recipe", "--threshold", "--bootstrap", "--swap-reverse"):
        assert option in page
    assert all(f"`{name}`" in page for name in recipes)


def test_the_tables_of_choices_have_every_registry():
    page = made.choices()
    for kind, registry in made.registries().items():
        for name in registry:
            assert f"| `{name}` |" in page, f"{kind} {name}"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (["a ** b, and x_"], ["a \\*\\* b, and x\\_", ""]),
        (["the `alpha_` of it"], ["the \\ ``alpha_``\\  of it", ""]),
        (
            ["a formula", "", "    x = |y|", "", "and so on"],
            ["a formula", "", "::", "", "        x = |y|", "", "and so on", ""],
        ),
        (["these:", "- one", "- two"], ["these:", "", "- one", "- two", ""]),
        (["an open ` tick"], ["an open ' tick", ""]),
    ],
)
def test_docstrings_are_escaped_for_sphinx(written, meant):
    assert docstrings.as_rst(written) == meant


def test_the_picture_shows_what_the_demo_prints():
    picture = (DOCS / "images" / "demo.svg").read_text("utf-8")
    words = re.sub(r"<[^>]*>", " ", picture).replace("&#160;", " ")
    for phrase in ("$ dovetail demo", "Learned from 679 English-French pairs", "right", "sure link missed", "AER"):
        assert phrase in words, f"docs/images/demo.svg lacks {phrase!r}: run python docs/refresh.py"
