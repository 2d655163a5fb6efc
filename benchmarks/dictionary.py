"""How long `dovetail serve` takes to look words up in a text: made up, of any size, or one's own.

    python benchmarks/dictionary.py --pairs 1130000
    python benchmarks/dictionary.py --text corpus.en corpus.fr --links links.txt

Words of a made-up text follow Zipf's law, and most of them have one frequent translation and many rare ones.  Asked are the
most frequent words, which cost most, words of every frequency, and the rarest translations of the most frequent word; each
through HTTP, as a page asks.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import numpy as np
from xopen import xopen

from report import markdown

WORDS = 200_000
LENGTHS = (5, 45)  # words of a sentence
TRANSLATED = 0.8  # share of words with the usual translation
ASKED = 40  # words of each kind


def make_up(folder: Path, pairs: int, seed: int = 0) -> tuple[Path, Path, Path]:
    """Source, target and links of a text."""
    random = np.random.default_rng(seed)
    paths = folder / "source", folder / "target", folder / "links"
    with open(paths[0], "w") as source, open(paths[1], "w") as target, open(paths[2], "w") as links:
        diagonal = [" ".join(f"{i}-{i}" for i in range(length)) for length in range(LENGTHS[1])]
        for first in range(0, pairs, 10_000):
            lengths = random.integers(*LENGTHS, size=min(10_000, pairs - first))
            words = zipf(random, int(lengths.sum()))
            others = np.where(random.random(len(words)) < TRANSLATED, words, zipf(random, len(words)))
            for ids, letter, out in ((words, "s", source), (others, "t", target)):
                spelled = np.char.add(letter, ids.astype(str)).tolist()
                ends = np.cumsum(lengths).tolist()
                out.writelines(" ".join(spelled[a:b]) + "\n" for a, b in zip([0, *ends], ends, strict=False))
            links.writelines(diagonal[length] + "\n" for length in lengths.tolist())
    return paths


def zipf(random: np.random.Generator, size: int) -> np.ndarray:
    """Ranks of words, each about as frequent as one over its rank."""
    return np.exp(random.random(size) * np.log(WORDS)).astype(np.int64)


@contextmanager
def served(arguments: Sequence[str]) -> Iterator[tuple[HTTPConnection, float]]:
    """A connection to `dovetail serve`, and the seconds until it answered."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "dovetail", "serve", *arguments, "--port", "0", "--quiet"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        if not address:
            raise SystemExit("dovetail serve did not start")
        seconds = time.perf_counter() - began
        connection = HTTPConnection("127.0.0.1", urlsplit(address).port, timeout=60)
        yield connection, seconds
        connection.close()
    finally:
        process.terminate()
        process.wait()


def asked(connection: HTTPConnection, address: str, **query: object) -> tuple[dict, float]:
    began = time.perf_counter()
    connection.request("GET", f"/{address}?{urlencode(query)}")
    answer = json.loads(connection.getresponse().read())
    return answer, time.perf_counter() - began


def look_up(connection: HTTPConnection, words: Sequence[str]) -> dict[str, list[float]]:
    """Seconds of every kind of question about these words."""
    times: dict[str, list[float]] = {"words": [], "translations": [], "places": [], "rarest places": [], "pair": []}
    for word in words:
        times["words"].append(asked(connection, "words", text=word[:2])[1])
        found, seconds = asked(connection, "translations", word=word, most=200)
        times["translations"].append(seconds)
        if not found["translations"]:
            continue
        for kind, entry in (("places", found["translations"][0]), ("rarest places", found["translations"][-1])):
            places, seconds = asked(connection, "places", word=word, translation=entry["word"])
            times[kind].append(seconds)
        times["pair"].append(asked(connection, "pair", number=places["hits"][0]["pair"])[1])
    return times


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=100_000, help="of the made-up text")
    parser.add_argument("--text", nargs=2, metavar=("SOURCE", "TARGET"), type=Path)
    parser.add_argument("--links", type=Path)
    options = parser.parse_args(arguments)
    if (options.text is None) != (options.links is None):
        parser.error("--text and --links go together")
    with tempfile.TemporaryDirectory() as place:
        source, target, links = (*options.text, options.links) if options.text else make_up(Path(place), options.pairs)
        index = Path(place) / "index"
        arguments = [str(source), str(target), "--links", str(links), "--index", str(index)]
        with served(arguments) as (_, making):
            pass
        with served(arguments) as (connection, opening):
            ranked = by_frequency(source)
            kinds = {"most frequent": ranked[:ASKED], "of all frequencies": ranked[:: max(1, len(ranked) // ASKED)]}
            rows = []
            for kind, words in kinds.items():
                for question, times in look_up(connection, words).items():
                    numbers = [1000 * value for value in (np.median(times), np.quantile(times, 0.9), max(times))]
                    rows.append([question, kind, *(f"{value:.1f}" for value in numbers)])
            pairs = json.loads((index / "about.json").read_text())["pairs"]
        size = sum(path.stat().st_size for path in index.iterdir()) / 1e6
    made = f"{size:,.0f} MB, made in {making:.0f} s, opened in {opening:.1f} s"
    print(f"{pairs:,} pairs, {len(ranked):,} source words; index: {made}")
    print(f"milliseconds per question ({os.cpu_count()} cores)")
    print(markdown(["question", "words", "median", "90 %", "longest"], rows))
    return 0


def by_frequency(path: Path) -> list[str]:
    counts: Counter[str] = Counter()
    with xopen(path) as lines:
        for line in lines:
            counts.update(line.split())
    return [word for word, _ in counts.most_common()]


if __name__ == "__main__":
    sys.exit(main())
