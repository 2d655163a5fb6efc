"""Texts of any size through `dovetail align`: work folders, budgets of memory, pipes, many files to many files."""

from __future__ import annotations

import errno
import gzip
import io
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from benchmarks.memory import need_of

import killing
import many_texts
from dovetail import Aligner, Bitext, InputError
from dovetail.bitext.corpus import TextOptions
from dovetail.bitext.source import TextSource
from dovetail.bitext.text import atomic_writer, read_lines
from dovetail.cli.run import said_if_interrupted
from dovetail.durable import put
from dovetail.fitting import shard_sizes
from dovetail.large import memory
from dovetail.large.memory import TextFacts, facts_of, required_memory
from dovetail.large.work import RECORD, WorkFolder, work_folder
from dovetail.recipes import find_recipe
from dovetail.training.drawing import lesson
from folders import contents

LARGE = killing.LARGE
FAST = "--recipe", "fast", *LARGE


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """x.en, x.fr; the same cut into part-1.*, part-2.*; and x.tsv."""
    folder = tmp_path_factory.mktemp("large")
    killing.write_text(folder)
    lines = [(folder / f"x.{suffix}").read_text("utf-8").splitlines(keepends=True) for suffix in ("en", "fr")]
    for suffix, side in zip(("en", "fr"), lines, strict=True):
        (folder / f"part-1.{suffix}").write_text("".join(side[:150]), "utf-8")
        (folder / f"part-2.{suffix}").write_text("".join(side[150:]), "utf-8")
    pairs = (f"{a.rstrip()}\t{b}" for a, b in zip(*lines, strict=True))
    (folder / "x.tsv").write_text("".join(pairs), "utf-8")
    return folder


def run(folder, *arguments, stdin=b"", **settings):
    command = [sys.executable, "-m", "dovetail", "align", *map(str, arguments)]
    return subprocess.run(command, input=stdin, capture_output=True, cwd=folder, timeout=300, **settings)


def links(folder, *arguments, **settings):
    done = run(folder, *arguments, **settings)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def expected(texts):
    return links(texts, "x.en", "x.fr", *FAST)


def test_the_links_do_not_depend_on_how_the_text_came(texts, expected, tmp_path):
    assert expected.count(b"\n") == 400
    assert links(texts, "part-*.en", "part-*.fr", *FAST, "--threads", 1) == expected
    tsv = (texts / "x.tsv").read_bytes()
    assert links(texts, "-", *FAST, "--memory", "2G", "--save", tmp_path / "model", stdin=tsv) == expected
    assert links(texts, "x.tsv", "--load", tmp_path / "model", "--work", tmp_path / "work") == expected


def test_two_pipes_are_put_by(texts, expected):
    process = "cat x.en > a & cat x.fr > b & exec $PYTHON -m dovetail align a b --recipe fast $LARGE"
    names = [texts / "a", texts / "b"]
    for name in names:
        os.mkfifo(name)
    settings = {"PYTHON": sys.executable, "LARGE": " ".join(LARGE)}
    done = subprocess.run(
        ["sh", "-c", process], cwd=texts, env={**os.environ, **settings}, capture_output=True, timeout=300
    )
    for name in names:
        name.unlink()
    assert done.stdout == expected, done.stderr


def test_another_text_from_a_pipe_is_no_text_to_go_on_with(texts, expected, tmp_path):
    tsv = (texts / "x.tsv").read_bytes()
    arguments = "-", *FAST, "--work", tmp_path / "work"
    assert b"standard input: the file is empty" in run(texts, *arguments).stderr
    assert links(texts, *arguments, stdin=tsv) == expected
    for other in (tsv.replace(b"w1\t", b"w2\t", 1), tsv[:-1], tsv + b"a\tb\n", b"a\tb\n"):
        done = run(texts, *arguments, stdin=other)
        assert (done.returncode, done.stdout) == (2, b"")
        assert b"standard input: not the text that the work in" in done.stderr
    for again in (tsv, b"", gzip.compress(tsv)):
        assert links(texts, *arguments, stdin=again) == expected
    (tmp_path / "work" / "source.zst").unlink()  # as if putting by had been interrupted
    (tmp_path / "work" / ".source.zst").write_bytes(b"half")
    assert links(texts, *arguments, stdin=tsv) == expected


