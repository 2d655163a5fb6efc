"""The page's data and the command that writes it; what the page does with them is tested in a browser."""

from __future__ import annotations

import base64
import json
import re
import sys
from importlib.resources import files

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail import Aligner, Alignments, Bitext, Gold, InputError, evaluate, read_bitext, read_gold
from dovetail.cli import dovetail
from dovetail.cli.view import named
from dovetail.report.packing import SCALE, pack, packed, quantised, to_json
from dovetail.report.page import LIVE, VIEW, _program, error_page, live_page, view_page
from dovetail.report.systems import FLOOR, System

DEMO = files("dovetail") / "data"
PAGE = files("dovetail.report") / "page"


@pytest.fixture(scope="module")
def trained():
    """A model of the demo's first 120 pairs, which 60 have gold links."""
    pairs = list(
        zip(*((DEMO / f"demo.{side}").read_text("utf-8").splitlines()[:120] for side in ("en", "fr")), strict=True)
    )
    bitext = Bitext.from_pairs([(source.split(), target.split()) for source, target in pairs])
    return bitext, Aligner("ibm1").fit(bitext), read_gold(str(DEMO / "demo.gold"))


@pytest.fixture
def files_in(tmp_path):
    (tmp_path / "s").write_text("the house\nthe <b>\n", "utf-8")
    (tmp_path / "t").write_text("la maison\nle </script>\n", "utf-8")
    (tmp_path / "links").write_text("0-0:0.9 1-1:0.4\n0-0 1-1\n", "utf-8")
    return tmp_path


def run(*arguments):
    from dovetail.cli import main

    saved = sys.argv
    sys.argv = ["dovetail", *map(str, arguments)]
    try:
        with pytest.raises(SystemExit) as stopped:
            main()
        return stopped.value.code
    finally:
        sys.argv = saved


def unpacked(value):
    kind, text = value
    return np.frombuffer(base64.b64decode(text), f"<{kind}")


