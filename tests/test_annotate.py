"""Annotating by hand: nothing that was confirmed is lost, and the gold file is what people finished."""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

import anyio
import httpx
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail import Aligner, Bitext, InputError, read_gold
from dovetail.alignments.gold import GoldPair, write_gold
from dovetail.annotate.app import annotate_app
from dovetail.annotate.drafts import Draft, Outdated, canonical, open_drafts
from dovetail.annotate.sheet import Sheet, open_sheet, read_numbers
from dovetail.cli import dovetail
from dovetail.serve.limits import Limits
from serving import serving

DEMO = files("dovetail") / "data"
ALL = (1, None)
READING = {"lower": False, "form": None, "tokenizer": "whitespace"}


def lines_of(side, pairs=40):
    return (DEMO / f"demo.{side}").read_text("utf-8").splitlines()[:pairs]


@pytest.fixture(scope="module")
def aligner():
    return Aligner("ibm1").fit(Bitext.from_pairs(zip(lines_of("en", 300), lines_of("fr", 300), strict=True)))


@pytest.fixture
def text(tmp_path):
    """Forty pairs in two files."""
    for side in ("en", "fr"):
        (tmp_path / side).write_text("".join(line + "\n" for line in lines_of(side)), "utf-8")
    return tmp_path / "en", tmp_path / "fr"


@pytest.fixture
def gold(tmp_path):
    return tmp_path / "gold"


@pytest.fixture
def opened():
    """Drafts, all closed in the end."""
    found = []

    def open_(path):
        found.append(open_drafts(path, clock=lambda: "2026-01-02T03:04:05Z"))
        return found[-1]

    yield open_
    for drafts in found:
        with suppress(OSError):  # a test closed it itself
            drafts.close()


def reopened(opened, drafts):
    """As after the process was killed: nothing is told that it ends, and another begins."""
    drafts.close()
    return opened(drafts.gold)


def change(drafts, pair, action, links="", start="", who="anna"):
    draft = drafts[pair]
    return drafts.change(pair, action, links, start=start, version=draft.version if draft else 0, who=who)


# Links as text


LINKS = st.dictionaries(st.tuples(st.integers(0, 30), st.integers(0, 30)), st.booleans(), max_size=12)


def written(links):
    return " ".join(f"{i}{'-' if sure else '?'}{j}" for (i, j), sure in links.items())


@settings(deadline=None)
@given(LINKS)
def test_a_pairs_links_survive_being_written_and_read(links):
    pair = GoldPair.from_text(written(links))
    assert pair.possible == set(links)
    assert pair.sure == {link for link, sure in links.items() if sure}
    assert GoldPair.from_text(str(pair)) == pair
    assert canonical(str(pair)) == str(pair)


def test_of_a_link_that_is_marked_both_ways_the_sure_one_holds():
    assert canonical("3-1 0?0 0-0 0p0 3-1") == "0-0 3-1"


@settings(max_examples=30, deadline=None)  # every file waits for the disk
@given(st.dictionaries(st.integers(1, 500), LINKS, min_size=1, max_size=8))
def test_a_gold_file_reads_back_as_it_was_written(tmp_path_factory, pairs):
    path = tmp_path_factory.mktemp("gold") / "gold"
    write_gold(path, [(number, GoldPair.from_text(written(links))) for number, links in pairs.items()])
    found = read_gold(path, lengths=[(31, 31)] * 500)
    assert set((found.annotated.nonzero()[0] + 1).tolist()) == set(pairs), "a pair without links is annotated too"
    for number, links in pairs.items():
        assert found[number - 1] == GoldPair.from_text(written(links))


# The store