def test_nobody_types_a_text_again_to_go_on(tmp_path, monkeypatch):
    folder, text = WorkFolder(tmp_path), TextSource("-")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\tb\n")))
    folder.spooled(text)
    for nobody in (None, SimpleNamespace(isatty=lambda: True)):
        monkeypatch.setattr(sys, "stdin", nobody)
        assert list(folder.spooled(text)) == ["source"]


def test_two_pipes_are_put_by_together_or_anew(tmp_path):
    def spooled(first, second):
        paths = [tmp_path / name for name in ("a", "b")]
        for path, content in zip(paths, (first, second), strict=True):
            if not path.exists():
                os.mkfifo(path)
            threading.Thread(target=path.write_bytes, args=(content,), daemon=True).start()
        return WorkFolder(tmp_path).spooled(TextSource(*paths))

    files = spooled(b"one\ntwo\n", b"un\ndeux\n")
    assert [list(read_lines(files[side])) for side in files] == [["one", "two"], ["un", "deux"]]
    with pytest.raises(InputError, match=r"a and .*b: not the text that the work in"):
        spooled(b"one\ntwo\n", b"un\ntrois\n")
    (tmp_path / "target.zst").unlink()  # killed between the two
    files = spooled(b"three\n", b"trois\n")
    assert [list(read_lines(files[side])) for side in files] == [["three"], ["trois"]]


def test_an_empty_part_of_a_text_has_no_links_and_stops_nothing(texts, tmp_path):
    for part in "abc":
        for side in ("en", "fr"):
            (tmp_path / f"{part}.{side}").write_bytes((texts / f"x.{side}").read_bytes() if part != "b" else b"")
    done = run(tmp_path, "*.en", "*.fr", *FAST, "--save", "model", "-o", "*.links")
    assert b"3 files, 800 pairs" in done.stderr
    assert (tmp_path / "b.links").read_bytes() == b""
    assert (tmp_path / "a.links").read_bytes() == (tmp_path / "c.links").read_bytes()
    (tmp_path / "b.links").unlink()
    assert b"0 pairs, 0 links" in run(tmp_path, "*.en", "*.fr", "--load", "model", "-o", "*.links").stderr
    (tmp_path / "b.fr").write_text("un\n")
    done = run(tmp_path, "*.en", "*.fr", *FAST, "-o", "*.more")
    assert (done.returncode, b"b.en" in done.stderr) == (2, True)
    for side in ("en", "fr"):
        for part in "abc":
            (tmp_path / f"{part}.{side}").write_bytes(b"")
    done = run(tmp_path, "*.en", "*.fr", *FAST)
    assert (done.returncode, b"a.en: " in done.stderr) == (2, True)


def test_a_place_that_files_cannot_go_to_is_told_of_before_the_work(texts):
    done = run(texts, "part-*.en", "part-*.fr", "-o", "nowhere/*.txt", "--option", "ibm1_iterations=10000000")
    assert done.returncode == 2
    assert b"its directory does not exist" in done.stderr


def test_bad_text_in_a_pipe_is_told_of_as_standard_input(texts):
    done = run(texts, "-", *FAST, stdin=b"a\tb\nc\n")
    assert done.returncode == 2
    assert b"standard input, line 2: no tab between source and target" in done.stderr


def test_what_is_learned_with_serves_a_large_text_too(texts, tmp_path):
    lengths = [len(line.split()) for line in (texts / "x.en").read_text("utf-8").splitlines()]
    gold = (" ".join(f"{n}-{n}" for n in range(length)) for length in lengths[100:150])
    (tmp_path / "gold").write_text("".join(f"{line}\n" for line in gold), "utf-8")
    (tmp_path / "dictionary.tsv").write_text("w1\tW1\nw2\tW2\n", "utf-8")
    chosen = "--development-gold", tmp_path / "gold", "--development-start", 100
    done = run(texts, "x.en", "x.fr", *FAST, *chosen, "--dictionary", tmp_path / "dictionary.tsv")
    assert done.returncode == 0, done.stderr
    assert b"development gold chose" in done.stderr
    late = run(texts, "x.en", "x.fr", *FAST, *chosen[:3], 380)
    assert late.returncode == 2
    assert b"but the bitext has 400" in late.stderr
    favoured = run(texts, "-", *FAST, "--favour", "precision", stdin=(texts / "x.tsv").read_bytes())
    assert favoured.returncode == 0
    assert b"favours precision" in favoured.stderr


