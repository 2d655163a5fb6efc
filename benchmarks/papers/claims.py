"""The papers' claims as numbers, one table per paper: the same difference or share in the paper and on each text here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import mean
from typing import NamedTuple

from papers import chang, graca, mermer, quirk, zhao
from papers.shown import Section, Table
from papers.store import Store
from papers.trial import DIRECTIONS

Text = tuple[str, int]
Value = Callable[[Store, Text], "float | None"]


class Claim(NamedTuple):
    """A number that the paper's text or tables give away, and how it is found here."""

    title: str
    printed: float | None
    value: Value


def number(paper: str, job: str, name: str) -> Value:
    return lambda store, text: store.mean(paper, job, *text, name)


def seconds(paper: str, job: str, name: str) -> Value:
    """A time: the median over seeds."""
    return lambda store, text: store.median(paper, job, *text, name)


def both(paper: str, job: str, name: str) -> Value:
    """The mean of the two directions."""

    def value(store: Store, text: Text) -> float | None:
        found = [store.mean(paper, job, *text, name.format(way)) for way in DIRECTIONS]
        return None if None in found else mean(found)  # type: ignore[type-var]

    return value


def less(first: Value, second: Value) -> Value:
    """By how much the second is lower."""
    return lambda store, text: _with(first(store, text), second(store, text), lambda a, b: a - b)


def share(first: Value, second: Value) -> Value:
    """The first in per cent of the second."""
    return lambda store, text: _with(first(store, text), second(store, text), lambda a, b: 100 * a / b if b else None)


def relative(first: Value, second: Value) -> Value:
    """By how much the first is higher, in per cent of the second."""
    of_second = share(first, second)
    return lambda store, text: _with(of_second(store, text), 100.0, lambda a, b: a - b)


def _with(a: float | None, b: float | None, of: Callable[[float, float], float | None]) -> float | None:
    return None if a is None or b is None else of(a, b)


def _quirk() -> list[Claim]:
    hmm, viterbi, dual = (
        both(quirk.PAPER, job, f"{prefix}{{}} AER")
        for job, prefix in (("HMM", ""), ("quirk2013", "viterbi "), ("quirk2013", "dual "))
    )
    printed = {name: mean(values) for name, values in quirk.PRINTED.items()}
    plain, fertile, exact = printed["HMM"], printed["FHMM Viterbi"], printed["FHMM dual decomposition"]
    return [
        Claim("fertility lowers AER by (Viterbi)", plain - fertile, less(hmm, viterbi)),
        Claim("dual decomposition lowers it further by", fertile - exact, less(viterbi, dual)),
        Claim(
            "sentences converged after 40 iterations, per cent",
            quirk.PRINTED_CONVERGED,
            both(quirk.PAPER, "quirk2013", "{} converged share"),
        ),
        Claim("AER of our own recipe, exact, is lower than dual decomposition's by", None, less(dual, _our_quirk)),
    ]


def _our_quirk(store: Store, text: Text) -> float | None:
    return both(quirk.PAPER, "ours", "{} AER")(store, text)


