"""What every recipe keeps, whatever it is made of.  The recipes come from the registry."""

from __future__ import annotations

import copy
import inspect
import io
import pickle
import shutil
from importlib.resources import files
from itertools import islice, product

import numpy as np
import pytest
from click.testing import CliRunner

from dovetail import Aligner, Bitext, InputError, TextSource, read_gold, write_alignments
from dovetail.alignments.combine import combiners
from dovetail.alignments.gold import GoldPair
from dovetail.annotate.sheet import Sheet
from dovetail.cli import COMMANDS, dovetail
from dovetail.decoding.decoders import Threshold, decoders
from dovetail.models.lexicon.lexicon import PriorOptions
from dovetail.recipes import find_recipe, paper_recipes, recipes
from folders import contents

DATA = files("dovetail") / "data"
DEMO = [
    (source.split(), target.split())
    for source, target in zip(
        (DATA / "demo.en").read_text("utf-8").splitlines(),
        (DATA / "demo.fr").read_text("utf-8").splitlines(),
        strict=True,
    )
]
MADE_UP = [
    ([], []),
    ([], ["rien"]),
    (["nothing"], []),
    (["yes"], ["oui"]),
    (["no", "no", "no"], ["non"]),
    (["."] * 40, ["."] * 25),
    (["the", "house"] * 30, ["la", "maison"] * 28),
    (["1984", "\u00a0", "naïve", "𝒳"], ["1984", "\u3000", "naïf", "𝒳"]),
]
TRAINING = Bitext.from_pairs(DEMO[:60] + MADE_UP + DEMO[60:120])
NEW = Bitext.from_pairs(
    [
        *DEMO[300:320],
        (["zyzzyva"], ["zyzzyva"]),
        (["zyzzyva", "quux"], ["flob", "zyzzyva", "grault"]),
        (["the", "zyzzyva", "is", "old", "."], ["le", "zyzzyva", "est", "vieux", "."]),
        ([], ["flob"]),
        ([], []),
        (["yes"], ["oui"]),
        (["the"] * 70, ["le"]),
    ]
)


# The paper's own search goes on for long where it does not converge: here that would be most of the time.
FEWER = {"chang2014": {"bidirectional_iterations": 20}}


def aligner_of(recipe, **options):
    return Aligner(recipe, **FEWER.get(recipe, {}), **options)


def choices():
    """Every decoder with every combination that a registry names, and with what it prefers itself."""
    return product(decoders, [None, "soft-union", *combiners])


def pairs_of(bitext):
    return [bitext.tokens(n) for n in range(len(bitext))]


def as_bytes(result):
    """Everything about the links, to the last bit."""
    text = io.StringIO()
    write_alignments(text, result, "probabilities")
    return text.getvalue().encode(), result.probability.tobytes(), result.offsets.tobytes()


def saved_bytes(aligner, path):
    aligner.save(path)
    return contents(path)


def check(result, bitext):
    """One alignment a pair, in bounds, sorted, no link twice, one probability a link."""
    assert len(result) == len(bitext)
    for alignment, (I, J) in zip(result, bitext.lengths, strict=True):
        assert (alignment.source_length, alignment.target_length) == (I, J)
        assert alignment.links == sorted(set(alignment.links))
        assert all(0 <= i < I and 0 <= j < J for i, j in alignment.links)
        assert len(alignment.probabilities) == len(alignment.links)
        assert all(0 <= p <= 1 for p in alignment.probabilities)  # which NaN is not


@pytest.fixture(scope="module", params=[*recipes, *paper_recipes])
def recipe(request):
    return request.param


@pytest.fixture(scope="module")
def trained(recipe):
    return aligner_of(recipe, seed=1, threads=2).fit(TRAINING)


