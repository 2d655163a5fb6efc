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
COMBINE = "grow-diag-final-and"  # of systems that give two directions


@dataclass(frozen=True)
class System:
    """A recipe, or another aligner of that name.  `printed`: BLEU by paper, of its system nearest to this one."""

    name: str
    kind: str
    printed: Mapping[str, str] = field(default_factory=dict)


GRACA, ZHAO, MERMER = "Graça et al. 2010", "Zhao and Gildea 2010", "Mermer and Saraçlar 2011"
PRINTED_FOR = {
    GRACA: "Table 2, English to French, soft union, Moses (IBM-4: grow-diag-final)",
    ZHAO: "Table 2, 100,000 pairs of Chinese and English, grow-diag-final, Moses, four references",
    MERMER: "Table 2, 20,000 pairs, Turkish to English / English to Turkish, Moses: EM-80, GS-80, IBM-4",
}
SYSTEMS = (
    System(BASE, "EM"),
    System("ibm1", "EM", {MERMER: "39.19 / 26.47"}),
    System("hmm", "EM", {GRACA: "28.9", ZHAO: "19.55"}),
    System("mermer2011", "Bayesian", {MERMER: "41.78 / 29.51"}),
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
    aligner = Aligner(system.name, seed=seed, threads=threads).fit(bitext)
    return aligner.align(bitext), f"recipe:{aligner.recipe.name}|seed:{seed}"
