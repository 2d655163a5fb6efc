"""The editor in a real browser: with the mouse, with keys alone, with a finger; when the server dies; with hostile words."""

from __future__ import annotations

import json
import re
import socket
import time
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import numpy as np
import pytest
import uvicorn

from browsing import serious
from dovetail import Bitext
from dovetail.annotate.app import annotate_app
from dovetail.annotate.drafts import open_drafts
from dovetail.annotate.sheet import Sheet

DESK = {"width": 1440, "height": 900}
TABLET = {"width": 768, "height": 1024}
PHONE = {"width": 390, "height": 844}
THREE = [(["a", "b", "c"], ["x", "y", "z"]), (["d", "e"], ["u", "v"]), (["f"], ["w"])]
ARABIC = ["كان", "هناك", "بيت", "قديم", "على", "التل"]


class Diagonal:
    """In the place of a model: every word goes with the one at its place, more or less."""

    def align_pair(self, source, target):
        links = [(i, i) for i in range(min(len(source), len(target)))]
        return SimpleNamespace(links=links, probabilities=[0.9] * len(links))

    def posteriors(self, source, target):
        cells = np.full((len(source), len(target)), 0.02)
        np.fill_diagonal(cells, 0.9)
        return cells

    def pick(self, bitext, number):
        return sorted(range(len(bitext)), key=lambda n: -len(bitext.tokens(n)[0]))[:number]


class Editor:
    """A server for some pairs, which can be stopped and started again, and pages that show it."""

    def __init__(self, gold, pairs, model):
        self.gold, self.model = gold, model
        self.bitext = Bitext.from_pairs(pairs)
        self.port, self.drafts = 0, None
        self.start()

    def start(self):
        self.drafts = open_drafts(self.gold)
        numbers = np.arange(1, len(self.bitext) + 1)
        sheet = Sheet(self.bitext, numbers, range(len(numbers)), self.model)
        self.listener = socket.create_server(("127.0.0.1", self.port))
        self.port = self.listener.getsockname()[1]
        app = annotate_app(sheet, self.drafts, title="test")
        self.server = uvicorn.Server(
            uvicorn.Config(app, log_level="error", lifespan="off", timeout_graceful_shutdown=1)
        )
        self.thread = Thread(target=self.server.run, kwargs={"sockets": [self.listener]}, daemon=True)
        self.thread.start()

    def stop(self):
        if self.drafts is not None:
            self.server.should_exit = True
            self.thread.join(20)
            self.listener.close()
            self.drafts.close()
            self.drafts = None

    def links(self, pair=1):
        return self.drafts[pair].links


class Page:
    def __init__(self, context, editor):
        self.context, self.editor = context, editor
        self.page = context.new_page()
        self.errors, self.dialogs, self.requests = [], [], []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on(
            "console", lambda message: message.type in ("error", "warning") and self.errors.append(message.text)
        )
        self.page.on("dialog", lambda dialog: (self.dialogs.append(dialog.message), dialog.dismiss()))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def open(self, address=""):
        self.page.goto(f"http://127.0.0.1:{self.editor.port}/{address}")
        self.page.wait_for_selector("#words .token, #words .empty")
        return self

    def cell(self, i, j):
        return self.page.locator(f'td[data-i="{i}"][data-j="{j}"]')

    def word(self, side, n):
        return self.page.locator(f'.token[data-{side}="{n}"]')

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)

    def until(self, code, *arguments):
        """Wait until something is true; playwright's own way to do so is forbidden by the page's policy."""
        for _ in range(500):
            if self.page.evaluate(code, *arguments):
                return
            self.page.wait_for_timeout(20)
        raise AssertionError(f"never true: {code}")

    def saved(self):
        self.until("document.getElementById('status').textContent === 'Saved.'")
        return self.editor

    def shows(self, number):
        self.until("n => document.getElementById('number').value === String(n)", number)

    def kinds(self):
        found = self.page.evaluate(
            "[...document.querySelectorAll('td[data-i]')].map(c => [c.dataset.i, c.dataset.j, c.dataset.kind])"
        )
        return {(int(i), int(j)): kind for i, j, kind in found if kind != "none"}

    def curves(self):
        found = self.page.evaluate(
            "[...document.querySelectorAll('.curve[data-i]')]"
            ".map(c => [c.dataset.i, c.dataset.j, c.classList.contains('sure')])"
        )
        return {(int(i), int(j)): "sure" if sure else "possible" for i, j, sure in found}


