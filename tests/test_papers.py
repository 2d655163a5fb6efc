"""The papers' own systems: as printed, and each part of them against its slow twin."""

from __future__ import annotations

from collections import Counter, defaultdict
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail import Aligner, Bitext, Dictionary, InputError
from dovetail.bitext.shards import lay_out, shard_of
from dovetail.cli import dovetail
from dovetail.kernels.bidirectional.potentials import chain_potentials
from dovetail.kernels.bidirectional.records import HMMChain
from dovetail.kernels.records import CELL, LENGTH_I, LENGTH_J
from dovetail.laboratory.mermer2011 import TallyingChain
from dovetail.laboratory.quirk2013 import Unpooled
from dovetail.laboratory.tally import Cells, Samples, keys_of
from dovetail.laboratory.zhao2010 import CountedJumps, EmptyWordsIBM1, NoFertility, in_parts, marked_alignments, part_of
from dovetail.models.fertile import FertilityHMM, Sampling
from dovetail.models.fertility.factor import MOST, FertilityCounts
from dovetail.models.hmm import HMM
from dovetail.models.jumps.distance import JumpCounts
from dovetail.recipes import find_recipe, paper_recipes, recipes
from dovetail.training import bayes
from dovetail.training.bayes_chains import Chain
from dovetail.training.monitor import Monitor
from test_models import POOL, cells_of, entries, random_jumps, random_lexicon

DATA = files("dovetail") / "data"
PAIRS = [
    (source.split(), target.split())
    for source, target in zip(
        (DATA / "demo.en").read_text("utf-8").splitlines(),
        (DATA / "demo.fr").read_text("utf-8").splitlines(),
        strict=True,
    )
]
PAGES = Path(__file__).resolve().parents[1] / "docs" / "recipes"


# by name


def test_papers_have_a_heading_of_their_own():
    shown = CliRunner().invoke(dovetail, ["recipes"]).output
    ours, papers = shown.split("the papers' own systems, as printed:")
    papers = papers.split("decoders:")[0]
    assert all(f"  {name} " in papers and f"  {name} " not in ours for name in paper_recipes)
    assert not any(f"  {name} " in papers for name in recipes)


@pytest.mark.parametrize("name", paper_recipes)
def test_each_has_a_page_that_names_our_own_recipe(name):
    if not PAGES.is_dir():
        pytest.skip("the documentation is not part of this distribution")
    page = (PAGES / f"{name}.md").read_text("utf-8")
    assert f"--recipe {name}" in page
    assert any(f"`{ours}`" in page for ours in recipes)


def test_an_unknown_name_is_refused_with_names_to_choose_from():
    with pytest.raises(InputError, match=r"no recipe 'quirk'.*hmm-fertility"):
        find_recipe("quirk")


# Graça, Ganchev and Taskar (2010)


def test_long_pairs_teach_nothing_and_are_aligned_all_the_same():
    short = [pair for pair in PAIRS[:80] if max(map(len, pair)) <= 10]
    long = [pair for pair in PAIRS[:80] if max(map(len, pair)) > 10]
    assert long
    alone = Aligner("graca2010-bijective", threads=1, longest_pair=10).fit(Bitext.from_pairs(short))
    mixed = Aligner("graca2010-bijective", threads=1, longest_pair=10).fit(Bitext.from_pairs(short + long))
    given_all = Aligner("graca2010-bijective", threads=1).fit(Bitext.from_pairs(short + long))
    text = Bitext.from_pairs(short)
    links = [str(a) for a in alone.align(text)]
    assert [str(a) for a in mixed.align(text)] == links
    assert [str(a) for a in given_all.align(text)] != links
    result = mixed.align(Bitext.from_pairs(short + long))
    assert np.mean([bool(alignment.links) for alignment in result[len(short) :]]) > 0.5


