"""Several views of a text: what each makes of words, how cells come back to words, and that a mixture is a mean."""

from __future__ import annotations

import json
import shutil
import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail import Aligner, Bitext, InputError
from dovetail.alignments.views import LEAST, Cells, cells_of
from dovetail.bitext.corpus import TextOptions
from dovetail.bitext.joining import picked
from dovetail.bitext.normalise import Normaliser
from dovetail.bitext.shards import shard_of
from dovetail.bitext.source import pair_cells
from dovetail.bitext.views import FIRST_UNSPACED, UNSPACED, Seen, Views, characters, cut_entries, stem
from dovetail.cli import dovetail
from dovetail.fitting import view_lessons
from dovetail.kernels.links.mix import mix
from dovetail.kernels.records import Workspace
from dovetail.models import storage
from dovetail.pool import Pool
from dovetail.recipes import find_recipe
from dovetail.training.drawing import lesson

PAIRS = [
    ("京都 は 寺 が 多い", "Kyoto has many temples"),
    ("京都 の 寺", "temples of Kyoto"),
    ("東京 は 大きい", "Tokyo is large"),
    ("", "nothing"),
    ("東京 の 大学 は 大きい", "universities of Tokyo are large"),
    ("大学 の 寺", "a temple of the University"),
] * 4


@pytest.fixture(scope="module")
def aligner():
    return Aligner("fast", threads=1, views="words,characters").fit(Bitext.from_pairs(PAIRS))


words = st.text(st.sampled_from("ab京都กิé"), min_size=1, max_size=4)


def test_no_letter_before_the_first_unspaced_one_is_of_a_script_without_spaces():
    assert not any(unicodedata.name(chr(code), "").startswith(UNSPACED) for code in range(ord(FIRST_UNSPACED)))
    assert unicodedata.name(chr(ord(FIRST_UNSPACED) + 1)).startswith(UNSPACED)


@settings(deadline=None)
@given(st.lists(st.tuples(st.lists(words, max_size=4), st.lists(words, max_size=4)), max_size=5))
def test_every_token_of_a_view_knows_its_word(pairs):
    bitext = Bitext.from_pairs(pairs)
    seen = Seen.of(bitext, (characters, stem), Normaliser())
    assert len(seen.bitext) == len(bitext)
    for n, (source, target) in enumerate(pairs):
        cut = [(piece, place) for place, word in enumerate(source) for piece in characters(word)]
        assert seen.bitext.source.tokens(n) == [piece for piece, _ in cut]
        low, high = seen.bitext.source.offsets[n : n + 2]
        assert seen.words[0][low:high].tolist() == [place for _, place in cut]
        assert seen.bitext.target.tokens(n) == [word[:5] for word in target]
        assert "".join(piece for piece, _ in cut) == "".join(source)


def test_a_part_of_a_text_is_seen_as_the_whole_is():
    bitext = Bitext.from_pairs(PAIRS)
    whole, part = (Seen.of(text, (characters, stem), Normaliser()) for text in (bitext, bitext.part(2, 5)))
    for n in range(3):
        assert part.bitext.tokens(n) == whole.bitext.tokens(n + 2)


def test_words_are_normalised_before_they_are_cut():
    options = TextOptions("whitespace", Normaliser(lower=True))
    seen = Seen.of(Bitext.from_pairs([(["ÉTUDIANTS"], ["Kyoto"])]), (stem, characters), options.normaliser)
    assert seen.bitext.tokens(0) == (["étudi"], ["kyoto"])


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(1, 5), st.floats(0.1, 0.9))
def test_a_mixture_is_the_mean_of_two_matrices(seed, I, J, weight):
    """Of the window of a longer pair that begins at its word 2 on both sides."""
    drawn = np.random.default_rng(seed)
    own = drawn.random((2, I, J)).astype(np.float32)
    other = (drawn.random((2, I + 4, J + 4)) * (drawn.random((I + 4, J + 4)) < 0.5)).astype(np.float32)
    source, target = np.nonzero(other.any(axis=0))
    cells = Cells(
        np.array([0, 0, len(source)]),
        source.astype(np.int32),
        target.astype(np.int32),
        *(direction[source, target] for direction in other),
    )
    work = Workspace(own[0].ravel().copy(), own[1].ravel().copy(), np.zeros(0, np.float32), np.zeros(0, np.float32))
    lines, twos = np.array([[0, 0, 0, 0, 0, I, J]], np.int64), np.array([2], np.int32)
    mix(0, 1, lines, np.array([1]), twos, twos, cells, np.float32(weight), work)
    expected = (1 - weight) * own + weight * other[:, 2 : 2 + I, 2 : 2 + J]
    np.testing.assert_allclose(work.forward.reshape(I, J), expected[0], atol=1e-6)
    np.testing.assert_allclose(work.reverse.reshape(I, J), expected[1], atol=1e-6)


