"""Models of every recipe, altered and signed again as an attacker would: refused in one line, or harmless.

    python tests/fuzz.py --cases 200 --seed 1            # of each recipe
    python tests/fuzz.py --recipe joint --cases 5000
    python tests/fuzz.py --replay tests/data/fuzz.jsonl  # what went wrong once

A change is a small JSON object; one that goes wrong is printed as a line for the corpus, `tests/data/fuzz.jsonl`.  Cases run
in a process of their own, so that one that brings it down is found as well.  Harmless means: links in bounds,
probabilities from 0 to 1, no NaN, and every other public method works.
"""

from __future__ import annotations

import argparse
import faulthandler
import hashlib
import json
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors.numpy import load, save

from dovetail import Aligner, Bitext, InputError
from dovetail.models import storage
from dovetail.models.fertility.entries import DIRECTIONS
from dovetail.recipes import recipes

DATA = Path(__file__).parent / "data"
CORPUS = DATA / "fuzz.jsonl"
SECONDS = 60  # a case that takes longer has failed
# A recipe's option that saves arrays of another kind.
VARIANTS = {"hmm-fertility-categorical": ("hmm-fertility", {"fertility": "categorical"})}
DEMO = [
    (source.split(), target.split())
    for source, target in zip(
        *((files("dovetail") / "data" / f"demo.{side}").read_text("utf-8").splitlines() for side in ("en", "fr")),
        strict=True,
    )
]
TEXT = Bitext.from_pairs(
    [
        *DEMO[8:12],
        *DEMO[200:202],
        (["zyzzyva", "."], ["flob", "zyzzyva"]),
        (["the"] * 30, ["le"]),
        ([], ["rien"]),
        (["nothing"], []),
    ]
)
NUMBERS = (
    float("nan"),
    float("inf"),
    -float("inf"),
    -1.0,
    0.0,
    1e-45,
    1e-300,
    1e30,
    1e308,
    2.0**31,
    -(2.0**63),
    0.5,
    2.0,
)
TYPES = ("float16", "float32", "float64", "int8", "int32", "int64", "uint64", "bool")
VALUES = (
    None, True, False, "", "x", "whitespace", "nowhere", -1, 0, 1, 3, 2**31, 2**63, -(10**30), 1e-300, 1e308, 0.5,
    float("nan"), float("inf"), [], {}, [1], [[]], ["a", "a"], {"a": 1}, {"nested": 100_000},
)  # fmt: skip

KINDS = (*("value", "length", "json") * 4, "type", "shape", "drop", "swap", "shuffle", "scale", "bytes")

Change = dict[str, Any]


class Parts(NamedTuple):
    """A model, open for changes."""

    arrays: dict[str, np.ndarray]
    files: dict[str, Any]  # the JSON files by name


def read(place: Path) -> Parts:
    names = storage.ABOUT, *storage.WORDS
    arrays = load((place / storage.PARAMETERS).read_bytes())
    return Parts(arrays, {name: json.loads((place / name).read_bytes()) for name in names})


def write(parts: Parts, place: Path, raw: Iterable[Change]) -> None:
    """The model with all digests right; `raw` changes bytes of the parameters' file."""
    content = bytearray(save({name: np.ascontiguousarray(array) for name, array in parts.arrays.items()}))
    for change in raw:
        content[change["at"] % len(content)] = change["to"]
    place.mkdir(exist_ok=True)
    texts = {name: json.dumps(parts.files[name]).encode() for name in storage.WORDS}
    about = parts.files[storage.ABOUT]
    if isinstance(about, dict):
        contents = {storage.PARAMETERS: bytes(content), **texts}
        about["sha256"] = {name: hashlib.sha256(text).hexdigest() for name, text in contents.items()}
        about["sha256"][storage.ABOUT] = storage._digest_of_header(about)
    texts[storage.ABOUT] = json.dumps(about).encode()
    for name, text in {storage.PARAMETERS: bytes(content), **texts}.items():
        (place / name).write_bytes(text)