def _graca() -> list[Claim]:
    paper, one, alike = graca.PAPER, graca.PRINTED_ONE_TO_ONE, graca.PRINTED_SYMMETRY
    bijective, symmetric = constrained = ("graca2010-bijective", "graca2010-symmetric")
    baseline, claims = graca.BASELINE, []
    for system in (baseline, bijective):
        title = f"one-to-one links of {graca.title_of(system)}, per cent"
        claims.append(Claim(title, one[system], number(paper, system, "forward one-to-one")))
    for system in (baseline, symmetric):
        claims.append(
            Claim(f"symmetry of {graca.title_of(system)}, per cent", alike[system], number(paper, system, "symmetry"))
        )
    for system, printed in zip(constrained, (11.0, 14.0), strict=True):
        gain = relative(both(paper, system, "{} P at R"), both(paper, baseline, "{} P at R"))
        title = f"`{system}` has more precision than the HMM at IBM Model 4's recall, per cent of it"
        claims.append(Claim(title, printed, gain))
    claims.append(
        Claim(
            "IBM Model 4 has more precision than the HMM, per cent of it",
            10.0,
            relative(both(paper, "IBM4", "{} P"), both(paper, baseline, "{} P at R")),
        )
    )
    for system in constrained:
        # The paper counts both systems together: 9 of 12.
        claims.append(Claim(f"directions in which `{system}` is better than IBM Model 4", None, wins(system, "IBM4")))
    claims.append(
        Claim(
            f"directions in which `{symmetric}` is better than `{bijective}` (paper: 10 of 12)",
            1.7,
            wins(symmetric, bijective),
        )
    )
    for system in constrained:
        gain = less(both(paper, system, "{} area"), both(paper, baseline, "{} area"))
        claims.append(Claim(f"`{system}` has more area under its curve than the HMM by", None, gain))
        gain = less(both(paper, system, "{} rare P"), both(paper, baseline, "{} rare P"))
        claims.append(Claim(f"`{system}` gains precision on rare words (paper: up to 50)", None, gain))
        loss = less(both(paper, baseline, "{} rare R"), both(paper, system, "{} rare R"))
        claims.append(Claim(f"`{system}` loses recall of rare words (paper: a slight drop)", None, loss))
        gain = less(both(paper, system, "{} common P"), both(paper, baseline, "{} common P"))
        claims.append(Claim(f"`{system}` gains precision on common words", None, gain))
    for value, printed in graca.PRINTED_AREA.items():
        title = f"area under the curve with precision {value}, symmetric"
        claims.append(Claim(title, printed, number(paper, f"precision {value}", "as printed")))
    areas = (number(paper, "precision 0.001", aligning) for aligning in ("as printed", "not projected"))
    claims.append(Claim("area gained by projecting when aligning, too (paper: small, consistent)", None, less(*areas)))
    return claims


def wins(system: str, other: str) -> Value:
    """In how many of the two directions a system of Graça et al. is better at IBM Model 4's recall; a half for a tie."""

    def value(store: Store, text: Text) -> float | None:
        found = [[graca.precision_at_recall(store, one, text, way) for one in (system, other)] for way in DIRECTIONS]
        if any(None in pair for pair in found):
            return None
        return sum((own > its) + 0.5 * (own == its) for own, its in found)  # type: ignore[operator]

    return value


def _zhao() -> list[Claim]:
    def aer(system: str) -> Value:
        return both(zhao.PAPER, system, "{} AER")

    def printed(system: str) -> float:
        return mean(way[2] for way in zhao.PRINTED[system])

    gain = printed("IBM1") - printed("IBM1F")
    claims = [Claim("IBM1F lowers IBM1's AER by", gain, less(aer("IBM1"), aer("IBM1F")))]
    # Not as printed: our own IBM Model 1, which has one NULL, and IBM1F that begins with it and has one, too.
    own = less(aer("our IBM1"), aer("IBM1F: one empty word, begun"))
    claims.append(Claim("the same, both with one empty word, IBM1F begun with IBM1", gain, own))
    for system in ("HMMF-1", "HMMF-5", "HMMF-30"):
        title = f"{system} lowers the HMM's AER by"
        claims.append(Claim(title, printed("HMM") - printed(system), less(aer("HMM"), aer(system))))
    claims.append(Claim("HMMF-5, online, lowers it by", None, less(aer("HMM"), aer("HMMF-5, online"))))
    claims.append(
        Claim(
            "the HMM by 30 samples, without fertility, lowers it by (paper: none lost)",
            None,
            less(aer("HMM"), aer("sampled HMM")),
        )
    )
    claims.append(Claim("our own HMM with fertility lowers it by", None, less(aer("HMM"), aer("our HMMF"))))
    title = "HMMF-30's AER is higher than IBM Model 4's by"
    claims.append(Claim(title, printed("HMMF-30") - printed("IBM4"), less(aer("HMMF-30"), aer("IBM4"))))
    spent = seconds(zhao.PAPER, "HMMF-1", "CPU s"), seconds(zhao.PAPER, "HMM", "CPU s")
    claims.append(
        Claim("CPU time of HMMF-1 in per cent of the HMM's (the paper: less than a fifth)", 20.0, share(*spent))
    )
    return claims