@pytest.fixture(scope="module")
def model(trained, tmp_path_factory):
    """The trained aligner's directory, from which a test loads one of its own."""
    place = tmp_path_factory.mktemp("models") / "model"
    trained.save(place)
    return place


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda used: pickle.loads(pickle.dumps(used))])
def test_a_used_aligner_can_be_copied_and_pickled(trained, again):
    before = as_bytes(trained.align(NEW))
    other = again(trained)
    for bitext in (NEW, TRAINING):
        assert as_bytes(other.align(bitext)) == as_bytes(trained.align(bitext))
    assert other.recipe == trained.recipe
    if again is copy.deepcopy:
        other.fit(NEW)  # which is none of the first one's business
        assert as_bytes(trained.align(NEW)) == before


def test_every_word_has_a_fertility(trained, model):
    loaded = Aligner.load(model, threads=1)
    for side, direction in enumerate(("forward", "reverse")):
        vocabulary = (trained.source_vocabulary, trained.target_vocabulary)[side]
        null, *entries = trained.fertilities(direction)
        assert null.word == "NULL"
        assert {entry.word for entry in entries} <= set(vocabulary)
        assert len(entries) > len(vocabulary) - 5  # those of pairs with an empty side were never seen
        assert all(0 <= entry.mean < 20 for entry in (null, *entries))
        links = sum(entry.mean * entry.count for entry in (null, *entries))
        assert links == pytest.approx(len(TRAINING.target.ids if side == 0 else TRAINING.source.ids), rel=0.35)
        assert [entry.count for entry in entries] == sorted((entry.count for entry in entries), reverse=True)
        assert loaded.fertilities(direction, bitext=TRAINING) == trained.fertilities(direction, bitext=TRAINING)
        assert trained.fertilities(direction, minimum=5) == [null, *(entry for entry in entries if entry.count >= 5)]


# Every public method of an aligner, and the test above or below that calls it for every recipe.
CALLED = {
    "fit": "test_a_bitext",
    "align": "test_every_pair_gets_one_alignment_with_links_in_bounds",
    "align_stream": "test_a_text_in_files_is_aligned_as_at_once",
    "align_streams": "test_a_text_in_files_is_aligned_as_at_once",
    "align_pair": "test_a_pair_alone_is_aligned_as_within_its_text",
    "posteriors": "test_posteriors_are_probabilities_of_the_right_shape",
    "directional_posteriors": "test_posteriors_are_probabilities_of_the_right_shape",
    "fertilities": "test_every_word_has_a_fertility",
    "save": "test_a_bitext",
    "load": "test_a_loaded_model_gives_the_same_bytes_on_the_training_text_and_on_new_text",
    "lexicon": "test_what_is_made_of_links_and_learned_from_gold",
    "pick": "test_what_is_made_of_links_and_learned_from_gold",
    "favour": "test_what_is_made_of_links_and_learned_from_gold",
    "learn": "test_what_is_made_of_links_and_learned_from_gold",
    "learned_from": "test_what_is_made_of_links_and_learned_from_gold",
}


def test_every_public_method_is_called():
    public = {name for kind in Aligner.__mro__ for name in vars(kind) if not name.startswith("_")}
    assert public == set(CALLED)
    for name, test in CALLED.items():
        assert f".{name}(" in inspect.getsource(globals()[test]), f"{test} does not call {name}"


def test_what_is_made_of_links_and_learned_from_gold(model):
    aligner, bitext = Aligner.load(model), Bitext.from_pairs(DEMO[20:40])
    assert aligner.lexicon(bitext).to_records()
    assert sorted(set(aligner.pick(bitext, 5))) == sorted(aligner.pick(bitext, 5))
    if Threshold in aligner.recipe.decoding_owners:
        assert 0.0 <= aligner.favour("precision", bitext) <= 1.0
    else:
        with pytest.raises(InputError, match="threshold"):
            aligner.favour("precision", bitext)
    gold = read_gold(str(DATA / "demo.gold"))[20:40]
    found = aligner.learn(bitext, gold)
    assert aligner.learned_from(bitext).any() == (aligner.learned is not None), found


