"""Run a twin and Dovetail's own on one text and print both."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from commits import working_tree
from dovetail import Aligner, Alignments, precision_recall_curve
from dovetail.errors import InputError
from papers.__main__ import DATA
from papers.trial import Trial, open_trial
from papers.twins import graca, hmm, zhao

Row = tuple[str, float, float]  # what, the twin's number, Dovetail's
CANDIDATE = 0.001
NOT_THERE = float("nan")
LARGEST = 3000  # pairs for which the twins' dense tables are made


def numbered(trial: Trial) -> hmm.Text:
    """The source side is e, the target side f."""
    source, target = trial.bitext.source, trial.bitext.target
    sides = [np.split(side.ids.astype(np.int64), side.offsets[1:-1]) for side in (source, target)]
    pairs = [(e + 1, f) for e, f in zip(*sides, strict=True)]
    return hmm.Text(pairs, len(source.vocabulary) + 1, len(target.vocabulary))


def judged(trial: Trial, text: hmm.Text, align: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> float:
    """AER of the test pairs' alignments, per cent."""
    pairs = text.pairs[trial.first : trial.first + len(trial.gold)]
    links = [[(int(i) - 1, j) for j, i in enumerate(align(e, f)) if i] for e, f in pairs]
    return float(trial.score(Alignments.from_links(links, lengths=[(len(e), len(f)) for e, f in pairs]))["AER"])


def own(trial: Trial, recipe: str, seed: int, decoder: str = "viterbi", **options: object) -> float:
    """AER of a recipe in the same direction."""
    return _aer(trial, trial.fit(recipe, seed, **options), decoder, "forward")


def run_zhao(trial: Trial, seeds: Sequence[int]) -> Iterator[Row]:
    """Is it our code that does not gain from one sample?"""
    text = numbered(trial)
    one, many = hmm.ibm1(text, empty_words=False), hmm.ibm1(text)
    plain = hmm.fit_hmm(text, hmm.HMM.even(one, text.longest))
    yield "HMM, one empty word in IBM-1", judged(trial, text, path_of(plain)), own(trial, "hmm", 1, jumps="counts")
    plain = hmm.fit_hmm(text, hmm.HMM.even(many, text.longest))
    yield "HMM, I + 1 empty words in IBM-1", judged(trial, text, path_of(plain)), NOT_THERE
    for samples in (1, 5, 30):
        for seed in seeds:
            twin = judged(trial, text, path_of(zhao.fit_fertile(text, many, samples, 5, seed).hmm))
            yield f"HMMF-{samples}, seed {seed}", twin, own(trial, "zhao2010-hmmf", seed, samples=samples)


def run_ibm1f(trial: Trial, seeds: Sequence[int]) -> Iterator[Row]:
    """The same of IBM Model 1, aligned by the best of fewer samples than the paper's."""
    text = numbered(trial)
    t = hmm.ibm1(text)
    ibm1 = own(trial, "zhao2010-ibm1", 1)
    yield "IBM1, I + 1 empty words", judged(trial, text, lambda e, f: zhao.ibm1_path(t, e, f)), ibm1
    for seed in seeds:
        model = zhao.fit_unordered(text, t, 10, 3, 5, seed)
        fewer = {"decoding_samples": 20, "decoding_restarts": 3}
        best = partial(zhao.best_drawn, model, samples=20, restarts=3, random=np.random.default_rng(seed))
        yield f"IBM1F, seed {seed}", judged(trial, text, best), own(trial, "zhao2010-ibm1f", seed, "samples", **fewer)


def run_hard(trial: Trial, seeds: Sequence[int]) -> Iterator[Row]:
    """Is it the exact search that does harm, or counting one alignment alone?  In the plain HMM both are simple.

    By best alignments of one direction, and by both directions' posteriors, of which the soft union takes the mean.
    """
    if len(trial.bitext) <= LARGEST:
        yield from _hard_hmm(trial)
    for seed in seeds:
        for title, recipe, options in (
            (f"HMM with fertility, seed {seed}, 5 iterations of sampling", "hmm-fertility", {}),
            ("... and 2 more", "hmm-fertility", {"fertility_iterations": 7}),
            ("... or 2 of best alignments alone", "hmm-fertility-hard", {}),
        ):
            ours = trial.fit(recipe, seed, **options)
            yield f"{title}: one direction", NOT_THERE, _aer(trial, ours, "viterbi", "forward")
            yield f"{title}: one direction, exact", NOT_THERE, _aer(trial, ours, "exact", "forward")
            yield f"{title}: both, exact, grow-diag", NOT_THERE, _aer(trial, ours, "exact", "grow-diag")
            yield f"{title}: soft union of samples", NOT_THERE, _aer(trial, ours, "posterior", "soft-union")
            long = {"burn_in": 500, "decoding_samples": 500}
            yield f"{title}: soft union of long chains", NOT_THERE, _aer(trial, ours, "posterior", "soft-union", **long)