@pytest.fixture(scope="module")
def undisturbed(texts):
    done = subprocess.run(killing.command("-o", "whole"), cwd=texts, capture_output=True)
    assert done.returncode == 0, done.stderr
    return (texts / "whole").read_bytes()


@pytest.mark.parametrize("moment", [2, 9, 16, 25])
def test_a_run_killed_while_it_keeps_something_goes_on_to_the_same_bytes(texts, tmp_path, moment, undisturbed):
    """Killed at the n-th fsync or rename, then soon after it went on."""
    place = ["-o", str(tmp_path / "links"), "--work", str(tmp_path / "work")]
    for at in (moment, 2):
        killed = subprocess.run(
            killing.command(*place), cwd=texts, capture_output=True, env={**os.environ, "KILL_AT": str(at)}
        )
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        assert not (tmp_path / "links").exists()
    done = subprocess.run(killing.command(*place), cwd=texts, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "links").read_bytes() == undisturbed


def test_an_interruption_says_how_to_go_on(texts, tmp_path):
    longer = "--option", "ibm1_iterations=1000000"  # than any machine takes
    command = killing.command("-o", str(tmp_path / "links"), "--work", str(tmp_path / "work"), *longer)
    process = subprocess.Popen(
        command, cwd=texts, stderr=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
    )
    while not (tmp_path / "work" / "command.json").exists():
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    assert b"the same command goes on where it was" in process.stderr.read()
    assert not (tmp_path / "links").exists()


@pytest.mark.parametrize(
    ("seconds", "output", "told"),
    [(59, "-", None), (61, "-", "nothing was kept .* --work DIR"), (61, "*.links", "files that are not there yet")],
)
def test_an_interruption_of_a_long_run_says_what_would_have_kept_it(monkeypatch, seconds, output, told):
    clock = iter((0.0, seconds))
    monkeypatch.setattr("dovetail.cli.run.monotonic", lambda: next(clock))
    with pytest.raises(KeyboardInterrupt) as interrupted, said_if_interrupted(None, output):
        raise KeyboardInterrupt
    notes = getattr(interrupted.value, "__notes__", [])
    assert len(notes) == (told is not None)
    assert all(re.search(told, note) for note in notes)


BUSY_RUN = """
import sys, threading, time
from dovetail import pool
from dovetail.__main__ import main

def busy(self, function, tasks, *shared):
    "A thread that nobody can interrupt, as one in a compiler is."
    begun = threading.Event()
    done = self.executor.submit(lambda: (begun.set(), time.sleep(60)))
    begun.wait()
    print("busy", file=sys.stderr, flush=True)
    return done.result()

pool.Pool.map = busy
main()
"""


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_thread_that_is_busy_keeps_nobody_waiting(texts, tmp_path, number, status):
    command = [sys.executable, "-c", BUSY_RUN, "align", "x.en", "x.fr", "-o", str(tmp_path / "links"), "--quiet"]
    process = subprocess.Popen(
        command,
        cwd=texts,
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stderr.readline() == b"busy\n"
    process.send_signal(number)
    assert process.wait(20) == status
    assert list(tmp_path.iterdir()) == []


def test_a_work_folder_belongs_to_one_command_and_one_run(texts, tmp_path):
    work = tmp_path / "work"
    links(texts, "x.en", "x.fr", *FAST, "--work", work)
    for other, what in ((["--seed", "7"], b"seed"), (["--format", "jsonl"], b"format"), (["--lower"], b"reading")):
        done = run(texts, "x.en", "x.fr", *FAST, "--work", work, *other)
        assert done.returncode == 2
        assert b"holds the work of another command (different: " + what in done.stderr
    with work_folder(str(work)):
        done = run(texts, "x.en", "x.fr", *FAST, "--work", work)
    assert done.returncode == 2
    assert b"another run works in this folder" in done.stderr


@pytest.mark.parametrize("name", ["file", "file/folder/", "./readonly/new", "readonly/deep/er", "readonly/old"])
def test_a_folder_that_cannot_be_written_to_is_refused_with_a_remedy(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    with work_folder("readonly/old"):
        pass
    monkeypatch.setattr(os, "mkdir", readonly(os.mkdir))
    monkeypatch.setattr("builtins.open", readonly(open))
    with pytest.raises(InputError, match=r"no folder to work in \(.*\)\. Name one that") as refused, work_folder(name):
        pass
    assert refused.value.path == name


def readonly(function):
    def call(path, *arguments, **settings):
        if "readonly" in str(path):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
        return function(path, *arguments, **settings)

    return call


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a place where nobody can make a folder")
def test_a_run_that_has_no_folder_to_work_in_ends_with_one_line(texts):
    done = run(texts, "x.en", "x.fr", *FAST, "--work", "/proc/no/folder")
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)
    assert b"/proc/no/folder: no folder to work in" in done.stderr


def test_a_full_disk_elsewhere_is_not_the_work_folders(tmp_path):
    for name in ("run.links", "standard output"):
        with pytest.raises(OSError, match=name), work_folder(str(tmp_path / "run")):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(tmp_path / name))


