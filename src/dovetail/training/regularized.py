"""EM with posterior regularization (Graça et al. 2010, section 3.2): the E-step projects, the M-step stays as it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dovetail.bitext.corpus import Bitext
from dovetail.bitext.shards import Shard
from dovetail.errors import InputError
from dovetail.models.constrained import ConstrainedHMM, ConstrainedIBM1, Multipliers, Projection
from dovetail.models.constraints import Constraint, constraints
from dovetail.models.hmm import HMM
from dovetail.models.ibm1 import IBM1


def chosen_constraints(names: str, own: Iterable[Constraint] = ()) -> tuple[Constraint, ...]:
    """The constraints that a recipe names (separated by commas), then the user's own."""
    made = [constraints[name.strip()] for name in names.split(",") if name.strip()]
    for kind in made:
        try:
            kind()
        except TypeError:
            raise InputError(
                f"the constraint {kind.name} needs to be told more than its name",
                remedy=f"Pass a dovetail.{kind.__name__} to fit(..., constraints=[...]), or --constraints FILE to align.",
            ) from None
    return (*(kind() for kind in made), *own)


def projection_for(chosen: Sequence[Constraint], options: Any) -> Projection:
    """The settings: the options' precision and slack where they are set, else the most exacting of the constraints'."""
    return Projection(
        precision=options.precision or min((c.precision for c in chosen), default=0.005),
        slack=options.slack if options.slack >= 0 else min((c.slack for c in chosen), default=0.0),
        free_mass=options.free_mass,
    )


def constrained(
    model: HMM | IBM1, chosen: tuple[Constraint, ...], options: Any, bitext: Bitext, shard: Shard
) -> ConstrainedHMM | ConstrainedIBM1:
    """The model with constraints, bound to its training text; with warm starts from one iteration to the next."""
    settings = projection_for(chosen, options)
    made: ConstrainedHMM | ConstrainedIBM1
    if isinstance(model, HMM):
        made = ConstrainedHMM(model.lexicon, model.jumps, model.null, constraints=chosen, projection=settings)
    else:
        made = ConstrainedIBM1(model.lexicon, constraints=chosen, projection=settings)
    made = made.bound_to(bitext, shard)
    made.multipliers = Multipliers() if options.warm_multipliers else None
    return made