@given(st.lists(st.floats(0, 1, width=32), min_size=1), st.integers(0, 100))
def test_quantised_probabilities_pass_every_step_of_the_slider_as_the_true_ones_do(values, step):
    probability = np.array(values, np.float32)
    taken = quantised(probability) > step * (SCALE // 100)
    assert taken.tolist() == (probability.astype(np.float64) > step / 100).tolist()


@given(st.lists(st.integers(0, 2**32 - 1)))
def test_integers_come_back_from_the_smallest_type_that_holds_them(values):
    kind, text = packed(np.array(values, np.int64))
    assert unpacked([kind, text]).tolist() == values
    assert len(base64.b64decode(text)) == len(values) * int(kind[1])
    assert kind == ("u1" if max(values, default=0) < 256 else "u2" if max(values) < 65536 else "u4")


@given(st.text())
@settings(max_examples=300)
def test_no_word_can_end_a_script_or_reorder_the_file(word):
    text = to_json([word])
    assert not re.search("[<>&\u2028\u2029\u202a-\u202e\u2066-\u2069]", text)
    assert json.loads(text) == [word]


def test_lone_surrogates_survive_as_escapes():
    assert to_json(["\ud800"]).encode("utf-8")
    assert json.loads(to_json(["\ud800"])) == ["\ud800"]


def test_everything_packed_comes_back(trained):
    bitext, aligner, gold = trained
    system = System.of_aligner("model", aligner, bitext)
    data = pack(bitext, [system], gold, title="t")
    assert data["pairs"] == len(bitext) == 120
    for side, name in ((bitext.source, "source"), (bitext.target, "target")):
        words, ids = data[name]["words"], unpacked(data[name]["ids"])
        assert [words[k] for k in ids] == [word for n in range(len(bitext)) for word in side.tokens(n)]
        assert unpacked(data[name]["lengths"]).tolist() == side.lengths.tolist()
        assert unpacked(data[name]["counts"]).tolist() == [
            int(side.vocabulary.counts[side.vocabulary.id(word)]) for word in words
        ]
    assert unpacked(data["gold"]["sure"]).tolist() == gold.sure.tolist()
    cells = data["systems"][0]
    assert unpacked(cells["i"]).tolist() == system.candidates.source.tolist()
    assert unpacked(cells["taken"]).astype(bool).tolist() == system.taken.tolist()
    assert np.abs(unpacked(cells["p"]) / SCALE - system.candidates.probability).max() < 1.01 / SCALE


def test_a_limit_cuts_text_links_and_gold_alike(trained):
    bitext, aligner, gold = trained
    data = pack(bitext, [System.of_aligner("m", aligner, bitext)], gold, limit=40, gold_start=30)
    assert data["pairs"] == 40
    assert data["all"] == 120
    assert len(unpacked(data["gold"]["counts"])) == 10
    counts = unpacked(data["systems"][0]["counts"])
    assert len(counts) == 40
    assert counts.sum() == len(unpacked(data["systems"][0]["j"]))


def test_a_model_shows_its_own_links_among_all_cells_over_the_floor(trained):
    bitext, aligner, _ = trained
    system, links = System.of_aligner("m", aligner, bitext), aligner.align(bitext)
    cells = system.candidates
    for n in range(0, 120, 7):
        low, high = cells.offsets[n], cells.offsets[n + 1]
        taken = system.taken[low:high]
        where = list(zip(cells.source[low:high].tolist(), cells.target[low:high].tolist(), strict=True))
        assert [link for link, mark in zip(where, taken, strict=True) if mark] == links[n].links
        posterior = aligner.posteriors(*bitext.tokens(n))
        assert set(where) >= {tuple(cell) for cell in np.argwhere(posterior > FLOOR + 1e-6).tolist()}
        for link, p in zip(where, cells.probability[low:high], strict=True):
            assert p == pytest.approx(posterior[link], abs=1e-5)


@pytest.mark.parametrize("threshold", [0.1, 0.3, 0.5, 0.8])
def test_candidates_over_a_threshold_are_what_the_decoder_takes(trained, threshold):
    bitext, aligner, gold = trained
    cells = System.of_aligner("m", aligner, bitext).candidates
    kept = quantised(cells.probability) > round(threshold * 100) * (SCALE // 100)
    running = np.concatenate([[0], np.cumsum(kept)])
    shown = Alignments(
        running[cells.offsets],
        cells.source[kept],
        cells.target[kept],
        cells.probability[kept],
        cells.source_lengths,
        cells.target_lengths,
    )
    decoded = Aligner("ibm1", threshold=threshold).fit(bitext).align(bitext)
    assert evaluate(shown[:60], gold).to_dict() == evaluate(decoded[:60], gold).to_dict()


def test_files_without_probabilities_are_not_graded():
    plain = System.of_alignments("a", Alignments.from_links([[(0, 0)], []], lengths=[(1, 1), (1, 1)]))
    unknown = System.of_alignments("a", Alignments.from_links([[(0, 0)]], [[float("nan")]], [(1, 1)]))
    assert not plain.graded
    assert not unknown.graded
    assert System.of_alignments("a", Alignments.from_links([[(0, 0)]], [[0.5]], [(1, 1)])).graded


def test_the_page_is_alone_in_the_world():
    bitext = Bitext.from_pairs([(["a"], ["b"])])
    system = System.of_alignments("x", Alignments.from_links([[(0, 0)]], lengths=[(1, 1)]))
    for page in (view_page(bitext, [system]), live_page(["m"]), error_page(404, "no", "yes")):
        addresses = set(re.findall(r"(?:https?:)?//[\w.]+\.\w+", page))
        assert addresses <= {"http://www.w3.org"}, "only the name of SVG"
        assert not re.search(r"<(link|img|iframe|object|embed)\b|\bsrc=|@import|url\(", page)
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
        assert policy
        assert "default-src &#39;none&#39;" in policy[1]
        assert "unsafe" not in policy[1]


def test_titles_and_names_are_text():
    bitext = Bitext.from_pairs([(["a"], ["b"])])
    system = System.of_alignments("</script><x>", Alignments.from_links([[(0, 0)]], lengths=[(1, 1)]))
    page = view_page(bitext, [system], title='"><script>alert(1)</script>')
    assert "<script>alert" not in page
    assert "<x>" not in page
    assert page.count("<script") == page.count("</script>") == 2
    assert "<b>" not in error_page(400, "<b>", "<b>")


@pytest.mark.parametrize("modules", [VIEW, LIVE], ids=["view", "live"])
def test_modules_import_only_what_earlier_ones_export(modules):
    exported: dict[str, set[str]] = {}
    declared: list[str] = []
    for name in modules:
        text = (PAGE / name).read_text("utf-8")
        for names, home in re.findall(r'^import \{([^}]*)\} from "\./([\w.]+)";$', text, re.M):
            wanted = {part.strip() for part in names.split(",") if part.strip()}
            assert wanted <= exported[home], f"{name} imports {wanted - exported[home]} from {home}"
        exported[name] = set(re.findall(r"^export (?:async )?(?:function|const|let|class) (\w+)", text, re.M))
        exported[name] |= set(re.findall(r"\b([A-Z_]+) = \d", "".join(re.findall(r"^export const .*;$", text, re.M))))
        declared += re.findall(r"^(?:export )?(?:async )?(?:function|const|let|class) (\w+)", text, re.M)
    assert len(declared) == len(set(declared)), "modules share one scope on the page"
    assert not re.search(r"^(import|export)\b", _program(modules), re.M)


def test_the_modules_never_turn_text_into_markup():
    for name in {*VIEW, *LIVE}:
        text = (PAGE / name).read_text("utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text), (
            name
        )


def test_view_writes_a_page(files_in):
    out = files_in / "page.html"
    arguments = ["view", files_in / "s", files_in / "t", "--links", f"mine={files_in / 'links'}", "-o", out]
    done = CliRunner().invoke(dovetail, list(map(str, arguments)))
    assert done.exit_code == 0, done.output
    page = out.read_text("utf-8")
    assert "2 pairs" in done.output
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])
    assert [system["name"] for system in data["systems"]] == ["mine"]
    assert data["title"] == "s – t"
    assert data["source"]["words"] == ["the", "house", "<b>"]