def test_only_finished_pairs_are_in_the_gold_file_in_order_of_their_numbers(opened, gold):
    drafts = opened(gold)
    change(drafts, 17, "set", "0-0 1?2")
    assert not gold.exists()
    change(drafts, 17, "finish")
    change(drafts, 3, "finish", start="0-1")
    change(drafts, 5, "set", "2-2")
    assert gold.read_text() == "3\t0-1\n17\t0-0 1?2\n"
    change(drafts, 17, "set", "0-0")
    assert gold.read_text() == "3\t0-1\n17\t0-0\n", "a change of a finished pair goes there at once"
    change(drafts, 3, "reopen")
    assert gold.read_text() == "17\t0-0\n"
    assert drafts[3].links == "0-1", "its links are kept"


def test_the_journal_says_who_changed_what_and_when(opened, gold):
    drafts = opened(gold)
    change(drafts, 2, "set", "0-0", start="1-1")
    change(drafts, 2, "finish", who="bo")
    entries = [json.loads(line) for line in Path(f"{gold}.log").read_text().splitlines()]
    time = "2026-01-02T03:04:05Z"
    assert entries == [
        {"time": time, "who": "anna", "pair": 2, "action": "set", "links": "0-0", "start": "1-1"},
        {"time": time, "who": "bo", "pair": 2, "action": "finish", "links": "0-0"},
    ]


def test_undo_and_redo_walk_through_all_states_even_after_a_restart(opened, gold):
    drafts = opened(gold)
    states = ["0-0", "0-0 1-1", "0-0 1?1", ""]
    for state in states:
        change(drafts, 1, "set", state, start="5-5")
    drafts = reopened(opened, drafts)
    for state in [*reversed(states[:-1]), "5-5"]:
        assert change(drafts, 1, "undo").links == state
    assert not drafts[1].can_undo
    assert change(drafts, 1, "undo").links == "5-5", "at the end nothing happens"
    drafts = reopened(opened, drafts)
    assert change(drafts, 1, "redo").links == "0-0"
    assert change(drafts, 1, "set", "7-7").links == "7-7"
    assert not drafts[1].can_redo, "what was undone is gone when something else is done"
    assert change(drafts, 1, "undo").links == "0-0"


ACTIONS = st.lists(
    st.tuples(st.integers(1, 3), st.sampled_from(["set", "undo", "redo", "finish", "reopen"]), LINKS), max_size=25
)


@settings(max_examples=30, deadline=None)
@given(ACTIONS, st.data())
def test_a_restart_at_any_moment_finds_what_was_confirmed(tmp_path_factory, actions, data):
    """The naive twin keeps lists in memory; the journal is cut at any byte, as by a machine that dies while it writes."""
    gold = tmp_path_factory.mktemp("cut") / "gold"
    drafts = open_drafts(gold)
    twin, moments = {}, []
    for pair, action, links in actions:
        states, at, finished = twin.get(pair, (["9-9"], 0, False))
        change(drafts, pair, action, canonical(written(links)), start="9-9")
        if action == "set" and canonical(written(links)) != states[at]:
            states, at = [*states[: at + 1], canonical(written(links))], at + 1
        elif action == "undo":
            at = max(0, at - 1)
        elif action == "redo":
            at = min(len(states) - 1, at + 1)
        finished = action == "finish" or (finished and action != "reopen")
        twin[pair] = states, at, finished
        moments.append((drafts.journal.stat().st_size, dict(twin)))
    drafts.close()
    size = drafts.journal.stat().st_size
    cut = data.draw(st.integers(0, size))
    with open(drafts.journal, "r+b") as handle:
        handle.truncate(cut)
    gold.unlink(missing_ok=True)  # as if it had never come to be written
    expected = next((state for length, state in reversed(moments) if length <= cut), {})
    again = open_drafts(gold)
    for pair in (1, 2, 3):
        states, at, finished = expected.get(pair, (["9-9"], 0, False))
        found = again[pair] or Draft(("9-9",))
        assert (found.links, found.at, found.finished) == (states[at], at, finished)
    lines = {n: states[at] for n, (states, at, finished) in expected.items() if finished}
    assert (gold.read_text() if gold.exists() else "") == "".join(f"{n}\t{lines[n]}\n" for n in sorted(lines))
    again.close()


