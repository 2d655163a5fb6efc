"""Pages at three widths, light and dark: long pairs can be read, nothing is cut, and axe finds nothing serious."""

from __future__ import annotations

import random
from importlib.resources import files
from itertools import product

import pytest

from browsing import DESK, PHONE, TABLET, serious
from dovetail import Aligner, Alignments, Bitext, read_gold
from dovetail.report.page import docs_page, error_page, view_page
from dovetail.report.systems import System
from dovetail.serve.app import live_app

DEMO = files("dovetail") / "data"
WIDTHS = {"phone": PHONE, "tablet": TABLET, "desk": DESK}
HEBREW = ["הבית", "הגדול", "נמצא", "ליד", "הנהר", "הארוך", "של", "העיר", "."] * 3


@pytest.fixture(scope="module")
def demo():
    lines = [(DEMO / f"demo.{side}").read_text("utf-8").splitlines()[:90] for side in ("en", "fr")]
    bitext = Bitext.from_pairs([(source.split(), target.split()) for source, target in zip(*lines, strict=True)])
    systems = [
        System.of_aligner(name, Aligner("ibm1", threads=1, ibm1_iterations=n).fit(bitext), bitext)
        for name, n in (("model", 5), ("a model with a longer name", 1))
    ]
    return view_page(bitext, systems, read_gold(str(DEMO / "demo.gold")), title="English – French")


