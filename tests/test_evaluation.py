"""Counts, metrics and scores against sets of links, and by hand."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_evaluation as naive
from dovetail.alignments.alignments import Alignments
from dovetail.alignments.gold import Gold, read_gold
from dovetail.errors import InputError
from dovetail.evaluation import evaluate, metrics, statistics
from dovetail.evaluation.score import fingerprint

SHARED = Path(__file__).resolve().parents[2] / "shared"


def example():
    """S = {0-0, 1-1}, P = S + {1-2, 2-2}, A = {0-0, 1-2, 2-0}: a sure, a possible and a wrong link."""
    gold = Gold.from_links([[(0, 0), (1, 1)]], [[(1, 2), (2, 2)]])
    return Alignments.from_links([[(0, 0), (1, 2), (2, 0)]]), gold


@settings(deadline=None)
@given(naive.corpora())
def test_statistics_are_the_sizes_of_the_sets(corpus):
    counts = statistics(corpus.alignments, corpus.gold)
    assert counts.shape == (len(corpus.lengths), 4)
    assert [tuple(row) for row in counts.tolist()] == naive.statistics(corpus.links, corpus.sure, corpus.possible)


@given(st.lists(st.integers(0, 9), min_size=4, max_size=4), st.sampled_from([0.0, 0.25, 0.5, 1.0]))
def test_metrics_follow_their_definitions_in_exact_fractions(sizes, alpha):
    in_sure, more_possible, wrong, missed = sizes
    counts = (in_sure + more_possible + wrong, in_sure + missed, in_sure, in_sure + more_possible)
    for name, metric in naive.METRICS.items():
        assert float(metrics[name](np.array(counts))) == pytest.approx(float(metric(counts)))
    gold = Gold.from_links([[(n, 0) for n in range(in_sure + missed)]], [[(n, 1) for n in range(more_possible)]])
    found = [(n, 0) for n in range(in_sure)] + [(n, 1) for n in range(more_possible)] + [(n, 2) for n in range(wrong)]
    score = evaluate(Alignments.from_links([found]), gold)
    if score.precision and score.recall:
        assert score.f(alpha) == pytest.approx(float(naive.f(counts, naive.Fraction(alpha))))
    else:
        assert score.f(alpha) == 0


def test_metrics_take_many_corpora_at_once():
    counts = np.arange(24).reshape(2, 3, 4)
    for metric in metrics.values():
        values = metric(counts)
        assert values.shape == (2, 3)
        assert values[1, 2] == metric(counts[1, 2])


def test_example_by_hand():
    score = evaluate(*example())
    assert (score.links, score.sure, score.possible, score.in_sure, score.in_possible) == (3, 2, 4, 1, 2)
    assert score.aer == pytest.approx(1 - 3 / 5)
    assert score.precision == pytest.approx(2 / 3)
    assert score.recall == pytest.approx(1 / 2)
    assert score.f1 == pytest.approx(4 / 7)
    assert score.f(0.25) == pytest.approx(1 / (0.25 * 3 / 2 + 0.75 * 2))


def test_example_of_the_nltk_manual():
    gold = Gold.from_links([[(0, 0), (1, 1), (2, 2)]])
    score = evaluate(Alignments.from_links([[(0, 0), (1, 2), (2, 1)]]), gold)
    assert score.aer == pytest.approx(0.6666666666666667)
    assert score.precision == score.recall == pytest.approx(1 / 3)


@settings(deadline=None)
@given(naive.corpora())
def test_a_perfect_alignment_has_no_error(corpus):
    score = evaluate(Alignments.from_links(corpus.sure), corpus.gold)
    assert (score.aer, score.precision, score.recall) == (0, 1, 1)


@settings(deadline=None)
@given(naive.corpora())
def test_with_sure_links_alone_the_error_is_what_f1_lacks(corpus):
    score = evaluate(corpus.alignments, Gold.from_links(corpus.sure))
    if score.links + score.sure:
        assert score.aer == pytest.approx(1 - 2 * score.in_sure / (score.links + score.sure))
    if score.links and score.sure:
        assert score.aer == pytest.approx(1 - score.f1)


@settings(deadline=None)
@given(naive.corpora(min_pairs=1), st.data())
def test_a_further_sure_link_lowers_the_error_and_a_further_wrong_one_raises_it(corpus, data):
    before = evaluate(corpus.alignments, corpus.gold).aer
    n = data.draw(st.integers(0, len(corpus.lengths) - 1))
    source_length, target_length = corpus.lengths[n]
    missed = sorted(corpus.sure[n] - corpus.links[n])
    wrong = (source_length, target_length)
    for link, better in [*((link, True) for link in missed[:1]), (wrong, False)]:
        links = [*corpus.links[:n], corpus.links[n] | {link}, *corpus.links[n + 1 :]]
        after = evaluate(Alignments.from_links(links), corpus.gold).aer
        if better:
            assert after < before
        else:
            assert after > before or after == before == 1


def test_empty_denominators_follow_the_stated_conventions():
    nothing = evaluate(Alignments.from_links([[]]), Gold.from_links([[]]))
    assert (nothing.aer, nothing.precision, nothing.recall, nothing.f1) == (0, 1, 1, 1)
    silent = evaluate(Alignments.from_links([[]]), Gold.from_links([[(0, 0)]]))
    assert (silent.aer, silent.precision, silent.recall, silent.f1) == (1, 1, 0, 0)
    unasked = evaluate(Alignments.from_links([[(0, 0)]]), Gold.from_links([[]]))
    assert (unasked.aer, unasked.precision, unasked.recall, unasked.f1) == (1, 0, 1, 0)
    assert evaluate(Alignments.from_links([]), Gold.from_links([])).sentences == 0


def test_repeated_and_unsorted_links_count_as_a_set():
    alignments, gold = example()
    shuffled = Alignments(
        np.array([0, 5]),
        np.array([2, 0, 1, 0, 2], np.int32),
        np.array([0, 0, 2, 0, 0], np.int32),
        np.array([0.1, 0.9, 0.5, 0.3, 0.2], np.float32),
        np.array([3], np.int32),
        np.array([3], np.int32),
    )
    assert np.array_equal(statistics(shuffled, gold), statistics(alignments, gold))


def test_another_number_of_pairs_is_refused_with_both_numbers():
    alignments = Alignments.from_links([[(0, 0)]] * 1200)
    with pytest.raises(InputError, match=r"1,200 pairs in the alignment, but 2 pairs in the gold links"):
        evaluate(alignments, Gold.from_links([[(0, 0)], []]))


def test_a_score_is_one_line_that_ends_in_its_signature():
    alignments, gold = example()
    text = str(evaluate(alignments, gold))
    assert text == (
        f"AER 40.00 | P 66.7 R 50.0 F1 57.1 | 1 pairs, 3 links | sig: {evaluate(alignments, gold).signature}"
    )
    assert text.endswith(f"|metric aer|gold sha256:{fingerprint(gold)}|pairs 1|sure 2|possible 4")
    with_interval = evaluate(alignments, gold, bootstrap=50, seed=3)
    assert str(with_interval).startswith("AER 40.00 [40.00, 40.00] | ")
    assert str(with_interval).endswith("|bootstrap 50|seed 3|confidence 0.95")


def test_a_score_survives_json():
    score = evaluate(*example(), bootstrap=20)
    read = json.loads(json.dumps(score.to_dict()))
    for name in ("aer", "precision", "recall", "f1", "links", "sentences", "sure", "possible", "signature"):
        assert read[name] == getattr(score, name)
    assert read["intervals"]["aer"] == list(score.interval)
    assert "intervals" not in evaluate(*example()).to_dict()


def test_the_fingerprint_knows_links_marks_and_pairs():
    one = [[(0, 0), (1, 1)], []]
    same = Gold.from_links([[(1, 1), (0, 0)], []])
    others = [
        Gold.from_links([[(0, 0), (1, 2)], []]),
        Gold.from_links([[(0, 0)], []], [[(1, 1)], []]),
        Gold.from_links([[], [(0, 0), (1, 1)]]),
        Gold.from_links([[(0, 0), (1, 1)]]),
    ]
    assert fingerprint(same) == fingerprint(Gold.from_links(one))
    assert len({fingerprint(gold) for gold in [same, *others]}) == 5


def test_the_hansards_gold_scores_itself_without_error():
    folder = SHARED / "data" / "en-fr-hansards"
    if not folder.is_dir():
        pytest.skip("needs the folder shared/data/en-fr-hansards beside the repository")
    gold = read_gold(folder / "test.gold")
    score = evaluate(Alignments.from_links([pair.sure for pair in gold]), gold)
    assert (score.aer, score.precision, score.recall) == (0, 1, 1)
    assert (score.sentences, score.sure, score.possible) == (447, 4038, 4038 + 13400)
    everything = evaluate(Alignments.from_links([pair.possible for pair in gold]), gold)
    assert (everything.aer, everything.links) == (0, 4038 + 13400)
