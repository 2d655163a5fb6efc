"""What alignments and scores show of themselves in a notebook, and the figures for papers."""

from __future__ import annotations

import re
import sys
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail import (
    Aligner,
    Alignments,
    Bitext,
    Gold,
    InputError,
    evaluate,
    plot_curve,
    plot_matrix,
    precision_recall_curve,
    read_alignments,
)

mpl.use("Agg")

NASTY = ["<script>alert(1)</script>", "a&b", "\"'>", "\u202eevil", "x" * 100]


def parsed(html):
    """As XML, which is stricter than HTML: an unescaped word would not pass, or be an element of its own."""
    return ElementTree.fromstring(f"<div>{html.replace(chr(0), '')}</div>")


def tags(html):
    return {element.tag.rpartition("}")[2] for element in parsed(html).iter()}


@pytest.fixture(scope="module")
def aligned():
    bitext = Bitext.from_pairs([("the house", "la maison"), ("the sea", "la mer"), ("house", "maison")] * 4)
    return Aligner("ibm1").fit(bitext).align(bitext)


def test_an_alignment_shows_its_words_links_and_matrix(aligned):
    pair = aligned[0]
    html = pair._repr_html_()
    assert [element.text for element in parsed(html).iter() if element.tag.endswith("text")] == [
        *("the", "house", "la", "maison"),
        *("la", "maison", "the", "house"),
    ]
    assert len(re.findall("<circle", html)) == len(pair)
    assert len(re.findall(r"<path d='M[^']*C", html)) == len(pair)


def test_an_alignment_without_text_shows_places():
    pair = Alignments.from_links([[(0, 1)]], lengths=[(1, 2)])[0]
    assert pair.words() == (["0"], ["0", "1"])
    assert ">1</text>" in pair._repr_html_()


def test_alignments_show_a_table_of_their_first_pairs(aligned):
    html = aligned._repr_html_()
    assert html.count("<tr>") == 11
    assert "12 pairs" in html
    assert "the first 10 of them" in html
    assert "la maison" in html
    assert f"<bdi>{aligned[0]}</bdi>" in html
    assert aligned[2:4]._repr_html_().count("<tr>") == 3
    assert aligned[1:][1].words() == (["house"], ["maison"]), "a part still knows its words"
    assert "2 × 3" in Alignments.from_links([[]], lengths=[(2, 3)])._repr_html_()


def test_links_of_a_file_show_the_words_of_their_text(tmp_path):
    (tmp_path / "links").write_text("0-0 1-1\n0-0\n")
    bitext = Bitext.from_pairs([("the <b>", "la maison"), ("yes !", "oui")])
    links = read_alignments(tmp_path / "links", text=bitext)
    assert links[0].words() == (["the", "<b>"], ["la", "maison"])
    assert (links[1].source_length, links[1].target_length) == (2, 1)
    assert "la maison" in links._repr_html_()
    assert [record["target_word"] for record in links.to_records()] == ["la", "maison", "oui"]
    (tmp_path / "links").write_text("0-0 1-7\n0-0\n")
    with pytest.raises(InputError, match="line 1"):
        read_alignments(tmp_path / "links", text=bitext)


def test_a_bitext_shows_its_first_pairs():
    bitext = Bitext.from_pairs([("the <b>", "la maison")] * 12)
    html = bitext._repr_html_()
    assert html.count("<tr>") == 11
    assert "12 pairs, 24 source and 24 target tokens" in html
    cells = [element.text for element in parsed(html).iter("bdi")]
    assert cells[:3] == ["0", "the <b>", "la maison"]
    assert bitext.part(5, 6)._repr_html_().count("<bdi>5</bdi>") == 1


def test_an_aligner_says_what_it_is_and_what_it_knows():
    aligner = Aligner("ibm1", ibm1_iterations=3)
    assert repr(aligner) == "<Aligner ibm1: not trained>"
    assert "trained: " not in aligner._repr_html_()
    aligner.fit(Bitext.from_pairs([("the house", "la maison bleue")]))
    assert repr(aligner) == "<Aligner ibm1: 2 source and 3 target words>"
    rows = dict(zip(*[iter(element.text for element in parsed(aligner._repr_html_()).iter("bdi"))] * 2, strict=True))
    assert rows["recipe"].startswith("ibm1: ")
    assert rows["options"] == "ibm1_iterations=3"
    assert rows["knows"] == "2 source and 3 target words"
    assert rows["trained"] == "ibm1: 3 iterations"