@pytest.mark.parametrize("recipe", ["graca2010-bijective", "graca2010-symmetric"])
def test_best_paths_are_those_of_the_projected_distribution(recipe):
    """The tilted HMM's own posteriors are the projected ones, so that its best path is q's."""
    text = Bitext.from_pairs(PAIRS[:60])
    aligner = Aligner(recipe, threads=1).fit(text, constraints=[Dictionary([("the", "la")], at_least=0.4)])
    shard = shard_of(text, POOL)
    model = aligner.model.for_decoding(aligner.recipe.options, 0, text, shard)
    (block,) = shard.blocks
    work = block.view(shard.workspace())
    model.lexicon.gather(block, work, POOL)
    projected, plain, seen = work.copy(), work.copy(), []
    model.infer(block, projected, POOL)
    HMM.infer(model, block, plain, POOL)

    class Spy(HMM):
        def mark_best_paths(self, block, work, marks, pool):
            seen.append(work.copy())

    original, HMM.mark_best_paths = HMM.mark_best_paths, Spy.mark_best_paths
    try:
        model.mark_best_paths(block, work, np.zeros(block.cells, np.uint8), POOL)
    finally:
        HMM.mark_best_paths = original
    (tilted,) = seen
    HMM.infer(model, block, tilted, POOL)
    for found, wanted, before in zip(tilted[:2], projected[:2], plain[:2], strict=True):
        assert np.abs(found - wanted).max() < 0.02
        assert np.abs(before - wanted).max() > 0.2


def test_a_coarse_projection_is_none_unless_every_constraint_is_asked_for():
    """The gradient's length is divided by the number of constraints, of which a pair has one per cell (section 4.1)."""
    text = Bitext.from_pairs([pair for pair in PAIRS[:80] if min(map(len, pair)) >= 6])
    aligner = Aligner("graca2010-symmetric", threads=1, precision=0.1, combine="forward").fit(text)

    def probabilities(**options):
        aligner.recipe = aligner.recipe.with_options(options)
        return np.concatenate([aligner.posteriors(*text.tokens(n)).ravel() for n in range(len(text))])

    plain = probabilities(project_decoding=False)
    assert probabilities(project_decoding=True) == pytest.approx(plain, abs=1e-4)
    assert np.abs(probabilities(every_constraint=True) - plain).max() > 0.2


# Zhao and Gildea (2010)


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.integers(0, 2), min_size=1, max_size=4),
    st.lists(st.integers(0, 2), min_size=1, max_size=4),
    st.integers(0, 1000),
)
def test_empty_words_share_what_each_of_them_would_get(source, target, seed):
    shard = cells_of([(source, target)])
    model = EmptyWordsIBM1(random_lexicon(shard, seed))
    (block,) = shard.blocks
    work = block.view(shard.workspace())
    model.lexicon.gather(block, work, POOL)
    scores = model.infer(block, work, POOL)
    I, J = len(source), len(target)
    forward, reverse = entries(model.lexicon, source, target)
    for d, (table, nulls, found, rest) in enumerate(
        (
            (forward, model.lexicon.nulls.forward[target], work.forward.reshape(I, J), work.null_forward),
            (reverse.T, model.lexicon.nulls.reverse[source], work.reverse.reshape(I, J).T, work.null_reverse),
        )
    ):
        rows = np.vstack([table, np.tile(nulls, (len(table) + 1, 1))])  # 2 I + 1 positions, one after another
        assert found == pytest.approx(table / rows.sum(axis=0), rel=1e-5)
        assert rest == pytest.approx((len(table) + 1) * nulls / rows.sum(axis=0), rel=1e-5)
        assert scores[0, d] == pytest.approx(np.log(rows.mean(axis=0)).sum(), rel=1e-5)


def demo_text(pairs):
    lines = [(DATA / f"demo.{language}").read_text(encoding="utf-8").splitlines()[:pairs] for language in ("en", "fr")]
    return Bitext.from_pairs([(one.split(), other.split()) for one, other in zip(*lines, strict=True)])