def made_up(parts: Parts, generator: np.random.Generator) -> Change:
    """A change of this model at random."""

    def one_of(choices: Any) -> Any:
        return choices[int(generator.integers(len(choices)))]

    kind = one_of(KINDS)
    if kind == "bytes":  # the first ones are the header: names, types, shapes, places
        return {"do": kind, "at": int(generator.integers(6000)), "to": int(generator.integers(256))}
    if kind == "json":
        name = one_of((storage.ABOUT,) * 4 + storage.WORDS)
        path: list[Any] = []
        inside = parts.files[name]
        while isinstance(inside, dict | list) and len(inside) and (not path or generator.random() < 0.8):
            path.append(one_of(list(inside)) if isinstance(inside, dict) else int(generator.integers(len(inside))))
            inside = inside[path[-1]]
        return {"do": kind, "file": name, "path": path, "to": one_of(VALUES)} | (
            {"drop": True} if generator.random() < 0.15 else {}
        )
    name = one_of(sorted(parts.arrays))
    array = parts.arrays[name]
    change: Change = {"do": kind, "array": name}
    if kind in ("value", "scale"):
        change["to"] = one_of(NUMBERS)
        if kind == "value" and generator.random() < 0.7:
            change["at"] = int(generator.integers(max(array.size, 1)))
    elif kind == "length":
        axis = int(generator.integers(max(array.ndim, 1)))
        now = array.shape[axis] if array.ndim else 0
        change |= {"axis": axis, "to": one_of((0, 1, 2, 5, 64, now + 1, max(now - 1, 0), 2 * now))}
    elif kind == "type":
        change["to"] = one_of(TYPES)
    elif kind == "shape":
        change["to"] = one_of(([], [-1], [1, -1], [-1, 1], [-1, 2], [0, -1]))
    elif kind == "swap":
        change["to"] = one_of(sorted(parts.arrays))
    elif kind == "shuffle":
        change["to"] = int(generator.integers(1000))
    return change


def apply(parts: Parts, change: Change) -> None:
    """Make one change; one that cannot be made of this model is none."""
    if change["do"] == "json":
        _change_json(parts, change)
    elif change["do"] != "bytes" and change["array"] in parts.arrays:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _change_array(parts.arrays, change)


def _change_json(parts: Parts, change: Change) -> None:
    value = change["to"]
    if isinstance(value, dict) and "nested" in value:  # deeper than a recursive reader goes
        value = "deep"
        for _ in range(900):
            value = [value]
    if not change["path"]:
        parts.files[change["file"]] = value
        return
    inside = parts.files[change["file"]]
    try:
        for key in change["path"][:-1]:
            inside = inside[key]
        if change.get("drop"):
            del inside[change["path"][-1]]
        else:
            inside[change["path"][-1]] = value
    except (LookupError, TypeError):
        return


def _change_array(arrays: dict[str, np.ndarray], change: Change) -> None:
    name, to = change["array"], change.get("to")
    array = arrays[name].copy()
    if change["do"] == "value":
        place = slice(None) if "at" not in change else change["at"] % max(array.size, 1)
        if array.size:
            array.reshape(-1)[place] = np.asarray(to, np.float64).astype(array.dtype)
    elif change["do"] == "scale":
        array = (array * to).astype(array.dtype)
    elif change["do"] == "length":
        axis = min(change["axis"], array.ndim - 1)
        if array.ndim and array.size:
            array = np.take(array, np.arange(to) % array.shape[axis], axis=axis)
    elif change["do"] == "type":
        array = array.astype(to)
    elif change["do"] == "shape":
        try:
            array = array.reshape(to)
        except ValueError:
            return
    elif change["do"] == "shuffle":
        array = np.random.default_rng(to).permutation(array.reshape(-1)).reshape(array.shape)
    elif change["do"] == "swap" and to in arrays:
        arrays[name], arrays[to] = arrays[to], arrays[name]
        return
    elif change["do"] == "drop":
        del arrays[name]
        return
    arrays[name] = array


def verdict(place: Path) -> str:
    """ "refused" or "harmless"; anything else is an exception that must not be."""
    try:
        aligner = Aligner.load(place, threads=1)
    except InputError as error:
        message = str(error)
        assert str(place) in message, f"does not name the model: {message}"
        assert "\n" not in message, f"more than one line: {message}"
        return "refused"
    result = aligner.align(TEXT)
    assert len(result) == len(TEXT)
    for alignment, (I, J) in zip(result, TEXT.lengths, strict=True):
        assert all(0 <= i < I and 0 <= j < J for i, j in alignment.links)
        assert all(0 <= p <= 1 for p in alignment.probabilities), alignment.probabilities  # which NaN is not
    for name, values in result.details.items():
        assert not any(value != value for value in values), f"{name} is NaN"
    for number in (0, 6):
        posteriors = aligner.posteriors(*TEXT.tokens(number))
        assert ((posteriors >= 0) & (posteriors <= 1 + 1e-5)).all(), posteriors
    for direction in DIRECTIONS:
        for entry in aligner.fertilities(direction, bitext=TEXT):
            assert entry.mean >= 0
    aligner.save(place.with_name("again"))
    Aligner.load(place.with_name("again"), threads=1)
    return "harmless"