@pytest.fixture
def annotating(browser, tmp_path):
    """A server and a page on it; nothing may go wrong there but what a test announces."""
    editors, contexts, pages = [], [], []

    def begin(pairs=THREE, model=None, address="", viewport=DESK, editor=None, **settings):
        if editor is None:
            editor = Editor(tmp_path / f"gold{len(editors)}", pairs, model)
            editors.append(editor)
        context = browser.new_context(viewport=viewport, **settings)
        contexts.append(context)
        pages.append(Page(context, editor))
        return pages[-1].open(address)

    begin.expects = r"$."
    yield begin
    for context in contexts:
        context.close()
    for editor in editors:
        editor.stop()
    for page in pages:
        assert [error for error in page.errors if not re.search(begin.expects, error)] == []
        assert page.dialogs == []
        assert all(url.startswith(f"http://127.0.0.1:{page.editor.port}/") for url in page.requests)


def test_words_stand_in_their_panel(annotating):
    page = annotating().open().page
    words = page.locator("#words").bounding_box()
    panel = page.locator("section.panel", has=page.locator("#words")).bounding_box()
    assert panel["y"] < words["y"] < words["y"] + words["height"] <= panel["y"] + panel["height"]


def test_clicks_make_change_and_remove_links(annotating):
    page = annotating()
    page.cell(0, 1).click()
    assert page.saved().links() == "0-1"
    page.cell(1, 1).click(modifiers=["Shift"])
    assert page.saved().links() == "0-1 1?1"
    assert page.kinds() == page.curves() == {(0, 1): "sure", (1, 1): "possible"}
    page.page.locator("#possible").click()
    page.cell(0, 1).click()
    assert page.saved().links() == "0?1 1?1", "of another kind: changed"
    page.cell(0, 1).click()
    assert page.saved().links() == "1?1", "of the same kind: removed"
    assert page.cell(1, 1).get_attribute("aria-label") == "b – y: possible link"
    assert page.cell(1, 1).get_attribute("aria-selected") == "true"


def test_a_stroke_over_cells_is_one_change(annotating):
    page = annotating()
    page.cell(0, 0).hover()
    page.page.mouse.down()
    for n in (1, 2):
        page.cell(n, n).hover()
    page.page.mouse.up()
    assert page.saved().links() == "0-0 1-1 2-2"
    page.page.locator("#undo").click()
    page.until("!document.querySelector('.curve[data-i]')")
    assert page.editor.links() == ""
    page.press("Control+Shift+z")
    page.until("document.querySelectorAll('.curve[data-i]').length === 3")
    page.press("Control+z")
    page.until("!document.querySelector('.curve[data-i]')")
    assert page.kinds() == {}


def test_words_are_linked_by_clicks_and_by_drawing_from_one_to_the_other(annotating):
    page = annotating()
    page.word("i", 0).click()
    assert page.word("i", 0).get_attribute("aria-pressed") == "true"
    page.word("j", 2).click()
    assert page.saved().links() == "0-2"
    assert page.word("i", 0).get_attribute("aria-label") == "a: linked with z"
    page.word("j", 0).hover()
    page.page.mouse.down()
    page.word("i", 2).hover()
    page.page.mouse.up()
    assert page.saved().links() == "0-2 2-0"
    box = page.page.locator('.grip[data-i="0"]').evaluate(
        """path => { const at = path.getPointAtLength(path.getTotalLength() / 4).matrixTransform(path.getScreenCTM());
        return [at.x, at.y]; }"""
    )
    page.page.mouse.click(*box)
    page.until("document.querySelectorAll('.curve[data-i]').length === 1")
    assert page.saved().links() == "2-0", "a click on a line removes it"