def test_a_folder_of_the_users_own_is_not_worked_in(texts, tmp_path):
    own = {"links": b"mine", "model/model.json": b"mine, too", "lock": b""}
    (tmp_path / "model").mkdir()
    for name, content in own.items():
        (tmp_path / name).write_bytes(content)
    for work, what in ((".", b"is neither empty nor a work folder"), ("", b"--work has an empty name")):
        done = run(tmp_path, texts / "x.en", texts / "x.fr", *FAST, "--work", work)
        assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)
        assert what in done.stderr
        assert contents(tmp_path) == own


@pytest.mark.parametrize("written", [None, b"", RECORD[:9], b"\0" * len(RECORD), RECORD])
def test_a_folder_that_a_killed_run_had_only_begun_is_taken(tmp_path, written):
    """The name of a record may come to the disk before its bytes do."""
    if written is not None:
        (tmp_path / "lock").write_bytes(written)
    for _ in range(2):
        with work_folder(str(tmp_path)) as folder:
            assert contents(tmp_path)["lock"] == RECORD
            put(folder.place / "command.json", b"{}")


def test_a_folder_is_recorded_as_ours_before_anything_is_in_it(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _: 1 // 0)
    with pytest.raises(ZeroDivisionError), work_folder(str(tmp_path / "work")):
        pass
    assert contents(tmp_path / "work") == {"lock": RECORD}


def test_a_journal_that_was_cut_short_counts_as_far_as_it_is_whole(tmp_path):
    folder = WorkFolder(tmp_path)
    journal = folder.links(["links"])
    journal.handles[0].write("one\n")
    journal.finished({"pairs": 1})
    journal.handles[0].write("two\n")
    journal.close()
    with open(tmp_path / "journal", "ab") as handle:
        handle.write(b'{"pairs": 2, "si')
    again = folder.links(["links"])
    assert again.state == {"pairs": 1, "sizes": [4]}
    assert (tmp_path / "links").read_text() == "one\n"
    again.handles[0].write("zwei\n")
    again.finished({"pairs": 2})
    again.close()
    assert folder.links(["links"]).state == {"pairs": 2, "sizes": [9]}


def test_a_file_that_is_put_is_whole_or_what_it_was(tmp_path, monkeypatch):
    put(tmp_path / "x", b"old")
    monkeypatch.setattr(os, "replace", lambda *_: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        put(tmp_path / "x", b"new")
    assert (tmp_path / "x").read_bytes() == b"old"


def test_many_files_get_a_file_of_links_each_and_finished_ones_are_left(texts, expected, tmp_path):
    out = f"{tmp_path}/*.links.gz"
    done = run(texts, "part-*.en", "part-*.fr", *FAST, "-o", out)
    assert b"2 files, 400 pairs" in done.stderr
    text = [subprocess.run(["gzip", "-dc", tmp_path / f"{n}.links.gz"], capture_output=True).stdout for n in (1, 2)]
    assert text[0].count(b"\n") == 150
    assert b"".join(text) == expected
    (tmp_path / "2.links.gz").unlink()
    before = (tmp_path / "1.links.gz").stat().st_mtime_ns
    assert b"250 pairs" in run(texts, "part-*.en", "part-*.fr", *FAST, "-o", out).stderr
    assert (tmp_path / "1.links.gz").stat().st_mtime_ns == before
    assert b"0 files, 0 pairs" in run(texts, "part-*.en", "part-*.fr", *FAST, "-o", out).stderr
    for wrong in (["x.en", "x.fr"], ["part-?.en", "part-?.fr"], ["part-*.en", "part-*.fr", "--write-tokens", "t"]):
        assert run(texts, *wrong, "-o", out).returncode == 2


def test_files_are_aligned_side_by_side(texts):
    pairs = [TextSource(texts / f"part-{n}.en", texts / f"part-{n}.fr") for n in (1, 2)]
    aligner = Aligner("ibm1", threads=2).fit(pairs[0])
    both = threading.Barrier(2)  # which nobody passes alone

    def each(part, alignments):
        both.wait(60)
        return len(part)

    assert list(aligner.align_streams(pairs, each=each)) == [150, None, 250, None]


def test_a_fault_in_a_file_leaves_the_links_of_those_before_it(texts, tmp_path):
    for name, source, target in (
        ("a", "w1\n", "W1\n"),
        ("b", "w2\n", "W2\n"),
        ("c", "w1\n" * 3, "W1\n"),
    ):
        (tmp_path / f"{name}.en").write_text(source, "utf-8")
        (tmp_path / f"{name}.fr").write_text(target, "utf-8")
    links(texts, "x.en", "x.fr", *FAST, "--save", tmp_path / "model")
    done = run(tmp_path, "*.en", "*.fr", "--load", "model", "-o", "*.links")
    assert done.returncode == 2
    assert b"c.en, line 2: no matching line in c.fr" in done.stderr
    assert [(path.name, path.read_text()) for path in sorted(tmp_path.glob("*.links"))] == [
        ("a.links", "0-0\n"),
        ("b.links", "0-0\n"),
    ]


def test_a_budget_that_is_too_small_is_refused_at_once_with_one_that_would_do(texts):
    refused = run(texts, "x.en", "x.fr", "--memory", "50M")
    assert refused.returncode == 2
    assert refused.stderr.count(b"\n") == 1
    enough = refused.stderr.split(b"--memory ")[1].split()[0].decode()
    assert run(texts, "x.en", "x.fr", "--memory", enough).returncode == 0


def test_a_run_that_goes_on_with_its_model_keeps_to_a_budget_too(texts, tmp_path):
    asked = "x.en", "x.fr", *FAST, "--work", tmp_path / "work"
    assert run(texts, *asked, "--memory", "2G").returncode == 0
    refused = run(texts, *asked, "--memory", "50M")
    assert refused.returncode == 2
    assert b"--memory " in refused.stderr


def test_a_budget_is_half_of_what_is_free_unless_given(monkeypatch):
    recipe = find_recipe("hmm")
    bitext = Bitext.from_pairs([(["a"] * 9, ["b"] * 9)] * 9, options=TextOptions())
    learned = lesson(bitext, recipe.options)
    needed = required_memory(recipe, facts_of(learned))
    monkeypatch.setattr(memory, "compilation", SimpleNamespace(kernels=0))
    monkeypatch.setattr(memory, "free_memory", lambda: 2 * needed)
    memory.check_budget(recipe, learned, None)
    monkeypatch.setattr(memory, "free_memory", lambda: 2 * needed - 2)
    with pytest.raises(InputError, match="half of what is free is"):
        memory.check_budget(recipe, learned, None)
    memory.check_budget(recipe, learned, needed)
    memory.compilation.kernels = 1
    with pytest.raises(InputError, match="the budget is"):
        memory.check_budget(recipe, learned, needed)
    memory.check_budget(recipe, learned, needed + memory.COMPILING)
    assert memory.free_memory() > 0


@pytest.mark.parametrize("name", ["hmm", "best", "hmm-bayes"])
def test_a_large_text_is_cut_into_the_largest_shards_that_keep_to_the_budget(name, monkeypatch):
    recipe, facts = find_recipe(name), TextFacts(1 << 20, 1 << 25, 1 << 29, 1 << 26, 150_000, 0.8, False)
    needs = [required_memory(recipe, facts, 2, size) for size in shard_sizes()]
    assert needs == sorted(needs, reverse=True)
    assert needs[-1] < 0.85 * needs[0]
    monkeypatch.setattr(memory, "facts_of", lambda learned: facts)
    monkeypatch.setattr(memory, "compilation", SimpleNamespace(kernels=0))
    asked = recipe, SimpleNamespace()
    for need in needs:  # two sizes may need the same, where it is the sample before that takes most
        assert memory.check_budget(*asked, need, 2) == shard_sizes()[needs.index(need)]
    assert memory.check_budget(*asked, 1 << 40, 2) == shard_sizes()[0]
    smallest = f"--memory {-(-needs[-1] // memory.MB)}M at least"
    with pytest.raises(InputError, match=smallest):
        memory.check_budget(*asked, needs[-1] - 1, 2)
    with pytest.raises(InputError, match=f"--memory {-(-needs[0] // memory.MB)}M at least"):
        memory.check_budget(*asked, needs[-1], 2, shard_sizes()[1] + 1)  # shards that are there already


def test_a_smaller_recipe_is_proposed_only_to_those_who_can_choose_it():
    bitext = Bitext.from_pairs([(["a"] * 9, ["b"] * 9)] * 9, options=TextOptions())
    for name, learned, can in (("hmm", bitext, True), ("fast", bitext, False), ("hmm", None, False)):
        recipe = find_recipe(name)
        with pytest.raises(InputError, match=r"--memory [0-9]+M at least") as refused:
            memory.check_budget(recipe, learned and lesson(learned, recipe.options), 1)
        assert ("--recipe fast" in str(refused.value)) == can


def test_the_estimate_of_a_sampled_text_does_not_grow_with_it(texts):
    recipe = find_recipe("fast").with_options({"sample": 2000, "whole_cells": 5000, "largest_sample": 3000})
    few = required_memory(recipe, facts_of(lesson(TextSource(texts / "x.en", texts / "x.fr"), recipe.options)))
    (texts / "long.en").write_text(8 * (texts / "x.en").read_text("utf-8"), "utf-8")
    (texts / "long.fr").write_text(8 * (texts / "x.fr").read_text("utf-8"), "utf-8")
    many = required_memory(recipe, facts_of(lesson(TextSource(texts / "long.en", texts / "long.fr"), recipe.options)))
    assert many == pytest.approx(few, rel=0.01)


@pytest.mark.parametrize("way", ["small", "large", "streamed", "kept"])
def test_other_columns_pass_through(texts, expected, tmp_path, way):
    """Input: a name, the source, a score, the target, and on some lines a note."""
    rows = [line.split("\t") for line in (texts / "x.tsv").read_text("utf-8").splitlines()]
    notes = ["\tgood" if n % 9 == 0 else "" for n in range(len(rows))]
    lines = (f"id{n}\t{a}\t0.{n}\t{b}{notes[n]}\n" for n, (a, b) in enumerate(rows))
    (tmp_path / "wide.tsv").write_text("".join(lines), "utf-8")
    arguments = {
        "small": ("--recipe", "fast"),
        "large": FAST,
        "streamed": ("--load", tmp_path / "model"),
        "kept": (*FAST, "--work", tmp_path / "work"),
    }[way]
    if way == "streamed":
        links(texts, "x.en", "x.fr", *FAST, "--save", tmp_path / "model")
    plain = expected if way != "small" else links(texts, "x.en", "x.fr", "--recipe", "fast")
    found = links(texts, tmp_path / "wide.tsv", "--columns", "2,4", *arguments).decode().splitlines()
    before = [f"id{n}\t0.{n}{note}\t" for n, note in enumerate(notes)]
    assert found == [first + line for first, line in zip(before, plain.decode().splitlines(), strict=True)]


def test_many_small_texts_in_one_process_take_neither_more_memory_nor_long():
    many_texts.check(100)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="nobody can tell here which file is forced to the disk")
def test_links_and_models_are_on_the_disk_before_they_have_their_names(tmp_path, monkeypatch):
    """Else a power cut would leave an empty file of that name, which a second run takes for finished."""
    seen = []

    def name_of(descriptor):
        return os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}"))

    fsync, rename = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda descriptor: (seen.append(name_of(descriptor)), fsync(descriptor)))
    monkeypatch.setattr(
        os, "replace", lambda a, b: (seen.append((os.path.basename(a), os.path.basename(b))), rename(a, b))
    )
    with atomic_writer(tmp_path / "links") as handle:
        handle.write("0-0\n")
    written, (hidden, links), folder = seen
    assert (written, links, folder) == (hidden, "links", tmp_path.name)
    seen.clear()
    text = Bitext.from_pairs([(["a", "b"], ["c"])])
    Aligner("ibm1", threads=1).fit(text).save(tmp_path / "model")
    *before, named, after = seen
    files = {path.name for path in (tmp_path / "model").iterdir()}
    assert named[1] == "model"
    assert {*before} == {*files, named[0]}
    assert after == tmp_path.name