def test_an_older_gold_file_is_mended_by_the_journal(opened, gold):
    drafts = opened(gold)
    change(drafts, 1, "finish", start="0-0")
    older = gold.read_text()
    change(drafts, 1, "set", "0-0 1-1")
    change(drafts, 2, "finish")
    newer = gold.read_text()
    drafts.close()
    gold.write_text(older)  # killed between the journal and the gold file
    opened(gold)
    assert gold.read_text() == newer == "1\t0-0 1-1\n2\t\n"


def test_lines_that_somebody_wrote_into_the_gold_file_are_taken_over(opened, gold):
    drafts = opened(gold)
    change(drafts, 1, "finish", start="0-0")
    drafts.close()
    gold.write_text("1\t3-3 0?1\n8\t2-2\n")
    drafts = opened(gold)
    assert drafts[1].links == "0?1 3-3"
    assert change(drafts, 1, "undo").links == "0-0"
    assert drafts[8].finished
    assert gold.read_text() == "1\t0-0\n8\t2-2\n"
    Path(f"{gold}.log").unlink()  # a gold file from elsewhere
    drafts.close()
    assert opened(gold)[8].links == "2-2"


def test_of_many_who_save_at_once_nobody_overwrites_what_he_has_not_seen(opened, gold):
    drafts = opened(gold)
    saved, outdated = [], []

    def annotate(number):
        draw = random.Random(number)
        for k in range(20):
            pair = draw.randint(1, 4)
            draft = drafts[pair]
            links = f"{number}-{k}"
            try:
                found = drafts.change(
                    pair, "set", links, start="", version=draft.version if draft else 0, who=str(number)
                )
                saved.append((pair, found.version, links))
            except Outdated:
                outdated.append(pair)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(annotate, range(8)))
    assert len(saved) + len(outdated) == 160
    versions = [(pair, version) for pair, version, _ in saved]
    assert len(set(versions)) == len(versions), "two changes on top of the same version"
    last = {pair: links for pair, version, links in sorted(saved)}
    drafts = reopened(opened, drafts)
    assert {pair: draft.links for pair, draft in drafts.items()} == last


def test_a_full_disk_is_told_and_spoils_nothing(opened, gold, monkeypatch):
    drafts = opened(gold)
    change(drafts, 1, "set", "0-0")
    write, before, parts = os.write, drafts.journal.read_bytes(), []

    def full(descriptor, data):
        if parts:
            raise OSError(errno.ENOSPC, "No space left on device")
        parts.append(data[:10])  # some of it still fits
        return write(descriptor, data[:10])

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space"):
        change(drafts, 1, "set", "1-1")
    monkeypatch.undo()
    assert parts
    assert drafts.journal.read_bytes() == before
    assert drafts[1].links == "0-0"
    change(drafts, 1, "set", "2-2")
    assert reopened(opened, drafts)[1].links == "2-2"


def test_two_processes_do_not_write_one_journal(opened, gold):
    pytest.importorskip("fcntl", reason="locks files as Unix does")
    opened(gold)
    with pytest.raises(InputError, match="another `dovetail annotate` is writing this file"):
        open_drafts(gold)


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("gold", "0-0 1-1\n", "no number and tab"),
        ("gold", "1\t0-0\n1\t0-1\n", "line 2: pair 1 stands in line 1 already"),
        ("gold", "1\t0-0\n7\tx-y\n", "line 2: 'x-y' is not a link"),
        ("gold.log", '{"pair": 1}\n', "line 1: this is no line of annotate's journal"),
        ("gold.log", "[]\n", "line 1: this is no line of annotate's journal"),
        ("gold.log", '{"pair":"1","action":"set","links":"","who":"","time":""}\n', "no line of annotate's journal"),
        ("gold.log", '{"pair":1,"action":"fly","links":"","who":"","time":""}\n', "no line of annotate's journal"),
    ],
)
def test_files_that_are_none_of_ours_are_refused_and_left_alone(tmp_path, name, content, problem):
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=problem):
        open_drafts(tmp_path / "gold")
    assert (tmp_path / name).read_text() == content