def test_80_words_scroll_in_their_cell_and_keep_their_labels(browser):
    words = [f"word{n}" for n in range(80)]
    hebrew = ["הבית", "הגדול"] * 40
    for target in (words, hebrew):
        bitext = Bitext.from_pairs([(words, target)])
        alignments = Alignments.from_links([[(n, n) for n in range(80)]], lengths=bitext.lengths)
        alignments.text = bitext.text
        page = browser.new_page(viewport={"width": 700, "height": 900})
        page.set_content(f"<body style='margin:8px'>{alignments[0]._repr_html_()}</body>")
        assert page.evaluate("[document.body.scrollWidth, document.body.scrollHeight]") <= [700, 900]
        assert page.evaluate("[...document.body.children].map(f => f.scrollWidth > f.clientWidth)") == [True, True]

        def label(picture, n, page=page):
            """Where a word of the matrix stands in its frame: 1 is above the columns, 2 beside the rows."""
            return page.evaluate(
                """([picture, n]) => { const f = document.body.children[1].getBoundingClientRect(),
                r = document.querySelectorAll('svg')[picture].querySelectorAll('text')[n].getBoundingClientRect();
                return r.left >= f.left && r.right <= f.right && r.top >= f.top - 1 && r.bottom <= f.bottom + 1; }""",
                [picture, n],
            )

        assert label(1, 0), "it opens at the beginning"
        assert label(2, 0)
        assert not label(1, 79)
        page.evaluate(f"document.body.children[1].scrollTo({-9999 if target is hebrew else 9999}, 9999)")
        assert label(1, 79)
        assert label(2, 79)
        page.close()


def run_cell(code):
    """What a real kernel answers to a cell."""
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    return notebook.cells[0].outputs


FITTING = """
import dovetail, dovetail.training.notebook
dovetail.training.notebook.DELAY = 0
bitext = dovetail.Bitext.from_pairs([("the house", "la maison"), ("the sea", "la mer")] * 50)
dovetail.Aligner("ibm1", threads=1).fit(bitext{argument}).align(bitext{argument})
"""


def test_a_notebook_shows_bars_unless_told_otherwise():
    shown = run_cell(FITTING.format(argument=""))
    bars = [output for output in shown if "application/vnd.jupyter.widget-view+json" in output.get("data", {})]
    assert [re.sub(r"\W.*", "", bar["data"]["text/plain"]) for bar in bars] == ["ibm1", "align"]
    table = shown[-1]["data"]["text/html"]
    assert "the first 10 of them" in table
    assert "the house" in table
    silent = run_cell(FITTING.format(argument=", progress=False"))
    assert [output["output_type"] for output in silent] == ["execute_result"]


def test_outside_a_notebook_and_without_tqdm_there_are_no_bars(monkeypatch):
    from types import SimpleNamespace

    from dovetail.training import notebook

    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert notebook.bars_in_a_notebook() is None
    for config, expected in (({}, False), ({"IPKernelApp": {}}, True)):
        shell = SimpleNamespace(config=config)
        monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda shell=shell: shell))
        assert isinstance(notebook.bars_in_a_notebook(), notebook.Bars) == expected
    monkeypatch.setitem(sys.modules, "tqdm", None)
    assert notebook.bars_in_a_notebook() is None


def test_what_is_done_soon_needs_no_bar(monkeypatch):
    from dovetail.training import notebook
    from dovetail.training.monitor import Progress

    drawn = []

    class Bar:
        def __init__(self, total, desc, **_):
            self.total, self.n, self.said = total, 0, ""
            drawn.append((desc, self))

        def update(self, n):
            self.n += n

        def set_postfix_str(self, said, **_):
            self.said = said

        def close(self):
            self.closed = True

    monkeypatch.setattr("tqdm.auto.tqdm", Bar)
    now = 0.0
    monkeypatch.setattr(notebook, "monotonic", lambda: now)
    bars = notebook.Bars()
    for now, stage, done, iteration, objective in (
        (0.1, "ibm1", 10, 0, None),
        (0.6, "ibm1", 30, 1, -1234.5),
        (0.7, "hmm", 10, 0, None),
        (0.8, "hmm", 60, 2, -1000.0),
    ):
        bars(Progress(stage, done, 60, "pairs", iteration, 2, objective, now))
    (first, one), (second, two) = drawn
    assert (first, one.total, one.said) == ("ibm1", 30, "2 of 2, log-p -1,234"), "it converged early"
    assert (second, two.n, two.closed) == ("hmm", 60, True)


def test_circles_have_the_area_of_their_probability():
    html = Alignments.from_links([[(0, 0), (1, 1)]], [[1.0, 0.25]], [(2, 2)])[0]._repr_html_()
    first, second = (float(r) for r in re.findall(r"r='([\d.]+)'", html))
    assert (second / first) ** 2 == pytest.approx(0.25, rel=0.01)


