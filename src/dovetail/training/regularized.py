"""EM with posterior regularization (Graça et al. 2010, section 3.2): the E-step projects, the M-step stays as it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dovetail.errors import InputError
from dovetail.models.constrained import Constrained, Projection
from dovetail.models.constraints import Constraint, constraints
from dovetail.options import Options, option
from dovetail.training.train import Task, reads


@dataclass(frozen=True)
class ConstraintOptions(Options):
    """Which constraints, and how far they are met."""

    constraints: str = option("", help="names of constraints, separated by commas; more can be given to fit")
    precision: float = option(0.0, at_least=0.0, help="how far each projection is solved (0: as the paper does)")
    slack: float = option(-1.0, at_least=-1.0, help="how much violation is allowed (-1: as the paper does)")
    free_mass: bool = option(
        True, help="whether a symmetric projection may weigh one direction more than the other in training"
    )
    warm_multipliers: bool = option(
        True, help="whether multipliers are kept between iterations, for speed at the price of memory"
    )


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


def projection_for(chosen: Sequence[Constraint], options: ConstraintOptions) -> Projection:
    """The settings: the options' precision and slack where they are set, else the most exacting of the constraints'."""
    return Projection(
        precision=options.precision or min((c.precision for c in chosen), default=0.005),
        slack=options.slack if options.slack >= 0 else min((c.slack for c in chosen), default=0.0),
        free_mass=options.free_mass,
    )


@reads(ConstraintOptions, takes_constraints=True, many_shards=lambda settings, cells: True, resumes=True)
def train(task: Task) -> Constrained:
    """IBM Model 1 by plain EM, then the HMM by EM with projection; for IBM Model 1 alone, that with projection."""
    options = task.settings.of(ConstraintOptions)
    chosen = chosen_constraints(options.constraints, task.constraints)
    model: Constrained = task.fit_dense(
        constraints=chosen, projection=projection_for(chosen, options), warm=options.warm_multipliers
    )
    return model.at_rest()