def test_a_models_links_are_there_to_begin_with(annotating):
    page = annotating(model=Diagonal())
    assert page.kinds() == dict.fromkeys([(0, 0), (1, 1), (2, 2)], "sure")
    assert page.cell(0, 0).get_attribute("aria-label") == "a – x: sure link, model 0.90"
    sizes = page.page.evaluate("['0-0', '0-1'].map(k => { const [i, j] = k.split('-');"
        " return document.querySelector(`td[data-i='${i}'][data-j='${j}'] .dot`).offsetWidth; })")  # fmt: skip
    assert sizes[0] > 3 * sizes[1], "more probable, larger"
    page.cell(0, 0).hover()
    assert page.page.locator("#reading").inner_text() == "a – x: sure link, model 0.90"
    page.cell(0, 0).click()
    assert page.saved().links() == "1-1 2-2"
    page.page.locator("#restart").click()
    page.until("document.querySelectorAll('.curve[data-i]').length === 3")
    assert page.saved().links() == "0-0 1-1 2-2"
    assert page.editor.drafts[1].states == ("0-0 1-1 2-2", "1-1 2-2", "0-0 1-1 2-2")


def test_everything_can_be_done_with_keys_alone(annotating):
    page = annotating(model=Diagonal())
    page.press("m", "ArrowRight", "Space")
    assert page.saved().links() == "0-0 0-1 1-1 2-2"
    page.press("p")
    page.until("document.activeElement.dataset.kind === 'possible'")
    assert page.saved().links() == "0-0 0?1 1-1 2-2"
    page.press("ArrowDown", "Delete", "End", "s")
    page.until("document.querySelectorAll('.curve.sure').length === 3")
    assert page.saved().links() == "0-0 0?1 1-2 2-2"
    assert page.page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.press("Control+z")
    page.until("document.querySelectorAll('.curve.sure').length === 2")
    page.press("w", "ArrowRight", "Enter", "ArrowDown", "ArrowLeft", "Enter")
    page.until("document.querySelectorAll('.curve.sure').length === 3")
    assert page.saved().links() == "0-0 0?1 1-0 2-2"
    page.press("f")
    page.shows(2)
    assert page.editor.gold.read_text() == "1\t0-0 0?1 1-0 2-2\n"
    page.press("j")
    page.shows(3)
    page.press("d")
    page.shows(2)  # the longer of the two that are open
    page.press("k")
    page.shows(1)
    assert page.page.locator("#mark").inner_text().startswith("✓ finished")
    page.press("f")  # reopen
    page.until("document.getElementById('finish').textContent === 'Finished'")
    assert page.editor.gold.read_text() == ""
    page.press("g", "3", "Enter")
    page.shows(3)
    page.press("?")
    assert page.page.locator("#help").is_visible()
    page.press("Escape")
    page.page.evaluate("document.activeElement.blur()")
    stops = []
    for _ in range(25):
        page.press("Tab")
        stops.append(
            page.page.evaluate(
                "document.activeElement.id || document.activeElement.dataset.i || document.activeElement.tagName"
            )
        )
    for wanted in ("who", "range", "help-button", "number", "doubtful", "sure", "finish"):
        assert wanted in stops


def test_one_may_be_faster_than_the_disk(annotating):
    page = annotating()
    page.page.evaluate("""() => { for (const n of [0, 1, 2]) {
        const cell = document.querySelector(`td[data-i="${n}"][data-j="${n}"]`);
        cell.dispatchEvent(new KeyboardEvent("keydown", { key: " ", bubbles: true }));
    } document.getElementById("finish").click(); }""")
    page.shows(2)
    assert page.editor.drafts[1].states == ("", "0-0", "0-0 1-1", "0-0 1-1 2-2")
    assert page.editor.gold.read_text() == "1\t0-0 1-1 2-2\n"


