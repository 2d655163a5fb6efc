"""What every recipe writes, as hashes: a change of the inside must not show outside.

    python tests/same_bytes.py --record    # write tests/data/same_bytes.jsonl, from the code as it is
    python tests/same_bytes.py             # compare the code as it is with that file

One line per recipe, options and decoder on one text.  Links, probabilities and what else is known of pairs (scores,
certificates) have a hash each, so that it shows which of them changed.  The demo's text is part of the test suite; the
first 300 training pairs of each set in ../shared/data are compared by this command alone.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from importlib.resources import files
from itertools import islice
from pathlib import Path

import numpy as np

from dovetail import Aligner, Alignments, Bitext, InputError, read_bitext
from dovetail.decoding.decoders import decoders
from dovetail.recipes import recipes

RECORD = Path(__file__).parent / "data" / "same_bytes.jsonl"
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
PAIRS = 300
SETS = ("de-en-europarl", "en-cs-czenali", "en-fr-hansards", "ja-en-kftt")

# Beside every recipe with every decoder: options that take other ways through the code.
VARIANTS = (
    ("ibm1", {"additive": 0.01, "variational": True}),
    ("hmm", {"tolerance": 0.01, "window": 2, "combine": "intersection"}),
    ("hmm", {"decoder": "viterbi", "combine": "reverse"}),
    ("joint", {"sample": 2000, "whole_cells": 1_000_000}),
    ("joint", {"sample": 2000, "whole_cells": 10_000}),
    ("joint-fast", {"sample": 2000, "whole_iterations": 2}),
    ("joint", {"spelling": False, "leave_one_out": False, "jump_strength": 0.0, "tail_stems": 0.0}),
    ("joint", {"agreement_power": 0.0, "share": 0.0}),
    # What `best` was before it had a second view.
    (
        "joint-best",
        {"views": "words", "hmm_iterations": 8, "share": 0.01, "sample": 50_000_000, "grow": 0.3, "temper": 0.5},
    ),
    ("joint-best", {"views": "words,stems,characters", "view_recipe": ""}),
    ("hmm-constrained", {"constraints": "bijective,symmetric"}),
    ("hmm-symmetric", {"free_mass": False, "warm_multipliers": False, "precision": 0.01, "slack": 0.1}),
    ("hmm-symmetric", {"project_decoding": False}),
    ("hmm-fertility", {"fertility": "categorical", "soft_counts": False}),
    ("hmm-fertility", {"decoder": "exact", "combine": "forward", "exact_iterations": 5}),
    ("ibm1-fertility", {"deficient": False, "fertility": "features"}),
    ("ibm1-bayes", {"start": "cooccurrence", "annealing": False, "shards": 3, "burn_in": 20, "samples": 5}),
    ("hmm-bayes", {"shards": 2, "lag": 2, "discount": 0.0}),
    ("hmm", {"decoder": "bidirectional", "bidirectional_agreement": "adjacent"}),
    ("hmm", {"decoder": "bidirectional", "bidirectional_agreement": "soft", "bidirectional_penalty": -0.5}),
    ("hmm", {"decoder": "bidirectional", "bidirectional_method": "relaxation", "bidirectional_iterations": 20}),
    (
        "hmm",
        {"decoder": "bidirectional", "bidirectional_method": "relaxation+constraints", "bidirectional_iterations": 40},
    ),
    ("hmm", {"decoder": "bidirectional", "bidirectional_method": "dual-decomposition", "bidirectional_iterations": 40}),
)


def demo() -> Bitext:
    data = files("dovetail") / "data"
    return read_bitext(str(data / "demo.en"), str(data / "demo.fr"))


def of_set(name: str) -> Bitext:
    """The first pairs of a set's training text."""
    import lzma

    source, target = name.split("-")[:2]
    sides = []
    for language in (source, target):
        with lzma.open(SHARED / name / f"train.{language}.xz", "rt", encoding="utf-8", newline="\n") as lines:
            sides.append([line.split() for line in islice(lines, PAIRS)])
    return Bitext.from_pairs(list(zip(*sides, strict=True)))


def digest(*arrays: np.ndarray) -> str:
    found = hashlib.sha256()
    for array in arrays:
        found.update(f"{array.dtype.str}{array.shape}".encode())
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()[:16]


def hashes(result: Alignments) -> dict[str, str]:
    return {
        "links": digest(result.offsets, result.source, result.target),
        "probabilities": digest(result.probability),
        **{name: digest(values) for name, values in sorted(result.details.items())},
    }


def cases(text: str) -> list[tuple[str, dict]]:
    """Recipes and options that one text is aligned with, besides every decoder."""
    plain = [(recipe, {}) for recipe in recipes]
    return plain + (list(VARIANTS) if text == "demo" else [])


def measure(text: str, recipe: str, options: dict, bitext: Bitext) -> list[dict]:
    """What a recipe writes with each decoder that it has, or with the one that the options name."""
    aligner = Aligner(recipe, seed=1, threads=2, **options).fit(bitext)
    about = {"text": text, "recipe": recipe, "options": options}
    if options:
        return [{**about, "decoder": aligner.recipe.decoder, **hashes(aligner.align(bitext))}]
    found = []
    with tempfile.TemporaryDirectory() as folder:
        aligner.save(Path(folder) / "model")
        for decoder in decoders:
            try:
                other = Aligner.load(Path(folder) / "model", threads=2, decoder=decoder)
                written = hashes(other.align(bitext))
            except InputError:
                written = {"refused": "yes"}
            found.append({**about, "decoder": decoder, **written})
    return found


def key(entry: dict) -> str:
    return json.dumps([entry["text"], entry["recipe"], entry["options"], entry["decoder"]])


def recorded() -> dict[str, dict]:
    return {key(entry): entry for entry in map(json.loads, RECORD.read_text("utf-8").splitlines())}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true", help="write the file instead of comparing with it")
    parser.add_argument("--text", action="append", choices=["demo", *SETS], help="only this text (several times)")
    parser.add_argument("--recipe", action="append", help="only this recipe (several times)")
    chosen = parser.parse_args()
    known = recorded() if RECORD.exists() else {}
    entries, different = [], 0
    for text in chosen.text or ["demo", *SETS]:
        if text != "demo" and not SHARED.is_dir():
            print(f"{text}: skipped, there is no ../shared/data", file=sys.stderr)
            continue
        bitext = demo() if text == "demo" else of_set(text)
        for recipe, options in cases(text):
            if chosen.recipe and recipe not in chosen.recipe:
                continue
            for entry in measure(text, recipe, options, bitext):
                entries.append(entry)
                old = known.get(key(entry))
                changed = [name for name in {**entry, **(old or {})} if (old or {}).get(name) != entry.get(name)]
                different += bool(changed)
                word = "the same" if not changed else "new" if old is None else f"other {', '.join(changed)}"
                print(f"{key(entry)}: {word}", file=sys.stderr if chosen.record else sys.stdout, flush=True)
    if chosen.record:
        known.update({key(entry): entry for entry in entries})
        RECORD.parent.mkdir(exist_ok=True)
        RECORD.write_text("".join(json.dumps(entry) + "\n" for entry in known.values()), "utf-8")
        return 0
    print(f"{len(entries)} compared, {different} different")
    return int(different > 0)


if __name__ == "__main__":
    sys.exit(main())
