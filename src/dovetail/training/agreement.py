"""Coupling the two directions between E- and M-step: both learn only from links that both believe in."""

from __future__ import annotations

from dovetail.bitext.shards import Block
from dovetail.engines import Threads
from dovetail.kernels.hmm import agreement as kernels
from dovetail.kernels.records import Workspace


def agree(block: Block, work: Workspace, engine: Threads, power: float = 1.0) -> None:
    """The count of a cell becomes (forward posterior times reverse posterior) ** power, in both directions.

    The product alone (Liang, Taskar and Klein 2006, section 3) punishes one-to-many links; a power below 1 is milder.
    """
    engine.map(
        lambda first, last: kernels.agree(
            first, last, block.lines, power, work.forward, work.reverse, work.null_forward, work.null_reverse
        ),
        block.tasks,
    )