def test_sentences_from_right_to_left_run_from_the_right():
    bitext = Bitext.from_pairs([(["הבית", "הגדול"], ["the", "house"]), (["the", "house"], ["הבית", "הגדול"])])
    result = Aligner("ibm1").fit(bitext).align(bitext)
    for pair, down in zip(result, ((True, False), (False, True)), strict=True):
        places = [float(x) for x in re.findall(r"<text x='([\d.]+)' y='\d+' text-anchor='middle'", pair._repr_html_())]
        assert [places[0] > places[1], places[2] > places[3]] == list(down)
        columns = [float(x) for x in re.findall(r"translate\(([\d.]+),", pair._repr_html_())]
        assert (columns[0] > columns[1]) == down[1]


def test_a_score_shows_its_metrics_and_intervals():
    gold = Gold.from_links([[(0, 0)], [(0, 0)]])
    links = Alignments.from_links([[(0, 0)], [(0, 1)]], lengths=[(1, 2)] * 2)
    html = evaluate(links, gold)._repr_html_()
    assert "<td style='text-align:left'><bdi>aer</bdi></td><td style='text-align:left'><bdi>50.00</bdi></td>" in html
    assert "interval" not in html
    assert "95 per cent interval" in evaluate(links, gold, bootstrap=100)._repr_html_()


def test_words_are_text_in_a_notebook_too():
    bitext = Bitext.from_pairs([(NASTY, NASTY[::-1])])
    result = Aligner("ibm1").fit(bitext).align(bitext)
    for shown in (result._repr_html_(), result[0]._repr_html_()):
        assert "<script" not in shown
        assert not {"script", "img", "b"} & tags(shown)
    assert "unicode-bidi:isolate" in result[0]._repr_html_()
    assert "<bdi>" in result._repr_html_()


@given(
    st.lists(st.text(st.characters(blacklist_categories=["Cc", "Cs", "Cn", "Co"]), min_size=1), min_size=1, max_size=4)
)
def test_any_words_give_well_formed_pictures(words):
    from dovetail import markup

    links = {(i, 0): 0.5 for i in range(len(words))}
    assert tags(markup.matrix(words, words, links)) <= {"div", "svg", "path", "text", "circle", "title"}
    assert tags(markup.curves(words, words, links)) <= {"div", "svg", "path", "text"}
    cells = [element.text for element in parsed(markup.table(["w"], [[word] for word in words])).iter("bdi")]
    assert cells == words


def test_plot_matrix_draws_circles_and_squares():
    posteriors = np.array([[1.0, 0.0], [0.25, 0.5]])
    axes = plot_matrix(["a", "$b"], ["x", "y"], posteriors, sure=[(0, 0)], possible=[(1, 1)])
    circles = [patch for patch in axes.patches if isinstance(patch, mpl.patches.Circle)]
    squares = [patch for patch in axes.patches if isinstance(patch, mpl.patches.Rectangle)]
    assert sorted(circle.radius**2 / 0.42**2 for circle in circles) == pytest.approx([0.25, 0.5, 1.0])
    assert [square.get_edgecolor()[3] for square in squares] == [1, 0], "the sure one has a border"
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", r"\$b"]
    axes.figure.canvas.draw()


def test_plot_matrix_shows_a_difference_in_green_and_red():
    axes = plot_matrix(["a"], ["x", "y"], np.array([[0.9, 0.1]]), baseline=np.array([[0.2, 0.8]]))
    circles = [patch for patch in axes.patches if isinstance(patch, mpl.patches.Circle)]
    filled = [circle.get_facecolor() for circle in circles if circle.get_fill()]
    assert filled[0][1] > filled[0][0], "higher: green"
    assert filled[1][0] > filled[1][1], "lower: red"
    assert sum(not circle.get_fill() for circle in circles) == 1, "and a ring where it was larger"


def test_plot_matrix_refuses_other_shapes():
    with pytest.raises(InputError, match=r"shape \(1, 1\) for 2 source and 1 target words"):
        plot_matrix(["a", "b"], ["x"], np.ones((1, 1)))


def test_plot_curve_draws_every_curve_with_its_threshold():
    gold = Gold.from_links([[(0, 0), (1, 1)]])
    links = Alignments.from_links([[(0, 0), (0, 1), (1, 1)]], [[0.9, 0.6, 0.3]], [(2, 2)])
    curve = precision_recall_curve(links, gold)
    axes = plot_curve({"one": curve, "two": curve}, threshold=0.5)
    lines = axes.get_lines()
    assert len(lines) == 4
    assert lines[0].get_xdata().tolist() == curve.recall[1:].tolist()
    assert lines[1].get_xydata().tolist() == [[0.5, 0.5]], "what has a probability of at least 0.5"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["one", "two"]
    assert plot_curve(curve, ax=axes) is axes


def test_without_matplotlib_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match="pip install matplotlib"):
        plot_matrix(["a"], ["x"], np.ones((1, 1)))
    with pytest.raises(InputError, match="pip install matplotlib"):
        plot_curve({})
