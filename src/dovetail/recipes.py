"""The named combinations of model, training, decoding and combination."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from dovetail.errors import InputError
from dovetail.registry import Registry


@dataclass(frozen=True)
class Options:
    """What may be set besides the four choices; a recipe has its own defaults.

    `ibm1_iterations` and `hmm_iterations` count EM iterations of the two stages; `window` is how far jumps are told
    apart; `null` is p0; `additive` and `variational` smooth the lexicon; `threshold` is the posterior a link must
    exceed; `tolerance` stops a stage when the log-likelihood gains less than this share of itself.
    """

    ibm1_iterations: int = 5
    hmm_iterations: int = 5
    window: int = 5
    null: float = 0.2
    additive: float = 0.0
    variational: bool = False
    threshold: float = 0.5
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        for name, low, high in (
            ("ibm1_iterations", 0, None),
            ("hmm_iterations", 0, None),
            ("window", 1, None),
            ("null", 0.0, 1.0),
            ("additive", 0.0, None),
            ("threshold", 0.0, 1.0),
            ("tolerance", 0.0, None),
        ):
            value = getattr(self, name)
            if value < low or (high is not None and value > high):
                limits = f"at least {low}" if high is None else f"from {low} to {high}"
                raise InputError(f"{name} is {value}", remedy=f"It must be {limits}.")
        if self.null in (0.0, 1.0):
            raise InputError(f"null is {self.null}", remedy="It must lie between 0 and 1, for instance 0.2.")


@dataclass(frozen=True)
class Recipe:
    """One point in the space of the four choices."""

    name: str
    description: str
    model: str
    training: str
    decoder: str = "posterior"
    combine: str | None = None  # None: what the decoder prefers
    options: Options = field(default_factory=Options)

    def with_options(self, changes: Mapping[str, Any]) -> Recipe:
        """A copy with other decoder, combine or options; an unknown name is an InputError that lists the known ones."""
        known = {entry.name for entry in fields(Options)}
        parts = {name: value for name, value in changes.items() if name in ("decoder", "combine")}
        unknown = [name for name in changes if name not in known and name not in parts]
        if unknown:
            raise InputError(f"no option {unknown[0]!r}", remedy=f"Choose from: {', '.join(sorted(known))}.")
        settings = {name: value for name, value in changes.items() if name in known}
        return replace(self, options=replace(self.options, **settings), **parts)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Recipe:
        return cls(**{**values, "options": Options(**values["options"])})


recipes: Registry[Recipe] = Registry("recipe")


def _recipe(name: str, description: str, **parts: Any) -> None:
    recipes.add(name, Recipe(name, description, **parts), description)


_recipe("ibm1", "IBM Model 1 by EM, both directions", model="ibm1", training="em")
_recipe("hmm", "the HMM by EM, both directions, from IBM Model 1", model="hmm", training="em")

PRESETS = {"default": "hmm", "fast": "hmm", "best": "hmm"}


def find_recipe(name: str) -> Recipe:
    """A recipe by its name or a preset's."""
    return recipes[PRESETS.get(name, name)]
