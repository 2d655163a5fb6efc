"""The named combinations of model, training, decoding and combination."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from numbers import Real
from typing import Any

from dovetail.errors import InputError
from dovetail.registry import Registry

BIDIRECTIONAL = {
    "bidirectional_agreement": ("full", "adjacent", "soft"),
    "bidirectional_method": ("exact", "relaxation", "relaxation+constraints", "dual-decomposition", "integer"),
}


@dataclass(frozen=True)
class Options:
    """What may be set besides the four choices; a recipe has its own defaults.

    `ibm1_iterations` and `hmm_iterations` count EM iterations of the two stages; `window` is how far jumps are told
    apart; `null` is p0; `additive` and `variational` smooth the lexicon; `threshold` is the posterior a link must
    exceed; `tolerance` stops a stage when the log-likelihood gains less than this share of itself.  `grow`: links that
    touch a link and exceed this are added for words without one.  `temper`: the odds of probabilities above one half are
    raised to this power, for a model that is too sure of itself; thresholds speak of the tempered ones.

    Of the constrained recipes: `constraints` names them, separated by commas; `precision` and `slack` are how far each is
    solved and how much violation is allowed (0 and -1: what the paper used for it); `free_mass` lets a symmetric projection
    weigh one direction more than the other in training, as in the paper; `warm_multipliers` keeps multipliers between
    iterations, for speed at the price of memory; `project_decoding` projects when aligning, too.

    Of the joint HMM: `alpha` is the prior count of any word pair; `head_stems`, `tail_stems`, `short_stems` and
    `middle_stems` are how many counts a word takes from its stems of each kind; `spelling` is whether likeness of spelling
    counts, `agreement_power` how hard the two directions must agree (1: product, 0: not at all, the mean of both),
    `jump_strength` how many moves a word needs before its own jumps weigh as much as those of all words (0: they are the
    same), `largest_fertility` the number of links told apart (0: no fertility), `share` how much of its row's or its
    column's probability a cell needs to be looked at (0: all cells are), `leave_one_out` whether a cell's own count is
    taken out before the cell is scored.  A text of at least three times `sample` cells (0: no text) is learned from in two
    steps: a sample of so many cells first, then, with the last `whole_iterations` of the HMM's, the whole text; a single
    one leaves jumps and fertilities as the sample taught them.  A text of more than `whole_cells` cells (0: none) has a
    larger sample, where all iterations are.

    Of the models with fertility: `fertility` is poisson, categorical or features, `deficient` (IBM Model 1 only) whether
    the model wastes probability as in the paper's equation 1; `fertility_iterations` counts Monte Carlo EM iterations of
    `samples` sweeps in each of `restarts` chains; `decoding_samples`, `decoding_restarts` and `burn_in` (sweeps that do not
    count) are those of decoding; with `soft_counts`, training counts a draw's candidates by their probabilities, else the
    one that was drawn; `hard_iterations` counts those of hard EM; `exact_iterations` and `exact_seconds` limit
    the exact decoder's work on a sentence (0: no limit).

    Of the Bayesian models: `chains` run side by side from the alignments that `start` names (em: IBM Model 1's best after
    `ibm1_iterations`; cooccurrence: words that stand together most often); of each, `burn_in` sweeps do not count, and then
    every `lag`-th is one of `samples`.  `ibm1_sweeps` and `hmm_sweeps` come before those with fertility, whose prior is
    worth `fertility_strength` tokens a word.  `adapt_sweeps`: large texts get fewer sweeps and chains.  `annealing`: IBM
    Model 1's burn-in begins at a higher temperature, moves all links of a word at once where that is likelier, and ends
    at a lower one, that of samples.  `shards` of the text are sampled side by side (0: by its size).  `discount` is taken
    from the mean count of each pair of words in aligning.

    Of the decoder bidirectional: `bidirectional_agreement` is full (both directions pick the same links), adjacent (or
    neighbours, each for `bidirectional_penalty`) or soft (any, each link of one direction alone for that penalty);
    `bidirectional_method` is exact, relaxation, relaxation+constraints, dual-decomposition or integer;
    `bidirectional_iterations` and `bidirectional_seconds` limit its work on a sentence pair (0: a few seconds' worth).
    """

    ibm1_iterations: int = 5
    hmm_iterations: int = 5
    window: int = 5
    null: float = 0.2
    additive: float = 0.0
    variational: bool = False
    threshold: float = 0.5
    temper: float = 1.0
    tolerance: float = 0.0
    grow: float = 1.0
    constraints: str = ""
    precision: float = 0.0
    slack: float = -1.0
    free_mass: bool = True
    warm_multipliers: bool = True
    project_decoding: bool = True
    alpha: float = 1e-4
    head_stems: float = 3.0
    tail_stems: float = 1.5
    short_stems: float = 1.0
    middle_stems: float = 1.0
    spelling: bool = True
    agreement_power: float = 0.75
    jump_strength: float = 25.0
    largest_fertility: int = 4
    share: float = 0.03
    leave_one_out: bool = True
    sample: int = 8_000_000
    whole_iterations: int = 2
    whole_cells: int = 30_000_000
    fertility: str = "poisson"
    deficient: bool = True
    fertility_iterations: int = 5
    samples: int = 30
    restarts: int = 1
    decoding_samples: int = 30
    decoding_restarts: int = 1
    burn_in: int = 5
    soft_counts: bool = True
    hard_iterations: int = 2
    exact_iterations: int = 1000
    exact_seconds: float = 0.0
    chains: int = 1
    start: str = "em"
    lag: int = 1
    ibm1_sweeps: int = 5
    hmm_sweeps: int = 10
    fertility_strength: float = 2.0
    adapt_sweeps: bool = True
    annealing: bool = True
    shards: int = 0
    discount: float = 0.5
    bidirectional_agreement: str = "full"
    bidirectional_penalty: float = -1.0
    bidirectional_method: str = "exact"
    bidirectional_iterations: int = 0
    bidirectional_seconds: float = 0.0

    def __post_init__(self) -> None:
        for entry in fields(self):  # before the limits: a word or not-a-number has no place among them
            value = _of_kind(type(entry.default), entry.name, getattr(self, entry.name))
            object.__setattr__(self, entry.name, value)
        for name, low, high in (
            ("ibm1_iterations", 0, None),
            ("hmm_iterations", 0, None),
            ("window", 1, None),
            ("null", 0.0, 1.0),
            ("additive", 0.0, None),
            ("threshold", 0.0, 1.0),
            ("temper", 0.05, 20.0),
            ("tolerance", 0.0, None),
            ("grow", 0.0, 1.0),
            ("precision", 0.0, None),
            ("slack", -1.0, None),
            ("alpha", 1e-9, None),
            ("head_stems", 0.0, None),
            ("tail_stems", 0.0, None),
            ("short_stems", 0.0, None),
            ("middle_stems", 0.0, None),
            ("agreement_power", 0.0, 1.0),
            ("jump_strength", 0.0, None),
            ("largest_fertility", 0, 20),
            ("share", 0.0, 1.0),
            ("sample", 0, None),
            ("whole_iterations", 0, None),
            ("whole_cells", 0, None),
            ("fertility_iterations", 0, None),
            ("samples", 1, None),
            ("restarts", 1, None),
            ("decoding_samples", 1, None),
            ("decoding_restarts", 1, None),
            ("burn_in", 0, None),
            ("hard_iterations", 0, None),
            ("exact_iterations", 0, None),
            ("exact_seconds", 0.0, None),
            ("chains", 1, None),
            ("lag", 1, None),
            ("ibm1_sweeps", 0, None),
            ("hmm_sweeps", 0, None),
            ("fertility_strength", 1e-6, None),
            ("shards", 0, None),
            ("discount", 0.0, None),
            ("bidirectional_penalty", -math.inf, 0.0),
            ("bidirectional_iterations", 0, None),
            ("bidirectional_seconds", 0.0, None),
        ):
            value = getattr(self, name)
            if value < low or (high is not None and value > high):
                limits = f"at least {low}" if high is None else f"from {low} to {high}"
                raise InputError(f"{name} is {value}", remedy=f"It must be {limits}.")
        for name, known in BIDIRECTIONAL.items():
            if getattr(self, name) not in known:
                raise InputError(f"{name} is {getattr(self, name)!r}", remedy=f"Choose from: {', '.join(known)}.")
        if self.null in (0.0, 1.0):
            raise InputError(f"null is {self.null}", remedy="It must lie between 0 and 1, for instance 0.2.")


def _of_kind(kind: type, name: str, value: Any) -> Any:
    """The value as the type of the option's default (numpy's numbers become Python's); InputError if it is no such."""
    if kind is bool and not isinstance(value, bool):
        raise InputError(f"{name} is {value!r}", remedy="It must be true or false.")
    if kind in (int, float) and (isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value)):
        raise InputError(f"{name} is {value!r}", remedy="It must be a number.")
    if kind is int and value != int(value):
        raise InputError(f"{name} is {value!r}", remedy="It must be a whole number.")
    if kind is str and not isinstance(value, str):
        raise InputError(f"{name} is {value!r}", remedy="It must be a word.")
    return kind(value) if kind in (int, float) else value


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
_recipe(
    "ibm1-fertility",
    "IBM Model 1 with Poisson fertility, by Monte Carlo EM",
    model="ibm1-fertility",
    training="monte-carlo-em",
    options=Options(samples=10, restarts=3, decoding_samples=100, decoding_restarts=3),
)
_recipe(
    "hmm-fertility",
    "the HMM with Poisson fertility, by Monte Carlo EM",
    model="hmm-fertility",
    training="monte-carlo-em",
)
_recipe(
    "hmm-fertility-features",
    "the HMM with fertility from features of words, by Monte Carlo EM",
    model="hmm-fertility",
    training="monte-carlo-em",
    options=Options(fertility="features"),
)
_recipe(
    "hmm-fertility-hard",
    "the HMM with Poisson fertility, by Monte Carlo EM and then hard EM with exact alignments",
    model="hmm-fertility",
    training="hard-em",
    decoder="exact",
)

