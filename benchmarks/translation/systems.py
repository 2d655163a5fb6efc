"""The systems whose links are compared, and what the papers printed for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aligners import OWN, PEERS
from dovetail import Aligner, Alignments, Bitext
from dovetail.alignments.combine import combiners
from dovetail.alignments.formats import read_alignments
from texts import Text

BASE = "sil-thot-hmm"  # the translation system's own links, on which its weights are tuned
SLOWEST = "chang2014"  # which begins first
ASKED_FOR = "sil-thot-ibm4"  # and else left out: its links take longer than all others'
COMBINE = "grow-diag-final-and"  # of systems that give two directions


@dataclass(frozen=True)
class System:
    """A recipe, or another aligner of that name.  `printed`: BLEU by paper, of its system nearest to this one.

    With `options`, a recipe under another name: its directions are then put together as those of the other aligners are.
    """

    name: str
    kind: str
    printed: Mapping[str, str] = field(default_factory=dict)
    recipe: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)


GRACA, ZHAO, MERMER = "Graça et al. 2010", "Zhao and Gildea 2010", "Mermer and Saraçlar 2011"
PRINTED_FOR = {
    GRACA: "Table 2, English to French, soft union, Moses (IBM-4: grow-diag-final)",
    ZHAO: "Table 2, 100,000 pairs of Chinese and English, grow-diag-final, Moses, four references",
    MERMER: "Table 2, 20,000 pairs, Turkish to English / English to Turkish, Moses",
}
SYSTEMS = (
    System(BASE, "EM"),
    System("ibm1", "EM"),
    System("EM-5", "EM", {MERMER: "38.91 / 26.52"}, "ibm1", {"decoder": "mode"}),
    System("EM-80", "EM", {MERMER: "39.19 / 26.47"}, "ibm1", {"decoder": "mode", "ibm1_iterations": 80}),
    System("hmm", "EM", {GRACA: "28.9"}),
    System("zhao2010-hmm", "EM", {ZHAO: "19.55"}),
    System("GS-5", "Bayesian", {MERMER: "40.63 / 27.24"}, "mermer2011", {"ibm1_iterations": 5}),
    System("GS-80", "Bayesian", {MERMER: "41.78 / 29.51"}, "mermer2011", {"ibm1_iterations": 80}),
    System("hmm-bayes", "Bayesian"),
    System("graca2010-symmetric", "symmetric", {GRACA: "31.2"}),
    System("hmm-symmetric", "symmetric"),
    System("graca2010-bijective", "bijective", {GRACA: "31.5"}),
    System("hmm-bijective", "bijective"),
    System("zhao2010-hmmf", "fertility", {ZHAO: "19.26"}),
    System("hmm-fertility", "fertility"),
    System("chang2014", "bidirectional"),
    System("default", "joint"),
    System("eflomal", "peer"),
    System("sil-thot-ibm4", "peer", {GRACA: "31.2", ZHAO: "18.77", MERMER: "39.94 / 27.47"}),
)


def links_of(
    system: System, bitext: Bitext, text: Text, folder: Path, seed: int, threads: int
) -> tuple[Alignments, str]:
    """All links of the training text, as anyone gets them from that system, and what made them."""
    if system.name == BASE:
        ways = [
            read_alignments(folder.parent / "base" / way, "pharaoh", text.lengths) for way in ("forward", "reverse")
        ]
        return combiners[COMBINE](*ways), f"{BASE}|{COMBINE}"
    if system.name in PEERS:
        peer = PEERS[system.name]
        version = peer.prepare(offline=False)
        found: dict[str, Any] = peer.align(text, folder, threads, timeout=None).links
        return (found[OWN], version) if OWN in found else (found[COMBINE], f"{version}|{COMBINE}")
    if not system.recipe:
        aligner = Aligner(system.name, seed=seed, threads=threads).fit(bitext)
        return aligner.align(bitext), f"recipe:{aligner.recipe.name}|seed:{seed}"
    aligner = Aligner(system.recipe, seed=seed, threads=threads, combine=COMBINE, **system.options).fit(bitext)
    told = "|".join(f"{name}:{value}" for name, value in system.options.items())
    return aligner.align(bitext), f"recipe:{system.recipe}|{told}|{COMBINE}|seed:{seed}"
