"""A saved model aligns a stream: the same bytes in any parts, links before the input ends, memory that does not grow."""

from __future__ import annotations

import io
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

import pytest

from dovetail import Aligner, Bitext, InputError, read_bitext
from dovetail.alignments.formats import alignment_formats, write_alignments
from dovetail.bitext import stream
from dovetail.bitext.stream import read_ahead, stream_bitext

COMMAND = [sys.executable, "-m", "dovetail"]
WORDS = [f"w{n}" for n in range(40)]
PAIRS = 90


def lines_of(count, seed=0):
    """(source, target) lines that translate word by word, some of them empty, some with words that no model knows."""
    chance = random.Random(seed)
    for n in range(count):
        words = chance.choices(WORDS, k=chance.randrange(7)) + [f"rare{n}"] * (n % 5 == 0)
        yield " ".join(words), " ".join(word.upper() for word in reversed(words))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """x.en, x.fr, x.tsv, and `model`, which was trained on other lines."""
    folder = tmp_path_factory.mktemp("stream")
    pairs = list(lines_of(PAIRS, seed=1))
    for name, lines in {
        "x.en": [source for source, _ in pairs],
        "x.fr": [target for _, target in pairs],
        "x.tsv": map("\t".join, pairs),
    }.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    training = Bitext.from_pairs([(s.split(), t.split()) for s, t in lines_of(60)])
    Aligner("hmm", threads=1).fit(training).save(folder / "model")
    return folder


def align(files, *arguments, stdin=b""):
    done = subprocess.run([*COMMAND, "align", *arguments], input=stdin, capture_output=True, cwd=files, timeout=200)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


@pytest.mark.parametrize("most", [1, 7, 1 << 14])
@pytest.mark.parametrize("threads", [1, 3])
def test_parts_of_any_size_give_what_the_whole_text_gives(files, monkeypatch, most, threads):
    aligner = Aligner.load(files / "model", threads=threads)
    whole = read_bitext(files / "x.en", files / "x.fr")
    at_once = aligner.align(whole)
    monkeypatch.setattr(stream, "PART_PAIRS", most)
    parts = [(part, aligner.align(part)) for part in stream_bitext(files / "x.en", files / "x.fr")]
    assert len(parts) >= PAIRS / most
    for name in alignment_formats:
        expected, written = io.StringIO(), io.StringIO()
        write_alignments(expected, at_once, name, whole.text)
        for part, result in parts:
            write_alignments(written, result, name, part.text, part.first)
        assert written.getvalue() == expected.getvalue(), name


def test_the_command_gives_the_same_bytes_for_files_one_file_and_standard_input(files):
    model = "--load", "model", "--format", "jsonl"
    aligner, bitext = Aligner.load(files / "model"), read_bitext(files / "x.en", files / "x.fr")
    expected = io.StringIO()
    write_alignments(expected, aligner.align(bitext), "jsonl", bitext.text)
    assert align(files, "x.en", "x.fr", *model) == expected.getvalue()
    assert align(files, "-", *model, stdin=(files / "x.tsv").read_bytes()) == expected.getvalue()
    tokens = "--write-tokens", "tokens", "-o", "links.jsonl"
    assert align(files, "x.en", "-", *model, *tokens, stdin=(files / "x.fr").read_bytes()) == ""
    assert (files / "links.jsonl").read_text("utf-8") == expected.getvalue()
    assert (files / "tokens.source").read_bytes() == (files / "x.en").read_bytes()
    assert (files / "tokens.target").read_bytes() == (files / "x.fr").read_bytes()


def opened(files, *arguments):
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [*COMMAND, "align", "-", "--load", "model", *arguments],
        **dict.fromkeys(("stdin", "stdout", "stderr"), pipe),
        cwd=files,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # shells ignore it in the background
    )


def test_links_come_before_the_input_ends(files):
    process = opened(files)
    for words in ("w1 w2\tW1 W2\n", "\t\n", "w3\tW3\n"):
        process.stdin.write(words.encode())
        process.stdin.flush()
        answer = process.stdout.readline().decode()
        assert len(answer.split()) == len(words.split()) / 2
    out, err = process.communicate(timeout=100)
    assert (process.returncode, out) == (0, b"")
    assert b"3 pairs, 3 links" in err