@pytest.mark.skipif(
    not Path("/proc/self/smaps_rollup").exists(), reason="nobody can tell here what memory a process has"
)
@pytest.mark.parametrize("recipe", ["fast", "default", "best", "hmm", "graca2010-bijective"])
def test_the_estimate_is_close_to_what_a_run_needs(texts, tmp_path, recipe):
    """Here of a small text.  Rss and not Pss, since other tests' processes share the libraries."""
    files = made_up(tmp_path, 4000, 25)
    command = [sys.executable, "-m", "dovetail", "align", *map(str, files), "-o", str(tmp_path / "links")]
    run(texts, *command[4:6], "--recipe", recipe, "-o", tmp_path / "links")  # kernels are compiled, if they have to be
    need = need_of([*command, "--recipe", recipe, "--quiet"], tmp_path, "Rss")
    assert required(recipe, files) == pytest.approx(need.memory, rel=0.25)


def made_up(folder, pairs, length):
    """Two files of the same lines, of 3,000 words, some far more often than others."""
    chance = random.Random(1)
    words = [f"w{n}" for n in range(3000)]
    lines = [[words[int(3000 * chance.random() ** 3)] for _ in range(length)] for _ in range(pairs)]
    files = folder / "x.en", folder / "x.fr"
    for path in files:
        path.write_text("".join(" ".join(line) + "\n" for line in lines), "utf-8")
    return files


