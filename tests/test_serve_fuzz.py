"""Whatever is sent to the server: an answer or one line of complaint, never an accident inside."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import anyio
import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dovetail import Aligner, Bitext
from dovetail.serve.app import live_app
from dovetail.serve.limits import Limits

MANY = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
FIELDS = ("source", "target", "models", "posteriors", "tokenizer", "lower", "pairs", "other", "\ud800\n")

words = st.text(max_size=8)
numbers = st.one_of(st.integers(), st.floats(), st.sampled_from([10**400, -(10**400), 1e308, float("nan")]))
leaves = st.one_of(st.none(), st.booleans(), numbers, words, st.sampled_from(["one", "two", "unicode", "icu"]))
values = st.recursive(leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=3))
sentences = st.text(max_size=30) | st.lists(words, max_size=5)
# Near enough to sense that most fields get as far as the aligner.
pairs = st.fixed_dictionaries({"source": sentences, "target": sentences})
near = st.tuples(pairs, st.lists(pairs | values, max_size=3)).map(lambda both: {**both[0], "pairs": both[1]})
options = st.dictionaries(st.sampled_from(FIELDS), values, max_size=3)
requests = st.tuples(near, st.sets(st.sampled_from(FIELDS)), options).map(
    lambda parts: {**{name: value for name, value in parts[0].items() if name not in parts[1]}, **parts[2]}
)


@pytest.fixture(scope="module")
def app():
    aligner = Aligner("ibm1", threads=1).fit(Bitext.from_pairs([("the old house", "la vieille maison")]))
    return live_app({"one": aligner, "two": aligner}, Limits(seconds=60))


@pytest.fixture(scope="module")
def ask(app):
    """Sends a body, as it is; a thread of its own, since a browser's test may have a loop of events running."""

    async def post(path, body, headers):
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as web:
            return await web.post(path, content=body, headers={"content-type": "application/json", **headers})

    with ThreadPoolExecutor(1) as pool:

        def send(path, body, **headers):
            answer = pool.submit(anyio.run, post, path, body, headers).result()
            assert answer.status_code == 200 or 400 <= answer.status_code < 500, (answer.status_code, answer.text)
            if answer.status_code != 200 and "accept" not in headers:
                said = answer.json()
                assert set(said) == {"error", "remedy"}
                assert 0 < len(said["error"]) < 200
                assert "\n" not in said["error"] + said["remedy"]
            return answer.status_code

        yield send


@MANY
@given(path=st.sampled_from(["/align", "/batch"]), value=requests | values)
def test_any_json_has_an_answer_or_a_complaint(ask, path, value):
    body = json.dumps(value).encode()
    assert ask(path, body) == ask(path, body, accept="text/html")


@MANY
@given(body=st.binary(max_size=200))
def test_any_bytes_have_an_answer_or_a_complaint(ask, body):
    assert ask("/align", body) == 400


PLAIN = '{"source": "the house", "target": "la maison", "posteriors": %s}'


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("9" * 5000, id="a number of 5,000 digits"),
        pytest.param("1e999999", id="a number that is infinite"),
        pytest.param("-0.0e-999", id="a number that is nothing"),
        pytest.param("NaN", id="no number"),
        pytest.param("[" * 100_000, id="deep, without an end"),
        pytest.param("[" * 900 + "]" * 900, id="deep"),
        pytest.param("[" * 100_000 + "]" * 100_000, id="very deep"),
        pytest.param('{"a":' * 50_000 + "1" + "}" * 50_000, id="deep objects"),
        pytest.param('"\\ud800"', id="half a character"),
        pytest.param('"a', id="no end of a string"),
        pytest.param('false, "' + "x" * 100_000 + '": 1', id="a long name"),
        pytest.param("false, " + ", ".join(f'"x{n}": 1' for n in range(50_000)), id="many names"),
        pytest.param('false, "models": [' + '"one", ' * 4199 + '"one"]', id="one model 4,200 times"),
        pytest.param('false, "models": [' + "1, " * 99_999 + "1]", id="many wrong names"),
        pytest.param('false, "tokenizer": "' + "x" * 100_000 + '"', id="a long tokenizer"),
    ],
)
def test_extremes_are_refused_with_one_line(ask, value):
    assert ask("/align", (PLAIN % value).encode()) == 400


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32", "utf-32-le", "latin-1", "cp037"]
)
def test_encodings_are_understood_or_refused(ask, encoding):
    body = json.dumps({"source": "l'été", "target": "the summer"}, ensure_ascii=False).encode(encoding)
    refused = ("latin-1", "cp037")
    assert ask("/align", body) == (400 if encoding in refused else 200)


@pytest.mark.parametrize(
    "kind", ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/xml"]
)
def test_other_kinds_are_refused(ask, kind):
    assert ask("/align", (PLAIN % "true").encode(), **{"content-type": kind}) == 415


def test_long_words_are_aligned_or_refused_in_time(ask):
    body = {"source": "x" * 400_000, "target": " ".join(["y" * 1000] * 300)}
    assert ask("/align", json.dumps(body).encode()) in (200, 413)