@pytest.mark.parametrize("name", ["-", "gold.gz", "", "none/gold"])
def test_gold_must_be_a_plain_file(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError):
        open_drafts(name or tmp_path)


# What is offered


def sheet_of(text, **settings):
    return open_sheet(*text, **{**READING, **settings})


def walk(sheet, limits=ALL):
    """All numbers, from the first on."""
    number, found = sheet.next_open(None, limits, lambda _: False)[0], []
    while number is not None:
        found.append(number)
        number = sheet.beside(number, 1, limits)
    return found


def test_pairs_are_offered_as_in_the_text_as_listed_or_by_expected_gain(text, aligner):
    assert walk(sheet_of(text)) == list(range(1, 41))
    assert walk(sheet_of(text, numbers=[7, 3, 30])) == [7, 3, 30]
    assert walk(sheet_of(text, limits=(5, 8))) == [5, 6, 7, 8]
    assert walk(sheet_of(text, limits=(38, 90))) == [38, 39, 40], "a last share may end behind the text"
    assert walk(sheet_of(text, numbers=[7, 3, 30], limits=(5, None))) == [7, 30]
    gain = walk(sheet_of(text, aligner=aligner, by_gain=True))
    picked = [n + 1 for n in aligner.pick(Bitext.from_pairs(zip(lines_of("en"), lines_of("fr"), strict=True)), 40)]
    assert gain[: len(picked)] == picked
    assert sorted(gain) == list(range(1, 41)), "and then those that pick leaves out"
    assert set(walk(sheet_of(text, aligner=aligner, by_gain=True, limits=(5, 9)))) == {5, 6, 7, 8, 9}


def test_words_are_those_of_the_numbered_pair_however_little_is_read(text):
    whole, some = sheet_of(text), sheet_of(text, numbers=[33, 2])
    for number in (2, 33):
        expected = lines_of("en")[number - 1].split(), lines_of("fr")[number - 1].split()
        assert whole.words(number) == some.words(number) == expected
        assert whole.lengths(number) == tuple(map(len, expected))
    assert 3 in whole
    assert 3 not in some
    assert 41 not in whole


def test_text_behind_the_last_number_is_not_read(text):
    with open(text[0], "ab") as handle:
        handle.write(b"\xff\n")
    with pytest.raises(InputError, match="UTF-8"):
        sheet_of(text)
    assert walk(sheet_of(text, limits=(1, 40))) == list(range(1, 41))


def test_one_walks_back_and_on_within_a_range(text):
    sheet = sheet_of(text, numbers=[7, 3, 30, 12])
    assert sheet.beside(7, -1, ALL) is None
    assert sheet.beside(3, -1, ALL) == 7
    assert sheet.beside(12, 1, ALL) is None
    assert sheet.beside(7, 1, (10, 40)) == 30
    assert sheet.within((10, 40)) == 2
    assert sheet.within(ALL) == 4


def test_open_pairs_come_round_again(text):
    sheet, finished = sheet_of(text, numbers=[7, 3, 30, 12]), {3, 30}
    assert sheet.next_open(7, ALL, finished.__contains__) == [12]
    assert sheet.next_open(12, ALL, finished.__contains__) == [7]
    assert sheet.next_open(None, ALL, finished.__contains__) == [7]
    assert sheet.next_open(7, ALL, {3, 7, 30, 12}.__contains__) == []