def test_characters_come_back_to_their_words(aligner):
    """A word is as sure as the surest of its characters."""
    other, cuts = aligner._views["characters"]
    source, target = ["京都", "の", "大学"], ["universities", "of", "Kyoto"]
    forward, reverse = other.directional_posteriors([c for word in source for c in word], target)
    small = (forward + reverse) / 2 <= LEAST
    forward[small], reverse[small] = 0, 0
    text = Bitext.from_pairs([(source, target)])
    seen = Seen.of(text, cuts, Normaliser())
    pool = Pool(1)
    shard = shard_of(seen.bitext, pool)
    found = cells_of(other._transferred(seen.bitext, shard), seen, shard, pool)
    matrix = np.zeros((2, 3, 3))
    matrix[0, found.source, found.target], matrix[1, found.source, found.target] = found.forward, found.reverse
    starts = np.cumsum([0, *(len(word) for word in source[:-1])])
    np.testing.assert_allclose(matrix[0], np.maximum.reduceat(forward, starts), atol=1e-5)
    np.testing.assert_allclose(matrix[1], np.maximum.reduceat(reverse, starts), atol=1e-5)


def test_posteriors_are_the_mean_of_the_views(aligner):
    plain = Aligner("fast", threads=1).fit(Bitext.from_pairs(PAIRS))
    stems = Aligner("fast", threads=1, views="words,stems").fit(Bitext.from_pairs(PAIRS))
    source, target = ["京都", "の", "寺"], ["temples", "of", "Kyoto"]
    view, _ = stems._views["stems"]
    of_stems = view.directional_posteriors([word[:5] for word in source], [word.lower()[:5] for word in target])
    expected = [(a + b) / 2 for a, b in zip(plain.directional_posteriors(source, target), of_stems, strict=True)]
    found = stems.directional_posteriors(source, target)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, atol=LEAST)
    assert not np.allclose(found[0], plain.directional_posteriors(source, target)[0], atol=1e-3)


def test_a_view_that_changes_nothing_is_none(tmp_path):
    pairs = Bitext.from_pairs([("a house", "une maison"), ("the house", "la maison")])
    aligner = Aligner("fast", threads=1, views="words,characters").fit(pairs)
    assert not aligner._views
    aligner.save(tmp_path / "model")
    assert not (tmp_path / "model" / "characters").exists()
    assert Aligner.load(tmp_path / "model").align(pairs)[0].links == aligner.align(pairs)[0].links


def test_a_saved_model_keeps_its_views(aligner, tmp_path):
    bitext = Bitext.from_pairs(PAIRS)
    aligner.save(tmp_path / "model")
    aligner.save(tmp_path / "model")  # over itself
    loaded = Aligner.load(tmp_path / "model", threads=2)
    assert loaded.recipe.options.of(Views).views == "words,characters"
    for pair in ("京都 の 大学", "temples of Kyoto"), ("大学 は 東京", "large"):
        assert (loaded.posteriors(*pair) == aligner.posteriors(*pair)).all()
    assert [pair.links for pair in loaded.align(bitext)] == [pair.links for pair in aligner.align(bitext)]
    loaded.save(tmp_path / "again")
    for file in (tmp_path / "model").rglob("*.*"):
        assert file.read_bytes() == (tmp_path / "again" / file.relative_to(tmp_path / "model")).read_bytes()
    with pytest.raises(InputError, match="option of training"):
        Aligner.load(tmp_path / "model", views="words")


