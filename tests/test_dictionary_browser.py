"""The dictionary on the page of `view`, in a real browser: it counts as `dovetail lexicon` and `dovetail find` do."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from importlib.resources import files

import pytest

from browsing import NASTY, PHONE
from dovetail import Aligner, Alignments, Bitext
from dovetail.report.page import view_page
from dovetail.report.systems import System
from dovetail.uses import dictionary
from dovetail.uses.aligned import AlignedText
from dovetail.uses.index import build_index

DEMO = files("dovetail") / "data"


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """A model, and links without probabilities, on some pairs; of each an index of the links over a threshold."""
    lines = [(DEMO / f"demo.{side}").read_text("utf-8").splitlines()[:150] for side in ("en", "fr")]
    bitext = Bitext.from_pairs([(source.split(), target.split()) for source, target in zip(*lines, strict=True)])
    model = System.of_aligner("model", Aligner("ibm1", threads=1).fit(bitext), bitext)
    plain = System.of_alignments(
        "plain", Alignments.from_links([pair.links[::2] for pair in model.candidates], lengths=bitext.lengths)
    )

    def index_of(system, threshold):
        rows, weights = [], []
        for n, pair in enumerate(system.candidates):
            low, high = system.candidates.offsets[n : n + 2]
            own = system.taken[low:high]
            keep = own if threshold is None or not system.graded else [p > threshold for p in pair.probabilities]
            chosen = [k for k in range(len(pair)) if keep[k]]
            rows.append([pair.links[k] for k in chosen])
            weights.append([pair.probabilities[k] for k in chosen])
        alignments = Alignments.from_links(rows, weights if system.graded else None, bitext.lengths)
        return build_index(AlignedText(bitext, alignments), tmp_path_factory.mktemp("index") / "index", {})

    return bitext, [model, plain], index_of, view_page(bitext, [model, plain], title="demo")


def rows_of(page):
    return page.js("""[...document.querySelectorAll('#translations tbody tr')].map(r =>
        [...r.children].map(cell => cell.textContent))""")


def spelled(chance):
    rounded = str(Decimal(chance).quantize(Decimal("0.01"), ROUND_HALF_UP))  # as JavaScript rounds
    return rounded if chance >= 0.995 else "< .01" if chance < 0.005 else rounded[1:]


def look_up(page, word):
    from playwright.sync_api import expect

    page.page.locator("#word").fill(word)
    page.page.keyboard.press("Enter")
    expect(page.page.locator("#translations h2")).to_have_text(word)


@pytest.mark.parametrize("threshold", [None, 0.1])
@pytest.mark.parametrize("active", [0, 1], ids=["model", "plain"])
def test_it_says_what_the_commands_say(demo, shown, active, threshold):
    from playwright.sync_api import expect

    _, systems, index_of, html = demo
    index = index_of(systems[active], threshold)
    page = shown(html, "" if threshold is None else f"#threshold={threshold:.2f}")
    page.page.keyboard.press(str(active + 1))
    page.page.locator("#tab-dictionary").click()
    for side, word in (("source", "the"), ("source", "house"), ("target", "maison"), ("target", "de")):
        look_up(page, word)
        expected = dictionary.translations(index, word, side)
        assert rows_of(page) == [
            [entry.word, spelled(entry.probability), spelled(entry.reverse), f"{entry.count:,}"]
            for entry in expected.translations
        ]
        note = page.page.locator("#translations .note").first.inner_text()
        assert note.startswith(f"{side} word · {expected.count} place")
        assert (f"{expected.unlinked} without a link" in note) == (expected.unlinked > 0)
        for row, entry in list(enumerate(expected.translations))[:3]:
            page.page.locator("#translations tbody tr").nth(row).click()
            expect(page.page.locator("#places h2")).to_have_text(f"{word} – {entry.word}")
            hits = dictionary.places(index, word, entry.word, side).hits
            assert page.page.locator(".to-pair").all_text_contents() == [f"Pair {hit.pair}" for hit in hits]
            marked = page.js("[...document.querySelectorAll('.hit')].map(h => h.querySelectorAll('mark').length)")
            assert marked == [len(hit.here) + len(hit.there) for hit in hits]
    assert "in all 150 pairs" in page.page.locator("#about-words").inner_text()


def test_words_are_offered_while_one_types(demo, shown):
    from playwright.sync_api import expect

    _, systems, index_of, html = demo
    index = index_of(systems[0], None)
    page = shown(html, "#view=dictionary")
    for text in ("ma", "THE", "é"):
        page.page.locator("#word").fill(text)
        expected = dictionary.beginning_with(index, text)
        texts = [f"{word.word}{word.side} · {word.count}" for word in expected]
        expect(page.page.locator(".choice")).to_have_text(texts)
    page.page.locator("#word").fill("zzz")
    expect(page.page.locator("#translations")).to_have_text("No word begins like that.")
    assert page.page.locator("#words").is_hidden()


def test_one_goes_from_a_word_of_a_pair_to_the_dictionary_and_back_to_a_pair_by_keys(demo, shown):
    from playwright.sync_api import expect

    bitext, _, _, html = demo
    page = shown(html, "#pair=1")
    page.page.locator(".line-i .token").first.focus()
    page.page.keyboard.press("Enter")
    word = bitext.tokens(0)[0][0]
    expect(page.page.locator("#translations h2")).to_have_text(word)
    assert "view=dictionary" in page.js("location.hash")
    page.page.keyboard.press("Tab")
    page.page.keyboard.press("ArrowDown")
    page.page.keyboard.press("ArrowUp")
    page.page.keyboard.press("Enter")
    expect(page.page.locator("tr.chosen")).to_have_count(1)
    translation = page.page.locator("tr.chosen .word").inner_text()
    assert page.js("document.activeElement.textContent") == translation
    page.page.locator(".to-pair").last.focus()
    number = page.page.locator(".to-pair").last.inner_text()
    page.page.keyboard.press("Enter")
    expect(page.page.locator("#pair-name")).to_have_text(number)
    assert page.js("document.activeElement.textContent") == word
    assert {word, translation} <= set(page.js("[...document.querySelectorAll('.token.lit')].map(t => t.textContent)"))
    page.page.keyboard.press("w")
    expect(page.page.locator("#places h2")).to_have_text(f"{word} – {translation}")


def test_a_page_of_some_pairs_says_so(shown):
    bitext = Bitext.from_pairs([("the house", "la maison")] * 5)
    links = Alignments.from_links([[(0, 0), (1, 1)]] * 5, lengths=bitext.lengths)
    page = shown(view_page(bitext, [System.of_alignments("x", links)], limit=3), "#view=dictionary&word=house")
    assert "in the first 3 of 5 pairs: no more fit on this page" in page.page.locator("#about-words").inner_text()
    page.page.wait_for_selector(".hit")
    assert rows_of(page) == [["maison", "1.00", "1.00", "3"]]


def test_words_are_text_in_the_dictionary_too(shown):
    bitext = Bitext.from_pairs([(NASTY, NASTY[::-1]), (["a"] * 400 + ["end"], ["b"] * 400 + ["Ende"])])
    links = Alignments.from_links([[(i, i) for i in range(len(NASTY))], [(400, 400)]], lengths=bitext.lengths)
    html = view_page(bitext, [System.of_alignments("<i>one</i>", links)])
    page = shown(html.encode("utf-8", "surrogatepass").decode("utf-8", "replace"), "#view=dictionary", PHONE)
    for word, other in zip(NASTY, NASTY[::-1], strict=True):
        page.js("word => { location.hash = '#view=dictionary&' + new URLSearchParams({word}); }", word)
        page.page.wait_for_function("() => document.querySelector('.hit')")
        if word.isprintable():  # others are changed on their way through an address
            assert page.js("document.querySelector('#translations h2').textContent") == word
            assert page.js("[...document.querySelectorAll('.hit mark')].map(m => m.textContent)") == [word, other]
        assert page.page.locator("#dictionary :is(script, img, b, i, svg[onload])").count() == 0
        assert page.js("document.documentElement.scrollWidth") <= PHONE["width"]
    look_up(page, "end")
    assert page.js("[...document.querySelectorAll('.hit mark')].map(m => m.textContent)") == ["end", "Ende"]
    assert page.js("document.querySelector('.hit-line').textContent").startswith("… a"), "from shortly before them"