def test_finished_pairs_are_counted_and_only_a_range_is_offered(annotating):
    page = annotating(address="#pairs=2-3")
    page.shows(2)
    page.page.locator("#who").fill("Anna")
    page.page.locator("#finish").click()
    page.shows(3)
    page.until("document.getElementById('progress-text').textContent === '1 of 2 finished'")
    assert page.editor.drafts[2].who == "Anna"
    page.page.locator("#finish").click()
    page.until("document.getElementById('progress-text').textContent === '2 of 2 finished'")
    page.page.locator("#previous").click()
    page.shows(2)
    page.page.locator("#previous").click()
    page.until("document.getElementById('status').textContent === 'This is the first pair.'")
    assert page.editor.gold.read_text() == "2\t\n3\t\n"
    page.page.locator("#range").fill("")
    page.page.locator("#range").press("Enter")
    page.page.locator("#number").focus()
    page.until("document.getElementById('progress-text').textContent === '2 of 3 finished'")


@pytest.mark.parametrize("reload", [False, True])
def test_nothing_is_lost_when_the_server_dies(annotating, reload):
    annotating.expects = "ERR_CONNECTION|Failed to load"
    page = annotating()
    page.cell(0, 0).click()
    assert page.saved().links() == "0-0"
    page.editor.stop()
    page.cell(1, 1).click()
    page.cell(2, 2).click()
    page.until("document.getElementById('status').textContent.startsWith('Not saved')")
    assert page.kinds() == dict.fromkeys([(0, 0), (1, 1), (2, 2)], "sure"), "one can go on working"
    if reload:  # the browser dies, too
        context, editor = page.context, page.editor
        page.page.close(run_before_unload=False)
        editor.start()
        page = Page(context, editor)
        page.open()
    else:
        page.editor.start()
    for _ in range(100):
        if page.editor.drafts[1].links == "0-0 1-1 2-2":
            break
        time.sleep(0.1)
    assert page.editor.drafts[1].states == ("", "0-0", "0-0 1-1", "0-0 1-1 2-2")


def test_two_people_do_not_overwrite_each_other(annotating):
    annotating.expects = "409"
    anna = annotating()
    bo = annotating(editor=anna.editor)
    anna.page.locator("#who").fill("Anna")
    anna.cell(0, 0).click()
    anna.saved()
    bo.cell(1, 1).click()
    bo.until("document.getElementById('status').textContent.includes('changed elsewhere by Anna')")
    bo.until("document.querySelector('td[data-i=\"0\"][data-j=\"0\"]').dataset.kind === 'sure'")
    assert bo.kinds() == {(0, 0): "sure"}
    bo.cell(1, 1).click()
    assert bo.saved().links() == "0-0 1-1"


HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(2)</script>",
    "a\u202eb",
    "&lt;b&gt;",
    "\u2066x",
    '"onclick="alert(3)',
]


def test_hostile_words_are_shown_as_text(annotating):
    page = annotating([(HOSTILE, HOSTILE[::-1])], model=Diagonal())
    assert page.page.locator("#words .line-i .token").all_text_contents() == HOSTILE
    assert page.page.locator(".sheet thead th").all_text_contents() == HOSTILE[::-1]
    assert page.page.locator("img").count() == 0
    page.page.locator("#who").fill(HOSTILE[0])
    page.cell(0, 1).click()
    assert page.saved().drafts[1].who == HOSTILE[0][:60]
    page.open()
    page.until("document.getElementById('mark').textContent.includes('begun')")
    assert HOSTILE[0] in page.page.locator("#mark").inner_text()
    assert page.page.locator("img").count() == 0
    entry = json.loads(Path(f"{page.editor.gold}.log").read_text())
    assert entry["who"] == HOSTILE[0]


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
def test_right_to_left_text_is_written_from_its_beginning(annotating, viewport):
    words = ARABIC * 4
    page = annotating([(["there", "was", "an", "old", "house", "on", "the", "hill"] * 3, words)], viewport=viewport)
    first, second = (page.page.locator(f'th[data-j="{n}"]').bounding_box() for n in (0, 1))
    assert first["x"] > second["x"]
    frame = page.page.locator("#matrix").bounding_box()
    assert frame["x"] <= first["x"] <= frame["x"] + frame["width"], "its beginning is in sight"
    page.press("m", "ArrowLeft", "Space")
    assert page.saved().links() == "0-1"
    assert page.page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]


