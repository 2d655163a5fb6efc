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


def write(store: Store, name: str, size: int, seed: int, out: Path, tables: Path) -> None:
    """`translation-SET.md` and `.csv` of a set in `tables`; translations are taken from `out`.

    Systems that are not in the store keep the rows that they have in `tables`, if the baseline is the same there.
    """
    found = store_order(store, name, size, seed)
    if not found:
        return
    tables.mkdir(parents=True, exist_ok=True)
    place, path = out / f"{name}-{size}", tables / f"translation-{name}.csv"
    rows = completed(rows_of(found, compare(found, place)), read(path))
    title = f"# Translation with each system's links: {name}, {size:,} pairs"
    parts = [title, _about(path.name), _facts(place), markdown(rows)]
    hours = sum(float(row["CPU s"]) for row in rows) / 3600
    parts.append(f"All systems together took {hours:.1f} CPU hours.")
    parts.append("Not run: " + (", ".join(missing(rows)) or "none") + ".")
    path.with_suffix(".md").write_text("\n\n".join(parts) + "\n", "utf-8")
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.DictWriter(file, COLUMNS)
        lines.writeheader()
        lines.writerows(rows)


SCORES = ("BLEU", "BLEU ±", "BLEU p", "chrF", "chrF ±", "chrF p")
SIZES = ("links", "phrases", "phrases kept")
COLUMNS = ("system", "set", "pairs", "seed", *SCORES, *SIZES, "CPU s", "commit", "signature")
Row = dict[str, str]  # of the CSV: numbers as they are written there, nothing for the p of the baseline


def store_order(store: Store, name: str, size: int, seed: int) -> list[Cell]:
    """The finished systems of a set, in the order of SYSTEMS."""
    keys = (("translation", system.name, name, size, seed) for system in SYSTEMS)
    return [store.cells[key] for key in keys if key in store]


def rows_of(found: Sequence[Cell], beside: dict[str, Difference]) -> list[Row]:
    rows = []
    for cell in found:
        one, numbers = beside[cell.job], cell.numbers
        scores = numbers["BLEU"], one.bleu_interval, one.bleu_p, numbers["chrF"], one.chrf_interval, one.chrf_p
        sizes = (numbers[name] for name in SIZES)
        values = (*cell.key[1:], *scores, *sizes, cell.seconds, cell.commit, cell.signature)
        texts = ("" if value is None else str(value) for value in values)
        rows.append(dict(zip(COLUMNS, texts, strict=True)))
    return rows


def read(path: Path) -> list[Row]:
    """The rows of an earlier table, none if there is none."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def completed(rows: Sequence[Row], earlier: Sequence[Row]) -> list[Row]:
    """With the earlier rows of other systems, if those were put beside the same baseline; in the order of SYSTEMS."""
    asked = [(row["pairs"], row["seed"], row["BLEU"], row["chrF"]) for row in rows if row["system"] == BASELINE]
    same = [(row["pairs"], row["seed"], row["BLEU"], row["chrF"]) for row in earlier if row["system"] == BASELINE]
    of_systems = {row["system"]: row for row in (*(earlier if asked and asked == same else ()), *rows)}
    return [of_systems[system.name] for system in SYSTEMS if system.name in of_systems]


def missing(rows: Sequence[Row]) -> list[str]:
    return [system.name for system in SYSTEMS if system.name not in {row["system"] for row in rows}]


def compare(found: Sequence[Cell], place: Path) -> dict[str, Difference]:
    """Every system beside the baseline; beside the first one where the baseline is not finished."""
    names = sorted((cell.job for cell in found), key=lambda name: name != BASELINE)
    texts = [(name, (place / name / "translation").read_text("utf-8").splitlines()) for name in names]
    return differences(texts, (place / "test.target").read_text("utf-8").splitlines())


def markdown(rows: Sequence[Row]) -> str:
    printed = {system.name: system for system in SYSTEMS}
    head = ["links by", "kind", "BLEU", "chrF", "links", "phrase pairs", "loaded", "CPU s", *PRINTED_FOR, "commit"]
    lines = [head, ["---"] * 2 + ["---:"] * (len(head) - 2)]
    for row in rows:
        system = printed[row["system"]]
        lines.append(
            [
                system.name,
                system.kind,
                *(_scored(row[name], row[f"{name} ±"], row[f"{name} p"]) for name in ("BLEU", "chrF")),
                *(f"{int(row[name]):,}" for name in SIZES),
                f"{float(row['CPU s']):.0f}",
                *(system.printed.get(paper, "–") for paper in PRINTED_FOR),
                row["commit"],
            ]
        )
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _scored(value: str, interval: str, p: str) -> str:
    return f"{float(value):.2f} ± {float(interval):.2f}{'*' if p and float(p) < LEVEL else ''}"


def _facts(place: Path) -> str:
    tuned = json.loads((place / "base" / "weights.json").read_text("utf-8"))
    lines = {name: len((place / f"{name}.source").read_text("utf-8").splitlines()) for name in ("tune", "test")}
    weights = ", ".join(f"{weight:.3g}" for weight in tuned["weights"])
    return (
        f"{lines['test']} sentences to translate, {lines['tune']} to tune on (BLEU {100 * tuned['bleu']:.1f} there);"
        f" weights {weights}."
    )


def _about(table: str) -> str:
    papers = "; ".join(f"{name}: {what}" for name, what in PRINTED_FOR.items())
    return (
        f"Made by `python -m benchmarks.translation`; signatures are in `{table}`. Only the phrase table"
        " differs between systems: n-gram model, lexical models and weights are the translation system's own. ± is half of"
        f" a 95 per cent interval, * a difference from `{BASELINE}` with p < {LEVEL} (paired bootstrap, {RESAMPLES:,}"
        " resamples, no correction for the number of comparisons). *Phrase pairs* is the size of the whole table, *loaded*"
        " what the decoder gets of it for the test text, *CPU s* all of a system's run; the first one's has the tuning, too,"
        " and the shared models unless an earlier run had made them. Recipes are as anyone gets them; EM-5 to"
        " GS-80 are Mermer and Saraçlar's systems (GS-5 is `mermer2011`), all put together by grow-diag-final-and. The last"
        f" columns but one are the papers' own BLEU, on other texts. {papers}."
    )