def test_a_view_of_another_model_is_noticed(aligner, tmp_path):
    aligner.save(tmp_path / "model")
    other = Aligner("fast", threads=1).fit(Bitext.from_pairs(PAIRS[:4]))
    shutil.rmtree(tmp_path / "model" / "characters")
    with pytest.raises(InputError, match="characters"):
        Aligner.load(tmp_path / "model")
    other.save(tmp_path / "model" / "characters")
    with pytest.raises(InputError, match="damaged"):
        Aligner.load(tmp_path / "model")


def test_a_view_that_nobody_knows_is_refused(aligner, tmp_path):
    aligner.save(tmp_path / "model")
    path = tmp_path / "model" / storage.ABOUT
    about = json.loads(path.read_bytes())
    about["sha256"]["../elsewhere/model.json"] = "0" * 64
    about["sha256"][storage.ABOUT] = storage._digest_of_header(about)
    path.write_text(json.dumps(about))
    with pytest.raises(InputError, match="view"):
        Aligner.load(tmp_path / "model")


def test_other_things_beside_a_view_are_never_replaced(aligner, tmp_path):
    aligner.save(tmp_path / "model")
    (tmp_path / "model" / "characters" / "thesis.tex").write_text("all of it")
    with pytest.raises(InputError, match="other things"):
        aligner.save(tmp_path / "model")


@pytest.mark.parametrize("asked", ["characters", "words,letters", "words,stems,stems", "", "stems,words"])
def test_other_views_are_refused(asked):
    with pytest.raises(InputError, match="views is"):
        Aligner("fast", views=asked)


def test_lemmas_need_languages_that_simplemma_knows():
    pytest.importorskip("simplemma")
    assert [cut("Houses") for cut in Views("words,lemmas", "en,de").others["lemmas"]] == [["house"], ["houses"]]
    for languages in ("", "en", ",de"):
        with pytest.raises(InputError, match="languages"):
            Aligner("fast", views="words,lemmas", languages=languages)
    with pytest.raises(InputError, match="xx"):
        Aligner("fast", views="words,lemmas", languages="en,xx")


def test_the_command_line_takes_views(aligner, tmp_path):
    from click.testing import CliRunner

    for side, name in enumerate(("ja", "en")):
        (tmp_path / name).write_text("".join(pair[side] + "\n" for pair in PAIRS), encoding="utf-8")
    text = [str(tmp_path / "ja"), str(tmp_path / "en")]
    run = CliRunner().invoke
    train = ["align", *text, "--recipe", "fast", "--quiet", "--views", "words,characters"]
    trained = run(dovetail, [*train, "--save", str(tmp_path / "model")])
    assert trained.exit_code == 0, trained.output
    expected = "".join(f"{pair}\n" for pair in aligner.align(Bitext.from_pairs(PAIRS)))
    assert trained.stdout == expected
    loaded = run(dovetail, ["align", *text, "--load", str(tmp_path / "model"), "--quiet"])
    assert loaded.stdout == expected
    refused = run(dovetail, ["align", *text, "--load", str(tmp_path / "model"), "--views", "words,stems"])
    assert refused.exit_code == 2
    refused = run(dovetail, ["align", *text, "--views", "words,lemmas"], catch_exceptions=True)
    assert refused.exit_code != 0
    assert "--source-language" in str(refused.exception) + refused.output


MARKS = [("the universities , 京", "die Universitäten"), ("houses are built", "Häuser werden gebaut")] * 60


@pytest.mark.parametrize(("pairs", "chosen"), [(PAIRS, "characters"), (MARKS[1::2] + MARKS[:1], "stems")])
def test_of_alternatives_the_first_that_changes_the_text_is_seen(pairs, chosen):
    """A single word of another script does not make a text one of that script."""
    aligner = Aligner("fast", threads=1, views="words,characters|stems").fit(Bitext.from_pairs(pairs))
    assert list(aligner._views) == [chosen]