def test_the_next_doubtful_pair_is_the_one_that_would_teach_most(text, aligner):
    sheet = sheet_of(text, aligner=aligner)
    pairs = list(zip(lines_of("en"), lines_of("fr"), strict=True))
    first = aligner.pick(Bitext.from_pairs(pairs), 1)[0] + 1
    assert sheet.next_doubtful(None, ALL, lambda _: False) == first
    second = aligner.pick(Bitext.from_pairs(pairs[: first - 1] + pairs[first:]), 1)[0] + 1
    assert sheet.next_doubtful(None, ALL, {first}.__contains__) == second + (second >= first)
    assert sheet.next_doubtful(first, (first, first), lambda _: False) == first
    assert sheet_of(text).next_doubtful(3, ALL, {4}.__contains__) == 5, "without a model the next open one"
    assert sheet.next_doubtful(1, ALL, lambda _: True) is None


def test_a_model_suggests_its_links_with_their_probabilities(text, aligner):
    sheet = sheet_of(text, aligner=aligner)
    said = sheet.suggestion(3)
    alignment = aligner.align_pair(*sheet.words(3))
    assert GoldPair.from_text(said.links).sure == set(alignment.links)
    cells = {(i, j): p for i, j, p in said.cells}
    for link, p in zip(alignment.links, alignment.probabilities, strict=True):
        assert cells[link] == pytest.approx(p, abs=1e-4)
    assert min(cells.values()) >= 0.0099
    assert sheet_of(text).suggestion(3).links == ""


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"numbers": [3, 41]}, "pair 41 is asked for, but there are 40"),
        ({"limits": (41, None)}, "pair 41 is asked for, but there are 40"),
        ({"numbers": [3], "limits": (5, 9)}, "none of the numbers lies in the range"),
    ],
)
def test_numbers_that_the_text_does_not_have_are_told(text, settings, problem):
    with pytest.raises(InputError, match=problem):
        sheet_of(text, **settings)


def test_numbers_are_read_as_pick_prints_them_and_from_gold_files(tmp_path):
    path = tmp_path / "numbers"
    path.write_text("7\n3\n\n30\t0-0 1?1\n7\n")
    assert read_numbers(str(path)) == [7, 3, 30]
    for content, line in (("7\n0\n", 2), ("seven\n", 1), ("1 2\n", 1), ("-4\n", 1), ("99999999999\n", 1)):
        path.write_text(content)
        with pytest.raises(InputError, match=rf"line {line}: .* is not the number of a pair"):
            read_numbers(str(path))
    path.write_text("\n")
    with pytest.raises(InputError, match="no numbers here"):
        read_numbers(str(path))


# The app


class Web:
    """Asks the app without a network."""

    def __init__(self, app):
        self.app = app

    def __call__(self, path, body=None, method=None, **settings):
        async def ask():
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as web:
                if body is not None:
                    settings["json"] = body
                return await web.request(method or ("GET" if body is None else "POST"), path, **settings)

        with ThreadPoolExecutor(1) as pool:
            return pool.submit(anyio.run, ask).result()

    def save(self, pair, action, links="", version=0, **more):
        return self("/save", {"pair": pair, "action": action, "links": links, "version": version, **more})


@pytest.fixture
def web(text, aligner, gold, opened):
    return Web(annotate_app(sheet_of(text, aligner=aligner), opened(gold), limits=Limits(words=50)))


def test_a_pair_goes_from_suggestion_to_gold(web, gold):
    pair = web("/pairs/3").json()
    assert pair["links"] == pair["suggested"] != ""
    assert (pair["version"], pair["finished"], pair["undo"], pair["redo"]) == (0, False, False, False)
    assert {f"{i}-{j}" for i, j, _ in pair["cells"]} >= set(pair["links"].split())
    state = web.save(3, "set", "1?1 0-0", start=pair["links"], who=" anna ").json()
    changed = {"links": "0-0 1?1", "version": 1, "who": "anna", "when": "2026-01-02T03:04:05Z", "undo": True}
    assert state == {"pair": 3, "finished": False, "redo": False, **changed}
    assert web("/progress").json() == {"pairs": 40, "finished": 0, "begun": 1}
    assert web.save(3, "undo", version=1).json()["links"] == pair["links"]
    assert web.save(3, "redo", version=2).json()["links"] == "0-0 1?1"
    assert web.save(3, "finish", version=3).json()["finished"]
    assert gold.read_text() == "3\t0-0 1?1\n"
    assert web("/progress").json() == {"pairs": 40, "finished": 1, "begun": 0}
    assert web("/progress?first=4&last=9").json() == {"pairs": 6, "finished": 0, "begun": 0}
    assert web("/go/open?pair=2").json() == {"pair": 4}
    assert web("/go/next?pair=2").json() == {"pair": 3}
    assert web("/go/next?pair=40").json() == {"pair": None}
    assert web("/go/previous?pair=2&first=2").json() == {"pair": None}
    assert web("/go/open?first=9").json() == {"pair": 9}
    assert web("/pairs/3").json()["suggested"] == pair["suggested"], "the suggestion is still there to go back to"


