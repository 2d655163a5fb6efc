"""The dictionary of `dovetail serve`: what it answers about a text, to programs and on its page."""

from __future__ import annotations

import subprocess
from collections import Counter
from importlib.resources import files

import jsonschema
import pytest

from browsing import DESK, NASTY, PHONE, TABLET, serious
from dovetail import Aligner, Alignments, Bitext
from dovetail.serve.app import live_app
from dovetail.uses import dictionary
from dovetail.uses.aligned import AlignedText
from dovetail.uses.index import build_index
from serving import COMMAND, serving
from test_serve import Client, schema_of

DEMO = files("dovetail") / "data"
HOSTILE = [word for word in NASTY if not set(word) & {"\0", "\ud800"}]  # which no text file has


def demo_lines(count):
    return [(DEMO / f"demo.{side}").read_text("utf-8").splitlines()[:count] for side in ("en", "fr")]


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    bitext = Bitext.from_pairs(zip(*demo_lines(200), strict=True))
    links = Aligner("ibm1", threads=1).fit(bitext).align(bitext)
    return build_index(AlignedText(bitext, links), tmp_path_factory.mktemp("index") / "index", {})


@pytest.fixture(scope="module")
def web(index):
    return Client(live_app({}, index=index))


def asked(web, address, **query):
    answer = web.get(address, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_answers_are_those_of_the_index_and_fit_their_description(web, index):
    for side, word in (("source", "the"), ("target", "maison"), ("source", ".")):
        found = asked(web, "/translations", word=word, side=side, most=5)
        expected = dictionary.translations(index, word, side, 5)
        assert found == {**expected._asdict(), "translations": [entry._asdict() for entry in expected.translations]}
        jsonschema.validate(found, schema_of(web, "Translations"))
        translation = found["translations"][0]["word"]
        places, start = [], 0
        while start is not None:
            page = asked(web, "/places", word=word, side=side, translation=translation, most=7, start=start)
            jsonschema.validate(page, schema_of(web, "Places"))
            places += page["hits"]
            start = page["next"]
        assert places == [hit._asdict() for hit in dictionary.places(index, word, translation, side, most=9999).hits]
    words = asked(web, "/words", text="ma")
    assert words["words"] == [word._asdict() for word in dictionary.beginning_with(index, "ma")]
    jsonschema.validate(words, schema_of(web, "WordList"))
    pair, expected = asked(web, "/pair", number=17), index.pair(16)
    assert (pair["number"], pair["source"], pair["target"]) == (17, expected.source, expected.target)
    assert [tuple(link) for link in pair["links"]] == expected.links
    assert pair["probabilities"] == pytest.approx(expected.probabilities, abs=1e-4)
    jsonschema.validate(pair, schema_of(web, "TextPair"))


@pytest.mark.parametrize(
    ("address", "query", "status", "complaint"),
    [
        ("/translations", {"word": "zzz"}, 404, "'zzz' does not occur in the source text"),
        ("/translations", {}, 400, "'word' is missing"),
        ("/translations", {"word": "a", "side": "left"}, 400, "'side' is neither source nor target"),
        ("/translations", {"word": "a", "most": "9999"}, 400, "'most' is not a number from 1 to 200"),
        ("/words", {"text": "x" * 5000}, 400, "'text' is not text of a reasonable length"),
        ("/places", {"word": "a", "translation": "b", "start": "-1"}, 400, "'start' is not a number of a place"),
        ("/pair", {"number": "201"}, 404, "there is no pair 201"),
        ("/pair", {"number": "x"}, 400, "'number' is not a number of a pair"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_remedy(web, address, query, status, complaint):
    answer = web.get(address, params=query)
    assert answer.status_code == status
    assert complaint in answer.json()["error"]
    assert answer.json()["remedy"]


def test_a_word_may_be_anything(web):
    for word in [*HOSTILE, "%00", "a\0b", "a&b=c"]:
        assert web.get("/translations", params={"word": word}).status_code == 404
        assert asked(web, "/places", word="the", translation=word) == {"hits": [], "next": None}


def test_without_a_text_there_is_no_dictionary():
    web = Client(live_app({}))
    answer = web.get("/words", params={"text": "a"})
    assert answer.status_code == 404
    assert "/words" not in answer.json()["remedy"]


def test_usage_that_makes_no_sense_is_one_line(tmp_path):
    (tmp_path / "s").write_text("a\n")
    for arguments, complaint in (
        ([], "nothing to serve"),
        (["--links", "x"], "name SOURCE and TARGET"),
        ([tmp_path / "s", tmp_path / "s"], "give either --links FILE or --load MODEL"),
        ([tmp_path / "s", tmp_path / "s", "--load", "model"], "say where the index goes"),
        ([tmp_path / "s", tmp_path / "s", "--links", tmp_path / "missing"], "no such file"),
    ):
        done = subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=120)
        assert done.returncode == 2
        assert complaint in done.stderr.splitlines()[-1]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """The demo's text and a pair of hostile words, with a model's links, and that model."""
    folder = tmp_path_factory.mktemp("served")
    sentences = demo_lines(200)
    for lines, side in zip(sentences, ("en", "fr"), strict=True):
        lines += ["the", " ".join(HOSTILE)]
        (folder / side).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    bitext = Bitext.from_pairs([(s.split(), t.split()) for s, t in zip(*sentences, strict=True)])
    aligner = Aligner("hmm", threads=1).fit(bitext)
    aligner.save(folder / "model")
    links = [*[list(pair) for pair in aligner.align(bitext)][:200], [(0, 0)], [(n, n) for n in range(len(HOSTILE))]]
    (folder / "links").write_text("".join(f"{' '.join(f'{i}-{j}' for i, j in row)}\n" for row in links))
    alignments = Alignments.from_links(links, lengths=bitext.lengths)
    with serving(folder / "en", folder / "fr", "--links", folder / "links", "--load", folder / "model") as server:
        yield server.address, bitext, alignments


@pytest.fixture
def page(browser, served):
    window = browser.new_page()
    wrong = []
    window.on("pageerror", lambda error: wrong.append(str(error)))
    window.on("console", lambda message: wrong.append(message.text))
    window.on("dialog", lambda dialog: (wrong.append(dialog.message), dialog.dismiss()))
    window.on("request", lambda request: request.url.startswith(served[0]) or wrong.append(request.url))
    yield window
    window.close()
    assert wrong == []


def test_one_goes_from_a_word_to_its_places_to_a_pair_and_to_the_models_by_keys_alone(page, served):
    from playwright.sync_api import expect

    address, bitext, alignments = served
    page.goto(address)
    page.keyboard.press("Shift+Tab")  # from the first field to the slider, and from there to the tabs
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("ArrowRight")
    assert page.locator("#dictionary").is_visible()
    page.keyboard.press("Tab")
    page.keyboard.type("MAIS")
    page.wait_for_selector(".choice")
    page.keyboard.press("ArrowDown")
    chosen = page.evaluate(
        "document.getElementById(document.activeElement.getAttribute('aria-activedescendant')).innerText"
    )
    page.keyboard.press("Enter")
    page.wait_for_selector(".hit")
    word = page.locator("#translations h2").inner_text()
    assert chosen.startswith(word)
    assert "maison" in page.locator("#words").inner_text() or word == "mais"
    page.locator("#word").fill("maison")
    page.keyboard.press("Enter")
    expect(page.locator("#translations h2")).to_have_text("maison")
    page.wait_for_selector(".hit")
    hits = page.evaluate("""[...document.querySelectorAll('.hit')].map(h => [
        h.querySelector('button').innerText, ...[...h.querySelectorAll('mark')].map(m => m.innerText)])""")
    translation = page.locator("tr.chosen .word").inner_text()
    expected = [
        n + 1
        for n in range(len(bitext))
        for i, j in alignments[n].links
        if bitext.tokens(n)[0][i] == translation and bitext.tokens(n)[1][j] == "maison"
    ]
    assert [hit[0] for hit in hits] == [f"Pair {n}" for n in expected][:20]
    assert all(hit[1:] == [translation, "maison"] for hit in hits)
    page.locator(".to-pair").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#places .panel")
    assert page.locator("#places h2").inner_text() == f"Pair {expected[0]}"
    assert page.evaluate("document.activeElement.textContent") == translation
    assert "maison" in page.evaluate("[...document.querySelectorAll('#places .token.lit')].map(t => t.textContent)")
    links = page.evaluate("[...document.querySelectorAll('#places .curve')].map(c => [+c.dataset.i, +c.dataset.j])")
    assert [tuple(link) for link in links] == alignments[expected[0] - 1].links
    page.locator("#places button", has_text="Align").click()
    page.wait_for_selector("#panels .panel")
    assert page.locator("#source").input_value() == " ".join(bitext.tokens(expected[0] - 1)[0])


def test_an_address_leads_to_a_translation(page, served):
    from playwright.sync_api import expect

    address, bitext, alignments = served
    linked = Counter(
        bitext.tokens(n)[1][j] for n in range(201) for i, j in alignments[n].links if bitext.tokens(n)[0][i] == "the"
    )
    (most, _), (second, _), *_ = linked.most_common()
    page.goto(f"{address}#view=dictionary&word=the&side=source&with={second}")
    expect(page.locator("tr.chosen .word")).to_have_text(second)
    assert "202 pairs" in page.locator("#about-words").inner_text()
    assert page.locator("#places h2").inner_text() == f"the – {second}"
    page.locator("tbody tr", has_text=most).first.click()
    expect(page.locator("#places h2")).to_have_text(f"the – {most}")
    assert f"with={most}" in page.url


def test_more_places_come_when_asked_for(page, served):
    from playwright.sync_api import expect

    page.goto(f"{served[0]}#view=dictionary&word=.&side=target")
    expect(page.locator(".hit")).to_have_count(20)
    page.locator(".more").click()
    expect(page.locator(".hit")).to_have_count(40)
    numbers = page.locator(".to-pair").all_text_contents()
    assert len(set(numbers)) == 40
    assert page.evaluate("document.activeElement.textContent") == numbers[20], "one goes on reading there"


def test_words_of_the_text_are_text(page, served):
    page.set_viewport_size(PHONE)
    _, bitext, _ = served
    for word in bitext.tokens(201)[0]:
        page.goto("about:blank")
        page.evaluate("a => { location.href = a; }", f"{served[0]}#view=dictionary")
        page.wait_for_selector("#word")
        page.locator("#word").fill(word)
        page.keyboard.press("Enter")
        page.wait_for_selector(".hit")
        assert page.locator("#translations h2").evaluate("h => h.textContent") == word
        assert page.locator(".hit mark").evaluate_all("all => all.map(m => m.textContent)") == [word, word]
        assert page.locator("#dictionary :is(script, img, b, i, svg[onload])").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [PHONE, TABLET, DESK], ids=["phone", "tablet", "desk"])
def test_axe_finds_nothing_serious(page, served, viewport, scheme):
    page.set_viewport_size(viewport)
    page.emulate_media(color_scheme=scheme)
    page.goto(f"{served[0]}#source=the+house&target=la+maison")
    page.wait_for_selector(".panel")
    assert serious(page) == [], "align"
    page.locator("#tab-dictionary").click()
    page.locator("#word").fill("the")
    page.wait_for_selector(".choice")
    assert serious(page) == [], "words that are offered"
    page.keyboard.press("Enter")
    page.wait_for_selector(".hit")
    assert serious(page) == [], "translations and places"
    page.locator(".to-pair").first.click()
    page.wait_for_selector("#places .panel")
    assert serious(page) == [], "a pair"
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
