"""The finished systems as Markdown and CSV, the papers' own numbers beside them."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path

from papers.store import Cell, Store
from translation.scores import RESAMPLES, Difference, differences
from translation.systems import PRINTED_FOR, SYSTEMS

BASELINE = "hmm"  # what the others are compared with
LEVEL = 0.05


def write(store: Store, sets: Sequence[str], size: int, seed: int, out: Path, tables: Path) -> None:
    """`translation.md` and `translation.csv` in `tables`; translations are taken from `out`."""
    parts = ["# Translation with each system's links", _about()]
    rows: list[list[object]] = []
    for name in sets:
        found = store_order(store, name, size, seed)
        if not found:
            continue
        place = out / f"{name}-{size}"
        beside = compare(found, place)
        parts += [f"## {name}, {size:,} pairs", _facts(place), markdown(found, beside)]
        parts.append("Not run: " + (", ".join(missing(found)) or "none") + ".")
        rows += ([*cell.key[1:], *_numbers(cell, beside.get(cell.job)), cell.commit, cell.signature] for cell in found)
    tables.mkdir(parents=True, exist_ok=True)
    (tables / "translation.md").write_text("\n\n".join(parts) + "\n", "utf-8")
    with (tables / "translation.csv").open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(["system", "set", "pairs", "seed", *NUMBERS, "commit", "signature"])
        lines.writerows(rows)


NUMBERS = ("BLEU", "BLEU ±", "BLEU p", "chrF", "chrF ±", "chrF p", "links", "phrases", "phrases kept", "CPU s")


def store_order(store: Store, name: str, size: int, seed: int) -> list[Cell]:
    """The finished systems of a set, in the order of SYSTEMS."""
    keys = (("translation", system.name, name, size, seed) for system in SYSTEMS)
    return [store.cells[key] for key in keys if key in store]


def missing(found: Sequence[Cell]) -> list[str]:
    return [system.name for system in SYSTEMS if system.name not in {cell.job for cell in found}]


def compare(found: Sequence[Cell], place: Path) -> dict[str, Difference]:
    """Every system beside the baseline; beside the first one where the baseline is not finished."""
    names = sorted((cell.job for cell in found), key=lambda name: name != BASELINE)
    texts = [(name, (place / name / "translation").read_text("utf-8").splitlines()) for name in names]
    return differences(texts, (place / "test.target").read_text("utf-8").splitlines())


def markdown(found: Sequence[Cell], beside: dict[str, Difference]) -> str:
    printed = {system.name: system for system in SYSTEMS}
    head = ["links by", "kind", "BLEU", "chrF", "links", "phrase pairs", "loaded", "CPU s", *PRINTED_FOR]
    lines = [head, ["---"] * 2 + ["---:"] * (len(head) - 2)]
    for cell in found:
        one, numbers = beside[cell.job], cell.numbers
        lines.append(
            [
                cell.job,
                printed[cell.job].kind,
                _scored(numbers["BLEU"], one.bleu_interval, one.bleu_p),
                _scored(numbers["chrF"], one.chrf_interval, one.chrf_p),
                *(f"{numbers[name]:,}" for name in ("links", "phrases", "phrases kept")),
                f"{cell.seconds:.0f}",
                *(printed[cell.job].printed.get(paper, "–") for paper in PRINTED_FOR),
            ]
        )
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _scored(value: float, interval: float, p: float | None) -> str:
    return f"{value:.2f} ± {interval:.2f}{'*' if p is not None and p < LEVEL else ''}"


def _numbers(cell: Cell, one: Difference | None) -> list[object]:
    bleu = (one.bleu_interval, one.bleu_p) if one else (None, None)
    chrf = (one.chrf_interval, one.chrf_p) if one else (None, None)
    sizes = (cell.numbers[name] for name in ("links", "phrases", "phrases kept"))
    return [cell.numbers["BLEU"], *bleu, cell.numbers["chrF"], *chrf, *sizes, cell.seconds]


def _facts(place: Path) -> str:
    tuned = json.loads((place / "base" / "weights.json").read_text("utf-8"))
    lines = {name: len((place / f"{name}.source").read_text("utf-8").splitlines()) for name in ("tune", "test")}
    weights = ", ".join(f"{weight:.3g}" for weight in tuned["weights"])
    return (
        f"{lines['test']} sentences to translate, {lines['tune']} to tune on (BLEU {100 * tuned['bleu']:.1f} there);"
        f" weights {weights}."
    )


def _about() -> str:
    papers = "; ".join(f"{name}: {what}" for name, what in PRINTED_FOR.items())
    return (
        "Made by `python -m benchmarks.translation`; commits and signatures are in `translation.csv`. Only the phrase table"
        " differs between systems: n-gram model, lexical models and weights are the translation system's own. ± is half of"
        f" a 95 per cent interval, * a difference from `{BASELINE}` with p < {LEVEL} (paired bootstrap, {RESAMPLES:,}"
        " resamples, no correction for the number of comparisons). *Phrase pairs* is the size of the whole table, *loaded*"
        " what the decoder gets of it for the test text, *CPU s* all of a system's run; the first one's has the tuning, too,"
        " and the shared models unless an earlier run had made them. The last columns are the papers' own BLEU, on other"
        f" texts. {papers}."
    )