def test_who_has_not_seen_the_last_change_is_told_how_the_pair_stands(web):
    assert web.save(3, "set", "0-0", who="anna").status_code == 200
    refused = web.save(3, "set", "1-1", who="bo")
    assert refused.status_code == 409
    assert refused.json()["state"] == {"version": 1, "links": "0-0", "who": "anna"}
    assert web("/pairs/3").json()["links"] == "0-0"


GOOD = {"pair": 3, "action": "set", "links": "0-0", "version": 0}


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"pair": 41}, 404),
        ({"pair": 0}, 400),
        ({"pair": -1}, 400),
        ({"pair": "3"}, 400),
        ({"pair": 10**30}, 400),
        ({"pair": 3.5}, 400),
        ({"pair": None}, 400),
        ({"version": -1}, 400),
        ({"action": "fly"}, 400),
        ({"action": "read"}, 400),
        ({"links": "0-99"}, 400),
        ({"links": "99-0"}, 400),
        ({"start": "99-0"}, 400),
        ({"links": "x"}, 400),
        ({"links": "0-0:0.5"}, 400),
        ({"links": "-1-0"}, 400),
        ({"links": "0-0\n7\t1-1"}, 400),
        ({"links": "9" * 300_000}, 400),
        ({"links": ["0-0"]}, 400),
        ({"who": "a" * 61}, 400),
        ({"strange": 1}, 400),
    ],
)
def test_malformed_changes_are_refused_and_change_nothing(web, gold, changes, status):
    answer = web("/save", {**GOOD, **changes})
    assert answer.status_code == status, answer.text
    assert set(answer.json()) == {"error", "remedy"}
    assert Path(f"{gold}.log").read_text() == ""


SURROGATE = json.dumps({**GOOD, "who": "\ud800"}).encode()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"3", b"null", b"\xff", b"[" * 5000, SURROGATE])
def test_nonsense_is_refused(web, content):
    answer = web("/save", method="POST", content=content, headers={"content-type": "application/json"})
    assert answer.status_code in (400, 422)
    assert answer.json()["error"]


def test_strange_web_pages_cannot_change_anything(web, gold):
    for headers, status in (
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://127.0.0.1:9999"}, 403),
        ({"host": "evil.example"}, 421),
        ({"content-type": "text/plain"}, 415),
    ):
        content = json.dumps(GOOD).encode()
        answer = web("/save", method="POST", content=content, headers={"content-type": "application/json", **headers})
        assert answer.status_code == status, headers
    assert Path(f"{gold}.log").read_text() == ""
    assert web("/save", GOOD, headers={"origin": "http://127.0.0.1:8000"}).status_code == 200
    page = web("/")
    assert page.headers["content-security-policy"] == "frame-ancestors 'none'"
    assert "default-src &#39;none&#39;" in page.text
    assert "access-control-allow-origin" not in page.headers


def test_large_requests_are_refused(text, gold, opened):
    web = Web(annotate_app(sheet_of(text), opened(gold), limits=Limits(request_bytes=200)))
    assert web("/save", {**GOOD, "who": "a" * 300}).status_code == 413