def test_it_suggests_links_to_annotators(model):
    aligner, bitext = Aligner.load(model), Bitext.from_pairs([*DEMO[20:30], ([], ["seul"])])
    sheet, found = Sheet(bitext, np.arange(1, 12), range(11), aligner), aligner.align(bitext)
    for number in range(1, 12):
        said = sheet.suggestion(number)
        cells = {(i, j): p for i, j, p in said.cells}
        assert GoldPair.from_text(said.links).sure == set(found[number - 1].links) <= set(cells)
        assert all(0 <= p <= 1 + 1e-5 for p in cells.values())
    assert sheet.next_doubtful(1, (1, None), lambda number: number < 3) in range(3, 12)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Texts for the commands: some pairs, and links of them by hand."""
    folder = tmp_path_factory.mktemp("texts")
    for side, name in enumerate(("new.en", "new.fr")):
        (folder / name).write_text("".join(" ".join(pair[side]) + "\n" for pair in DEMO[20:30]), "utf-8")
    gold = (DATA / "demo.gold").read_text("utf-8").splitlines(keepends=True)
    (folder / "gold").write_text("".join(gold[20:30]), "utf-8")
    words = [pair[0] for pair in DEMO[20:30]]
    rows = ["".join(f"{n}\t{w}\t_\tNOUN" + "\t_" * 6 + "\n" for n, w in enumerate(one, 1)) + "\n" for one in words]
    (folder / "new.conllu").write_text("".join(rows), "utf-8")
    return folder


# Every command, as it is called with a recipe's model or its links; `align` runs first.
COMMANDS_OF_A_MODEL = {
    "align": "new.en new.fr --load MODEL --probabilities -o links",
    "fertilities": "MODEL new.en new.fr --minimum 1",
    "show": "new.en new.fr --load MODEL",
    "view": "new.en new.fr --load MODEL -o page.html",
    "evaluate": "links gold",
    "compare": "links links gold",
    "curve": "links gold",
    "describe": "new.en new.fr --links links",
    "combine": "links links -o both --combine union",
    "convert": "links -o converted --to probabilities",
    "phrases": "new.en new.fr --links links -o phrases",
    "lexicon": "new.en new.fr --load MODEL -o lexicon",
    "find": "the new.en new.fr --links links",
    "project": "new.conllu new.fr --links links -o projected",
    "tags": "new.en new.fr --load MODEL -o tagged",
    "remap": "links new.en new.fr new.en new.fr -o remapped",
    "score": "new.en new.fr --load MODEL -o scores",
    "learn": "MODEL new.en new.fr gold --save learned",
    "pick": "new.en new.fr --load MODEL -n 3",
    "recipes": "RECIPE",
}
WITHOUT_A_MODEL = {
    "serve",
    "annotate",
    "demo",
    "completion",
    "warm",
}  # servers, the demo's own training, a shell's business, compiling


def test_every_command_is_named_here():
    assert set(COMMANDS) == {*COMMANDS_OF_A_MODEL, *WITHOUT_A_MODEL}


def test_every_command_works_with_the_recipes_model(recipe, model, written, tmp_path, monkeypatch):
    shutil.copytree(written, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    for name, arguments in COMMANDS_OF_A_MODEL.items():
        names = {"MODEL": str(model), "RECIPE": recipe}
        called = CliRunner().invoke(dovetail, [name, *(names.get(word, word) for word in arguments.split())])
        assert called.exit_code == 0, f"{name}: {called.output} {called.exception!r}"


def test_every_pair_gets_one_alignment_with_links_in_bounds(trained):
    check(trained.align(TRAINING), TRAINING)
    check(trained.align(NEW), NEW)


def test_it_learns_to_link_something(trained):
    result = trained.align(TRAINING)
    assert len(result.source) > len(TRAINING)
    assert result[0].probabilities, "not even the first pair has a link"


def test_posteriors_are_probabilities_of_the_right_shape(trained):
    for source, target in pairs_of(NEW) + pairs_of(TRAINING)[55:70]:
        I, J = len(source), len(target)
        posteriors = trained.posteriors(source, target)
        forward, reverse = trained.directional_posteriors(source, target)
        for matrix in (posteriors, forward, reverse):
            assert matrix.shape == (I, J)
            assert np.isfinite(matrix).all()
            assert ((matrix >= 0) & (matrix <= 1 + 1e-5)).all()
        # A target word has one source word or NULL, and the other way round.
        assert (forward.sum(axis=0) <= 1 + 1e-4).all()
        assert (reverse.sum(axis=1) <= 1 + 1e-4).all()


@pytest.mark.parametrize("threshold", [0.1, 0.5, 0.8])
def test_the_soft_union_links_where_the_posterior_exceeds_the_threshold(model, threshold):
    try:  # and does not grow beyond that
        aligner = Aligner.load(model, decoder="posterior", combine="soft-union", threshold=threshold, grow=1.0)
    except InputError:
        pytest.skip("has no soft union of posteriors")
    for source, target in pairs_of(NEW):
        posteriors = aligner.posteriors(source, target)
        alignment = aligner.align_pair(source, target)
        linked = np.zeros(posteriors.shape, bool)
        for (i, j), probability in zip(alignment.links, alignment.probabilities, strict=True):
            linked[i, j] = True
            assert probability == pytest.approx(posteriors[i, j], abs=1e-6)
        doubtful = np.abs(posteriors - threshold) < 1e-6
        assert (linked == (posteriors > threshold))[~doubtful].all()


def test_a_pair_alone_is_aligned_as_within_its_text(trained):
    for bitext in (NEW, TRAINING):
        result = trained.align(bitext)
        for n in range(0, len(bitext), 3):
            alone, within = trained.align_pair(*bitext.tokens(n)), result[n]
            assert alone.links == within.links
            assert alone.probabilities == within.probabilities


def test_a_text_in_chunks_is_aligned_as_at_once(trained, monkeypatch):
    copy = Bitext.from_pairs(pairs_of(TRAINING))
    at_once = as_bytes(trained.align(copy))
    monkeypatch.setattr("dovetail.trained.CHUNK_PAIRS", 7)
    assert as_bytes(trained.align(copy)) == at_once


def test_a_text_in_files_is_aligned_as_at_once(trained, tmp_path):
    for side, name in enumerate(("x.en", "x.fr")):
        lines = (" ".join(TRAINING.tokens(n)[side]) for n in range(len(TRAINING)))
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    text, at_once = TextSource(tmp_path / "x.en", tmp_path / "x.fr"), as_bytes(trained.align(TRAINING))
    ((_, alignments),) = trained.align_stream(text)
    assert as_bytes(alignments) == at_once
    one, none, other, end = trained.align_streams([text, text], each=lambda bitext, alignments: as_bytes(alignments))
    assert (one, none, other, end) == (at_once, None, at_once, None)


def test_a_loaded_model_gives_the_same_bytes_on_the_training_text_and_on_new_text(trained, model, tmp_path):
    loaded = Aligner.load(model, threads=1)
    for bitext in (TRAINING, NEW):
        assert as_bytes(loaded.align(bitext)) == as_bytes(trained.align(bitext))
    assert saved_bytes(loaded, tmp_path / "again") == contents(model)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_the_same_seed_gives_the_same_bytes_for_any_number_of_threads(recipe, trained, model, threads, tmp_path):
    aligner = aligner_of(recipe, seed=1, threads=threads).fit(TRAINING)
    for bitext in (TRAINING, NEW):
        assert as_bytes(aligner.align(bitext)) == as_bytes(trained.align(bitext))
    assert saved_bytes(aligner, tmp_path / "model") == contents(model)


BITEXTS = {
    "of one pair": [(["a", "b"], ["x", "y"])],
    "of one word a side": [(["a"], ["x"])],
    "of one pair without a source": [([], ["x"])],
    "of only empty pairs": [([], [])] * 5,
    "of pairs with one side empty": [([], ["x", "y"]), (["a"], []), ([], [])],
    "of no pairs": [],
    "of 200 identical lines": [(["a", "b", "c", "."], ["x", "y", "z", "."])] * 200,
    "of one word said 200 times": [(["a"] * 200, ["x"] * 200)] * 3,
    "of words that occur once": [([f"a{k}", f"b{k}"], [f"x{k}", f"y{k}"]) for k in range(20)],
    "of the same words on both sides": [([f"w{k % 7}", f"w{k % 5}"], [f"w{k % 7}", f"w{k % 5}"]) for k in range(35)],
    "of one long line": [([f"a{k % 90}" for k in range(1100)], [f"x{k % 90}" for k in range(1100)])],
}


@pytest.mark.parametrize("kind", BITEXTS)
def test_a_bitext(recipe, kind, tmp_path):
    bitext = Bitext.from_pairs(BITEXTS[kind])
    aligner = aligner_of(recipe, threads=2).fit(bitext)
    result = aligner.align(bitext)
    check(result, bitext)
    check(aligner.align(NEW), NEW)
    aligner.save(tmp_path / "model")
    assert as_bytes(Aligner.load(tmp_path / "model").align(bitext)) == as_bytes(result)


def test_every_decoder_and_combination_works_or_is_refused(model, recipe):
    worked = set()
    for decoder, combine in choices():
        try:
            aligner = Aligner.load(model, decoder=decoder, combine=combine)
            results = aligner.align(NEW), aligner.align(Bitext.from_pairs([]))
        except InputError:
            continue
        check(results[0], NEW)
        assert len(results[1]) == 0
        worked.add((decoder, combine))
    own = find_recipe(recipe)
    assert (own.decoder, own.combine) in worked


def test_every_pair_has_every_detail(trained):
    for bitext in (TRAINING, NEW):
        for name, values in trained.align(bitext).details.items():
            assert len(values) == len(bitext), name


def test_progress_says_what_was_done_out_of_what(recipe):
    events = []
    aligner = aligner_of(recipe, threads=2).fit(TRAINING, events.append)
    fitted = len(events)
    aligner.align(TRAINING, events.append)
    for text in (TRAINING, NEW):
        aligner.align(text, events.append)
    assert fitted
    assert len(events) > fitted
    for event in events:
        assert event.stage
        assert event.unit
        assert 0 <= event.done <= event.total
        assert 0 <= event.iteration <= event.iterations
        assert event.seconds >= 0
        assert event.objective is None or np.isfinite(event.objective)
    for before, after in zip(events, islice(events, 1, None), strict=False):
        assert after.stage != before.stage or after.done >= before.done or after.done == 0
    last = {event.stage: event for event in events}
    assert all(event.done == event.total for event in last.values())
    assert any(event.objective is not None for event in events)


@pytest.mark.parametrize("after", [1, 4])
def test_an_exception_raised_by_the_callback_cancels_the_training(recipe, after):
    class Enough(Exception):
        pass

    seen = []

    def callback(event):
        seen.append(event)
        if len(seen) == after:
            raise Enough

    aligner = aligner_of(recipe, threads=2)
    with pytest.raises(Enough):
        aligner.fit(TRAINING, callback)
    assert len(seen) == after
    with pytest.raises(InputError, match="no model"):
        aligner.align(NEW)
    check(aligner.fit(TRAINING).align(NEW), NEW)


def test_a_cancelled_second_training_leaves_the_first_model(recipe):
    def callback(event):
        raise KeyboardInterrupt

    aligner = aligner_of(recipe, threads=2).fit(TRAINING)
    before = as_bytes(aligner.align(NEW))
    with pytest.raises(KeyboardInterrupt):
        aligner.fit(NEW, callback)
    assert as_bytes(aligner.align(NEW)) == before


def test_training_may_begin_with_another_model_or_with_its_directory(recipe, trained, model):
    results = [aligner_of(recipe, threads=2).fit(NEW, warm_start=start).align(NEW) for start in (trained, model)]
    check(results[0], NEW)
    assert as_bytes(results[0]) == as_bytes(results[1])


def test_training_may_lean_on_a_dictionary(recipe):
    aligner = aligner_of(recipe, threads=2)
    if PriorOptions not in aligner.recipe.owners:
        pytest.skip("takes no priors, and says so")
    aligner.fit(TRAINING, dictionary={("house", "maison"): 0.9, ("nowhere", "nulle part"): 0.5})
    check(aligner.align(TRAINING), TRAINING)
