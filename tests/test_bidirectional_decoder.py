"""The decoder `bidirectional`: what it is given, what it gives, and what it says of it."""

from __future__ import annotations

import io
import json
import math
from importlib.resources import files
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_bidirectional as naive
from dovetail import Aligner, Bitext, write_alignments
from dovetail.alignments.certificates import Certificates
from dovetail.bitext.windows import cut
from dovetail.cli import dovetail
from dovetail.decoding import bidirectional_decoder
from dovetail.decoding.bidirectional import bidirectional_map, methods
from dovetail.decoding.bidirectional_decoder import Bidirectional, BidirectionalOptions, _parts, piece_potentials
from dovetail.errors import InputError
from dovetail.kernels.bidirectional.potentials import chain_best, chain_potentials, chain_score
from dovetail.kernels.bidirectional.records import HMMChain
from dovetail.options import Settings

DEMO = [
    tuple(line.split() for line in lines)
    for lines in zip(
        *((files("dovetail") / "data" / f"demo.{side}").read_text("utf-8").splitlines() for side in ("en", "fr")),
        strict=True,
    )
]
ODD = [([], []), ([], ["rien"]), (["nothing"], []), (["yes"], ["oui"]), (["no"], ["non", "non", "non", "."])]
TEXT = Bitext.from_pairs([*DEMO[:150], *ODD])
AGREEMENTS = ("full", "adjacent", "soft")
DETAILS = ("certified", "score", "bound", "iterations", "constraints", "pruned")
RECIPES = ("hmm-agreement", "hmm", "joint-fast", "hmm-symmetric", "hmm-fertility")


@pytest.fixture(scope="module")
def trained():
    """Aligners by recipe, trained once."""
    made = {}

    def train(recipe):
        if recipe not in made:
            made[recipe] = Aligner(recipe, threads=1).fit(TEXT)
        return made[recipe]

    return train


@pytest.fixture(scope="module")
def text_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("text")
    for side, name in enumerate(("a.en", "a.fr")):
        (folder / name).write_text("".join(" ".join(pair[side]) + "\n" for pair in DEMO[:60]), "utf-8")
    return folder


def decoded(aligner, bitext=TEXT, **options):
    prefixed = {name if name == "combine" else f"bidirectional_{name}": value for name, value in options.items()}
    aligner.recipe = aligner.recipe.with_options({"decoder": "bidirectional", "combine": None, **prefixed})
    return aligner.align(bitext)


def restored(aligner):
    return decoded(aligner, agreement="full", penalty=-1.0, method="exact", iterations=0, seconds=0.0)


def problems(aligner, bitext):
    """(n, theta, omega) of each pair with words on both sides."""
    shard = aligner._lay_out(bitext)
    model = aligner._transferred(bitext, shard)
    work = shard.workspace()
    for block in shard:
        view = block.view(work)
        model.lexicon.gather(block, view, aligner.engine.pool)
        for piece, line in zip(range(block.first, block.last), block.lines, strict=True):
            yield int(shard.pieces.pair[piece]), *piece_potentials(model, block, view, line)


def chances(random, *shape):
    values = random.random(shape) + 1e-3
    return (values / values.sum(-1, keepdims=True)).astype(np.float32)


@st.composite
def chains(draw):
    R, W = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    null = draw(st.sampled_from([0.05, 0.2, 0.9]))
    emission, nulls = random.random((R, W)).astype(np.float32), random.random(R).astype(np.float32)
    return HMMChain(emission, nulls, null, chances(random, W, W), chances(random, W), chances(random, W), False)


# what it is given


@settings(max_examples=60, deadline=None)
@given(chains())
def test_potentials_are_the_hmms_with_what_follows_a_null_in_expectation(chain):
    found, slow = chain_potentials(chain), naive.potentials(*chain[:6])
    assert found[1:] == pytest.approx(slow[1:], abs=1e-4)
    assert found[0, 0] == pytest.approx(slow[0, 0], abs=1e-4)  # row 0 begins at the start, state 0