def _hard_hmm(trial: Trial) -> Iterator[Row]:
    """The plain HMM, of which both directions are trained."""
    text = numbered(trial)
    turned = hmm.Text([(f + 1, e - 1) for e, f in text.pairs], text.f_words + 1, text.e_words - 1)
    lexicons = [hmm.ibm1(side, empty_words=False) for side in (text, turned)]
    sides = list(zip((text, turned), lexicons, strict=True))
    begun = [hmm.fit_hmm(side, hmm.HMM.even(t, side.longest)) for side, t in sides]
    more = [hmm.fit_hmm(side, model, 2) for side, model in zip((text, turned), begun, strict=True)]
    hard = [hmm.fit_hmm(side, model, 2, hard=True) for side, model in zip((text, turned), begun, strict=True)]
    for title, models, iterations in (
        ("HMM, 5 iterations of sums", begun, 5),
        ("... and 2 more", more, 7),
        ("... or 2 of best paths alone", hard, None),
    ):
        ours = trial.fit("hmm", 1, jumps="counts", hmm_iterations=iterations) if iterations else None
        yield (
            f"{title}: one direction",
            judged(trial, text, path_of(models[0])),
            _aer(trial, ours, "viterbi", "forward"),
        )
        yield f"{title}: soft union", soft_union(trial, text, models), _aer(trial, ours, "posterior", "soft-union")


def _aer(trial: Trial, aligner: Aligner | None, decoder: str, combine: str, **options: int) -> float:
    if aligner is None:
        return NOT_THERE
    return float(trial.score(trial.links(aligner, decoder=decoder, combine=combine, **options))["AER"])


def soft_union(trial: Trial, text: hmm.Text, models: Sequence[hmm.HMM]) -> float:
    """AER of links whose posterior is above one half in the mean of both directions."""
    pairs = text.pairs[trial.first : trial.first + len(trial.gold)]
    links = []
    for e, f in pairs:
        there = hmm.forward_backward(models[0].emissions(e, f), models[0].moves(len(e)))[0]
        back = hmm.forward_backward(models[1].emissions(f + 1, e - 1), models[1].moves(len(f)))[0]
        links.append([(int(i), int(j)) for i, j in np.argwhere(there.T + back > 1.0)])
    return float(trial.score(Alignments.from_links(links, lengths=[(len(e), len(f)) for e, f in pairs]))["AER"])


def path_of(model: hmm.HMM) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    return lambda e, f: hmm.best_path(model, e, f)


def run_graca(trial: Trial, seeds: Sequence[int]) -> Iterator[Row]:
    """Does the area under the curve fall with a finer projection, and where does it?"""
    text = numbered(trial)
    short = [(e, f + 1) for e, f in text.pairs if max(len(e), len(f)) <= 40]
    t = hmm.ibm1(text, empty_words=False)
    turned = hmm.Text([(f + 1, e - 1) for e, f in text.pairs], text.f_words + 1, text.e_words - 1)
    back = hmm.ibm1(turned, empty_words=False)
    pairs = [(e, f + 1) for e, f in text.pairs[trial.first : trial.first + len(trial.gold)]]
    for precision in (0.1, 0.001):
        models, steps = graca.fit(text._replace(pairs=short), (t, back), precision, 4)
        aligner = trial.fit("graca2010-symmetric", 1, precision=precision, hmm_iterations=4, jumps="counts")
        yield f"precision {precision}: steps of a projection", steps, aligner.model.effort.mean_passes
        for name, asked, options in (
            ("plain posteriors", None, {"project_decoding": False}),
            ("projected", precision, {"project_decoding": True}),
        ):
            found = [graca.posteriors(models, e, f, asked) for e, f in pairs]
            cells = [np.argwhere(p > CANDIDATE) for p in found]
            links = Alignments.from_links(
                [[(int(i), int(j)) for i, j in some] for some in cells],
                [[float(min(1.0, p[i, j])) for i, j in some] for p, some in zip(found, cells, strict=True)],
                [(len(e), len(f)) for e, f in pairs],
            )
            ours = trial.links(aligner, threshold=CANDIDATE, combine="forward", **options)
            areas = [100 * precision_recall_curve(these, trial.gold).area for these in (links, ours)]
            yield f"precision {precision}: area, {name}", areas[0], areas[1]


TWINS = {"zhao": run_zhao, "ibm1f": run_ibm1f, "graca": run_graca, "hard": run_hard}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers.twins", description=__doc__, allow_abbrev=False)
    parser.add_argument("twin", choices=TWINS)
    parser.add_argument("--set", default="en-fr-hansards", metavar="NAME", help="a set under the data folder")
    parser.add_argument("--size", type=int, default=1000, metavar="N", help="training pairs")
    parser.add_argument("--seeds", type=int, default=1, help="of what samples")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the sets")
    options = parser.parse_args(arguments)
    print(
        f"`python -m benchmarks.papers.twins {options.twin}`, {options.set}:{options.size}, commit {working_tree()}.\n"
    )
    print("AER in per cent unless said otherwise.\n\n| what | twin | Dovetail |\n|---|---|---|")
    try:
        with TemporaryDirectory() as kept, open_trial(options.set, options.size, options.data, 1, Path(kept)) as trial:
            for what, twin, ours in TWINS[options.twin](trial, range(1, options.seeds + 1)):
                numbers = ("" if np.isnan(value) else f"{value:.1f}" for value in (twin, ours))
                print(f"| {what} | {' | '.join(numbers)} |", flush=True)
    except InputError as error:
        print(f"twins: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