def test_labels_stay_in_sight_in_long_pairs(annotating):
    page = annotating([([f"source{n}" for n in range(80)], [f"target{n}" for n in range(85)])], model=Diagonal())
    page.page.evaluate("() => { const f = document.getElementById('matrix'); f.scrollTop = 900; f.scrollLeft = 900; }")
    frame = page.page.locator("#matrix").bounding_box()
    row, column = (page.page.locator(f'th[data-{side}="45"]').bounding_box() for side in "ij")
    assert row["x"] == pytest.approx(frame["x"], abs=2)
    assert column["y"] == pytest.approx(frame["y"], abs=2)
    page.cell(45, 45).click()
    page.saved()
    page.press("m")
    for _ in range(16):
        page.press("ArrowDown", "ArrowRight")
    cell = page.cell(61, 61).bounding_box()
    corner = page.page.locator(".corner").bounding_box()
    assert cell["x"] >= corner["x"] + corner["width"] - 1, "the focus is never hidden under the labels"
    assert cell["y"] >= corner["y"] + corner["height"] - 1
    assert cell["x"] + cell["width"] <= frame["x"] + frame["width"] + 1


def test_a_pair_that_is_too_long_for_a_matrix_is_linked_by_words(annotating):
    page = annotating([(["a"] * 170, ["b"] * 170)])
    assert "too long for a matrix" in page.page.locator("#matrix").inner_text()
    page.word("i", 160).click()
    page.word("j", 3).click()
    assert page.saved().links() == "160-3"


def test_a_side_without_words_can_be_finished(annotating):
    page = annotating([([], ["x"]), (["a"], ["b"])])
    page.page.locator("#finish").click()
    page.shows(2)
    assert page.editor.gold.read_text() == "1\t\n"


def test_a_finger_taps_links_and_scrolls(annotating):
    page = annotating(viewport=PHONE, has_touch=True)
    page.cell(0, 1).tap()
    assert page.saved().links() == "0-1"
    page.cell(0, 1).tap()
    page.until("!document.querySelector('.curve[data-i]')")
    assert page.saved().links() == ""
    page.word("i", 1).tap()
    page.word("j", 2).tap()
    page.until("document.querySelector('.curve[data-i]')")
    assert page.saved().links() == "1-2"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [DESK, TABLET, PHONE], ids=["desk", "tablet", "phone"])
def test_it_fits_any_window_and_the_checker_of_accessibility_finds_nothing_grave(annotating, viewport, scheme):
    pairs = [
        (
            ["could", "you", "tell", "me", "where", "the", "station", "is", ",", "please", "?"],
            ["pourriez", *ARABIC, "Donaudampfschifffahrt"],
        )
    ]
    page = annotating([*pairs, *THREE], model=Diagonal(), viewport=viewport, color_scheme=scheme)
    assert page.page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    page.cell(0, 1).click(modifiers=["Shift"])
    page.saved()
    assert serious(page.page) == []
    page.press("?")
    assert serious(page.page) == []
    page.press("Escape")
    page.page.locator("#finish").click()
    page.shows(2)
    page.page.locator("#previous").click()
    page.shows(1)
    assert serious(page.page) == []
    sizes = page.page.evaluate(
        "[...document.querySelectorAll('button, td[data-i], input')].filter(e => e.offsetParent && !e.closest('dialog'))"
        ".map(e => Math.min(e.offsetWidth, e.offsetHeight))"
    )
    assert min(sizes) >= 24, "large enough for a finger"
