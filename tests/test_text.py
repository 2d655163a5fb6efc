"""Files of text: what a line is, which files are refused and how, and that a file is written whole or not at all."""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import lzma
import os
import re
import subprocess
import sys
import threading
import unicodedata
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.bitext import compressed, text
from dovetail.bitext.normalise import FORMS, Normaliser
from dovetail.bitext.text import atomic_writer, read_lines
from dovetail.errors import InputError

SUFFIXES = ("", ".gz", ".bz2", ".xz", ".zst")


@pytest.fixture
def file(tmp_path):
    """Writes bytes to a file of a given name and returns its path."""

    def write(data: bytes, name: str = "corpus.fr") -> Path:
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return write


def refusal(path, **options) -> InputError:
    with pytest.raises(InputError) as caught:
        list(read_lines(path, **options))
    return caught.value


def naive_lines(data: bytes) -> list[str]:
    """Lines by one split at `\\n`, each without the one `\\r` that stood before it."""
    *ended, rest = data.decode().removeprefix("\ufeff").split("\n")
    return [line.removesuffix("\r") for line in ended] + ([rest] if rest else [])


# Lines

line_pieces = st.sampled_from(
    ["a", "é", "\n", "\r", "\r\n", "\t", "\0", "\x85", "\u2028", "\ufeff", "\x1c", "日", "😀", " "]
)


@given(st.lists(line_pieces, min_size=1))
@settings(deadline=None)
def test_lines_end_at_newlines_and_nowhere_else(tmp_path_factory, pieces):
    data = "".join(pieces).encode()
    path = tmp_path_factory.getbasetemp() / "pieces"
    path.write_bytes(data)
    if data == "\ufeff".encode():
        assert "empty" in str(refusal(path))
    elif b"\n" not in data and b"\r" in data[:-1]:
        assert "the lines end in CR alone" in str(refusal(path))
    else:
        assert list(read_lines(path)) == naive_lines(data)


@given(pieces=st.lists(line_pieces, min_size=1, max_size=30), size=st.integers(1, 9))
@settings(deadline=None)
def test_blocks_are_whole_lines_however_the_file_is_read(tmp_path_factory, pieces, size):
    path = tmp_path_factory.mktemp("blocks") / "corpus"
    data = "".join(pieces).encode()
    path.write_bytes(data)
    with pytest.MonkeyPatch.context() as patch, suppress(InputError):  # a mark alone is an empty file
        patch.setattr(text, "_BUFFER_BYTES", size)
        blocks = list(text.read_blocks(path))
        assert b"".join(block.raw for block in blocks) == data.removeprefix("\ufeff".encode())
        assert all(block.raw.endswith(b"\n") for block in blocks[:-1])
        assert all(block.text == block.raw.decode() for block in blocks)
        assert sum(block.lines for block in blocks) == len(naive_lines(data))
        assert list(read_lines(path)) == naive_lines(data)


def test_lines_before_bytes_that_are_not_utf8_are_given_and_theirs_is_named(file, monkeypatch):
    path = file(b"a\n" * 10 + b"b\xe9\nc\n")
    for size in (1, 7, 1 << 17):
        monkeypatch.setattr(text, "_BUFFER_BYTES", size)
        read = []
        with pytest.raises(InputError) as caught:
            read.extend(read_lines(path))
        assert (caught.value.line, caught.value.problem) == (11, "not valid UTF-8 (byte 0xe9)")
        lines = iter(read_lines(path))
        assert [next(lines) for _ in range(10)] == ["a"] * 10


def test_a_carriage_return_belongs_to_the_line_unless_a_newline_follows(file):
    assert list(read_lines(file(b"a\rb\r\nc\r\r\nd\r"))) == ["a\rb", "c\r", "d\r"]


def test_unicode_line_breaks_and_control_characters_stay_in_the_line(file):
    line = "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\0h\x1b"
    assert list(read_lines(file(f"{line}\n".encode()))) == [line]


def test_a_byte_order_mark_is_removed_from_the_first_line_only(file):
    assert list(read_lines(file("\ufeffa\n\ufeffb\n".encode()))) == ["a", "\ufeffb"]


def test_empty_lines_count_and_so_does_a_last_line_without_an_end(file):
    assert list(read_lines(file(b"\n\nx\n\ny"))) == ["", "", "x", "", "y"]


