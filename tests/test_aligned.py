"""Text with its links, part by part, and the one grammar of the commands over it."""

from __future__ import annotations

import io
from importlib.resources import files

import click
import pytest
from click.testing import CliRunner

from dovetail import Aligner, Alignments, Bitext, InputError, alignment_formats, read_bitext, write_alignments
from dovetail.bitext import corpus
from dovetail.cli import COMMANDS, dovetail
from dovetail.cli.aligned import aligned_text, open_aligned
from dovetail.uses.aligned import AlignedText, Watched, read_aligned

SENTENCES = [
    ("the house", "la maison", [(0, 0), (1, 1)]),
    ("", "", []),
    ("the old house", "la vieille maison", [(0, 0), (1, 1), (2, 2)]),
    ("yes", "oui , oui", [(0, 0), (0, 2)]),
    ("so", "", []),
]
BITEXT = Bitext.from_pairs([(source, target) for source, target, _ in SENTENCES])
LINKS = Alignments.from_links([links for *_, links in SENTENCES], lengths=BITEXT.lengths)


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for side, name in enumerate(("s", "t")):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in SENTENCES), "utf-8")
    return tmp_path


def write_links(path, format):
    handle = io.StringIO()
    write_alignments(handle, LINKS, format, BITEXT.text)
    path.write_text(handle.getvalue(), "utf-8")


def small_parts(monkeypatch, pairs=2):
    whole = corpus.read_bitext_parts
    monkeypatch.setattr("dovetail.uses.aligned.read_bitext_parts", lambda *a, **k: whole(*a, pairs=pairs, **k))


@pytest.mark.parametrize("format", list(alignment_formats))
def test_parts_of_any_format_are_what_the_whole_is(format, place, monkeypatch):
    small_parts(monkeypatch)
    write_links(place / "links", format)
    aligned = read_aligned("s", "t", links="links")
    expected = [(source.split(), target.split(), links) for source, target, links in SENTENCES]
    assert [tuple(pair[:3]) for pair in aligned] == expected
    assert [tuple(pair[:3]) for pair in AlignedText(BITEXT, LINKS)] == expected
    firsts = [part.first for part in aligned.parts()]
    assert firsts == ([0] if format == "naacl" else [0, 2, 4])


def test_a_model_links_text_part_by_part_as_it_links_it_whole(place, monkeypatch):
    data = files("dovetail") / "data"
    bitext = read_bitext(str(data / "demo.en"), str(data / "demo.fr"))
    aligner = Aligner("ibm1", threads=1).fit(bitext)
    aligner.save(place / "model")
    small_parts(monkeypatch, 300)
    loaded = Aligner.load(place / "model")
    found = list(read_aligned(str(data / "demo.en"), str(data / "demo.fr"), aligner=loaded))
    whole = loaded.align(read_bitext(str(data / "demo.en"), str(data / "demo.fr")))
    assert [pair.links for pair in found] == [alignment.links for alignment in whole]
    assert [pair.probabilities for pair in found] == [alignment.probabilities for alignment in whole]


def test_text_is_read_as_align_reads_it(place):
    (place / "pairs.tsv").write_text("The house!\tLa maison!\n", "utf-8")
    (place / "links").write_text("0-0 1-1:0.5 2-2\n", "utf-8")
    (pair,) = read_aligned("pairs.tsv", links="links", tokenizer="unicode")
    assert pair == (["The", "house", "!"], ["La", "maison", "!"], [(0, 0), (1, 1), (2, 2)], [1.0, 0.5, 1.0])


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("0-0\n\n\n", "links, line 3: the file ends after 3 pairs, but the text goes on"),
        ("0-0\n\n\n\n\n\n", "links, line 6: the file goes on after 5 pairs, where the text ends"),
        ("0-0\n\n\n0-7\n\n", "links, line 4: link 0-7 lies outside the pair of 1 source and 3 target words"),
        ("0-0\n\n\n\nx\n", "links, line 5: 'x' is not a link"),
        ('{"links": []}\n\n{"links": []}\n{"links": []}\n{"links": 1}\n', "links, line 5: no list of links"),
        ('{"links": []}\n' * 6 + "\n", "links, line 6: the file goes on after 5 pairs"),
    ],
)
def test_a_fault_in_any_part_is_told_by_the_line_of_the_file(lines, message, place, monkeypatch):
    small_parts(monkeypatch)
    (place / "links").write_text(lines, "utf-8")
    with pytest.raises(InputError, match=message):
        list(read_aligned("s", "t", links="links"))


def test_blank_lines_of_json_are_no_pairs(place, monkeypatch):
    small_parts(monkeypatch)
    (place / "links").write_text('{"links": []}\n\n' * 5, "utf-8")
    assert len(list(read_aligned("s", "t", links="links"))) == 5


def test_a_walk_can_be_watched(place, monkeypatch):
    small_parts(monkeypatch)
    write_links(place / "links", "pharaoh")
    seen = []
    watched = Watched(read_aligned("s", "t", links="links"), seen.append)
    assert [pair.links for pair in watched] == [links for *_, links in SENTENCES]
    assert seen == [2, 4, 5]
    assert sum(len(bitext) for bitext in watched.bitexts()) == 5
    assert seen == [2, 4, 5] * 2


def test_links_come_from_one_place(place):
    with pytest.raises(InputError, match="Give one of the two"):
        read_aligned("s", "t")
    with pytest.raises(InputError, match="only one file can come from standard input"):
        read_aligned("-", "t", links="-")
    with pytest.raises(InputError, match="alignments of 4 pairs, text of 5"):
        AlignedText(BITEXT, LINKS[:4])


@click.command()
@aligned_text
def walk(**values):
    for pair in open_aligned(values):
        click.echo(f"{' '.join(pair.source)} {pair.links}")


def test_the_command_line_says_where_the_links_are(place):
    write_links(place / "links", "pharaoh")
    run = CliRunner().invoke
    assert run(walk, ["s", "t", "--links", "links"]).output.splitlines()[0] == "the house [(0, 0), (1, 1)]"
    text = (place / "s").read_text("utf-8")
    assert run(walk, ["-", "t", "--links", "links"], input=text).output.splitlines()[3] == "yes [(0, 0), (0, 2)]"
    for wrong in ([], ["--links", "links", "--load", "model"], ["--load", "model", "--links-format", "jsonl"]):
        assert run(walk, ["s", "t", *wrong]).exit_code == 2
    assert isinstance(run(walk, ["s", "t", "--links", "links", "--links-format", "giza"]).exception, InputError)


def test_a_model_that_ignores_case_links_words_as_they_stand(place):
    lines = [("The House", "La Maison"), ("the house", "la maison"), ("the end", "la fin")] * 3
    for side, name in enumerate(("s", "t")):
        (place / name).write_text("".join(f"{pair[side]}\n" for pair in lines), "utf-8")
    folded = read_bitext("s", "t", lower=True)
    aligner = Aligner("default", threads=1).fit(folded)
    aligner.save("model")
    found = CliRunner().invoke(walk, ["s", "t", "--load", "model"]).output.splitlines()
    assert found == [
        f"{pair[0]} {alignment.links}" for pair, alignment in zip(lines, aligner.align(folded), strict=True)
    ]


@pytest.mark.parametrize("name", ["phrases", "describe", "show", "view", "lexicon", "find"])
def test_commands_over_aligned_text_share_one_grammar(name):
    assert name in COMMANDS
    command = dovetail.get_command(None, name)
    options = {option for parameter in command.params for option in parameter.opts}
    assert {"source", "target", "--links", "--links-format", "--load", "--tokenizer", "--input-format"} <= options