@pytest.mark.parametrize("asked", ["words|stems", "words,stems|", "words,stems|letters", "words,stems|stems"])
def test_other_alternatives_are_refused(asked):
    with pytest.raises(InputError, match="views is"):
        Aligner("fast", views=asked)


def test_a_view_may_have_a_recipe_of_its_own():
    bitext = Bitext.from_pairs(PAIRS)
    best = Aligner("best", threads=1).fit(bitext)
    assert best._views["characters"][0].recipe.name == "joint-best"
    best = Aligner("best", threads=1, view_recipe="joint").fit(bitext)
    other, cuts = best._views["characters"]
    assert other.recipe.name == "joint"
    expected = Aligner("default", threads=1).fit(Seen.of(bitext, cuts, Normaliser()).bitext)
    text = ["京", "都", "の", "寺"], ["temples", "of", "Kyoto"]
    assert (other.posteriors(*text) == expected.posteriors(*text)).all()
    with pytest.raises(InputError, match="nonesuch"):
        Aligner("hmm", views="words,stems", view_recipe="nonesuch")


def test_a_view_of_a_larger_text_learns_from_a_part_that_is_drawn_evenly():
    bitext = Bitext.from_pairs(PAIRS)
    recipe = find_recipe("best").with_options({"views": "words,stems"})
    cells = int(pair_cells(bitext).sum())
    ((_, _, whole),) = view_lessons(lesson(bitext, recipe.options), recipe.with_options({"view_cells": cells}), Pool(2))
    assert len(whole.bitext) == len(bitext)
    ((_, cuts, half),) = view_lessons(
        lesson(bitext, recipe.options), recipe.with_options({"view_cells": cells // 2}), Pool(2)
    )
    wanted = Seen.of(
        picked(bitext, np.arange(len(bitext) // 2) * len(bitext) // (len(bitext) // 2)), cuts, Normaliser()
    ).bitext
    assert half.bitext.source.ids.tolist() == wanted.source.ids.tolist()
    assert half.bitext.target.ids.tolist() == wanted.target.ids.tolist()


def test_a_view_is_told_what_a_dictionary_says():
    bitext = Bitext.from_pairs([("a b", "x y"), ("universities", "Universität"), ("b a", "y x")])
    dictionary = {("university", "Universitäten"): 1.0, ("universe", "Universum"): 0.5}
    with_it, without = (
        Aligner("default", threads=1, views="words,stems").fit(bitext, dictionary=told) for told in (dictionary, None)
    )
    text = ["unive", "a"], ["unive", "x"]
    sure, unsure = (aligner._views["stems"][0].posteriors(*text)[0, 0] for aligner in (with_it, without))
    assert sure > unsure
    assert cut_entries(dictionary, TextOptions(), (stem, stem)) == {("unive", "unive"): 1.0}


def test_a_text_is_seen_part_by_part_as_it_is_as_a_whole(aligner, monkeypatch):
    bitext = Bitext.from_pairs(PAIRS)
    whole = aligner._seen(bitext)
    monkeypatch.setattr("dovetail.trained.CHUNK_PAIRS", 5)
    for one, other in zip(whole[0], aligner._seen(bitext)[0], strict=True):
        assert (one == other).all()


def test_a_training_with_views_goes_on_where_it_was_ended(tmp_path):
    bitext, text = Bitext.from_pairs(PAIRS), ("京都 の 寺", "temples of Kyoto")
    expected = Aligner("best", threads=1).fit(bitext).posteriors(*text)
    begun = []

    def end(progress):
        begun.append(progress.stage)
        if len(begun) == 12:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Aligner("best", threads=1).fit(bitext, end, work=tmp_path / "work")
    resumed = Aligner("best", threads=1).fit(bitext, work=tmp_path / "work")
    assert (tmp_path / "work" / "characters" / "training").is_dir()
    assert (resumed.posteriors(*text) == expected).all()
