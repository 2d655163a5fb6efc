"""The NULL factor: a word that no word of the other side generates.

NULL keeps the position (Och and Ney 2003, section 2.2): what follows depends on the last linked word alone.  Its
parameter is p0; which words it yields is the lexicon's business (`Lexicon.nulls`).
"""

from dataclasses import dataclass

from dovetail.options import Options, option


@dataclass(frozen=True)
class Null(Options):
    """How often."""

    null: float = option(0.2, above=0.0, below=1.0, help="p0, the probability that a word is NULL's")