_recipe(
    "joint",
    "both HMMs over one collapsed lexicon, with agreement, stems, spelling, word jumps and fertility",
    model="joint-hmm",
    training="joint",
    options=Options(ibm1_iterations=3, hmm_iterations=6, null=0.3, temper=0.5, grow=0.3),
)
_recipe(
    "joint-fast",
    "the joint HMM in fewer iterations, without fertility",
    model="joint-hmm",
    training="joint",
    options=Options(
        ibm1_iterations=3,
        hmm_iterations=3,
        null=0.3,
        temper=0.5,
        grow=0.3,
        largest_fertility=0,
        share=0.04,
        sample=3_000_000,
        whole_iterations=1,
        whole_cells=15_000_000,
    ),
)
_recipe(
    "joint-best",
    "the joint HMM in more iterations, over more cells",
    model="joint-hmm",
    training="joint",
    options=Options(
        ibm1_iterations=3,
        hmm_iterations=8,
        null=0.3,
        temper=0.5,
        grow=0.3,
        share=0.01,
        sample=50_000_000,
        whole_iterations=4,
        whole_cells=0,
    ),
)

for _model, _words in (("ibm1", "IBM Model 1"), ("hmm", "the HMM")):
    _recipe(
        f"{_model}-agreement",
        f"{_words} by EM, both directions learning from the product of their posteriors",
        model=_model,
        training="agreement",
    )
    _recipe(
        f"{_model}-bijective",
        f"{_words} with each word used at most once in expectation",
        model=_model,
        training="constrained",
        options=Options(constraints="bijective", hmm_iterations=3),
    )
    _recipe(
        f"{_model}-symmetric",
        f"{_words} with equal link posteriors in both directions",
        model=_model,
        training="constrained",
        options=Options(constraints="symmetric", hmm_iterations=3),
    )
    _recipe(
        f"{_model}-constrained",
        f"{_words} with constraints of the user's own, given to fit",
        model=_model,
        training="constrained",
        options=Options(hmm_iterations=3),
    )

_recipe(
    "ibm1-bayes",
    "IBM Model 1 with the lexicon integrated out under a sparse Dirichlet prior, by collapsed Gibbs sampling",
    model="ibm1-bayes",
    training="collapsed-gibbs",
    decoder="mode",
    options=Options(burn_in=400, samples=100, lag=10),
)
_recipe(
    "hmm-bayes",
    "the HMM with fertility under Dirichlet priors, by several chains of collapsed Gibbs sampling",
    model="hmm-bayes",
    training="collapsed-gibbs",
    options=Options(chains=3, burn_in=10, samples=10, largest_fertility=5, decoding_samples=5, decoding_restarts=2),
)

PRESETS = {"default": "joint", "fast": "joint-fast", "best": "joint-best"}


def find_recipe(name: str) -> Recipe:
    """A recipe by its name or a preset's."""
    return recipes[PRESETS.get(name, name)]
