"""`dovetail.Client` against the command it is for."""

from __future__ import annotations

import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.resources import files

import pytest

from dovetail import Aligner, Bitext, Client, InputError
from dovetail.serve import Refused
from dovetail.serve.client import BATCH_CHARACTERS, _batches
from serving import serving

DEMO = files("dovetail") / "data"
LINES = [(DEMO / f"demo.{side}").read_text("utf-8").splitlines()[:250] for side in ("en", "fr")]
PAIRS = list(zip(*LINES, strict=True))


@pytest.fixture(scope="module")
def aligner():
    return Aligner("ibm1").fit(Bitext.from_pairs(PAIRS[:200]))


@pytest.fixture(scope="module")
def address(aligner, tmp_path_factory):
    place = tmp_path_factory.mktemp("model") / "model"
    aligner.save(place)
    with serving("--load", f"one={place}", "--load", f"two={place}", "--max-words", 50) as served:
        yield served.address


def test_it_gets_what_the_aligner_gives(address, aligner):
    with Client(address, models=["two"], posteriors=True) as client:
        found = client.align("the old house", "la vieille maison")["two"]
    expected = aligner.align_pair("the old house", "la vieille maison")
    assert found.links == expected.links
    assert found.probabilities == pytest.approx(expected.probabilities, abs=1e-4)
    assert found.source == ["the", "old", "house"]
    assert found.posteriors == [
        pytest.approx(row, abs=1e-4) for row in aligner.posteriors("the old house", "la vieille maison").tolist()
    ]
    assert "score_forward" in found.details


def test_all_pairs_of_a_text_come_back_in_order(address, aligner):
    with Client(address, models=["one"]) as client:
        found = [answer["one"].links for answer in client.align_all(PAIRS)]
    assert found == [alignment.links for alignment in aligner.align(Bitext.from_pairs(PAIRS))]


def test_options_and_words_go_with_a_request(address):
    with Client(address, tokenizer="unicode", lower=True) as client:
        assert [model["name"] for model in client.models()] == ["one", "two"]
        raw = client.align("The HOUSE.", "La maison.")
        assert list(raw) == ["one", "two"]
        assert raw["one"].source == ["The", "HOUSE", "."]
        assert raw["one"].unseen_source == []
        assert client.align(["The HOUSE."], ("x",))["one"].source == ["The HOUSE."], "words are not cut"
        assert client.align("\ud800 é", "x")["one"].source == ["\ud800", "é"]


def test_a_refusal_says_why(address):
    with Client(address) as client:
        with pytest.raises(Refused, match=r"a sentence of 51 words\. At most 50") as refused:
            client.align("word " * 51, "mot")
        assert refused.value.status == 413
        assert client.align("the", "le"), "the connection is still good"
    with Client(address, models=["three"]) as client, pytest.raises(InputError, match="no such model"):
        client.align("the", "le")


def test_a_connection_that_was_closed_meanwhile_is_opened_again(address):
    with Client(address) as client:
        client.align("the", "le")
        client._connection.sock.shutdown(2)  # as if the server had
        assert client.align("the", "le")


def test_what_is_no_server_is_told(address):
    class Other(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<html>")

        def log_message(self, *arguments):
            pass

    with HTTPServer(("127.0.0.1", 0), Other) as other:
        threading.Thread(target=other.handle_request, daemon=True).start()
        with pytest.raises(Refused, match="no dovetail server"):
            Client(f"http://127.0.0.1:{other.server_port}").models()
    with pytest.raises(ConnectionError):
        Client(f"http://127.0.0.1:{other.server_port}").models()
    with pytest.raises(InputError, match="no address"):
        Client("localhost:8000")


def test_batches_are_small_in_pairs_and_in_characters():
    long = "x" * (BATCH_CHARACTERS // 3)
    pairs = [("a", "b")] * 250 + [(long, "b")] * 5 + [(["a"] * BATCH_CHARACTERS, ["b"])] * 2
    batches = list(_batches(iter(pairs)))
    assert [pair for batch in batches for pair in batch] == pairs
    assert [len(batch) for batch in batches] == [100, 100, 52, 2, 1, 1, 1]
    assert list(_batches([])) == []


def test_it_needs_nothing_but_the_standard_library():
    code = "import sys, dovetail; dovetail.Client; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    assert loaded & {"fastapi", "starlette", "uvicorn", "pydantic", "numpy", "numba", "click"} == set()
