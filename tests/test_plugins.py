"""Parts of a user's own, each in one file outside the package: a lexicon prior and a distortion factor."""

from __future__ import annotations

import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from dovetail import Aligner, Bitext, InputError
from dovetail.plugins import load_plugins

HERE = Path(__file__).parent / "plugins"
DATA = files("dovetail") / "data"
SIDES = [(DATA / f"demo.{side}").read_text("utf-8").splitlines() for side in ("en", "fr")]
TEXT = Bitext.from_pairs([(e.split(), f.split()) for e, f in zip(*SIDES, strict=True)][:150])
NEW = Bitext.from_pairs([TEXT.tokens(n) for n in range(0, 150, 7)])


@pytest.fixture(scope="module", autouse=True)
def plugged_in():
    load_plugins([str(HERE / "shorter.py"), str(HERE / "decaying.py")])


def written(result):
    return result.source.tobytes(), result.target.tobytes(), result.probability.tobytes()


@pytest.mark.parametrize(
    ("recipe", "options"),
    [
        ("default", {"priors": "alike-in-length"}),
        ("hmm", {"priors": "alike-in-length"}),
        ("hmm", {"jumps": "decaying"}),
        ("hmm-symmetric", {"jumps": "decaying"}),
        ("hmm-fertility", {"jumps": "decaying", "priors": "alike-in-length"}),
    ],
)
def test_a_part_of_ones_own_changes_what_is_learned_and_is_saved_with_the_model(recipe, options, tmp_path):
    own = Aligner(recipe, seed=1, threads=2, **options).fit(TEXT)
    plain = Aligner(recipe, seed=1, threads=2).fit(TEXT)
    assert written(own.align(TEXT)) != written(plain.align(TEXT))
    own.save(tmp_path / "model")
    loaded = Aligner.load(tmp_path / "model", threads=1)
    for text in (TEXT, NEW):
        assert written(loaded.align(text)) == written(own.align(text))


def test_a_prior_may_be_passed_as_an_object_and_a_heavy_one_has_its_way():
    from shorter import AlikeInLength

    def alike(result):
        """Which part of the links joins words of the same length."""
        found = []
        for n, alignment in enumerate(result):
            source, target = TEXT.tokens(n)
            found += [len(source[i]) == len(target[j]) for i, j in alignment.links]
        return np.mean(found)

    heavy = Aligner("hmm", threads=1).fit(TEXT, priors=[AlikeInLength(weight=1000.0)]).align(TEXT)
    assert alike(heavy) > alike(Aligner("hmm", threads=1).fit(TEXT).align(TEXT)) + 0.1
    with pytest.raises(InputError, match="takes no priors"):
        Aligner("ibm1-bayes").fit(TEXT, priors=[AlikeInLength()])


def run(*arguments, place):
    command = [sys.executable, "-m", "dovetail", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=place, check=False)


def test_the_command_line_takes_a_module_or_a_file(tmp_path):
    for side, lines in zip(("en", "fr"), SIDES, strict=True):
        (tmp_path / f"a.{side}").write_text("\n".join(lines[:40]) + "\n", "utf-8")
    (tmp_path / "shorter.py").write_bytes((HERE / "shorter.py").read_bytes())
    options = "align", "a.en", "a.fr", "--recipe", "hmm", "--option", "priors=alike-in-length"
    by_name = run(*options, "--plugin", "shorter", place=tmp_path)
    by_file = run(*options, "--plugin", HERE / "shorter.py", place=tmp_path)
    assert (by_name.returncode, by_file.returncode) == (0, 0), by_name.stderr + by_file.stderr
    assert by_name.stdout == by_file.stdout
    assert len(by_name.stdout.splitlines()) == 40
    without = run(*options, place=tmp_path)
    assert without.returncode == 2
    assert "no lexicon prior 'alike-in-length'" in without.stderr
    missing = run(*options, "--plugin", "nowhere", place=tmp_path)
    assert missing.returncode == 2
    assert "no module 'nowhere'" in missing.stderr
    listed = run("recipes", "hmm", "--plugin", HERE / "decaying.py", place=tmp_path)
    assert "one of window, decaying" in listed.stdout