def test_a_line_of_20000_tokens_comes_whole(file):
    line = " ".join(f"word{k}" for k in range(20_000))
    assert list(read_lines(file(f"{line}\n".encode()))) == [line]


@pytest.mark.parametrize(("suffix", "module"), [(".gz", gzip), (".bz2", bz2), (".xz", lzma)])
def test_compressed_files_are_known_by_name_and_by_content(file, suffix, module):
    data = module.compress(b"un\ndeux\n")
    assert list(read_lines(file(data, f"corpus{suffix}"))) == ["un", "deux"]
    assert list(read_lines(file(data, "corpus"))) == ["un", "deux"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_compressed_files_that_were_joined_are_read_to_the_end(tmp_path, suffix):
    for part in ("one", "two"):
        with atomic_writer(tmp_path / f"{part}{suffix}") as handle:
            handle.write(f"{part}\n")
    joined = tmp_path / f"joined{suffix}"
    joined.write_bytes(b"".join((tmp_path / f"{part}{suffix}").read_bytes() for part in ("one", "two")))
    assert list(read_lines(joined)) == ["one", "two"]


def test_a_dash_is_standard_input_compressed_or_not(monkeypatch):
    for data in (b"a\nb\n", gzip.compress(b"a\nb\n")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert list(read_lines("-")) == ["a", "b"]
        assert not sys.stdin.closed


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_opened_only_once(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(b"a\nb\n",))
    writer.start()
    assert list(read_lines(path)) == ["a", "b"]
    writer.join()


# What can't be read


def test_a_missing_file_is_named(tmp_path):
    assert str(refusal(tmp_path / "nowhere.gz")) == f"{tmp_path / 'nowhere.gz'}: no such file. Check the path."


@pytest.mark.parametrize("name", ["folder", "folder.gz"])
def test_a_directory_is_called_one(tmp_path, name):
    (tmp_path / name).mkdir()
    assert "directory" in refusal(tmp_path / name).problem


def test_a_lack_of_permission_is_told(file, monkeypatch):
    def locked(*args, **kwargs):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(text, "open", locked, raising=False)
    assert "permission" in refusal(file(b"a\n")).problem


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_without_a_line_is_empty_compressed_or_not(tmp_path, suffix):
    path = tmp_path / f"corpus{suffix}"
    path.write_bytes(b"")
    assert refusal(path).problem == "the file is empty"
    with atomic_writer(path):
        pass
    assert refusal(path).problem == "the file is empty"


def test_bytes_that_are_not_utf8_are_refused_with_their_line_and_the_option(file):
    path = file(b"caf\xc3\xa9\ncaf\xe9\n")
    error = refusal(path)
    assert error.line == 2
    assert "0xe9" in error.problem
    assert "--encoding-errors replace" in str(error)
    assert list(read_lines(path, "replace")) == ["café", "caf\ufffd"]
    assert list(read_lines(path, "ignore")) == ["café", "caf"]
    assert list(read_lines(file(b"a\n\xe9"), "ignore")) == ["a", ""]
    assert list(read_lines(file(b"\xe9"), "ignore")) == [""]


def test_an_unknown_treatment_of_encoding_errors_is_refused(file):
    assert "strict, replace, ignore" in str(refusal(file(b"a\n"), encoding_errors="guess"))


@pytest.mark.parametrize("encoding_errors", ["strict", "replace"])
def test_utf16_is_recognised_and_never_turned_into_rubbish(file, encoding_errors):
    error = refusal(file("bonjour\n".encode("utf-16")), encoding_errors=encoding_errors)
    assert "UTF-16" in error.problem
    assert "iconv" in str(error)


@pytest.mark.parametrize("suffix", SUFFIXES[1:])
def test_a_compressed_file_cut_anywhere_is_refused(tmp_path, suffix):
    path = tmp_path / f"whole{suffix}"
    with atomic_writer(path) as handle:
        handle.writelines(f"{k} {k * k}\n" for k in range(40))
    whole = path.read_bytes()
    cut = tmp_path / f"cut{suffix}"
    for length in range(1, len(whole)):
        cut.write_bytes(whole[:length])
        assert refusal(cut).problem in ("the compressed data end too early", "the file is empty"), length


@pytest.mark.parametrize("suffix", SUFFIXES[1:])
def test_lines_before_the_cut_are_given_and_the_next_one_is_named(tmp_path, suffix):
    path = tmp_path / f"corpus{suffix}"
    lines = [os.urandom(30).hex() for _ in range(20_000)]
    with atomic_writer(path) as handle:
        handle.writelines(f"{line}\n" for line in lines)
    path.write_bytes(path.read_bytes()[:-50_000])
    read: list[str] = []
    with pytest.raises(InputError) as caught:
        read.extend(read_lines(path))
    assert 100 < len(read) < len(lines)
    assert read == lines[: len(read)]
    assert caught.value.line == len(read) + 1


@pytest.mark.parametrize(("suffix", "module"), [(".gz", gzip), (".bz2", bz2), (".xz", lzma)])
def test_a_damaged_byte_is_noticed_or_does_not_matter(file, suffix, module):
    lines = [f"{k} {k * k}" for k in range(40)]
    whole = module.compress("\n".join(lines).encode())
    for position in range(len(whole)):
        damaged = file(whole[:position] + bytes([whole[position] ^ 0x55]) + whole[position + 1 :], f"corpus{suffix}")
        with suppress(InputError):
            assert list(read_lines(damaged)) == lines, position


@pytest.mark.parametrize("suffix", SUFFIXES[1:])
def test_a_name_that_promises_another_compression_is_told(file, suffix):
    error = refusal(file(b"plain text, nothing else\n", f"corpus{suffix}"))
    assert f"the name ends in {suffix}" in error.problem


# Writing


@pytest.mark.parametrize("suffix", SUFFIXES)
@given(lines=st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r\n\ufeff")), min_size=1))
@settings(deadline=None)
def test_what_is_written_is_read_back(tmp_path_factory, suffix, lines):
    path = tmp_path_factory.getbasetemp() / f"round-trip{suffix}"
    with atomic_writer(path) as handle:
        handle.writelines(f"{line}\n" for line in lines)
    assert list(read_lines(path)) == lines


def test_the_bytes_are_utf8_and_newlines_on_every_system(tmp_path):
    with atomic_writer(tmp_path / "out") as handle:
        handle.write("é\nb\r\n")
    assert (tmp_path / "out").read_bytes() == b"\xc3\xa9\nb\r\n"


def test_names_that_end_in_a_compression_suffix_are_compressed(tmp_path):
    with atomic_writer(tmp_path / "out.gz") as handle:
        handle.write("a\n")
    assert gzip.decompress((tmp_path / "out.gz").read_bytes()) == b"a\n"


@pytest.mark.parametrize("suffix", ["", ".xz"])
@pytest.mark.parametrize("exception", [ValueError, KeyboardInterrupt, SystemExit, BrokenPipeError])
def test_an_exception_leaves_the_old_file_and_nothing_else(tmp_path, exception, suffix):
    path = tmp_path / f"out{suffix}"
    path.write_bytes(b"old")

    def write_and_fail():
        with atomic_writer(path) as handle:
            handle.write("new\n" * 100_000)
            raise exception

    with pytest.raises(exception):
        write_and_fail()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_file_gets_its_name_only_at_the_end(tmp_path):
    with atomic_writer(tmp_path / "out") as handle:
        handle.write("a\n")
        assert not (tmp_path / "out").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.skipif(os.name == "nt", reason="needs Unix permissions and links")
def test_permissions_and_links_of_an_old_file_stay(tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    with atomic_writer(link) as handle:
        handle.write("new\n")
    assert link.is_symlink()
    assert real.read_text() == "new\n"
    assert real.stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="needs /dev/null")
def test_a_device_is_written_to_and_not_replaced(tmp_path):
    with atomic_writer("/dev/null") as handle:
        handle.write("a\n")
    assert Path("/dev/null").is_char_device()


def test_a_target_in_no_directory_or_that_is_one_is_refused(tmp_path):
    for path, problem in ((tmp_path / "no" / "out", "its directory does not exist"), (tmp_path, "this is a directory")):
        with pytest.raises(InputError, match=problem), atomic_writer(path):
            pass


def run(program: str, **options) -> subprocess.Popen:
    script = f"from dovetail.bitext.text import atomic_writer\n{program}"
    return subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def test_a_dash_is_standard_output_in_utf8_whatever_the_locale(capfd):
    process = run(
        "with atomic_writer('-') as h: h.write('é\\n')\nprint('x')", env={**os.environ, "PYTHONIOENCODING": "ascii"}
    )
    assert process.communicate()[0].replace(b"\r\n", b"\n") == b"\xc3\xa9\nx\n"


def test_a_dash_is_standard_output_where_a_test_catches_it(capsys):
    with atomic_writer("-") as handle:
        handle.write("0-0 1-1\n")
    assert capsys.readouterr().out == "0-0 1-1\n"


def test_a_reader_that_leaves_is_one_broken_pipe_and_no_more():
    process = run("with atomic_writer('-') as h:\n    for _ in range(100_000): h.write('0-0 1-1 2-2 3-3\\n')")
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == b"0-0 1-1 2-2 3-3\n"
    process.stdout.close()
    complaint = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 1
    assert len(re.findall(rb"^BrokenPipeError", complaint, re.MULTILINE)) == 1
    assert b"Exception ignored" not in complaint


# Normalising


@pytest.mark.parametrize("form", [None, *FORMS])
@pytest.mark.parametrize("lower", [False, True])
@given(word=st.text())
def test_normalising_twice_changes_nothing_more(lower, form, word):
    normalise = Normaliser(lower, form)
    once = normalise(word)
    assert normalise(once) == once


@given(word=st.text())
def test_a_normal_form_makes_all_spellings_of_a_word_one(word):
    normalise = Normaliser(lower=True, form="NFC")
    assert normalise(word) == normalise(unicodedata.normalize("NFD", word))


def test_normalisers_lower_and_compose():
    assert Normaliser()("ÉTÉ") == "ÉTÉ"
    assert Normaliser(lower=True)("ÉTÉ") == "été"
    assert Normaliser(form="NFC")("e\u0301") == "é"
    assert Normaliser(form="NFKC")("ﬁｎ") == "fin"


def test_only_a_normaliser_that_changes_nothing_is_the_identity():
    assert Normaliser().identity
    assert not Normaliser(lower=True).identity
    assert not Normaliser(form="NFC").identity


@pytest.mark.parametrize("normaliser", [Normaliser(), Normaliser(True, "NFKC")])
def test_a_saved_normaliser_comes_back(normaliser):
    assert Normaliser.from_dict(normaliser.to_dict()) == normaliser


def test_an_unknown_normal_form_is_refused():
    with pytest.raises(InputError, match="NFC, NFD, NFKC, NFKD"):
        Normaliser(form="NFX")


@pytest.mark.parametrize("module", [bz2, lzma], ids=["bz2", "xz"])
@pytest.mark.parametrize("parts", [1, 3])
def test_compressed_files_are_read_to_their_very_end(tmp_path, module, parts, monkeypatch):
    """Streams that follow each other are one file; anything else behind them is damage, not silence."""
    path = tmp_path / f"text.{'bz2' if module is bz2 else 'xz'}"
    lines = [f"line {n} of some {'text ' * (n % 7)}" for n in range(3000)]
    whole = b"".join(module.compress("".join(f"{line}\n" for line in lines[k::parts]).encode()) for k in range(parts))
    path.write_bytes(whole)
    expected = [line for k in range(parts) for line in lines[k::parts]]
    for block in (7, 1 << 17):
        monkeypatch.setattr(compressed, "BLOCK", block)
        assert list(read_lines(path)) == expected
    for damaged in (whole + b"garbage", whole + b"\0\0\0\0x", whole[:-5], whole + whole[:20]):
        path.write_bytes(damaged)
        assert "compressed data" in str(refusal(path))
    if module is lzma:
        path.write_bytes(whole + b"\0" * 8)
        assert list(read_lines(path)) == expected


@pytest.mark.parametrize("encoding", ["utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be"])
def test_other_encodings_are_called_by_their_names(file, encoding):
    name = encoding[:6].upper()
    assert f"line 1: this is {name}, not UTF-8. Convert it: iconv -f {name}" in str(
        refusal(file("\ufeffa".encode(encoding)))
    )


def test_lines_that_end_in_cr_alone_are_refused(file):
    assert "the lines end in CR alone" in str(refusal(file(b"one\rtwo\r")))
    assert list(read_lines(file(b"one\r"))) == ["one\r"]
    assert list(read_lines(file(b"one\rtwo\nthree"))) == ["one\rtwo", "three"]