def test_about_very_long_pairs_no_model_is_asked(text, gold, opened, aligner):
    web = Web(annotate_app(sheet_of(text, aligner=aligner), opened(gold), limits=Limits(words=14)))
    long, short = (web(f"/pairs/{n}").json() for n in (13, 1))
    assert long["source"] == lines_of("en")[12].split()
    assert long["links"] == ""
    assert short["links"] != ""


def test_addresses_that_are_not_there(web):
    for path in (
        "/pairs/41",
        "/pairs/x",
        "/go/up",
        "/docs",
        "/openapi.json",
        "/go/next?pair=77",
        "/progress?first=0",
        "/pairs/-1",
        f"/pairs/{10**30}",
        f"/go/open?pair={10**30}",
    ):
        assert web(path).status_code in (400, 404), path
    assert "Back to the page" in web("/pairs/41", headers={"accept": "text/html"}).text


def test_a_disk_that_is_full_is_told_to_the_page(web, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    answer = web("/save", GOOD)
    assert answer.status_code == 507
    assert "No space left on device" in answer.json()["error"]
    monkeypatch.undo()
    assert web("/save", GOOD).status_code == 200


def test_the_page_shows_names_as_text(text, gold, opened):
    title = '<script>alert("1")</script>'
    page = Web(annotate_app(sheet_of(text), opened(gold), title=title, who="</script><b>"))("/").text
    assert title not in page
    assert "</script><b>" not in page


# The command


def test_nothing_confirmed_is_lost_when_the_server_is_killed(text, gold):
    """Several clients change pairs while the server is killed, three times: all that was answered is there afterwards."""
    confirmed, stop = {}, threading.Event()

    def annotate(address, pair):
        version = confirmed.get(pair, (0, ""))[0]
        with httpx.Client(base_url=address, timeout=5) as web:
            for k in range(10_000):
                if stop.is_set():
                    return
                links = f"0-{k % 2} 1?{(k + 1) % 2}" if k % 3 else "0-0"
                try:
                    answer = web.post("/save", json={"pair": pair, "action": "set", "links": links, "version": version})
                    if answer.status_code == 409:  # the last one before the kill was saved, but not answered
                        version = answer.json()["state"]["version"]
                        continue
                    state = answer.json()
                except httpx.HTTPError:
                    return
                version = state["version"]
                confirmed[pair] = version, state["links"]

    arguments, pairs = (*text, "-o", gold, "--quiet"), (1, 2, 3, 4)
    for times in range(1, 4):
        stop.clear()
        with serving(*arguments, program="annotate") as served, ThreadPoolExecutor(4) as pool:
            workers = [pool.submit(annotate, served.address, pair) for pair in pairs]
            waited = time.monotonic() + 30
            while time.monotonic() < waited and any(confirmed.get(pair, (0, ""))[0] < 2 * times for pair in pairs):
                threading.Event().wait(0.05)
            served.process.send_signal(signal.SIGKILL)
            stop.set()
            for worker in workers:
                worker.result()
        drafts = open_drafts(gold)
        try:
            for pair, (version, links) in confirmed.items():
                found = drafts[pair]
                assert found.version in (version, version + 1), "one may have been written and not answered"
                assert found.version > version or found.links == links
        finally:
            drafts.close()
    assert all(version > 3 for version, _ in confirmed.values())


def test_from_pick_over_annotate_and_learn_to_evaluate(tmp_path, monkeypatch):
    """The whole way round, with gold links from the demo in the place of an annotator."""
    pytest.importorskip("lightgbm", reason="needs the extra learn")
    monkeypatch.chdir(tmp_path)

    def call(line, status=0):
        found = CliRunner().invoke(dovetail, line.split())
        assert found.exit_code == status, f"{line}: {found.output} {found.exception!r}"
        return found.stdout

    for side in ("en", "fr"):
        Path(side).write_text("".join(line + "\n" for line in lines_of(side, 60)), "utf-8")
    truth = (DEMO / "demo.gold").read_text().splitlines()
    call("align en fr --recipe ibm1 --save model -o before --quiet")
    Path("numbers").write_text(call("pick en fr --load model -n 30"))
    picked = [int(line) for line in Path("numbers").read_text().split()]
    assert len(picked) == 30
    arguments = "en fr --load model --pairs numbers -o gold --name anna"
    with (
        serving(*arguments.split(), program="annotate") as served,
        httpx.Client(base_url=served.address, timeout=30) as web,
    ):
        seen = []
        while (number := web.get("/go/open", params={"pair": seen[-1]} if seen else {}).json()["pair"]) is not None:
            seen.append(number)
            pair = web.get(f"/pairs/{number}").json()
            change = {"pair": number, "start": pair["links"], "who": "anna"}
            state = web.post("/save", json={**change, "action": "set", "links": truth[number - 1], "version": 0}).json()
            web.post("/save", json={**change, "action": "finish", "version": state["version"]}).raise_for_status()
    assert seen == picked, "offered in the order of the list"
    lines = Path("gold").read_text().splitlines()
    assert [int(line.partition("\t")[0]) for line in lines] == sorted(picked)
    assert [canonical(truth[n - 1]) for n in sorted(picked)] == [line.partition("\t")[2] for line in lines]
    learned = json.loads(call("learn model en fr gold --save taught --json"))
    assert learned["pairs"] == 30, "30 annotated pairs of 60 are 30"
    call("align en fr --load taught -o after --quiet")
    scores = json.loads(call("evaluate after gold --text en fr --json"))
    numbered = json.loads(call("evaluate before gold --text en fr --json"))
    Path("blank").write_text("".join(f"{line if n in picked else ''}\n" for n, line in enumerate(truth[:60], 1)))
    assert numbered == json.loads(call("evaluate before blank --text en fr --json")), "the same as in the old form"
    assert scores["sentences"] == numbered["sentences"] == 30
    call("view en fr --load taught --gold gold -o page.html --quiet")
    assert "rare words" in call("describe en fr --links after --gold gold")
    call("align en fr --recipe ibm1 --development-gold gold -o tuned --quiet")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("en fr -o gold --order gain", "--order gain asks a model"),
        ("en fr -o gold --range 5-3", "not a range of pairs"),
        ("en fr -o gold --range 0-3", "not a range of pairs"),
        ("en fr -o gold --range x", "not a range of pairs"),
        ("en fr -o gold --range 50-", "pair 50 is asked for, but there are 40"),
        ("en fr -o gold --pairs none", "none: no such file"),
        ("en none -o gold", "none: no such file"),
        ("en fr -o none/gold", "none/gold.log: could not be written"),
        ("en fr", "Missing option '-o'"),
        ("en fr -o gold --host 203.0.113.7", "cannot listen on 203.0.113.7"),
    ],
)
def test_what_is_wrong_with_the_arguments_is_told(text, tmp_path, monkeypatch, arguments, problem):
    monkeypatch.chdir(tmp_path)
    found = CliRunner().invoke(dovetail, ["annotate", *arguments.split()])
    assert found.exit_code != 0
    assert problem in f"{found.output} {found.exception}"


def test_drafts_of_another_text_are_refused(text, gold, tmp_path, opened):
    drafts = opened(gold)
    change(drafts, 3, "set", "0-0 25-25")
    drafts.close()
    found = CliRunner().invoke(dovetail, ["annotate", *map(str, text), "-o", str(gold)])
    assert isinstance(found.exception, InputError)
    assert "pair 3 has links outside its" in str(found.exception)


def test_an_empty_side_is_shown_and_has_nothing_to_link(opened, gold, aligner):
    sheet = Sheet(Bitext.from_pairs([([], ["x"]), (["a"], ["b"])]), [1, 2], [0, 1], aligner)
    web = Web(annotate_app(sheet, opened(gold)))
    assert web("/pairs/1").json()["cells"] == []
    assert web.save(1, "finish").json()["finished"]
    assert gold.read_text() == "1\t\n"