@pytest.mark.parametrize("fertility", ["poisson", "categorical", "features"])
def test_ibm1f_begins_with_all_positions_alike_and_goes_on_using_its_empty_words(fertility):
    text = demo_text(200)
    before = Aligner("zhao2010-ibm1f", seed=1, threads=1, fertility=fertility, fertility_iterations=0).fit(text).model
    sizes = len(text.target.vocabulary), len(text.source.vocabulary)
    assert before.lexicon.table == pytest.approx(np.tile(1 / np.array(sizes), (len(before.lexicon.slots), 1)))
    assert before.lexicon.nulls.forward == pytest.approx(np.full(sizes[0], 1 / sizes[0]))
    forward = before.fertility[0]
    words, generated = len(text.source.ids), len(text.target.ids)
    assert forward.null == pytest.approx(generated / words / 2)
    assert forward.means() == pytest.approx(np.full(sizes[1], generated / words / 2), rel=0.05)
    after = Aligner("zhao2010-ibm1f", seed=1, threads=1, fertility=fertility).fit(text)
    assert min(fertility.null for fertility in after.model.fertility) > 0.05
    linked = sum(len({j for _, j in links.links}) for links in after.align(text))
    assert linked < 0.95 * generated


def test_jumps_by_counts_are_shares_of_all_jumps():
    counts = JumpCounts.zeros(3)
    counts.jump[0] = [0, 1, 2, 0, 5, 2, 0]
    counts.start[0] = [3, 1, 0]
    factor = CountedJumps.uniform().reestimate(counts)
    jump, start = factor.expand(5)
    assert jump == pytest.approx(np.array([0, 0, 0, 0.1, 0.2, 0, 0.5, 0.2, 0, 0, 0]) + 1e-8)
    assert start == pytest.approx(np.array([0.75, 0.25, 0, 0, 0]) + 1e-8)
    assert CountedJumps.from_arrays(factor.arrays()).expand(2)[0] == pytest.approx(jump[3:8])
    assert (CountedJumps.uniform().expand(4)[0] == 1).all()


def test_without_fertility_samples_are_the_plain_hmms():
    pairs = [([0, 1, 2], [0, 2, 1, 1])] * 400
    shard = cells_of(pairs)
    tokens = [np.full(size, 20) for size in (shard.slots.n_sources, shard.slots.n_targets)]
    none = NoFertility(tokens[0], 0.1), NoFertility(tokens[1], 0.1)
    jumps = random_jumps(3), random_jumps(4)
    model = FertilityHMM(random_lexicon(shard, 5), jumps, 0.3, fertility=none, null_counts=False)
    (block,) = shard.blocks
    work = block.view(shard.workspace())
    model.lexicon.gather(block, work, POOL)
    exact = work.copy()
    HMM(model.lexicon, jumps, 0.3).infer(block, exact, POOL)
    best = np.empty(block.columns, np.int16), np.empty(block.rows, np.int16)
    model.sample(block, work, POOL, Sampling(1, 200, 1, 20), np.arange(len(pairs)), best, keep_best=True)
    for found, wanted in zip(work[:2], exact[:2], strict=True):
        assert found.reshape(400, 12).mean(axis=0) == pytest.approx(wanted[:12], abs=0.01)


def test_marks_of_both_directions_become_alignments():
    shard = cells_of([([0, 1], [0, 1, 1]), ([1], [0])])
    (block,) = shard.blocks
    marks = np.zeros(block.cells, np.uint8)
    marks[[0, 4]] = 1  # 0-0 and 1-1 forward
    marks[5] |= 2  # 1-2 reverse
    marks[6] = 3
    forward, reverse = marked_alignments(block, marks)
    assert forward.tolist() == [0, 1, -1, 0]
    assert reverse.tolist() == [-1, 2, 0]


def test_other_beginnings_learn_something_else():
    text = Bitext.from_pairs(PAIRS[:60])
    links = {
        start: [str(a) for a in Aligner("zhao2010-hmmf", seed=1, threads=1, chain_start=start).fit(text).align(text)]
        for start in ("ibm1", "hmm")
    }
    assert links["ibm1"] != links["hmm"]


def test_a_beginning_that_a_model_without_jumps_cannot_have_is_refused():
    """Chains cannot begin at an HMM's best paths where there is no HMM: by no value of the option, the default neither."""
    for start in ("hmm", "ibm1"):
        with pytest.raises(InputError, match=r"no option 'chain_start'. It is one of the recipe zhao2010-hmmf\."):
            Aligner("zhao2010-ibm1f", chain_start=start)
    assert "chain_start" not in find_recipe("zhao2010-ibm1f").options