@settings(max_examples=30, deadline=None)
@given(chains(), st.integers(0, 2**32 - 1))
def test_a_path_without_null_is_worth_its_probability(chain, seed):
    emission, _, null, table, first, last = chain[:6]
    R, W = emission.shape
    path = np.random.default_rng(seed).integers(1, W + 1, R)
    log_p = np.log(first[path[0] - 1]) + np.log(last[path[-1] - 1])
    log_p += sum(np.log((1 - null) * emission[r, path[r] - 1]) for r in range(R))
    log_p += sum(np.log(table[path[r - 1] - 1, path[r] - 1]) for r in range(1, R))
    assert chain_score(chain, np.concatenate(([0], path))) == pytest.approx(log_p, abs=1e-4)


@settings(max_examples=30, deadline=None)
@given(chains())
def test_the_best_path_without_written_out_potentials_is_the_one_with_them(chain):
    potentials = chain_potentials(chain)
    path = np.zeros(len(potentials) + 1, np.int64)
    value = chain_best(chain, path)
    alpha = potentials[0, 0]
    for moves in potentials[1:]:
        alpha = (alpha[:, None] + moves).max(0)
    assert value == pytest.approx(alpha.max())
    assert chain_score(chain, path) == pytest.approx(value)


def test_an_impossible_word_makes_no_nan():
    random = np.random.default_rng(1)
    emission, nulls = np.zeros((3, 2), np.float32), np.zeros(3, np.float32)
    moves, first = chances(random, 2, 2), chances(random, 2)
    found = chain_potentials(HMMChain(emission, nulls, 0.2, moves, first, np.ones(2, np.float32), False))
    assert not np.isnan(found).any()


# what it gives


@pytest.mark.parametrize("agreement", AGREEMENTS)
def test_its_links_are_those_of_the_exact_pair_and_tiny_pairs_are_enumerated(trained, agreement):
    short = Bitext.from_pairs([(source[:3], target[:3]) for source, target in DEMO[:40]])
    aligner = trained("hmm-agreement")
    result = decoded(aligner, short, agreement=agreement, penalty=-0.5)
    penalty = {"full": {}, "adjacent": {"adjacency": -0.5}, "soft": {"disagreement": -0.5}}[agreement]
    for n, theta, omega in problems(aligner, short):
        assert result[n].links == bidirectional_map(theta, omega, **penalty).links
        assert result.details["certified"][n]
        if n < 8:
            assert result.details["score"][n] == pytest.approx(naive.best_score(theta, omega, **penalty))
    restored(aligner)


@pytest.mark.parametrize("recipe", RECIPES)
def test_any_pair_of_directional_models_is_decoded_and_proved(trained, recipe):
    result = restored(trained(recipe))
    assert len(result) == len(TEXT)
    assert result.details["certified"].all()
    assert sum(len(alignment.links) for alignment in result) > len(TEXT)
    assert all(0 <= p <= 1 for alignment in result for p in alignment.probabilities)


def test_with_full_agreement_no_combination_matters_and_links_are_one_to_one(trained):
    aligner = trained("hmm-agreement")
    union, both, one = (
        decoded(aligner, combine=name).offsets.tolist() for name in ("union", "intersection", "forward")
    )
    assert union == both == one
    for alignment in restored(aligner):
        for side in zip(*alignment.links, strict=True):
            assert len(set(side)) == len(side)


def test_looser_agreement_adds_links_of_one_direction_alone(trained):
    aligner = trained("hmm")
    for agreement in ("adjacent", "soft"):
        union, both = (
            decoded(aligner, agreement=agreement, penalty=-0.1, combine=name) for name in ("union", "intersection")
        )
        assert all(set(b.links) <= set(u.links) for u, b in zip(union, both, strict=True))
        assert len(union.source) > len(both.source)
    restored(aligner)


def test_a_links_probability_is_its_posterior(trained):
    aligner = trained("hmm-agreement")
    for n, alignment in enumerate(restored(aligner)[:5]):
        forward, reverse = aligner.directional_posteriors(*TEXT.tokens(n))
        for (i, j), p in zip(alignment.links, alignment.probabilities, strict=True):
            assert p == pytest.approx(max(forward[i, j], reverse[i, j]), abs=1e-4) or p == pytest.approx(
                (forward[i, j] + reverse[i, j]) / 2, abs=1e-4
            )


