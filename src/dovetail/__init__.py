"""Word alignment: which words of two sentences translate each other, and how sure that is.

The public names; each is imported when it is first used, so that `import dovetail` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dovetail.aligner import Aligner
    from dovetail.alignments.alignments import Alignment, Alignments
    from dovetail.alignments.combine import combiners
    from dovetail.alignments.formats import alignment_formats, read_alignments, write_alignments
    from dovetail.alignments.gold import Gold, read_gold
    from dovetail.bitext.corpus import Bitext, TextOptions, read_bitext
    from dovetail.bitext.dictionaries import read_dictionary
    from dovetail.bitext.source import TextSource
    from dovetail.errors import InputError
    from dovetail.evaluation import Score, compare_systems, evaluate, precision_recall_curve
    from dovetail.evaluation.comparison import compare
    from dovetail.models.constraints import (
        Bijective,
        Dictionary,
        Limit,
        MaximumFertility,
        PairConstraint,
        Symmetric,
        TagPairs,
        constraints,
    )
    from dovetail.models.jumps.distance import jump_factors
    from dovetail.models.lexicon.lexicon import lexicon_priors
    from dovetail.models.token_constraints import TokenPairs
    from dovetail.recipes import Recipe
    from dovetail.report.plots import plot_curve, plot_matrix
    from dovetail.serve.client import Client
    from dovetail.training.monitor import Progress

__version__ = "0.1.0"

_HOMES = {
    "Aligner": "dovetail.aligner",
    "Alignment": "dovetail.alignments.alignments",
    "Alignments": "dovetail.alignments.alignments",
    "Bijective": "dovetail.models.constraints",
    "Bitext": "dovetail.bitext.corpus",
    "Client": "dovetail.serve.client",
    "Dictionary": "dovetail.models.constraints",
    "Gold": "dovetail.alignments.gold",
    "InputError": "dovetail.errors",
    "Limit": "dovetail.models.constraints",
    "MaximumFertility": "dovetail.models.constraints",
    "PairConstraint": "dovetail.models.constraints",
    "Progress": "dovetail.training.monitor",
    "Recipe": "dovetail.recipes",
    "Score": "dovetail.evaluation",
    "Symmetric": "dovetail.models.constraints",
    "TagPairs": "dovetail.models.constraints",
    "TextOptions": "dovetail.bitext.corpus",
    "TextSource": "dovetail.bitext.source",
    "TokenPairs": "dovetail.models.token_constraints",
    "alignment_formats": "dovetail.alignments.formats",
    "combiners": "dovetail.alignments.combine",
    "compare": "dovetail.evaluation.comparison",
    "compare_systems": "dovetail.evaluation",
    "constraints": "dovetail.models.constraints",
    "evaluate": "dovetail.evaluation",
    "jump_factors": "dovetail.models.jumps.distance",
    "lexicon_priors": "dovetail.models.lexicon.lexicon",
    "plot_curve": "dovetail.report.plots",
    "plot_matrix": "dovetail.report.plots",
    "precision_recall_curve": "dovetail.evaluation",
    "read_alignments": "dovetail.alignments.formats",
    "read_bitext": "dovetail.bitext.corpus",
    "read_dictionary": "dovetail.bitext.dictionaries",
    "read_gold": "dovetail.alignments.gold",
    "write_alignments": "dovetail.alignments.formats",
}

__all__ = [
    "Aligner",
    "Alignment",
    "Alignments",
    "Bijective",
    "Bitext",
    "Client",
    "Dictionary",
    "Gold",
    "InputError",
    "Limit",
    "MaximumFertility",
    "PairConstraint",
    "Progress",
    "Recipe",
    "Score",
    "Symmetric",
    "TagPairs",
    "TextOptions",
    "TextSource",
    "TokenPairs",
    "alignment_formats",
    "combiners",
    "compare",
    "compare_systems",
    "constraints",
    "evaluate",
    "jump_factors",
    "lexicon_priors",
    "plot_curve",
    "plot_matrix",
    "precision_recall_curve",
    "read_alignments",
    "read_bitext",
    "read_dictionary",
    "read_gold",
    "write_alignments",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'dovetail' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