def _mermer() -> list[Claim]:
    claims = []
    for name, title in (("dictionary", "size of the dictionary"), ("over 7", "words with more than 7 links")):
        ours = [both(mermer.PAPER, system, f"{{}} {name}") for system in ("GS-80", "EM-80")]
        gibbs, em = (sum(mermer.PRINTED[name][system]) for system in ("GS-80", "EM-80"))
        claims.append(Claim(f"{title}: GS-80 in per cent of EM-80", 100 * gibbs / em, share(*ours)))
    aer = {system: both(mermer.PAPER, system, "{} AER") for system in ("EM-80", "GS-80", "ours (`ibm1-bayes`)")}
    claims.append(Claim("GS-80 lowers EM-80's AER by", None, less(aer["EM-80"], aer["GS-80"])))
    claims.append(Claim("our own recipe lowers it by", None, less(aer["EM-80"], aer["ours (`ibm1-bayes`)"])))
    return claims


def _chang() -> list[Claim]:
    claims = []
    for method, title in (
        ("relaxation from 0", "relaxation alone"),
        ("relaxation", "relaxation alone from our own start"),
        ("chang2014", "relaxation with constraints put back"),
        ("dual-decomposition", "dual decomposition"),
        ("exact", "our own method"),
    ):
        printed = chang.PRINTED_1[method][-1][1] if method in chang.PRINTED_1 else None
        claims.append(
            Claim(f"certified by {title}, per cent", printed, number(chang.PAPER, "certificates", f"{method} all cert"))
        )

    more = number(chang.PAPER, "other steps", f"{chang.steps_name(chang.STEPS_TRIED[-1])} cert")
    claims.insert(1, Claim("certified by relaxation alone with more and slower steps, per cent", None, more))

    def aer(system: str) -> Value:
        return number(chang.PAPER, "accuracy", f"{system} AER")

    printed_aer = {system: values[2] for system, values in chang.PRINTED_2.items()}
    for system in ("DIR union", "DIR intersection", "DIR grow-diag", "D&M grow-diag", "D&M intersection"):
        title = f"CONS has a lower AER than {system} by"
        claims.append(Claim(title, printed_aer[system] - printed_aer["CONS"], less(aer(system), aer("CONS"))))
    return claims


CLAIMS = {"Quirk 2013": _quirk, "Graça et al. 2010": _graca, "Zhao and Gildea 2010": _zhao}
CLAIMS |= {"Mermer and Saraçlar 2011": _mermer, "Chang et al. 2014": _chang}


def about(store: Store) -> str:
    hours = sum(cell.seconds for cell in store.cells.values()) / 3600
    return (
        "Made by `python -m benchmarks.papers`; under each table and figure stand the commits that its cells were measured "
        "at. Numbers of samplers are means over seeds, times are medians. "
        f"All cells together took {hours:.1f} CPU hours, two of them at a time."
    )


def tables(store: Store) -> list[Table]:
    """Of papers that have a cell, on the texts that they have one of."""
    return Section.of("Claims", store, _tables(store)).tables


def _tables(store: Store) -> Iterator[Table]:
    for paper, claims in CLAIMS.items():
        texts = store.texts(paper)
        rows = [[claim.title, *(claim.value(store, text) for text in texts), claim.printed] for claim in claims()]
        if texts:
            yield Table(paper, ["claim", *(f"{name}:{size}" for name, size in texts), "paper"], rows, 1)
