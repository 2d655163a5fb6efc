"""The command line, as people, scripts and accidents use it."""

from __future__ import annotations

import gc
import io
import json
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time
import warnings
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import pytest
from xopen import xopen

from dovetail import read_alignments
from dovetail.alignments.combine import combiners
from dovetail.alignments.formats import alignment_formats
from dovetail.cli import COMMANDS, main
from dovetail.cli.progress import FIELDS, cells, fitting
from dovetail.decoding.decoders import decoders
from dovetail.recipes import recipes
from dovetail.training.monitor import Progress

PAIRS = 120
COMMAND = [sys.executable, "-c", "from dovetail.cli import main; main()"]
PLAIN = ("--recipe", "hmm")  # where a claim is about the command, and some recipe is needed that has all its options
PHARAOH = re.compile(r"(\d+-\d+( \d+-\d+)*)?")
PROBABILITIES = re.compile(r"(\d+-\d+:[\d.]+( \d+-\d+:[\d.]+)*)?")


class Result(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        assert self.status == 0, self.err
        assert self.out == "" or self.out.endswith("\n")
        return self.out.split("\n")[:-1]


def command(*arguments, stdin=b"", **settings) -> Result:
    """The command in a process of its own."""
    environment = {**os.environ, **settings.pop("env", {})}
    done = subprocess.run(
        [*COMMAND, *map(str, arguments)], input=stdin, capture_output=True, env=environment, timeout=300, **settings
    )
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture
def dovetail(capfd, monkeypatch):
    """The command in this process, which is much quicker: everything but the interpreter's own start and end."""
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    handlers, thresholds = [signal.getsignal(number) for number in numbers], gc.get_threshold()

    def call(*arguments, stdin=b"") -> Result:
        monkeypatch.setattr(sys, "argv", ["dovetail", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capfd.readouterr()
        with pytest.raises(SystemExit) as exit_:
            main()
        return Result(exit_.value.code, *capfd.readouterr())

    yield call
    for number, handler in zip(numbers, handlers, strict=True):
        signal.signal(number, handler)
    gc.set_threshold(*thresholds)


@pytest.fixture(scope="session")
def texts(tmp_path_factory):
    """The beginning of the demo bitext: a.en, a.fr, and a.gold for half of it."""
    folder = tmp_path_factory.mktemp("texts")
    for suffix in ("en", "fr", "gold"):
        lines = (files("dovetail") / "data" / f"demo.{suffix}").read_text("utf-8").splitlines(keepends=True)
        (folder / f"a.{suffix}").write_text("".join(lines[:PAIRS]), "utf-8")
    return folder


@pytest.fixture
def bitext(texts):
    return texts / "a.en", texts / "a.fr"


@pytest.fixture(scope="session")
def model(texts, tmp_path_factory):
    """A saved model, and the links that its training run wrote, with probabilities."""
    folder = tmp_path_factory.mktemp("model")
    result = command(
        *("align", texts / "a.en", texts / "a.fr", *PLAIN, "--probabilities"),
        *("--save", folder / "model", "-o", folder / "links"),
    )
    assert result.status == 0, result.err
    return folder / "model"


def two_files(folder, source, target):
    """A bitext of these two texts or bytes."""
    for name, content in (("x.src", source), ("x.tgt", target)):
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return folder / "x.src", folder / "x.tgt"


# align: what comes out


def test_align_writes_one_line_of_links_a_pair_and_nothing_else(bitext):
    result = command("align", *bitext)
    assert len(result.lines) == PAIRS
    assert all(PHARAOH.fullmatch(line) for line in result.lines)
    assert sum(map(len, result.lines)) > PAIRS
    assert "120 pairs" in result.err
    assert command("align", *bitext, "--quiet") == (0, result.out, "")


@pytest.mark.parametrize("name", ["out", "out.gz", "out.bz2", "out.xz", "out.zst"])
def test_align_reads_and_writes_compressed_files(dovetail, bitext, tmp_path, name):
    sides = []
    for side in bitext:
        sides.append(tmp_path / name.replace("out", side.name))
        with xopen(sides[-1], "wb", threads=0) as handle:
            handle.write(side.read_bytes())
    result = dovetail("align", *sides, "-o", tmp_path / name)
    assert result.lines == []
    with xopen(tmp_path / name, threads=0) as handle:
        assert handle.read() == dovetail("align", *bitext).out


@pytest.fixture
def store():
    """A store in memory, empty before and after."""
    memory = pytest.importorskip("fsspec", reason="needs the extra remote").filesystem("memory")
    yield memory
    memory.store.clear()
    memory.pseudo_dirs[:] = [""]


def test_align_reads_and_writes_behind_addresses(dovetail, bitext, store):
    expected = dovetail("align", *bitext, *PLAIN).out
    with store.open("/text/a.en", "wb") as handle:
        handle.write(bitext[0].read_bytes())
    assert dovetail("align", "memory://text/a.en", f"file://{bitext[1]}", *PLAIN).out == expected
    done = dovetail("align", "memory://text/*.en", f"file://{bitext[1]}", *PLAIN, "-o", "memory://text/*.links")
    assert done.status == 0, done.err
    assert store.cat("/text/a.links").decode() == expected


@pytest.mark.parametrize("option", ["--work", "--save", "--load"])
@pytest.mark.parametrize("address", ["memory://c/w", "file:///c/w"])
def test_folders_behind_addresses_are_refused(dovetail, bitext, tmp_path, monkeypatch, option, address):
    monkeypatch.chdir(tmp_path)
    recipe = () if option == "--load" else PLAIN
    done = dovetail("align", *bitext, *recipe, option, address)
    assert (done.status, done.out) == (2, "")
    assert f"{address}: an address, but folders of work and of models are on disks. Name a folder" in done.err
    assert list(tmp_path.iterdir()) == []


def test_align_takes_either_side_from_standard_input(dovetail, bitext):
    expected = dovetail("align", *bitext).lines
    assert dovetail("align", "-", bitext[1], stdin=bitext[0].read_bytes()).lines == expected
    assert dovetail("align", bitext[0], "-", stdin=bitext[1].read_bytes()).lines == expected
    assert command("align", "-", bitext[1], stdin=bitext[0].read_bytes()).lines == expected


@pytest.mark.parametrize("separator", ["\t", " ||| "])
def test_align_takes_one_file_of_two_columns(dovetail, bitext, tmp_path, separator):
    sides = [side.read_text("utf-8").splitlines() for side in bitext]
    (tmp_path / "both").write_text("".join(f"{a}{separator}{b}\n" for a, b in zip(*sides, strict=True)), "utf-8")
    expected = dovetail("align", *bitext).lines
    assert dovetail("align", tmp_path / "both").lines == expected
    assert dovetail("align", "-", stdin=(tmp_path / "both").read_bytes()).lines == expected


TMX = """<?xml version="1.0" encoding="UTF-8"?>
<tmx version="1.4"><header srclang="en"/><body>
<tu><tuv xml:lang="en"><seg>the house</seg></tuv><tuv xml:lang="fr"><seg>la maison</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>the flower</seg></tuv><tuv xml:lang="fr"><seg>la fleur</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>alone</seg></tuv></tu>
</body></tmx>
"""


def test_align_takes_a_translation_memory_and_says_in_one_line_what_it_skipped(dovetail, tmp_path):
    (tmp_path / "memory.tmx").write_text(TMX)
    result = dovetail("align", tmp_path / "memory.tmx")
    assert len(result.lines) == 2
    assert "memory.tmx: skipped 1 of 3 units" in result.err
    assert "Warning" not in result.err
    assert "2 pairs teach little" in result.err
    assert len(result.err.splitlines()) == 3
    languages = "--source-language", "fr", "--target-language", "en"
    assert len(dovetail("align", tmp_path / "memory.tmx", *languages).lines) == 2


@pytest.mark.parametrize("name", list(alignment_formats))
def test_every_format_can_be_read_again(dovetail, bitext, texts, tmp_path, name):
    plain = dovetail("align", *bitext, "--format", name, "-o", tmp_path / "links")
    assert plain.status == 0
    lengths = [
        (len(a.split()), len(b.split()))
        for a, b in zip(*(side.read_text("utf-8").splitlines() for side in bitext), strict=True)
    ]
    links = read_alignments(tmp_path / "links", lengths=lengths)
    assert [str(alignment) for alignment in links] == dovetail("align", *bitext).lines


def test_jsonl_shows_words_and_where_they_stand(dovetail, tmp_path):
    sides = two_files(tmp_path, "Don't go!\nYes.\n", "N'y va pas !\nOui.\n")
    lines = dovetail("align", *sides, "--format", "jsonl", "--tokenizer", "unicode").lines
    first = json.loads(lines[0])
    assert first["source"] == ["Do", "n't", "go", "!"]
    assert first["source_text"] == "Don't go!"
    assert first["source_offsets"][1] == [2, 5]
    assert len(first["probabilities"]) == len(first["links"])


def test_probabilities_stand_behind_their_links(dovetail, bitext):
    lines = dovetail("align", *bitext, "--probabilities").lines
    assert all(PROBABILITIES.fullmatch(line) for line in lines)
    assert [re.sub(r":[\d.]+", "", line) for line in lines] == dovetail("align", *bitext).lines
    assert dovetail("align", *bitext, "--format", "probabilities").lines == lines
    refused = dovetail("align", *bitext, "--probabilities", "--format", "giza")
    assert refused.status == 2
    assert "--probabilities" in refused.err


def test_a_saved_model_gives_the_same_links_again(dovetail, bitext, model):
    lines = dovetail("align", *bitext, "--load", model, "--probabilities").lines
    assert "\n".join(lines) + "\n" == (model.parent / "links").read_text()


def test_a_model_brings_the_options_of_its_text(dovetail, tmp_path):
    sides = two_files(tmp_path, "The House!\nThe Flower!\n", "La Maison !\nLa Fleur !\n")
    options = "--tokenizer", "unicode", "--lower", "--form", "NFC"
    expected = dovetail("align", *sides, *PLAIN, *options, "--save", tmp_path / "model").lines
    assert dovetail("align", *sides, "--load", tmp_path / "model").lines == expected
    assert dovetail("align", *sides, "--load", tmp_path / "model", *options).lines == expected


def test_threads_and_seed_do_not_change_a_recipe_without_chance(dovetail, bitext):
    outputs = [dovetail("align", *bitext, "--threads", n, "--seed", 3, "--probabilities").out for n in (1, 2, 5)]
    assert outputs[0] == outputs[1] == outputs[2]


def test_the_threshold_is_a_knob_between_recall_and_precision(dovetail, bitext, model):
    numbers = [
        len(dovetail("align", *bitext, "--load", model, "--threshold", value).out.split()) for value in (0.1, 0.5, 0.9)
    ]
    assert numbers[0] > numbers[1] > numbers[2] > 0
    option = dovetail("align", *bitext, "--load", model, "--option", "threshold=0.9")
    assert len(option.out.split()) == numbers[2]


@pytest.mark.parametrize(
    ("options", "least"), [(("--threshold", 0.9), 0.9), (("--threshold", 0.9, "--grow", 0.2), 0.2)]
)
def test_no_link_lies_under_the_threshold_or_the_lesser_limit_of_growing(dovetail, bitext, options, least):
    lines = dovetail("align", *bitext, *options, "--probabilities").lines
    probabilities = [float(link.partition(":")[2]) for line in lines for link in line.split()]
    assert probabilities
    assert min(probabilities) >= least
    assert (min(probabilities) < 0.9) == (least == 0.2)


def test_a_threshold_of_one_keeps_nothing_that_is_less(dovetail, bitext):
    lines = dovetail("align", *bitext, "--threshold", 1, "--probabilities").lines
    assert all(float(link.partition(":")[2]) == 1 for line in lines for link in line.split())


def test_development_gold_says_what_it_chose(dovetail, bitext, tmp_path):
    gold = tmp_path / "dev.gold"
    gold.write_text("".join((files("dovetail") / "data" / "demo.gold").read_text().splitlines(True)[:20]))
    said = dovetail("align", *bitext, *PLAIN, "--development-gold", gold).err
    found = re.search(
        r"^development gold chose: --threshold ([\d.]+) --grow ([\d.]+) \(AER [\d.]+\)$", said, re.MULTILINE
    )
    assert found, said
    again = dovetail("align", *bitext, *PLAIN, "--development-gold", gold, "--threshold", 0.7)
    assert "chose" not in again.err
    gold.write_text("\n\n")
    blank = dovetail("align", *bitext, *PLAIN, "--development-gold", gold)
    assert blank.status == 2
    assert "no sure gold links" in blank.err


def test_options_reach_the_recipe(dovetail, bitext):
    plain, fewer, dashed, smoothed = (
        dovetail(
            "align", *bitext, *PLAIN, "--probabilities", *(part for name in options for part in ("--option", name))
        )
        for options in (
            [],
            ["ibm1_iterations=1", "null=0.4"],
            ["ibm1-iterations=1.0", "null=4e-1"],
            ["variational=true", "additive=0.01"],
        )
    )
    assert len({tuple(result.lines) for result in (plain, fewer, smoothed)}) == 3
    assert dashed == fewer


def test_every_recipe_and_preset_has_a_name_on_the_command_line(dovetail, texts, tmp_path):
    lines = [(texts / f"a.{side}").read_text("utf-8").splitlines(keepends=True)[:20] for side in ("en", "fr")]
    sides = two_files(tmp_path, *map("".join, lines))
    for name in (*recipes, "default", "fast", "best"):
        assert len(dovetail("align", *sides, "--recipe", name).lines) == 20


def test_every_decoder_and_combination_works_or_says_in_one_line_why_not(dovetail, bitext, model):
    for decoder in decoders:
        for combine in ("soft-union", *combiners):
            result = dovetail("align", *bitext, "--load", model, "--decoder", decoder, "--combine", combine)
            if result.status:
                assert result.status == 2
                assert len(result.err.splitlines()) == 1
            else:
                assert len(result.lines) == PAIRS


def test_training_can_begin_with_a_model(dovetail, bitext, model):
    few = *PLAIN, "--option", "ibm1_iterations=1", "--option", "hmm_iterations=1", "--probabilities"
    cold, warm = (dovetail("align", *bitext, *few, *start).lines for start in ((), ("--warm-start", model)))
    assert len(warm) == PAIRS
    assert warm != cold


def test_training_can_lean_on_a_dictionary(dovetail, tmp_path):
    sides = two_files(tmp_path, "a b\n" * 3, "x y\n" * 3)
    (tmp_path / "words").write_text("a\ty\t0.9\nb\tx\nunknown\twords\n")
    lines = dovetail("align", *sides, *PLAIN, "--dictionary", tmp_path / "words").lines
    assert lines == ["0-1 1-0"] * 3


def test_links_can_be_reported_on_the_inputs_own_tokens(dovetail, tmp_path):
    source = ["It doesn't rain.", "猫は 黒いです。", "แมวสีดำ นอน", "", "Don't."]
    target = ["Il ne pleut pas.", "The cat is black.", "The cat sleeps", "x", "N'y va pas\u00a0!"]
    sides = two_files(tmp_path, "".join(f"{line}\n" for line in source), "".join(f"{line}\n" for line in target))
    options = *PLAIN, "--tokenizer", "unicode", "--threshold", "0"
    finer = dovetail("align", *sides, *options).lines
    lines = dovetail("align", *sides, *options, "--on-whitespace").lines
    assert lines != finer
    assert lines[3] == ""
    for line, one, other in zip(lines, source, target, strict=True):
        for link in line.split():
            i, j = map(int, link.split("-"))
            assert i < len(one.split(" "))
            assert j < len(other.split(" "))
    assert lines[2] == "0-0 0-1 0-2 1-0 1-1 1-2"  # a threshold of 0 leaves out nothing
    again = dovetail("align", *sides, *options, "--on-whitespace", "--format", "jsonl").lines
    assert json.loads(again[1])["source"] == ["猫は", "黒いです。"]


def test_whitespace_tokens_reported_on_whitespace_tokens_stay_as_they_are(dovetail, bitext):
    expected = dovetail("align", *bitext, "--probabilities").lines
    assert dovetail("align", *bitext, "--probabilities", "--on-whitespace").lines == expected


# align: legal oddities


@pytest.mark.parametrize(
    ("source", "target", "pairs"),
    [
        ("a b\n\nc\n", "x y\nz\n\n", 3),
        ("\n\n", "\n\n", 2),
        ("   \na\n", "x\n \t \n", 2),
        ("a\r\nb\r\n", "x\ny\n", 2),
        ("\ufeffa\nb", "\ufeffx\ny\n", 2),
        ("a\x00b \x00\nc\n", "x \x07\x1b[31m\ny\n", 2),
        ("a\u00a0b c\u3000d\n", "x\u2028y \x85 z\x0c\n", 1),
        ("a\rb\n", "x\x1cy\n", 1),
        (
            "\udcff x".encode("utf-8", "surrogatepass").replace(b"\xed\xb3\xbf", b"\xf4\x8f\xbf\xbf") + b"\n",
            "𝒳 😀\n",
            1,
        ),
        ("a", "x", 1),
    ],
)
def test_odd_but_legal_text_gives_one_line_a_pair(dovetail, tmp_path, source, target, pairs):
    sides = two_files(tmp_path, source, target)
    for format_ in ("pharaoh", "jsonl", "tsv"):
        lines = dovetail("align", *sides, "--format", format_).lines
        assert len(lines) == pairs
    texts = [side.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")[:pairs] for side in sides]
    for line, *pair in zip(dovetail("align", *sides, *PLAIN, "--threshold", "0").lines, *texts, strict=True):
        lengths = [len(text.split()) for text in pair]
        links = {tuple(map(int, link.split("-"))) for link in line.split()}
        assert all(i < lengths[0] and j < lengths[1] for i, j in links)
        assert bool(links) == (0 not in lengths)


@pytest.mark.slow
def test_a_line_of_20000_words_takes_seconds(tmp_path):
    numbers = random.Random(1)
    words = [f"w{numbers.randrange(5000)}" for _ in range(20_000)]
    sides = two_files(tmp_path, " ".join(words) + "\n", " ".join(f"v{word}" for word in words) + "\n")
    before = os.times()
    (line,) = command("align", *sides, *PLAIN, "--option", "hmm_iterations=1").lines
    assert os.times().children_user - before.children_user < 60  # the clock on the wall depends on who else is here
    links = [tuple(map(int, link.split("-"))) for link in line.split()]
    assert all(i < 20_000 and j < 20_000 for i, j in links)
    assert sum(i == j for i, j in links) > 15_000


def test_50000_identical_lines_get_50000_identical_answers(dovetail, tmp_path):
    sides = two_files(tmp_path, "the house is blue .\n" * 50_000, "la maison est bleue .\n" * 50_000)
    lines = dovetail("align", *sides, "--threshold", "0.1").lines
    assert len(lines) == 50_000
    assert len(set(lines)) == 1


@pytest.mark.slow
def test_a_million_identical_lines_get_a_million_answers(tmp_path):
    sides = two_files(tmp_path, "the house is blue .\n" * 1_000_000, "la maison est bleue .\n" * 1_000_000)
    few = *PLAIN, "--option", "ibm1_iterations=1", "--option", "hmm_iterations=1"
    lines = command("align", *sides, *few).lines
    assert len(lines) == 1_000_000
    assert len(set(lines)) == 1


def test_bytes_that_are_not_utf8_can_be_replaced(dovetail, tmp_path):
    sides = two_files(tmp_path, b"caf\xe9 noir\n", "black coffee\n")
    assert dovetail("align", *sides).status == 2
    (line,) = dovetail("align", *sides, "--encoding-errors", "replace", "--format", "tsv").lines
    assert line.startswith("caf\ufffd noir\t")


def test_the_locale_changes_nothing(bitext, tmp_path):
    name = tmp_path / "données.tsv"
    name.write_text("l'été 𝒳\tsummer 𝒳\n", "utf-8")
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}
    outputs = [
        command("align", name, "--format", "jsonl", "--quiet", env=env) for env in (plain, {"LC_ALL": "C.UTF-8"})
    ]
    assert outputs[0] == outputs[1]
    assert "été" in outputs[0].out
    missing = command("align", tmp_path / "été", bitext[0], env=plain)
    assert missing.status == 2
    assert len(missing.err.splitlines()) == 1


# align: bad input


def cut(path):
    path.write_bytes(path.read_bytes()[:-9])
    return path


def packed(path, text):
    with xopen(path, "wt", threads=0) as handle:
        handle.write(text)
    return path


def changed(folder, model, change):
    """A copy of the model after something was done to it."""
    shutil.copytree(model, folder / "broken")
    change(folder / "broken")
    return folder / "broken"


def flip_a_byte(folder):
    content = bytearray((folder / "parameters.safetensors").read_bytes())
    content[len(content) // 2] ^= 4
    (folder / "parameters.safetensors").write_bytes(content)


def set_format(folder):
    about = json.loads((folder / "model.json").read_text())
    (folder / "model.json").write_text(json.dumps({**about, "format": 99}))


LONG = "one two three four five six seven eight nine ten\n" * 500

# What is wrong -> (arguments, given a folder, the good bitext and the good model; what the message must say).
BAD = {
    "sides of different length": (
        lambda f, b, m: two_files(f, "a\nb\nc\n", "x\ny\n"),
        ["x.src, line 3", "no matching line in", "(2 lines)", "?"],
    ),
    "invalid UTF-8": (
        lambda f, b, m: two_files(f, "a\nb\n", b"x\n\xff\n"),
        ["x.tgt, line 2", "UTF-8", "--encoding-errors replace"],
    ),
    "UTF-16": (lambda f, b, m: two_files(f, "a\n".encode("utf-16"), "x\n"), ["x.src, line 1", "UTF-16", "iconv"]),
    "one file without separator": (
        lambda f, b, m: (two_files(f, "a b\nc d\n", "x")[0],),
        ["x.src, line 1", "tab", "second file"],
    ),
    "a line without separator": (
        lambda f, b, m: (two_files(f, "a\tx\nb y\n", "x")[0],),
        ["x.src, line 2", "tab", "both sides"],
    ),
    "a truncated .gz": (
        lambda f, b, m: (cut(packed(f / "a.gz", LONG)), two_files(f, LONG, LONG)[1]),
        ["a.gz, line ", "too early", "?"],
    ),
    "a truncated .zst": (
        lambda f, b, m: (cut(packed(f / "a.zst", LONG)), two_files(f, LONG, LONG)[1]),
        ["a.zst", "compressed data"],
    ),
    "a .gz that is none": (
        lambda f, b, m: (two_files(f, "a\n", "x\n")[0].rename(f / "a.gz"), f / "x.tgt"),
        ["a.gz", "suffix"],
    ),
    "a directory": (lambda f, b, m: (f, b[1]), ["directory", "Name a file"]),
    "an empty file": (lambda f, b, m: two_files(f, "a\n", ""), ["x.tgt", "empty"]),
    "two empty files": (lambda f, b, m: two_files(f, "", ""), ["empty"]),
    "a missing file": (lambda f, b, m: (b[0], f / "missing"), ["missing", "no such file", "Check the path"]),
    "standard input for both": (lambda f, b, m: ("-", "-"), ["standard input", "Name a file"]),
    "broken XML": (
        lambda f, b, m: ((two_files(f, TMX[:-40], "")[0]).rename(f / "a.tmx"),),
        ["a.tmx, line ", "XML", "xmllint"],
    ),
    "a missing model": (lambda f, b, m: (*b, "--load", f / "nothing"), ["nothing", "no model", "--save"]),
    "a model of another format": (
        lambda f, b, m: (*b, "--load", changed(f, m, set_format)),
        ["broken", "format 99", "Train it again"],
    ),
    "a model with a flipped byte": (
        lambda f, b, m: (*b, "--load", changed(f, m, flip_a_byte)),
        ["parameters.safetensors", "damaged", "Copy"],
    ),
    "a model with a missing file": (
        lambda f, b, m: (*b, "--load", changed(f, m, lambda folder: (folder / "source.json").unlink())),
        ["source.json", "No such file", "Copy"],
    ),
    "a warm start from nothing": (lambda f, b, m: (*b, "--warm-start", f / "nothing"), ["nothing", "no model"]),
    "a dictionary without columns": (
        lambda f, b, m: (*b, "--dictionary", two_files(f, "a\tx\n\nb y\n", "")[0]),
        ["x.src, line 3", "dictionary", "TAB"],
    ),
    "a dictionary with a wrong probability": (
        lambda f, b, m: (*b, "--dictionary", two_files(f, "a\tx\t1.5\n", "")[0]),
        ["x.src, line 1", "dictionary"],
    ),
    "a missing dictionary": (lambda f, b, m: (*b, "--dictionary", f / "none"), ["none", "no such file"]),
    "a place for the model in no directory": (
        lambda f, b, m: (*b, "--save", f / "no" / "model"),
        ["does not exist", "Create"],
    ),
    "a place for the model that is taken": (lambda f, b, m: (*b, "--save", b[0]), ["a.en", "Name a new directory"]),
    "an unknown recipe": (lambda f, b, m: (*b, "--recipe", "magic"), ["--recipe", "'magic'", *recipes]),
    "an unknown decoder": (lambda f, b, m: (*b, "--decoder", "magic"), ["--decoder", "'magic'", *decoders]),
    "an unknown combination": (lambda f, b, m: (*b, "--combine", "magic"), ["--combine", "'magic'", *combiners]),
    "an unknown format": (lambda f, b, m: (*b, "--format", "magic"), ["--format", "'magic'", *alignment_formats]),
    "an unknown input format": (lambda f, b, m: (*b, "--input-format", "magic"), ["--input-format", "'magic'", "tsv"]),
    "an unknown tokenizer": (lambda f, b, m: (*b, "--tokenizer", "magic"), ["--tokenizer", "'magic'", "unicode"]),
    "an unknown option": (lambda f, b, m: (*b, "--option", "magic=1"), ["'magic'", "threshold"]),
    "an unknown flag": (lambda f, b, m: (*b, "--magic"), ["--magic", "--help"]),
    "an option without a value": (lambda f, b, m: (*b, "--option", "magic"), ["magic", "NAME=VALUE"]),
    "a word for a number": (lambda f, b, m: (*b, *PLAIN, "--option", "window=wide"), ["window", "'wide'", "number"]),
    "a fraction for a whole number": (
        lambda f, b, m: (*b, *PLAIN, "--option", "window=2.5"),
        ["window", "2.5", "whole"],
    ),
    "a number for true or false": (
        lambda f, b, m: (*b, *PLAIN, "--option", "variational=7"),
        ["variational", "true or false"],
    ),
    "an option out of range": (lambda f, b, m: (*b, "--option", "null=1"), ["null", "above 0 and below 1"]),
    "an option that is not a number": (lambda f, b, m: (*b, "--option", "threshold=nan"), ["threshold", "nan"]),
    "a threshold over 1": (lambda f, b, m: (*b, "--threshold", "1.5"), ["--threshold", "1.5"]),
    "a threshold below 0": (lambda f, b, m: (*b, "--threshold", "-0.1"), ["--threshold", "-0.1"]),
    "a threshold that is not a number": (lambda f, b, m: (*b, "--threshold", "nan"), ["threshold", "nan"]),
    "a threshold in words": (lambda f, b, m: (*b, "--threshold", "high"), ["--threshold", "high"]),
    "no threads": (lambda f, b, m: (*b, "--threads", "0"), ["--threads"]),
    "a negative seed": (lambda f, b, m: (*b, "--seed", "-1"), ["--seed"]),
    "soft union of best paths": (
        lambda f, b, m: (*b, "--decoder", "viterbi", "--combine", "soft-union"),
        ["soft-union", "posterior"],
    ),
    "a recipe for a finished model": (lambda f, b, m: (*b, "--load", m, "--recipe", "default"), ["--load", "--recipe"]),
    "another way of reading than the model's": (
        lambda f, b, m: (*b, "--load", m, "--tokenizer", "unicode"),
        ["--load", "whitespace", "--tokenizer"],
    ),
    "saving what was loaded": (lambda f, b, m: (*b, "--load", m, "--save", f / "new"), ["--load", "--save"]),
    "no file at all": (lambda f, b, m: (), ["SOURCE", "--help"]),
    "three files": (lambda f, b, m: (*b, b[0]), ["a.en", "--help"]),
}


@pytest.mark.parametrize("what", BAD)
def test_align_refuses_in_one_line_and_leaves_good_output_alone(dovetail, bitext, model, tmp_path, what):
    arguments, words = BAD[what]
    output = tmp_path / "good"
    output.write_text("0-0\n")
    arguments = arguments(tmp_path, bitext, model)
    before = set(os.listdir(tmp_path))
    result = dovetail("align", *arguments, "-o", output)
    assert result.status == 2
    assert result.out == ""
    assert len(result.err.splitlines()) == 1
    assert result.err.startswith("dovetail")
    for word in words:
        assert word in result.err
    assert output.read_text() == "0-0\n"
    assert set(os.listdir(tmp_path)) == before


@pytest.mark.parametrize(
    "what", ["sides of different length", "a missing file", "an unknown recipe", "a missing model"]
)
def test_a_process_that_refuses_ends_with_status_2_and_no_traceback(bitext, model, tmp_path, what):
    arguments, words = BAD[what]
    result = command("align", *arguments(tmp_path, bitext, model))
    assert (result.status, result.out) == (2, "")
    assert len(result.err.splitlines()) == 1
    assert all(word in result.err for word in words)


@pytest.mark.parametrize("place", ["missing/out", "."])
def test_output_that_cannot_be_written_is_refused_before_the_training(dovetail, bitext, tmp_path, place):
    result = dovetail("align", *bitext, "-o", tmp_path / place, "--save", tmp_path / "model")
    assert result.status == 2
    assert len(result.err.splitlines()) == 1
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_one_line_too(bitext):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*COMMAND, "align", *bitext], stdout=full, stderr=subprocess.PIPE, timeout=100)
    assert done.returncode == 1
    assert b"standard output: No space left on device. Free some space" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    "place", ["os.fsync", "dovetail.bitext.store.file_of", "dovetail.large.work.LinkJournal.finished"]
)
def test_a_run_goes_on_when_its_full_disk_has_room_again(dovetail, bitext, tmp_path, monkeypatch, place):
    with monkeypatch.context() as full:
        full.setattr(place, failing_with(OSError(28, "No space left on device")))
        result = dovetail("align", *bitext, *PLAIN, "--work", tmp_path / "work", "--quiet")
    assert (result.status, result.out) == (2, "")
    assert re.fullmatch(rf"dovetail: {tmp_path}/work\S*: no room left .*Free some space and run the.*\n", result.err)
    assert dovetail("align", *bitext, *PLAIN, "--work", tmp_path / "work", "--quiet").lines


@pytest.mark.parametrize("arguments", [["recipes"], ["align", "a.en", "a.fr", "--format", "jsonl", "--quiet"]])
def test_a_reader_that_leaves_early_causes_no_traceback(texts, arguments):
    process = subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=texts)
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(100) != 2