def bases(folder: Path) -> dict[str, Path]:
    """A small model of every recipe, written by this version."""
    old = folder / "old"
    with tarfile.open(DATA / "models-8a7c7db.tar.xz") as archive:
        archive.extractall(old, filter="data")
    for name in recipes:
        Aligner.load(old / name, threads=1).save(folder / name)
    for name, (recipe, options) in VARIANTS.items():
        Aligner(recipe, threads=1, **options).fit(Bitext.from_pairs(DEMO[:20])).save(folder / name)
    return {name: folder / name for name in (*recipes, *VARIANTS)}


def cases(models: dict[str, Path], wanted: list[str], seed: int, number: int) -> Iterator[tuple[str, list[Change]]]:
    """So many cases of every wanted recipe, the same for the same seed."""
    for name in wanted:
        parts = read(models[name])
        for case in range(number):
            generator = np.random.default_rng([seed, case, *name.encode()])
            yield name, [made_up(parts, generator) for _ in range(1 + int(generator.integers(2)))]


def work() -> None:
    """The other process: a case per line comes in, a verdict per line goes out."""
    folder = Path(sys.argv[2])
    for line in sys.stdin:
        case = json.loads(line)
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        parts = read(folder / case["recipe"])
        for change in case["changes"]:
            apply(parts, change)
        write(parts, folder / "model", [change for change in case["changes"] if change["do"] == "bytes"])
        try:
            with np.errstate(all="ignore"):
                said = verdict(folder / "model")
        except Exception as error:
            where = error.__traceback__
            while where is not None and where.tb_next is not None:
                where = where.tb_next
            place = f"{Path(where.tb_frame.f_code.co_filename).name}:{where.tb_lineno}" if where is not None else ""
            said = f"{type(error).__name__} at {place}: {error}".replace("\n", " ")
        faulthandler.cancel_dump_traceback_later()
        print(json.dumps(said), flush=True)


class Worker:
    """The process that cases run in; a new one after a crash."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process: subprocess.Popen[str] | None = None

    def __call__(self, case: dict[str, Any]) -> str:
        if self.process is None:
            command = [sys.executable, __file__, "--work", str(self.folder)]
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(case) + "\n")
            self.process.stdin.flush()
        if line := self.process.stdout.readline():
            return str(json.loads(line))
        status = self.process.wait()
        self.process = None
        return (
            f"killed by {signal.Signals(-status).name}"
            if status < 0
            else f"ended with status {status}, after a minute?"
        )

    def close(self) -> None:
        if self.process is not None:
            self.process.communicate()


def run(
    wanted: list[str], seed: int, number: int, replay: Path | None = None
) -> tuple[Counter[str], list[dict[str, Any]]]:
    """Verdicts counted, and the cases that failed, each as a line for the corpus."""
    counted: Counter[str] = Counter()
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        models = bases(Path(folder))
        worker = Worker(Path(folder))
        try:
            for case in (
                map(json.loads, replay.read_text("utf-8").splitlines())
                if replay
                else ({"recipe": name, "changes": changes} for name, changes in cases(models, wanted, seed, number))
            ):
                case.pop("was", None)
                said = worker(case)
                counted[said if said in ("refused", "harmless") else "failed"] += 1
                if said not in ("refused", "harmless"):
                    failed.append({**case, "was": said})
                    print(json.dumps(failed[-1]), flush=True)
        finally:
            worker.close()
    return counted, failed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--recipe", choices=[*recipes, *VARIANTS], action="append")
    parser.add_argument("--cases", type=int, default=50, help="of each recipe")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--replay", type=Path, help="cases from a file instead")
    asked = parser.parse_args()
    counted, failed = run(asked.recipe or [*recipes, *VARIANTS], asked.seed, asked.cases, asked.replay)
    print(", ".join(f"{number:,} {said}" for said, number in sorted(counted.items())))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    os.environ.setdefault("NUMBA_NUM_THREADS", "1")
    work() if sys.argv[1:2] == ["--work"] else main()