def long_pairs(*pairs, systems=2):
    """A page of pairs with made-up links near the diagonal."""
    draw = random.Random(3)
    rows = [sorted({(i, min(len(t) - 1, i * len(t) // len(s))) for i in range(len(s))}) for s, t in pairs]
    bitext = Bitext.from_pairs(pairs)
    found = [
        Alignments.from_links(rows, [[draw.random() for _ in row] for row in rows], bitext.lengths)
        for _ in range(systems)
    ]
    return view_page(bitext, [System.of_alignments(f"system {n}", links) for n, links in enumerate(found)])


def words(count, stem="word"):
    return [f"{stem}{n}" for n in range(count)]


def frames(page):
    return page.js("""[...document.querySelectorAll('.matrix-frame')].map(f => ({
        hidden: f.scrollWidth - f.clientWidth,
        cell: f.querySelector('.lines').getBBox().height / f.querySelectorAll('.side .label').length,
        left: f.getBoundingClientRect().left, right: f.getBoundingClientRect().right}))""")


def test_two_matrices_of_20_by_25_words_fit_side_by_side(shown):
    page = shown(long_pairs((words(20), words(25))), "#pair=1", DESK)
    first, second = frames(page)
    assert first["hidden"] <= 0
    assert second["hidden"] <= 0
    assert second["left"] > first["right"], "side by side"
    assert first["cell"] >= 13


@pytest.mark.parametrize("viewport", WIDTHS.values(), ids=WIDTHS)
def test_labels_of_80_words_stay_in_sight(shown, viewport):
    page = shown(long_pairs((words(80), words(80)), systems=1), "#pair=1", viewport)
    page.page.locator(".matrix-frame").scroll_into_view_if_needed()
    page.js("() => document.querySelector('.matrix-frame').scrollTo(9999, 9999)")
    (frame,) = frames(page)
    assert frame["cell"] >= 13
    seen = page.js("""() => { const f = document.querySelector('.matrix-frame').getBoundingClientRect();
        const inside = n => { const r = n.getBoundingClientRect(); return r.left >= f.left - 1 && r.right <= f.right + 1
            && r.top >= f.top - 1 && r.bottom <= f.bottom + 1; };
        return ['side', 'head'].map(k => [...document.querySelectorAll(`.matrix .${k} .label`)].filter(inside)
            .map(t => t.textContent)); }""")
    assert "word79" in seen[0]
    assert "word79" in seen[1]
    first = page.js("[...document.querySelectorAll('.side .label')].map(t => t.getBoundingClientRect().left)")
    left = page.js("document.querySelector('.matrix-frame').getBoundingClientRect().left")
    assert min(first) >= left - 1, "rows are still named at the left"
    assert page.js("document.documentElement.scrollWidth") <= viewport["width"]
    spot = page.js("""() => { const d = [...document.querySelectorAll('.body .disc')].at(-1).getBoundingClientRect();
        return [d.left + d.width / 2, d.top + d.height / 2]; }""")
    page.page.mouse.move(*spot)
    assert "word79 – word79" in page.page.locator("#reading").inner_text(), "pointing follows what is scrolled"


def test_a_scrolled_matrix_stays_where_it_is_when_the_threshold_moves(shown):
    page = shown(long_pairs((words(80), words(80)), systems=1), "#pair=1", PHONE)
    page.js("() => document.querySelector('.matrix-frame').scrollTo(200, 100)")
    page.js("() => dovetail.setThreshold(30)")
    assert page.js(
        "() => { const f = document.querySelector('.matrix-frame'); return [f.scrollLeft, f.scrollTop]; }"
    ) == [200, 100]


def test_right_to_left_opens_at_its_beginning(shown):
    page = shown(long_pairs((words(27), HEBREW), systems=1), "#pair=1", PHONE)
    place = """word => { const f = document.querySelector('.matrix-frame').getBoundingClientRect(),
        r = document.querySelector(`.head .label[data-j="${word}"]`).getBoundingClientRect();
        return r.right <= f.right + 1 && r.left >= f.left; }"""
    assert page.js(place, 0), "the first word is seen"
    assert not page.js(place, 26), "the last one is not"


@pytest.mark.parametrize("viewport", WIDTHS.values(), ids=WIDTHS)
def test_words_of_links_are_never_cut(shown, viewport):
    compounds = [
        "Donaudampfschifffahrtsgesellschaftskapitän",
        "Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz",
    ] * 6
    page = shown(long_pairs((compounds, compounds[::-1])), "#pair=1", viewport)
    cut = page.js("""[...document.querySelectorAll('.token')].filter(t => t.scrollWidth > t.clientWidth + 1
        || getComputedStyle(t).textOverflow === 'ellipsis').length""")
    assert cut == 0
    panel = page.js("document.querySelector('.panel').getBoundingClientRect().right")
    assert (
        max(
            page.js(
                "[...document.querySelectorAll('.panel:first-child .token')].map(t => t.getBoundingClientRect().right)"
            )
        )
        <= panel
    )
    title = page.page.locator(".label title").first
    assert title.evaluate("t => t.textContent") in compounds, "a short label tells its whole word"


def test_searched_words_are_lit_in_the_list_and_brought_into_sight(shown):
    far = [*words(30, "before"), "Needle", "thread", *words(5, "after")]
    page = shown(long_pairs((far, words(9)), (words(9), ["足利", "義満", "は"]), systems=1))
    page.page.locator("#search").fill("needle thr")
    marks = page.js("[...document.querySelectorAll('.row mark')].map(m => m.textContent)")
    assert marks == ["Needle", "thread"]
    mark, row = (
        page.js(f"document.querySelector('{name}').getBoundingClientRect().right") for name in (".row mark", ".row")
    )
    assert mark < row
    assert page.js("[...document.querySelectorAll('.panel .token.found')].map(t => t.textContent)") == [
        "Needle",
        "thread",
    ]
    page.page.locator("#search").fill("利義")
    assert page.js("[...document.querySelectorAll('.row mark')].map(m => m.textContent)") == ["足利", "義満"]
    page.page.locator("#search").fill("word1")
    assert page.page.locator(".row mark").count() > 0
    page.page.locator("#search").fill("")
    assert page.page.locator(".row mark, .token.found").count() == 0


@pytest.mark.parametrize("viewport", WIDTHS.values(), ids=WIDTHS)
def test_all_scores_of_all_systems_are_in_sight(demo, shown, viewport):
    page = shown(demo, "", viewport)
    places = page.js(
        "[...document.querySelectorAll('#strip .score')].map(s => s.getBoundingClientRect()).map(r => [r.left, r.right])"
    )
    assert len(places) == 2 * 5
    assert min(left for left, _ in places) >= 0
    assert max(right for _, right in places) <= viewport["width"]


@pytest.mark.parametrize(
    ("viewport", "scheme"),
    list(product(WIDTHS.values(), ("light", "dark"))),
    ids=[f"{w}-{s}" for w in WIDTHS for s in ("light", "dark")],
)
def test_axe_finds_nothing_serious(demo, shown, viewport, scheme):
    page = shown(demo, "", viewport, color_scheme=scheme)
    for address in ("", "#pair=13", "#pair=13&baseline=1&threshold=0.30", "#view=summary", "#view=dictionary&word=the"):
        page.open(address)
        page.page.reload()
        page.page.wait_for_timeout(100)
        assert serious(page.page) == [], address
        assert page.js("document.documentElement.scrollWidth") <= viewport["width"], address
    page.page.keyboard.press("?")
    assert serious(page.page) == [], "help"
    page.page.keyboard.press("Escape")
    page.page.locator("#word").fill("a")
    page.page.wait_for_selector(".choice")
    assert serious(page.page) == [], "words that are offered"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_other_pages(browser, tmp_path, scheme):
    described = live_app({}).app.openapi()
    pages = {"error": error_page(404, "there is nothing <here>", "Go back."), "docs": docs_page(described)}
    for name, html in pages.items():
        (tmp_path / f"{name}.html").write_text(html, "utf-8")
        for viewport in WIDTHS.values():
            page = browser.new_page(viewport=viewport, color_scheme=scheme)
            page.goto(f"file://{tmp_path}/{name}.html")
            assert serious(page) == [], name
            page.close()


def test_everything_is_reached_with_the_keyboard(demo, shown):
    """Tab goes through all that can be pressed, in the order of the page, and it can be seen where one is."""
    page = shown(demo, "#pair=13")
    page.js("() => { document.activeElement.blur(); }")
    seen, blind = [], []
    for _ in range(80):
        page.page.keyboard.press("Tab")
        if page.js("document.activeElement === document.body"):
            break
        name = page.js("document.activeElement.id || document.activeElement.className")
        seen.append(name)
        if page.js("getComputedStyle(document.activeElement).outlineStyle") != "solid":
            blind.append(name)
    wanted = {
        "tab-pairs",
        "threshold",
        "help-button",
        "search",
        "sort",
        "reverse",
        "list",
        "baseline",
        "previous",
        "next",
    }
    assert wanted <= set(seen)
    assert "token" in " ".join(seen)
    assert "matrix-frame" in seen
    assert blind == []
    page.page.locator("#tab-pairs").focus()
    for tab in ("dictionary", "summary", "pairs"):
        page.page.keyboard.press("ArrowRight")
        assert page.js("document.activeElement.id") == f"tab-{tab}"
        assert page.page.locator(f"#{tab}").is_visible()