def required(recipe, files):
    found = find_recipe(recipe)
    return required_memory(found, facts_of(lesson(TextSource(*files), found.options)))


@pytest.mark.skipif(
    not Path("/proc/self/smaps_rollup").exists(), reason="nobody can tell here what memory a process has"
)
@pytest.mark.parametrize("recipe", ["fast", "hmm"])
def test_the_estimate_of_a_loaded_model_is_close_to_what_a_long_stream_needs(texts, tmp_path, recipe):
    files = made_up(tmp_path, 40_000, 24)
    few = [tmp_path / "few.en", tmp_path / "few.fr"]
    for path, whole in zip(few, files, strict=True):
        path.write_text("".join(whole.read_text("utf-8").splitlines(keepends=True)[:500]), "utf-8")
    run(texts, *few, "--recipe", recipe, "--save", tmp_path / "model", "-o", tmp_path / "links")
    command = [*map(str, files), "--load", str(tmp_path / "model"), "--threads", "1", "-o", str(tmp_path / "links")]
    run(texts, *command)  # kernels are compiled, if they have to be
    refused = run(texts, *command, "--memory", "1M")
    assert refused.returncode == 2
    told = int(re.search(rb"needs about (\d+)M", refused.stderr)[1]) << 20
    need = need_of([sys.executable, "-m", "dovetail", "align", *command, "--quiet"], tmp_path, "Rss")
    assert told == pytest.approx(need.memory, rel=0.25)