def test_empty_and_one_word_sentences_are_proved_and_null_may_be_best(trained):
    aligner = trained("hmm-agreement")
    odd = Bitext.from_pairs([*ODD, (["zyzzyva"], ["flob"])])
    result = restored(aligner) and decoded(aligner, odd)
    assert result.details["certified"].all()
    assert [result[n].links for n in range(3)] == [[], [], []]
    assert result.details["score"][:3].tolist() == [0.0, 0.0, 0.0]
    assert result[3].links == [(0, 0)]
    nothing = Aligner("hmm-agreement", threads=1, null=1 - 1e-9, hmm_iterations=1).fit(Bitext.from_pairs(DEMO[:40]))
    found = restored(nothing) and decoded(nothing, Bitext.from_pairs(DEMO[:40]))
    assert found.details["certified"].all()
    assert len(found.source) == 0


@pytest.mark.parametrize("agreement", AGREEMENTS)
def test_the_same_bytes_for_any_number_of_threads(trained, tmp_path, agreement):
    trained("hmm-agreement").save(tmp_path / "model")
    written = []
    for threads in (1, 2, 3):
        aligner = Aligner.load(tmp_path / "model", threads=threads)
        text = io.StringIO()
        write_alignments(text, decoded(aligner, agreement=agreement), "jsonl")
        written.append(text.getvalue())
    assert written[0] == written[1] == written[2]


# budgets


def test_a_budget_that_runs_out_gives_a_feasible_pair_and_a_bound(trained):
    aligner = trained("hmm")
    whole = restored(aligner).details
    for limit in ({"iterations": 1}, {"seconds": 1e-9}):
        result = decoded(aligner, **{"iterations": 0, "seconds": 0.0, **limit})
        found = result.details
        assert not found["certified"].all()
        assert (found["score"] <= whole["score"] + 1e-8).all()
        assert (found["bound"] >= whole["score"] - 1e-8).all()
        assert (found["score"] == found["bound"])[found["certified"]].all()
        for alignment in result:  # full agreement: one-to-one
            for side in zip(*alignment.links, strict=True):
                assert len(set(side)) == len(side)
    restored(aligner)


@pytest.mark.parametrize("agreement", AGREEMENTS)
def test_a_piece_too_large_to_search_says_so(trained, monkeypatch, agreement):
    aligner = trained("hmm-agreement")
    exact = decoded(aligner, agreement=agreement).details
    monkeypatch.setattr(bidirectional_decoder, "LARGEST", 0)
    found = decoded(aligner, agreement=agreement)
    assert (found.details["score"] <= exact["score"] + 1e-8).all()
    assert (found.details["bound"] >= exact["score"] - 1e-8).all()
    assert np.isfinite(found.details["score"]).all()
    assert (found.details["iterations"] == 0).all()
    assert not found.details["certified"].all()
    monkeypatch.undo()
    restored(aligner)


@pytest.mark.parametrize("method", [name for name in methods if name != "integer"])
def test_no_method_of_the_papers_certifies_less_than_the_best(trained, method):
    aligner = trained("hmm-agreement")
    best = restored(aligner).details["score"]
    found = decoded(aligner, method=method).details
    assert found["certified"].any()
    assert found["score"][found["certified"]] == pytest.approx(best[found["certified"]])
    assert (found["bound"] >= best - 1e-8).all()
    restored(aligner)


def test_combinations_change_only_what_dual_decomposition_did_not_settle(trained):
    aligner = trained("hmm")
    options = {"method": "dual-decomposition", "agreement": "adjacent", "penalty": -0.1, "iterations": 40}
    union, both = (decoded(aligner, combine=name, **options) for name in ("union", "intersection"))
    proved = union.details["certified"]
    assert proved.any()
    assert not proved.all()
    assert all(union[n].links == both[n].links for n in np.flatnonzero(proved))
    assert any(union[n].links != both[n].links for n in np.flatnonzero(~proved))
    alone = [decoded(aligner, combine=name, **options) for name in ("forward", "reverse")]
    assert any(one[n].links != union[n].links for one in alone for n in np.flatnonzero(proved))  # one direction alone
    for n in range(len(union)):
        assert set(alone[0][n].links) | set(alone[1][n].links) == set(union[n].links)
    restored(aligner)