def test_parts_of_a_text_are_counted_as_the_text_is():
    text = Bitext.from_pairs(PAIRS[:60])
    whole = shard_of(text, POOL)
    parts = in_parts(text, whole, 5, POOL)
    assert len(parts.blocks) > 3
    assert (parts.slots.row_start == whole.slots.row_start).all()
    assert (parts.slots.target == whole.slots.target).all()
    tokens = [part_of(parts, block).token_counts() for block in parts]
    for side in range(2):
        assert (sum(own[side] for own in tokens) == whole.token_counts()[side]).all()


def test_learning_online_is_learning_by_batch_for_one_iteration_and_something_else_after():
    text = Bitext.from_pairs(PAIRS[:60])

    def table(**options):
        return Aligner("zhao2010-hmmf", seed=1, threads=1, **options).fit(text).model.lexicon.table

    for iterations, same in ((1, True), (2, False)):
        batch, online = (table(fertility_iterations=iterations, updates=updates) for updates in (1, 5))
        assert (batch == online).all() == same


def test_every_part_counts_once_whatever_was_learned_before():
    text = Bitext.from_pairs(PAIRS[:60])
    aligner = Aligner("zhao2010-hmmf", seed=1, threads=1, fertility_iterations=3, samples=4, updates=7).fit(text)
    forward, reverse = aligner.model.fertility
    words = text.target.ids, text.source.ids
    for fertility, others in zip((forward, reverse), words, strict=True):  # links and NULLs: one for every word
        common = fertility.tokens >= 10
        assert common.any()
        everybody = fertility.means()[~common & (fertility.tokens > 0)]
        linked = everybody[0] * fertility.tokens.sum()
        assert linked + fertility.null * fertility.tokens.sum() == pytest.approx(len(others), rel=1e-4)


# Mermer and Saraçlar (2011)


def test_the_most_frequent_link_of_the_samples_is_taken():
    text = Bitext.from_pairs([*PAIRS[:30], *PAIRS[:5]])  # five pairs come twice: their samples are added up
    aligner = Aligner("mermer2011", seed=2, threads=1, burn_in=5, samples=7, lag=2, combine="forward").fit(text)
    shard, settings = shard_of(text, POOL), aligner.recipe.options
    ibm1 = Aligner("ibm1", threads=1).fit(text)
    seen: list[Counter] = [Counter() for _ in range(len(text))]

    class Recording(Chain):
        def keep_sample(self):
            super().keep_sample()
            at = 0
            for n in range(len(text) if self.direction == 0 else 0):
                J = len(text.tokens(n)[1])
                for j in range(J):
                    seen[n][j, int(self.alignments[0][at + j])] += 1
                at += J

    chains = [Recording(**vars(chain)) for chain in bayes.begin(ibm1.model.lexicon, shard, settings, 2, POOL)]
    bayes.run(chains, bayes.ibm1_stages(shard.total, settings), POOL, Monitor())
    for n in range(5):
        seen[n] = seen[30 + n] = seen[n] + seen[30 + n]
    for n, alignment in enumerate(aligner.align(text)):
        total = 14 if n < 5 or n >= 30 else 7
        for (i, j), p in zip(alignment.links, alignment.probabilities, strict=True):
            assert p == pytest.approx(seen[n][j, i] / total)
            assert seen[n][j, i] == max(count for (other, _), count in seen[n].items() if other == j)
        unlinked = set(range(len(text.tokens(n)[1]))) - {j for _, j in alignment.links}
        assert all(seen[n][j, -1] == max(c for (other, _), c in seen[n].items() if other == j) for j in unlinked)