# align: interrupted


@pytest.mark.parametrize(
    ("number", "status", "existing"),
    [
        (signal.SIGINT, 130, None),
        (signal.SIGINT, 130, "0-0\n"),
        (signal.SIGTERM, 143, "0-0\n"),
        (getattr(signal, "SIGHUP", None), 129, None),
    ],
)
def test_an_interrupted_training_leaves_no_output(tmp_path, number, status, existing):
    words = " ".join(f"w{k * k % 3001}" for k in range(20_000)) + "\n"
    if number is None:
        pytest.skip("this system has no such signal")
    sides = two_files(tmp_path, words, words)
    output = tmp_path / "out"
    if existing is not None:
        output.write_text(existing)
    before = set(os.listdir(tmp_path))
    process = subprocess.Popen(
        [*COMMAND, "align", *sides, "-o", output, "--option", "ibm1_iterations=1000"],  # longer than any machine takes
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # shells ignore some in the background
    )
    while set(os.listdir(tmp_path)) == before:  # until it has opened its hidden file
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.02)
    time.sleep(1)
    process.send_signal(number)
    out, err = process.communicate(timeout=100)
    assert process.returncode == status
    assert out == b""
    assert b"Traceback" not in err
    assert set(os.listdir(tmp_path)) == before
    assert existing is None or output.read_text() == existing


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="this system has no such signal")
def test_a_run_under_nohup_goes_on_when_the_terminal_closes(bitext, tmp_path):
    code = "import os, signal; signal.signal(signal.SIGHUP, signal.SIG_IGN); from dovetail.cli import main; "
    code += "from dovetail import Aligner; fit = Aligner.fit; "
    code += "Aligner.fit = lambda *a, **k: (os.kill(os.getpid(), signal.SIGHUP), fit(*a, **k))[1]; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "align", *bitext, *PLAIN, "--quiet"], capture_output=True, timeout=300
    )
    assert (done.returncode, len(done.stdout.splitlines())) == (0, PAIRS)