def test_what_did_not_converge_has_a_gap_that_the_summary_tells(trained):
    aligner = trained("hmm")
    best = restored(aligner).details["score"]
    result = decoded(aligner, method="dual-decomposition", iterations=3)
    found = result.details
    assert not found["certified"].all()
    assert np.isfinite(found["score"]).all()
    assert (found["score"] <= best + 1e-8).all()
    assert (found["bound"] >= best - 1e-8).all()
    gap = (found["bound"] - found["score"])[~found["certified"]].mean()
    whole, parts = Certificates(), Certificates()
    whole.add(result)
    for first in range(0, len(result), 4):
        parts.add(result[first : first + 4])
    assert f"mean gap of the rest {gap:.3g}" in whole.summary(1.0)
    assert parts.summary(1.0) == whole.summary(1.0)
    restored(aligner)


def test_the_share_pruned_of_a_pair_in_pieces_is_a_mean():
    offsets = np.array([0, 1000, 1004]), np.array([0, 900, 905])
    pieces = cut(*offsets, longest=300)
    shares = _parts(SimpleNamespace(pieces=pieces))
    assert len(pieces) > 2
    assert np.bincount(pieces.pair, shares) == pytest.approx([1.0, 1.0])


def test_models_without_chains_are_refused_with_a_remedy():
    with pytest.raises(InputError, match=r"needs a pair of HMMs, not ibm1.*hmm-agreement"):
        Aligner("ibm1", threads=1, decoder="bidirectional")  # before anything is trained


def test_the_options_name_what_there_is():
    papers = {"relaxation", "relaxation+constraints", "chang2014", "dual-decomposition", "integer"}
    assert set(methods) == {"exact", *papers}
    settings = Settings([BidirectionalOptions], {})
    assert Bidirectional.of(settings, None).settings == Bidirectional().settings
    for change, said in (
        ({"bidirectional_method": "magic"}, "'magic'.*relaxation"),
        ({"bidirectional_agreement": "some"}, "'some'.*adjacent"),
        ({"bidirectional_penalty": 0.5}, "bidirectional_penalty is 0.5. It must be at most 0"),
        ({"bidirectional_penalty": -math.inf}, "bidirectional_penalty is -inf. It must be a number, at most 0"),
        ({"bidirectional_iterations": -1}, "bidirectional_iterations is -1"),
        ({"bidirectional_seconds": -1.0}, "bidirectional_seconds is -1"),
    ):
        with pytest.raises(InputError, match=said):
            BidirectionalOptions(**change)


# the command


@pytest.mark.parametrize("agreement", AGREEMENTS)
def test_the_command_writes_certificates_and_a_summary(text_files, agreement):
    arguments = ["align", str(text_files / "a.en"), str(text_files / "a.fr"), "--recipe", "hmm-agreement", "--format"]
    arguments += ["jsonl", "--decoder", "bidirectional", "--option", f"bidirectional_agreement={agreement}"]
    outputs = []
    for threads in ("1", "2"):
        result = CliRunner().invoke(dovetail, [*arguments, "--threads", threads], catch_exceptions=False)
        assert result.exit_code == 0
        outputs.append(result.stdout)
        assert "100.00% proved optimal (60 of 60)" in result.stderr
        assert "of the lattice pruned" in result.stderr
    assert outputs[0] == outputs[1]
    for line in outputs[0].splitlines():
        entry = json.loads(line)
        assert set(DETAILS) <= set(entry)
        assert entry["certified"] is True
        assert entry["score"] == entry["bound"] < 0
        assert entry["iterations"] >= 1
        assert entry["constraints"] >= 0
        assert 0 <= entry["pruned"] <= 1


def test_the_command_says_when_the_budget_ran_out(text_files):
    arguments = ["align", str(text_files / "a.en"), str(text_files / "a.fr"), "--recipe", "hmm", "--decoder"]
    arguments += ["bidirectional", "--option", "bidirectional_iterations=1", "--format", "jsonl"]
    result = CliRunner().invoke(dovetail, arguments, catch_exceptions=False)
    entries = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(entries) == 60
    rest = [entry for entry in entries if not entry["certified"]]
    assert rest
    assert all(entry["score"] < entry["bound"] for entry in rest)
    assert "mean gap of the rest" in result.stderr


def test_the_public_exact_decoders_are_functions_whatever_was_imported_before():
    from dovetail.decoding import bidirectional_map, fertility_map
    from dovetail.decoding.decoders import decoders

    assert all(hasattr(decoder, "mark") for decoder in decoders.values())  # imports every one
    assert callable(bidirectional_map)
    assert callable(fertility_map)
