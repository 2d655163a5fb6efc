"""BLEU and chrF by sacrebleu, and whether a difference could be chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

RESAMPLES = 1000
BLEU_OPTIONS = {"tokenize": "none", "force": True}  # the text is tokenised already


class Score(NamedTuple):
    bleu: float
    chrf: float
    signature: str  # of both, as sacrebleu writes them


class Difference(NamedTuple):
    """Beside the baseline: p-values by paired bootstrap (Koehn 2004), None for the baseline itself."""

    bleu_interval: float  # half of the 95 % interval of the system's own score
    chrf_interval: float
    bleu_p: float | None
    chrf_p: float | None


def score(hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    from sacrebleu.metrics import BLEU, CHRF

    metrics = BLEU(**BLEU_OPTIONS), CHRF()
    bleu, chrf = (metric.corpus_score(hypotheses, [references]).score for metric in metrics)
    return Score(bleu, chrf, "; ".join(str(metric.get_signature()) for metric in metrics))


def differences(
    systems: Sequence[tuple[str, Sequence[str]]], references: Sequence[str], resamples: int = RESAMPLES
) -> dict[str, Difference]:
    """Each system beside the first one, over the same resampled texts; sacrebleu's own seed."""
    from sacrebleu.metrics import BLEU, CHRF
    from sacrebleu.significance import PairedTest

    metrics = {"BLEU": BLEU(**BLEU_OPTIONS, references=[references]), "chrF": CHRF(references=[references])}
    test = PairedTest(list(systems), metrics, None, test_type="bs", n_samples=resamples)
    _, found = test()
    bleu, chrf = (next(found[name] for name in found if name.startswith(start)) for start in ("BLEU", "chrF"))
    return {
        name: Difference(one.ci, other.ci, one.p_value, other.p_value)
        for (name, _), one, other in zip(systems, bleu, chrf, strict=True)
    }