@pytest.mark.parametrize(("number", "status"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_an_interruption_within_a_finaliser_is_heard_all_the_same(bitext, tmp_path, number, status):
    """Python itself only prints what is raised there."""
    code = f"""
import signal
from dovetail.cli import main
from dovetail import Aligner
class Ends:
    def __del__(self):
        signal.raise_signal(signal.{number})
        len("")
fit = Aligner.fit
def interrupted(*arguments, **options):
    Ends()
    return fit(*arguments, **options)
Aligner.fit = interrupted
main()"""
    many = "--option", "ibm1_iterations=1000000"
    output = tmp_path / "links"
    done = subprocess.run(
        [sys.executable, "-c", code, "align", *bitext, *many, "-o", output], capture_output=True, timeout=100
    )
    assert done.returncode == status
    assert b"ignored" not in done.stderr
    assert not output.exists()


# align: saving


@pytest.mark.parametrize("option", ["--load", "--save", "--warm-start", "--dictionary", "--development-gold", "--work"])
def test_an_empty_name_is_refused(dovetail, bitext, option):
    result = dovetail("align", *bitext, option, "")
    assert (result.status, result.out) == (2, "")
    assert f"{option} has an empty name" in result.err


@pytest.mark.parametrize("output", ["model", "model/links", "model/deep/links"])
def test_links_within_the_models_directory_are_refused_before_training(dovetail, bitext, tmp_path, output):
    (tmp_path / "model" / "deep").mkdir(parents=True)
    result = dovetail("align", *bitext, "--save", tmp_path / "model", "-o", tmp_path / output)
    assert result.status == 2
    assert "Name another file" in result.err
    assert os.listdir(tmp_path / "model") == ["deep"]


def test_a_place_that_cannot_be_written_is_refused_before_training(dovetail, bitext, tmp_path, monkeypatch):
    monkeypatch.setattr("dovetail.models.storage.tempfile.mkdtemp", failing_with(OSError(30, "Read-only file system")))
    monkeypatch.setattr("dovetail.aligner.Aligner.fit", failing_with(AssertionError("trained")))
    result = dovetail("align", *bitext, "--save", tmp_path / "model")
    assert (result.status, result.out) == (2, "")
    assert "model: could not be written (Read-only file system)" in result.err


def test_links_are_written_even_if_saving_fails(dovetail, bitext, tmp_path, monkeypatch):
    wanted = dovetail("align", *bitext, *PLAIN).out
    monkeypatch.setattr("dovetail.models.storage._put_in_place", failing_with(OSError(28, "No space left on device")))
    result = dovetail("align", *bitext, *PLAIN, "--save", tmp_path / "model", "-o", tmp_path / "links", "--quiet")
    assert result.status == 2
    assert "No space left on device); the links are written all the same" in result.err
    assert (tmp_path / "links").read_text() == wanted
    assert os.listdir(tmp_path) == ["links"]


def failing_with(error):
    def fail(*arguments, **settings):
        raise error

    return fail


@pytest.mark.slow
def test_kernels_that_cannot_be_cached_are_compiled_anew(bitext, tmp_path):
    """A package and a home nobody can write to: a file stands wherever a directory of compiled code would."""
    package = tmp_path / "dovetail"
    shutil.copytree(files("dovetail"), package, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [package, *(path for path in package.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").write_text("in the way")
    nowhere = str(bitext[0] / "nowhere")
    places = ("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA", "USERPROFILE", "NUMBA_CACHE_DIR")
    environment = {"PYTHONPATH": str(tmp_path), **dict.fromkeys(places, nowhere)}
    result = command("align", *bitext, "--recipe", "ibm1", env=environment)
    assert result.lines == command("align", *bitext, "--recipe", "ibm1").lines
    assert result.err.count("Compiling kernels") == 1
    assert re.search(r"^compiled \d+ kernels in [\d.]+ s, once$", result.err, re.MULTILINE)
    assert "ompil" not in command("align", *bitext, "--recipe", "ibm1", "--quiet", env=environment).err


@pytest.mark.slow
def test_after_warming_nothing_is_left_to_compile(bitext, tmp_path):
    environment = {"NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
    assert re.match(r"ibm1: [1-9]\d* kernels compiled", command("warm", "ibm1", env=environment).err)
    assert command("warm", "ibm1", env=environment).err.startswith("ibm1: 0 kernels compiled")
    result = command("align", *bitext, "--recipe", "ibm1", env=environment)
    assert len(result.lines) == PAIRS
    assert "ompil" not in result.err


def test_warming_takes_names_of_recipes_or_all(dovetail):
    assert dovetail("warm", "nonsense").status == 2
    assert dovetail("warm", "ibm1", "--all").status == 2


def test_the_demo_can_be_copied_but_never_over_files(dovetail, tmp_path):
    place = tmp_path / "a" / "new"
    assert dovetail("demo", "--copy", place).status == 0
    assert {path.name for path in place.iterdir()} == {"demo.en", "demo.fr", "demo.gold"}
    assert (place / "demo.gold").read_bytes() == (files("dovetail") / "data" / "demo.gold").read_bytes()
    (place / "demo.en").write_text("mine")
    refused = dovetail("demo", "--copy", place)
    assert refused.status == 2
    assert "demo.en: this file is there already" in refused.err
    assert (place / "demo.en").read_text() == "mine"
    assert dovetail("demo", "--copy", place / "demo.en" / "below").status == 2


SHELL = " ".join(f"'{word}'" for word in COMMAND)
shell_only = pytest.mark.skipif(os.name == "nt", reason="needs a Unix shell")


def in_shell(line, **environment):
    done = subprocess.run(
        ["sh", "-c", line], capture_output=True, text=True, timeout=300, env={**os.environ, **environment}
    )
    return Result(done.returncode, done.stdout, done.stderr)


@shell_only
def test_closed_streams_are_told_of_or_not_missed(bitext, tmp_path):
    expected = command("align", *bitext, *PLAIN).out
    words = f"{SHELL} align {bitext[0]} {bitext[1]} {' '.join(PLAIN)}"
    assert in_shell(f"{words} <&-").out == expected
    assert in_shell(f"{words} 2>&-")[:2] == (0, expected)
    closed = in_shell(f"{words} >&-")
    assert (closed.status, closed.err) == (2, "dovetail: standard output is closed. Name a file: -o FILE.\n")
    assert in_shell(f"{words} -o {tmp_path}/links >&- 2>&- <&-").status == 0
    assert (tmp_path / "links").read_text() == expected
    closed = in_shell(f"{SHELL} align - {bitext[1]} <&-")
    assert (closed.status, closed.err) == (2, "dovetail: standard input: it is closed. Name a file.\n")


@shell_only
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_told_with_the_name_of_the_file(bitext):
    words = f"{SHELL} align {bitext[0]} {bitext[1]} {' '.join(PLAIN)} --quiet"
    for line, name in ((f"{words} -o /dev/full", "/dev/full"), (f"{words} > /dev/full", "standard output")):
        result = in_shell(line)
        assert (result.status, result.err.startswith(f"dovetail: {name}: No space")) == (1, True), result


@shell_only
def test_a_locale_without_letters_does_no_harm(bitext, model):
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    words = f"{SHELL} show {bitext[0]} {bitext[1]} --load {model} --pair 3"
    result = in_shell(words, **plain)
    assert result.status == 0, result.err
    assert result.out == in_shell(words, LC_ALL="C.UTF-8").out


def test_what_is_nested_too_deeply_is_told_in_one_line(dovetail, bitext, tmp_path):
    (tmp_path / "deep").write_text("[" * 100_000 + "]" * 100_000)
    result = dovetail("align", *bitext, "--recipe", "hmm-bijective", "--constraints", tmp_path / "deep")
    assert result.status == 2
    assert len(result.err.splitlines()) == 1
    assert "nested too deeply" in result.err


def test_a_slip_is_answered_with_one_mark(dovetail):
    message = dovetail("align", "a", "b", "--recpe", "x").err
    assert "--recipe" in message
    assert "?." not in message
    assert "?)." not in message


@shell_only
@pytest.mark.parametrize("delay", [0.0, 0.02, 0.05, 0.1])
def test_an_early_interruption_leaves_no_traceback(delay):
    """From the first line of ours on; before, the interpreter is nobody's."""
    code = "import sys; from dovetail.__main__ import main; sys.stdout.write('x'); sys.stdout.flush(); main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "demo"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout.read(1) == b"x"
    time.sleep(0.01 + delay)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=100)
    assert process.returncode in (130, -signal.SIGINT)
    assert b"Traceback" not in err


def test_a_cache_directory_that_cannot_exist_does_no_harm(bitext):
    result = command("align", *bitext, env={"NUMBA_CACHE_DIR": str(bitext[0] / "nowhere")})
    assert len(result.lines) == PAIRS


# The other commands


def test_every_command_explains_itself(dovetail):
    overview = dovetail("--help")
    assert overview.status == 0
    for name in COMMANDS:
        assert name in overview.out
        page = dovetail(name, "--help")
        assert page.status == 0
        assert f"Usage: dovetail {name}" in page.out
        assert "-h, --help" in page.out


def test_help_comes_at_once():
    seconds = []
    for _ in range(5):
        began = time.perf_counter()
        assert command("--help").status == 0
        seconds.append(time.perf_counter() - began)
    assert statistics.median(seconds) < 0.5


def test_plain_files_are_aligned_without_what_only_others_need(bitext):
    modules = "import atexit, sys; atexit.register(lambda: print(*sys.modules)); from dovetail.cli import main; main()"
    words = [sys.executable, "-c", modules, "align", *map(str, bitext), *PLAIN, "-o", os.devnull]
    imported = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    assert "numba" in imported
    assert not {"xopen", "lxml", "rich", "jinja2"} & set(imported)


def test_the_version_and_an_unknown_command(dovetail):
    assert re.fullmatch(r"dovetail, version \d+\.\d+\.\d+\n", dovetail("--version").out)
    unknown = dovetail("magic")
    assert unknown.status == 2
    assert len(unknown.err.splitlines()) == 1
    assert "'magic'" in unknown.err
    alone = dovetail()
    assert alone.out == "" or alone.status == 0  # which of the two depends on click's version
    assert "Commands:" in alone.out + alone.err


@pytest.fixture(scope="session")
def scored(texts, model, tmp_path_factory):
    """Links for the pairs of a.gold, and worse ones."""
    folder = tmp_path_factory.mktemp("scored")
    lines = re.sub(r":[\d.]+", "", (model.parent / "links").read_text()).splitlines(keepends=True)
    (folder / "links").write_text("".join(lines[:60]))
    (folder / "worse").write_text("".join(re.sub(r" \S+", "", line) for line in lines[:60]))
    return folder


def test_evaluate_prints_one_line_or_one_object(dovetail, texts, scored):
    (line,) = dovetail("evaluate", scored / "links", texts / "a.gold").lines
    assert line.startswith("AER ")
    assert "sig: " in line
    score = json.loads(dovetail("evaluate", scored / "links", texts / "a.gold", "--json").out)
    assert {"aer", "precision", "recall", "f1", "links", "sentences"} <= set(score)
    assert score["sentences"] == 60
    assert 0 < score["aer"] < 0.5
    assert score["f1"] > 0.5
    interval = json.loads(dovetail("evaluate", scored / "links", texts / "a.gold", "--json", "--bootstrap", 200).out)
    low, high = interval["intervals"]["aer"]
    assert low <= interval["aer"] <= high


def test_evaluate_reads_standard_input_and_skips_pairs(dovetail, texts, scored):
    expected = dovetail("evaluate", scored / "links", texts / "a.gold").out
    links = (scored / "links").read_bytes()
    assert dovetail("evaluate", "-", texts / "a.gold", stdin=links).out == expected
    assert dovetail("evaluate", "-", texts / "a.gold", "--skip", 2, stdin=b"\n0-0\n" + links).out == expected


def test_perfect_links_score_perfectly_in_any_form_of_gold(dovetail, tmp_path):
    (tmp_path / "links").write_text("0-0 1-1\n1-0\n")
    (tmp_path / "gold").write_text("0-0 1-1 0?1\n1-0\n")
    (tmp_path / "naacl").write_text("0001 1 1 S\n0001 2 2 S\n0001 1 2 P\n0002 2 1 S\n")
    for gold in ("gold", "naacl"):
        score = json.loads(dovetail("evaluate", tmp_path / "links", tmp_path / gold, "--json").out)
        assert (score["aer"], score["precision"], score["recall"]) == (0, 1, 1)


GOOD_LINKS, ONE_BASED = "0-0 1-1\n" * 12, "1-1 2-2\n" * 12
BAD_SCORES = {
    "fewer pairs than gold": ("0-0\n", "0-0\n0-0\n", (), ["links", "1 pairs", "2 pairs in", "gold", "--skip"]),
    "links that count from 1": ("1-1 2-2\n" * 10, "0-0 1-1\n" * 10, (), ["links", "count from 1", "subtract 1", "AER"]),
    "gold counted from 1": (GOOD_LINKS, ONE_BASED, (), ["gold, line 1", "count from 1", "subtract 1"]),
    "gold outside its sentence": ("0-0\n0-0\n", "0-0\n0-9\n", ("--text",), ["gold, line 2", "0-9", "outside"]),
    "gold counted from 1, and sentences": ("0-0\n", "1-1 2-2\n", ("--text",), ["gold, line 1", "count from 1"]),
    "gold of more pairs than sentences": ("0-0\n" * 3, "0-0\n" * 3, ("--text", 2), ["gold, line 3", "3 pairs", "2"]),
    "gold that is text": ("0-0\n", "the house\n", (), ["gold, line 1", "gold links"]),
    "links that are text": ("the house\n", "0-0\n", (), ["links, line 1", "format"]),
    "a link that is none": ("0-0\n0-x\n", "0-0\n0-0\n", (), ["links, line 2", "'0-x'"]),
    "a negative link": ("0-0 0--1\n", "0-0\n", (), ["links, line 1"]),
    "empty links": ("", "0-0\n", (), ["links", "empty"]),
    "empty gold": ("0-0\n", "", (), ["gold", "empty"]),
    "position 0 where they count from 1": ("0-0\n", "0001 0 1 S\n", (), ["gold, line 1", "count from 1"]),
    "an unknown format": ("0-0\n", "0-0\n", ("--format", "magic"), ["--format", "'magic'"]),
}


@pytest.mark.parametrize("what", BAD_SCORES)
def test_evaluate_refuses_in_one_line(dovetail, tmp_path, what):
    links, gold, options, words = BAD_SCORES[what]
    (tmp_path / "links").write_text(links)
    (tmp_path / "gold").write_text(gold)
    if "--text" in options:
        lines = "a b\n" * (2 if 2 in options else len(gold.splitlines()))
        options = ("--text", *two_files(tmp_path, lines, lines))
    result = dovetail("evaluate", tmp_path / "links", tmp_path / "gold", *options)
    assert (result.status, result.out) == (2, "")
    assert len(result.err.splitlines()) == 1
    for word in words:
        assert word in result.err


def test_raw_text_goes_through_every_command(dovetail, texts, tmp_path):
    """Aligned with a tokenizer, looked at with the same; the other side may have another."""
    raw = [re.sub(r" ([.,?!])", r"\1", (texts / f"a.{side}").read_text("utf-8")) for side in ("en", "fr")]
    sides = two_files(tmp_path, *raw)
    links, gold = tmp_path / "links", tmp_path / "gold"
    assert "as in '" in dovetail("align", *sides, *PLAIN, "-o", links).err
    for tokenizer in ("unicode", "unicode,whitespace"):
        cut = "--tokenizer", tokenizer
        aligned = dovetail("align", *sides, *PLAIN, *cut, "-o", links)
        assert aligned.status == 0
        assert aligned.err.count("as in '") == (tokenizer != "unicode")
        gold.write_text(links.read_text())
        assert dovetail("evaluate", links, gold, "--text", *sides, *cut).out.startswith("AER 0.00")
        for name in ("phrases", "describe", "show"):
            result = dovetail(name, *sides, "--links", links, *cut, *(("--gold", gold) if name != "show" else ()))
            assert result.status == 0, result.err
        result = dovetail("describe", *sides, "--links", links)
        assert (result.status, "lies outside" in result.err) == (2, True)
    assert dovetail("align", *sides, "--tokenizer", "unicode,magic").status == 2


@pytest.mark.parametrize("name", ["align", "lexicon", "view"])
def test_columns_are_not_chosen_from_two_files(dovetail, bitext, tmp_path, name):
    result = dovetail(name, *bitext, "--columns", "1,2", "-o", tmp_path / "out")
    assert (result.status, os.listdir(tmp_path)) == (2, [])
    assert "--columns chooses among those of one file, and two are named" in result.err


def test_a_column_of_numbers_is_not_aligned_as_text(dovetail, bitext, tmp_path):
    sides = [side.read_text("utf-8").splitlines() for side in bitext]
    rows = [f"{n}\t{a}\t{b}\n" for n, (a, b) in enumerate(zip(*sides, strict=True))]
    (tmp_path / "text.tsv").write_text("".join(rows), "utf-8")
    refused = dovetail("align", tmp_path / "text.tsv", *PLAIN)
    assert refused.status == 2
    assert "--columns 2,3" in refused.err
    chosen = dovetail("align", tmp_path / "text.tsv", *PLAIN, "--columns", "2,3")
    links = dovetail("align", *bitext, *PLAIN).lines
    assert chosen.lines == [f"{n}\t{line}" for n, line in enumerate(links)]
    for wrong in ("2", "2,2", "0,1", "a,b", "1,2,3"):
        assert dovetail("align", tmp_path / "text.tsv", "--columns", wrong).status == 2


def test_gold_of_some_pairs_is_scored_on_those(dovetail, texts, scored, tmp_path):
    """The first 60 of 120, as lines that end early, as blank lines and as numbered lines: the same score."""
    whole = scored / "whole"
    assert dovetail("align", texts / "a.en", texts / "a.fr", *PLAIN, "-o", whole).status == 0
    lines = (texts / "a.gold").read_text().splitlines()[:60]
    (tmp_path / "links").write_text("".join(line for line in whole.read_text().splitlines(keepends=True)[:60]))
    (tmp_path / "first").write_text("".join(f"{line}\n" for line in lines))
    (tmp_path / "blank").write_text("".join(f"{line}\n" for line in lines) + "\n" * 60)
    (tmp_path / "numbered").write_text("".join(f"{n}\t{line}\n" for n, line in enumerate(lines, 1)))
    expected = dovetail("evaluate", tmp_path / "links", tmp_path / "first")
    assert expected.err == ""
    described = set()
    for name in ("first", "blank", "numbered"):
        result = dovetail("evaluate", whole, tmp_path / name)
        assert result.out == expected.out
        assert "60 of 120 pairs: those are scored" in result.err
        text = texts / "a.en", texts / "a.fr", "--links", whole, "--gold", tmp_path / name
        described.add("\n".join(dovetail("describe", *text).lines[-2:]))
        assert dovetail("phrases", *text).lines == dovetail("phrases", *text[:-1], tmp_path / "blank").lines
    assert len(described) == 1
    assert "60 pairs" in described.pop()


def test_few_links_that_seem_to_count_from_1_are_scored_with_a_warning(dovetail, tmp_path):
    (tmp_path / "gold").write_text("0-0 1-1\n")
    for links, warned in (("1-1 2-2\n", True), ("0-0 1-1\n", False), ("1-1\n", False)):
        (tmp_path / "links").write_text(links)
        result = dovetail("evaluate", tmp_path / "links", tmp_path / "gold")
        assert result.status == 0
        assert ("count from 1?" in result.err) == warned


def test_evaluate_with_sentences_accepts_what_lies_within_them(dovetail, texts, scored, tmp_path):
    lines = [(texts / f"a.{side}").read_text("utf-8").splitlines(keepends=True)[:60] for side in ("en", "fr")]
    sides = two_files(tmp_path, *map("".join, lines))
    plain = dovetail("evaluate", scored / "links", texts / "a.gold")
    assert dovetail("evaluate", scored / "links", texts / "a.gold", "--text", *sides) == plain


def test_compare_tells_two_systems_apart(dovetail, texts, scored):
    files_ = scored / "links", scored / "worse", texts / "a.gold"
    lines = dovetail("compare", *files_).lines
    assert lines[0].split()[:2] == ["system", "AER"]
    assert lines[1].startswith(str(scored / "links"))
    assert lines[4].split()[-2:] == ["p", "(Holm)"]
    assert lines[-1].startswith("sig: ")
    report = json.loads(dovetail("compare", *files_, "--json", "--samples", 500).out)
    assert report["first"]["aer"] < report["second"]["aer"]
    assert report["first"]["sentences"] == 60
    assert report["difference"] == pytest.approx(report["first"]["aer"] - report["second"]["aer"])
    assert report["p_value"] < 0.05
    assert report["metric"] == "aer"
    recall = json.loads(dovetail("compare", *files_, "--json", "--metric", "recall", "--samples", 500).out)
    assert recall["difference"] > 0


def test_compare_refuses_in_one_line(dovetail, texts, scored, tmp_path):
    (tmp_path / "short").write_text("0-0\n")
    for arguments, word in (
        ((tmp_path / "short", scored / "links", texts / "a.gold"), "short"),
        ((scored / "links", tmp_path / "none", texts / "a.gold"), "none"),
        ((scored / "links", scored / "links", texts / "a.gold", "--metric", "magic"), "'magic'"),
    ):
        result = dovetail("compare", *arguments)
        assert (result.status, result.out) == (2, "")
        assert len(result.err.splitlines()) == 1
        assert word in result.err


@pytest.mark.parametrize("name", list(combiners))
def test_combine_makes_of_two_files_what_align_makes_of_two_directions(dovetail, bitext, model, tmp_path, name):
    aligned = {
        combine: dovetail("align", *bitext, "--load", model, "--decoder", "viterbi", "--combine", combine).out
        for combine in ("forward", "reverse", name)
    }
    for direction in ("forward", "reverse"):
        (tmp_path / direction).write_text(aligned[direction])
    result = dovetail("combine", tmp_path / "forward", tmp_path / "reverse", "--combine", name)
    assert result.out == aligned[name]
    dovetail("combine", tmp_path / "forward", tmp_path / "reverse", "--combine", name, "-o", tmp_path / "out.gz")
    with xopen(tmp_path / "out.gz", threads=0) as handle:
        assert handle.read() == aligned[name]


def test_combine_can_turn_the_reverse_links_round(dovetail, tmp_path):
    (tmp_path / "forward").write_text("0-1 1-0\n\n2-1\n")
    (tmp_path / "reverse").write_text("1-0 0-1\n\n1-2\n")
    result = dovetail(
        "combine", tmp_path / "forward", tmp_path / "reverse", "--swap-reverse", "--combine", "intersection"
    )
    assert result.lines == ["0-1 1-0", "", "2-1"]


def test_combine_refuses_in_one_line(dovetail, tmp_path):
    (tmp_path / "one").write_text("0-0\n")
    (tmp_path / "two").write_text("0-0\n1-1\n")
    output = tmp_path / "good"
    output.write_text("good\n")
    for arguments in (
        ("one", "two"),
        ("one", "none"),
        ("one", "one", "--format", "giza"),
        ("one", "one", "--combine", "x"),
    ):
        paths = [tmp_path / name for name in arguments[:2]]
        result = dovetail("combine", *paths, *arguments[2:], "-o", output)
        assert (result.status, result.out) == (2, "")
        assert len(result.err.splitlines()) == 1
        assert output.read_text() == "good\n"


@pytest.mark.parametrize("name", list(alignment_formats))
def test_convert_leads_to_every_format_and_back(dovetail, bitext, model, tmp_path, name):
    plain = re.sub(r":[\d.]+", "", (model.parent / "links").read_text())
    (tmp_path / "plain").write_text(plain)
    assert dovetail("convert", tmp_path / "plain", *bitext, "--to", name, "-o", tmp_path / "other").lines == []
    assert dovetail("convert", tmp_path / "other", *bitext, "--from", name, "--to", "pharaoh").out == plain
    assert dovetail("convert", "-", "--to", "pharaoh", stdin=plain.encode()).out == plain


def test_convert_refuses_in_one_line(dovetail, bitext, tmp_path):
    (tmp_path / "links").write_text("0-0\n")
    for arguments, word in (
        (("--to", "giza"), "SOURCE"),
        (("--to", "magic"), "'magic'"),
        (("--to", "jsonl", "--from", "giza"), "links, line 1"),
        ((*bitext, "--to", "tsv"), "120"),
        ((), "--to"),
    ):
        result = dovetail("convert", tmp_path / "links", *arguments)
        assert (result.status, result.out) == (2, "")
        assert len(result.err.splitlines()) == 1
        assert word in result.err


def test_recipes_lists_what_the_registries_hold(dovetail):
    tables = json.loads(dovetail("recipes", "--json").out)
    assert list(tables["recipes"]) == list(recipes)
    assert list(tables["decoders"]) == list(decoders)
    assert set(tables["combinations"]) == {"soft-union", *combiners}
    assert list(tables["output formats"]) == list(alignment_formats)
    page = dovetail("recipes").out
    for table in tables.values():
        for name, description in table.items():
            assert name in page
            assert description in page


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_the_shell(dovetail, shell):
    result = dovetail("completion", shell)
    assert result.status == 0
    assert "_DOVETAIL_COMPLETE" in result.out
    assert dovetail("completion", "cmd").status == 2


def test_completion_knows_the_recipes():
    script = "import sys; sys.argv = ['dovetail']; from dovetail.cli import main; main()"
    environment = {**os.environ, "_DOVETAIL_COMPLETE": "bash_complete", "COMP_CWORD": "3"}
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**environment, "COMP_WORDS": "dovetail align --recipe "},
        capture_output=True,
        text=True,
        timeout=60,
    )
    for name in recipes:
        assert f"plain,{name}" in done.stdout


def test_demo_draws_alignments_and_ends_with_the_score(dovetail):
    lines = dovetail("demo").lines
    assert lines[-1].startswith("AER ")
    assert any("●" in line for line in lines)
    assert len(dovetail("demo", "--quiet").lines) == 1
    assert dovetail("demo", "--pairs", 0).lines[-1] == lines[-1]
    assert dovetail("demo", "--recipe", "magic").status == 2


# Progress


def progress(**changes):
    values = {"stage": "hmm", "done": 50, "total": 200, "unit": "pairs", "iteration": 1, "iterations": 4}
    return Progress(**{**values, "objective": None, "seconds": 10.0, **changes})


def test_a_row_says_speed_time_left_and_objective():
    assert cells(progress()) == {"iteration": "2/4", "speed": "5 pairs/s", "time": "0:30 left", "objective": ""}
    ended = cells(progress(done=200, iteration=4, seconds=3700.0, objective=-1234.5))
    assert ended == {"iteration": "4/4", "speed": "0 pairs/s", "time": "1h01", "objective": "log-p -1,234"}
    assert cells(progress(done=0, seconds=0.0))["time"] == ""
    assert cells(progress(done=0, total=0, iterations=1, iteration=0, seconds=0.0))["iteration"] == ""


def test_large_numbers_keep_within_their_columns():
    for event in (
        progress(done=10**9, total=10**12, seconds=1000.0, objective=-1.23456789e13, iteration=98, iterations=100),
        progress(done=10**6, total=10**7, seconds=2.0, objective=-99_999_999.0),
        progress(done=1, total=3500, seconds=10.0),
    ):
        for name, text in cells(event).items():
            assert len(text) <= FIELDS[name], (name, text)


def test_narrow_windows_leave_out_columns_but_not_the_time():
    assert fitting(200) == fitting(80) == list(FIELDS)
    assert fitting(65) == ["iteration", "speed", "time"]
    assert fitting(40) == fitting(10) == ["time"]


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_terminal_of_80_columns_sees_every_stage_and_no_line_wraps(texts, tmp_path):
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = subprocess.Popen(
        [*COMMAND, "align", "a.en", "a.fr", "-o", tmp_path / "out"],
        stderr=theirs,
        cwd=texts,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "80"},
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # the other end was closed
            break
        if not piece:
            break
        shown += piece
    os.close(ours)
    assert process.wait(60) == 0
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.decode())
    rows = [row for row in re.split(r"[\r\n]+", text) if row]
    assert all(len(row) < 80 for row in rows)
    for stage in ("read", "align"):
        assert any(row.startswith(stage) for row in rows)
    assert "pairs/s" in text
    assert "120 pairs" in rows[-1]


def test_the_package_can_be_run_as_a_module():
    done = subprocess.run([sys.executable, "-m", "dovetail", "--version"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert "dovetail" in done.stdout
