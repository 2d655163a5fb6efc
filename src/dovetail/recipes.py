"""Recipes: named points in the space of model, training, decoding and combination."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

from dovetail.bitext.views import Views
from dovetail.decoding.decoders import Threshold, decoders
from dovetail.decoding.tempering import Tempering
from dovetail.errors import InputError
from dovetail.laboratory.papers import PAPERS
from dovetail.models.registry import models
from dovetail.options import Options, Settings
from dovetail.registry import Registry
from dovetail.training.train import trainings


@dataclass(frozen=True, eq=False)
class Recipe:
    """One point in the space of the four choices.

    `values` are what this recipe, or whoever changed it, set of the options that its parts own; the rest are the owners'
    defaults.
    """

    name: str
    description: str
    model: str
    training: str
    decoder: str = "posterior"
    combine: str | None = None  # None: what the decoder prefers
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def owners(self) -> tuple[type[Options], ...]:
        """Whose options this recipe takes: those of its model and training, and of aligning."""
        return (*models[self.model].options, *trainings[self.training].options, Views, *self.decoding_owners)

    @property
    def decoding_owners(self) -> tuple[type[Options], ...]:
        """Whose options a trained model still takes."""
        return (*models[self.model].decoding_options, *decoders[self.decoder].options, Tempering)

    @cached_property
    def options(self) -> Settings:
        """Every option of this recipe with its value."""
        return Settings(self.owners, self.values)

    def with_options(self, changes: Mapping[str, Any], trained: bool = False) -> Recipe:
        """A copy with other decoder, combine or options; a threshold without `grow` turns growing off.

        InputError for a value out of range, and for an option that no part of the recipe owns; of a `trained` recipe
        nothing but aligning can be changed.
        """
        parts = {name: value for name, value in changes.items() if name in ("decoder", "combine")}
        settings = Threshold.asked({name: value for name, value in changes.items() if name not in parts})
        chosen = replace(self, **parts)
        known = {
            entry.name for owner in (chosen.decoding_owners if trained else chosen.owners) for entry in fields(owner)
        }
        for name in settings:
            if name not in known:
                raise _refused(name, chosen, trained)
        chosen = replace(chosen, values={**self.values, **settings})
        checked = {name: chosen.options[name] for name in settings}  # now, before any work
        return replace(chosen, values={**self.values, **checked})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Recipe) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(self.name)

    def to_dict(self) -> dict[str, Any]:
        parts = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return {**parts, "values": {**self.options, **self.values}}

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Recipe:
        """A saved recipe, or KeyError for options that nobody knows, TypeError for parts that are no words.

        Those of other recipes, which older versions saved with every model, are left out.
        """
        parts = {entry.name: saved[entry.name] for entry in fields(cls) if entry.name != "values"}
        if not all(isinstance(part, str) or (name, part) == ("combine", None) for name, part in parts.items()):
            raise TypeError("its recipe is no recipe")
        values = dict(saved["values"] if "values" in saved else saved["options"])
        recipe = cls(**parts)
        foreign = values.keys() - {entry.name for owner in recipe.owners for entry in fields(owner)}
        if foreign:
            kept = {entry.name for decoder in decoders.values() for owner in decoder.options for entry in fields(owner)}
            unknown = foreign - _every_name()
            if unknown:
                raise KeyError(", ".join(sorted(unknown)))
            values = {name: value for name, value in values.items() if name not in foreign or name in kept}
        recipe = replace(recipe, values=values)
        recipe.options  # noqa: B018 (values are checked now)
        return recipe


def _every_name() -> set[str]:
    """Names of all options that any recipe takes with any decoder."""
    every = [*recipes.values(), *paper_recipes.values()]
    return {entry.name for recipe in every for owner in _owners(recipe) for entry in fields(owner)}


def _owners(recipe: Recipe) -> list[type[Options]]:
    """Whose options the recipe takes with any decoder."""
    return [*recipe.owners, *(owner for decoder in decoders for owner in decoders[decoder].options)]


def _refused(name: str, recipe: Recipe, trained: bool) -> InputError:
    """Why the recipe does not take an option, and who would."""
    takers = [f"the decoder {other}" for other in decoders if _has(decoders[other].options, name)]
    takers += [
        f"the recipe {other}"
        for table in (recipes, paper_recipes)
        for other, one in table.items()
        if _has(one.owners, name)
    ]
    if trained and _has(recipe.owners, name):
        return InputError(
            f"{name} is an option of training, and this model is trained", remedy="Train again to change it."
        )
    if not takers:
        return InputError(f"no option {name!r}", remedy=f"Choose from: {', '.join(sorted(_every_name()))}.")
    if len(takers) > 4:
        takers = [*takers[:4], "and others"]
    about = f"{recipe.name} with the decoder {recipe.decoder}"
    return InputError(f"the recipe {about} has no option {name!r}", remedy=f"It is one of {', '.join(takers)}.")


def _has(owners: tuple[type[Options], ...], name: str) -> bool:
    return any(entry.name == name for owner in owners for entry in fields(owner))


recipes: Registry[Recipe] = Registry("recipe")
paper_recipes: Registry[Recipe] = Registry("paper's recipe")  # exactly as printed, from the laboratory
for _paper, _about in PAPERS.items():
    paper_recipes.add(_paper, Recipe(_paper, *_about), _about.description)


def _recipe(name: str, description: str, model: str, training: str, **values: Any) -> None:
    decoder = values.pop("decoder", "posterior")
    recipes.add(name, Recipe(name, description, model, training, decoder, values=values), description)


_recipe("ibm1", "IBM Model 1 by EM, both directions", "ibm1", "em")
_recipe("hmm", "the HMM by EM, both directions, from IBM Model 1", "hmm", "em")
_recipe(
    "ibm1-fertility",
    "IBM Model 1 with Poisson fertility, by Monte Carlo EM",
    "ibm1-fertility",
    "monte-carlo-em",
    samples=10,
    restarts=3,
    decoding_samples=100,
    decoding_restarts=3,
)
_recipe("hmm-fertility", "the HMM with Poisson fertility, by Monte Carlo EM", "hmm-fertility", "monte-carlo-em")
_recipe(
    "hmm-fertility-features",
    "the HMM with fertility from features of words, by Monte Carlo EM",
    "hmm-fertility",
    "monte-carlo-em",
    fertility="features",
)
_recipe(
    "hmm-fertility-hard",
    "the HMM with Poisson fertility, by Monte Carlo EM and then hard EM with exact alignments",
    "hmm-fertility",
    "hard-em",
    decoder="exact",
)
_JOINT: dict[str, Any] = {"ibm1_iterations": 3, "null": 0.3, "temper": 0.5, "grow": 0.3}
_recipe(
    "joint",
    "both HMMs over one counted lexicon, with agreement, stems, spelling, word jumps and fertility",
    "joint-hmm",
    "joint",
    **_JOINT,
    hmm_iterations=6,
)
_recipe(
    "joint-fast",
    "the joint HMM in fewer iterations, without fertility",
    "joint-hmm",
    "joint",
    **_JOINT,
    hmm_iterations=3,
    largest_fertility=0,
    share=0.04,
    sample=3_000_000,
    whole_iterations=1,
    whole_cells=15_000_000,
)
_recipe(
    "joint-best",
    "the joint HMM over more cells and more of a large text, beside one of characters or stems",
    "joint-hmm",
    "joint",
    # Two models are less often sure of what is wrong, and what both see as possible mostly is a link.
    **_JOINT | {"grow": 0.2, "temper": 0.7},
    hmm_iterations=7,
    share=0.02,
    sample=36_000_000,
    whole_iterations=4,
    whole_cells=0,
    views="words,characters|stems",
)
for _model, _words in (("ibm1", "IBM Model 1"), ("hmm", "the HMM")):
    # The HMM under constraints learns fast, and too much of it: three iterations, not five.
    _fewer: dict[str, Any] = {"hmm_iterations": 3} if _model == "hmm" else {}
    _recipe(
        f"{_model}-agreement",
        f"{_words} by EM, both directions learning from the product of their posteriors",
        _model,
        "agreement",
    )
    _recipe(
        f"{_model}-bijective",
        f"{_words} with each word used at most once in expectation",
        f"{_model}-constrained",
        "constrained",
        constraints="bijective",
        **_fewer,
    )
    _recipe(
        f"{_model}-symmetric",
        f"{_words} with equal link posteriors in both directions",
        f"{_model}-constrained",
        "constrained",
        constraints="symmetric",
        **_fewer,
    )
    _recipe(
        f"{_model}-constrained",
        f"{_words} with constraints of the user's own, given to fit",
        f"{_model}-constrained",
        "constrained",
        **_fewer,
    )
_recipe(
    "ibm1-bayes",
    "IBM Model 1 with the lexicon integrated out under a sparse Dirichlet prior, by collapsed Gibbs sampling",
    "ibm1-bayes",
    "collapsed-gibbs",
    decoder="mode",
    burn_in=400,
    samples=100,
    lag=10,
)
_recipe(
    "hmm-bayes",
    "the HMM with fertility under Dirichlet priors, by several chains of collapsed Gibbs sampling",
    "hmm-bayes",
    "collapsed-gibbs",
    chains=3,
    burn_in=10,
    samples=10,
    decoding_samples=5,
    decoding_restarts=2,
)

PRESETS = {"default": "joint", "fast": "joint-fast", "best": "joint-best"}


def find_recipe(name: str) -> Recipe:
    """A recipe by its name or a preset's; ours, or a paper's."""
    name = PRESETS.get(name, name)
    return paper_recipes[name] if name not in recipes and name in paper_recipes else recipes[name]
