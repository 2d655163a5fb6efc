"""Options with owners: what a recipe takes, what it refuses and whom it sends one to, before any training."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from dovetail import Aligner, Bitext, InputError
from dovetail.cli import dovetail
from dovetail.decoding.decoders import decoders
from dovetail.options import Options, Settings, limits, option
from dovetail.recipes import find_recipe, recipes

TINY = Bitext.from_pairs([(["a", "b"], ["x", "y"]), (["a"], ["x"])])


@dataclass(frozen=True)
class Sampling(Options):
    samples: int = option(30, at_least=1, help="sweeps that count")
    weight: float = option(0.5, above=0.0, below=1.0, help="of the rest")
    start: str = option("em", choices=("em", "cooccurrence"), help="where to begin")
    soft: bool = option(True, help="whether it is soft")


@given(samples=st.integers(-5, 5), weight=st.floats(-1, 2))
def test_values_within_the_limits_are_taken_and_others_refused(samples, weight):
    if samples >= 1 and 0 < weight < 1:
        made = Sampling(samples=samples, weight=weight)
        assert (made.samples, made.weight) == (samples, weight)
    else:
        with pytest.raises(InputError, match="must be"):
            Sampling(samples=samples, weight=weight)


@pytest.mark.parametrize(
    "wrong",
    [
        {"samples": 1.5},
        {"samples": "many"},
        {"samples": True},
        {"weight": float("nan")},
        {"start": "nowhere"},
        {"start": 3},
        {"soft": 1},
    ],
)
def test_values_of_another_kind_are_refused(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        Sampling(**wrong)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"samples": 10**20}, "samples is 100000000000000000000. It must be a number, at least 1 and at most 1e+15."),
        ({"samples": float("inf")}, "samples is inf. It must be a number, at least 1 and at most 1e+15."),
        ({"samples": -(10**20)}, "samples is -100000000000000000000. It must be a number, at least 1."),
        ({"weight": 1e20}, "weight is 1e+20. It must be a number, above 0 and below 1."),
        ({"weight": float("nan")}, "weight is nan. It must be a number, above 0 and below 1."),
        ({"shift": 1e20}, "shift is 1e+20. It must be a number, at most 1e+15."),
        ({"shift": -1e20}, "shift is -1e+20. It must be a number, at least -1e+15."),
    ],
)
def test_of_a_number_that_is_too_large_the_largest_is_told(wrong, says):
    @dataclass(frozen=True)
    class Shifted(Sampling):
        shift: float = option(0.0, help="anything")

    with pytest.raises(InputError) as raised:
        Shifted(**wrong)
    assert str(raised.value) == says


def test_numbers_become_the_kind_of_the_default_and_limits_are_told_in_words():
    made = Sampling(samples=np.int64(3), weight=np.float32(0.5))
    assert (type(made.samples), type(made.weight)) == (int, float)
    assert [limits(entry) for entry in fields(Sampling)] == [
        "at least 1",
        "above 0 and below 1",
        "one of em, cooccurrence",
        "true or false",
    ]
    settings = Settings([Sampling], {"samples": 4})
    assert settings.of(Sampling) == Sampling(samples=4)
    assert (settings.samples, settings["soft"], "nothing" in settings) == (4, True, False)


# what passed in silence once
@pytest.mark.parametrize(
    ("recipe", "options", "said"),
    [
        ("hmm", {"constraints": "bijective"}, r"'constraints'.*hmm-bijective|'constraints'.*ibm1-bijective"),
        ("hmm", {"fertility": "nonsense"}, r"'fertility'.*fertility"),
        ("hmm-fertility", {"fertility": "nonsense"}, r"fertility is 'nonsense'.*poisson"),
        ("hmm-fertility", {"hmm_iterations": 50}, r"'hmm_iterations'.*the recipe hmm"),
        ("hmm", {"decoder": "viterbi", "threshold": 0.9}, r"'threshold'.*the decoder posterior"),
        ("default", {"decoder": "viterbi", "grow": 0.3}, r"'grow'.*the decoder posterior"),
        ("ibm1", {"window": 3}, r"'window'.*the recipe hmm"),
        ("hmm", {"jumps": "nowhere"}, r"jumps is 'nowhere'.*window"),
        ("hmm", {"hmm_iterationz": 3}, r"no option 'hmm_iterationz'"),
        ("hmm-bayes", {"largest_fertility": 0}, r"largest_fertility is 0.*at least 1"),
        ("joint", {"alpha": 0.0}, r"alpha is 0"),
    ],
)
def test_an_option_without_effect_is_refused_before_training_and_told_who_takes_it(recipe, options, said):
    with pytest.raises(InputError, match=said):
        Aligner(recipe, **options)


def test_a_trained_model_takes_options_of_aligning_only(tmp_path):
    Aligner("hmm-symmetric", threads=1).fit(TINY).save(tmp_path / "model")
    assert Aligner.load(tmp_path / "model", project_decoding=False, threshold=0.2).recipe.options.threshold == 0.2
    with pytest.raises(InputError, match="precision is an option of training"):
        Aligner.load(tmp_path / "model", precision=0.5)
    with pytest.raises(InputError, match="window is an option of training"):
        Aligner.load(tmp_path / "model", decoder="viterbi", window=3)
    with pytest.raises(InputError, match=r"'threshold'.*the decoder posterior"):
        Aligner.load(tmp_path / "model", decoder="viterbi", threshold=0.3)


@pytest.mark.parametrize("name", recipes)
def test_every_recipe_lists_its_options_and_takes_each_of_them(name):
    runner = CliRunner()
    about = json.loads(runner.invoke(dovetail, ["recipes", name, "--json"]).output)
    shown = runner.invoke(dovetail, ["recipes", name]).output
    recipe = find_recipe(name)
    assert {entry["name"] for entry in about["options"]} == set(recipe.options)
    for entry in about["options"]:
        assert entry["name"] in shown
        assert entry["help"] in shown
        changes = {entry["name"]: entry["value"]}
        if "threshold" in changes:  # which alone turns growing off
            changes["grow"] = recipe.options["grow"]
        assert recipe.with_options(changes).options == recipe.options


def test_no_two_owners_of_a_recipe_have_an_option_of_the_same_name():
    for name, recipe in recipes.items():
        for decoder in decoders:
            owners = {*recipe.owners, *decoders[decoder].options}
            names = [entry.name for owner in owners for entry in fields(owner)]
            assert len(names) == len(set(names)), name