def test_certificates_of_json_lines_reach_the_page(files_in):
    lines = [{"links": [[0, 0]], "certified": True}, {"links": [[1, 1]], "certified": False}]
    (files_in / "exact.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    out = files_in / "page.html"
    done = run("view", files_in / "s", files_in / "t", "--links", files_in / "exact.jsonl", "-o", out, "--quiet")
    assert done == 0
    data = json.loads(re.search(r'id="data">(.*?)</script>', out.read_text("utf-8"), re.S)[1])
    assert unpacked(data["systems"][0]["certified"]).tolist() == [1, 0]
    assert data["systems"][0]["name"] == "exact.jsonl"


def test_gold_may_cover_only_some_pairs(files_in):
    (files_in / "gold").write_text("0-0 1?1\n", "utf-8")
    out = files_in / "page.html"
    for start in (0, 1):
        links = ("--links", files_in / "links", "--gold", files_in / "gold", "--gold-start", start)
        assert run("view", files_in / "s", files_in / "t", *links, "-o", out, "--quiet") == 0
        data = json.loads(re.search(r'id="data">(.*?)</script>', out.read_text("utf-8"), re.S)[1])
        assert data["gold"]["start"] == start
        assert unpacked(data["gold"]["sure"]).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("change", "arguments", "complaint"),
    [
        ({}, ["--links", "nowhere"], "nowhere"),
        ({}, [], "nothing to show"),
        ({}, ["--load", "nowhere"], "nowhere"),
        ({"links": "0-0\n"}, ["--links", "links"], "links"),
        ({"links": "0-7\n\n"}, ["--links", "links"], "links, line 1"),
        ({"gold": "0-0\n0-0\n0-0\n"}, ["--links", "links", "--gold", "gold"], "gold"),
        ({"gold": "0-9\n0-0\n"}, ["--links", "links", "--gold", "gold"], "gold, line 1"),
        ({"gold": "0-0\n"}, ["--links", "links", "--gold", "gold", "--gold-start", "5"], "gold"),
        ({"gold": "0-0\n"}, ["--links", "links", "--gold", "gold", "--gold-start", "1", "--limit", "1"], "--limit"),
        ({"s": "", "t": "", "links": ""}, ["--links", "links"], "empty"),
    ],
)
def test_bad_input_is_one_line_and_status_2(files_in, monkeypatch, capsys, change, arguments, complaint):
    for name, text in change.items():
        (files_in / name).write_text(text, "utf-8")
    monkeypatch.chdir(files_in)
    assert run("view", "s", "t", *arguments, "-o", "page.html") == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert complaint in said
    assert not (files_in / "page.html").exists()


def test_without_jinja2_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(InputError, match="pip install jinja2"):
        live_page([])


def test_a_file_is_named_by_the_user_or_by_itself(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a=b").write_text("")
    assert named("mine=x/links.txt") == ("mine", "x/links.txt")
    assert named("x/links.txt") == ("links.txt", "x/links.txt")
    assert named("a=b") == ("a=b", "a=b")


def test_reading_options_reach_the_bitext(files_in):
    out = files_in / "page.html"
    (files_in / "links").write_text("0-0\n0-0 3-4\n", "utf-8")
    arguments = ["--links", files_in / "links", "-o", out, "--tokenizer", "unicode", "--quiet"]
    assert run("view", files_in / "s", files_in / "t", *arguments) == 0
    assert read_bitext(files_in / "s", files_in / "t", tokenizer="unicode").tokens(1)[0] == ["the", "<", "b", ">"]
    data = json.loads(re.search(r'id="data">(.*?)</script>', out.read_text("utf-8"), re.S)[1])
    assert data["source"]["words"] == ["the", "house", "<", "b", ">"]


def test_alignments_of_another_bitext_are_refused():
    bitext = Bitext.from_pairs([(["a"], ["b"])])
    system = System.of_alignments("x", Alignments.from_links([[], []], lengths=[(1, 1), (1, 1)]))
    with pytest.raises(InputError, match="2 pairs in the alignment x, but 1"):
        pack(bitext, [system])
    outside = System.of_alignments("x", Alignments.from_links([[(0, 3)]], lengths=[(1, 4)]))
    with pytest.raises(InputError, match="word 3 of a sentence of 1 words"):
        pack(bitext, [outside])
    assert pack(bitext, [], Gold.from_links([[(0, 0)]]))["gold"]["start"] == 0