def test_a_tally_counts_every_token_once_per_sample():
    text = Bitext.from_pairs(PAIRS[:10])
    shard = shard_of(text, POOL)
    ibm1 = Aligner("ibm1", threads=1).fit(text)
    given = ibm1.model.lexicon, shard, find_recipe("mermer2011").options, 1, POOL
    (block,) = shard.blocks
    for chain in map(TallyingChain.of, bayes.begin(*given)):
        (alignment,) = chain.alignments
        for _ in range(3):
            chain.keep_sample()
        ((cells, times),) = chain.tally
        assert (np.diff(cells) > 0).all()
        assert set(times.tolist()) == {3}
        linked, at = [], 0
        for line in block.lines:
            I, J = line[LENGTH_I], line[LENGTH_J]
            own = alignment[at : at + (J, I)[chain.direction]].tolist()
            pairs = [(a, k) if chain.direction == 0 else (k, a) for k, a in enumerate(own) if a >= 0]
            linked += [line[CELL] + i * J + j for i, j in pairs]
            at += len(own)
        assert sorted(linked) == cells.tolist()


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.sampled_from([1, 40, 1000]))
def test_samples_of_the_same_words_are_added_up_wherever_they_stand(seed, block_cells):
    """Of a tally of anything, in blocks of any size."""
    text = Bitext.from_pairs([*PAIRS[:12], *PAIRS[3:7], *PAIRS[:5]])
    source, target = text.source, text.target
    sizes = len(source.vocabulary), len(target.vocabulary)
    shard = lay_out(source.ids, source.offsets, target.ids, target.offsets, *sizes, POOL, block_cells)
    rng, tallied, pieces, seen = np.random.default_rng(seed), [], Counter(), defaultdict(Counter)
    for block in shard:
        times = rng.integers(0, 3, (2, block.cells), np.int32)
        cells = [np.flatnonzero(own).astype(np.int32) for own in times]
        tallied.append((block, tuple(Cells(cell, own[cell]) for cell, own in zip(cells, times, strict=True))))
        for line, key in zip(block.lines, keys_of(block, None), strict=True):
            own = slice(line[CELL], line[CELL] + line[LENGTH_I] * line[LENGTH_J])
            pieces[key] += 1
            for d in range(2):
                seen[key, d].update(dict(enumerate(times[d, own].tolist())))
    samples = Samples.of(lambda: iter(tallied), 4)
    assert samples.keys.tolist() == sorted(pieces)
    for n, key in enumerate(samples.keys.tolist()):
        found = samples.frequencies(key, 1, len(seen[key, 0]))
        for d, (begin, cell) in enumerate(zip(samples.begin, samples.cell, strict=True)):
            wanted = [seen[key, d][k] for k in range(len(seen[key, d]))]
            assert cell[begin[n] : begin[n + 1]].tolist() == np.flatnonzero(wanted).tolist()
            assert found[d][0] == pytest.approx(np.array(wanted) / (4 * pieces[key]))
    assert samples.frequencies(0, 1, 1) is None


# Quirk (2013)


def test_unpooled_fertilities_are_relative_frequencies_even_of_rare_words():
    histogram = np.zeros((3, MOST + 1))
    histogram[0, 1], histogram[0, 2], histogram[1, 3] = 3.0, 1.0, 1.0
    counts = FertilityCounts(np.array([4, 1, 0]), np.zeros(3), histogram, 0.0, 0.0)
    table = Unpooled.initial(counts, lambda: (np.zeros(3), np.zeros(3))).reestimate(counts).bins()
    assert table[0, 1:3] == pytest.approx([0.75, 0.25], abs=1e-6)
    assert table[1, 3] == pytest.approx(1.0, abs=1e-6)
    assert table[2] == pytest.approx(histogram.sum(axis=0) / 5, abs=1e-3)  # never seen: all words' together
    assert table.sum(axis=1) == pytest.approx(1.0)


# Chang, Rush, DeNero and Collins (2014)


def test_a_null_that_forgets_is_the_start():
    rng = np.random.default_rng(1)
    emission, moves = rng.random((3, 4)).astype(np.float32), rng.dirichlet(np.ones(4), 4).astype(np.float32)
    first, nulls = rng.dirichlet(np.ones(4)).astype(np.float32), rng.random(3).astype(np.float32)
    chain = HMMChain(emission, nulls, 0.3, moves, first, np.ones(4, np.float32), True)
    found, keeps = chain_potentials(chain), chain_potentials(chain._replace(forgets=False))
    for r in range(3):
        assert found[r, 0, 1:] == pytest.approx(np.log(0.7 * emission[r] * first), abs=1e-5)
        assert found[r, 1:, 1:] == pytest.approx(keeps[r, 1:, 1:])
    assert found[2, 0, 1:] != pytest.approx(keeps[2, 0, 1:], abs=1e-3)