def test_an_interruption_while_a_pipe_brings_nothing_ends_at_once(files):
    process = opened(files)
    process.stdin.write(b"w1\tW1\n")
    process.stdin.flush()
    assert process.stdout.readline() == b"0-0\n"
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    assert process.wait(100) == 130
    assert time.monotonic() - began < 10  # it would wait for its input for ever
    assert process.stderr.read().strip() == b"dovetail: interrupted, no file was written"


def test_a_fault_comes_behind_the_links_before_it_and_leaves_no_file(files):
    text = b"w1\tW1\nw2\tW2\nno tab\n"
    for output, written in (("-", b"0-0\n0-0\n"), ("out", b"")):
        process = opened(files, "-o", output)
        out, err = process.communicate(text, timeout=100)
        assert (process.returncode, out) == (2, written)
        assert b"standard input, line 3: no tab" in err
    assert not [name for name in os.listdir(files) if "out" in name]


def test_memory_does_not_grow_with_the_text(files):
    code = """if True:
        import resource, sys
        sys.argv = ["dovetail", "align", "-", "--load", "model", "--threads", "1", "-o", "/dev/null"]
        from dovetail.bitext import stream
        stream.PART_PAIRS = 1 << 10
        from dovetail.cli import main
        try:
            main()
        finally:
            print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    """

    def peak(pairs):
        text = "".join(f"{source}\t{target} {n}\n" for n, (source, target) in enumerate(lines_of(pairs)))
        done = subprocess.run(
            [sys.executable, "-c", code], input=text.encode(), capture_output=True, cwd=files, timeout=200
        )
        assert f"{pairs:,} pairs".encode() in done.stderr
        return int(done.stdout)

    assert peak(40_000) < peak(4_000) + 12_000  # KiB; in one part, 40,000 pairs take three times this more


# Reading ahead


def test_what_is_read_ahead_is_bounded_and_in_order():
    given = []

    def items():
        for n in range(100):
            given.append(n)
            yield n

    seen = []
    for part in read_ahead(items, 8):
        assert len(part) <= 8
        seen += part
        time.sleep(0.001)
        assert len(given) <= len(seen) + 9  # those that wait, and one in hand
    assert seen == list(range(100))


def test_an_exception_comes_behind_the_items_before_it():
    def items():
        yield from range(3)
        raise InputError("broken")

    parts = read_ahead(items, 2)
    assert [*next(parts), *next(parts)] == [0, 1, 2]
    with pytest.raises(InputError, match="broken"):
        next(parts)


def test_a_reader_that_is_left_ends():
    closed = threading.Event()

    def items():
        try:
            yield from range(1000)
        finally:
            closed.set()

    parts = read_ahead(items, 2)
    next(parts)
    parts.close()
    assert closed.wait(10)


def test_jsonl_numbers_go_on_from_part_to_part(files):
    lines = align(files, "x.en", "x.fr", "--load", "model", "--format", "jsonl").splitlines()
    assert [json.loads(line)["id"] for line in lines] == list(range(PAIRS))


def tokens_of(parts):
    return [part.tokens(n) for part in parts for n in range(len(part))]


def test_two_files_of_lines_of_very_different_length_stay_in_step(tmp_path):
    """One side comes in one block, the other in many; lines end in CR LF, and the last without."""
    pairs = [([f"s{n}"], [f"t{n}"] * (n % 200)) for n in range(3000)]
    sides = tmp_path / "a", tmp_path / "b"
    for side, path in enumerate(sides):
        path.write_bytes("\r\n".join(" ".join(pair[side]) for pair in pairs).encode())
    assert tokens_of(stream_bitext(*sides)) == pairs
    with open(sides[0], "ab") as handle:
        handle.write(b"\nmore\n")
    seen = []
    with pytest.raises(InputError, match=r"a, line 3,001: no matching line in .*b \(3,000 lines\)"):
        seen.extend(stream_bitext(*sides))
    assert tokens_of(seen) == pairs
