"""Models whose parameters are integrated out: what is left of training are counts, averaged over samples and chains."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dovetail.bitext.shards import Block, Shard
from dovetail.engines import Threads
from dovetail.kernels.bayes import frozen as kernels
from dovetail.kernels.gibbs.random import stream
from dovetail.kernels.records import COLUMN, LENGTH_I, LENGTH_J, ROW, SOURCE, TARGET, Workspace
from dovetail.models.ibm1 import IBM1
from dovetail.models.jumps.word import BINS, EDGES, bins_of
from dovetail.models.lexicon.dirichlet import BayesLexicon, picked
from dovetail.models.lexicon.table import check_shapes

FAR_WIDTH = 30  # distances that the outermost bins, which have no end, are thought to hold
JUMP_PRIOR = 0.5  # of every bin: the Dirichlet's parameter
TAIL = 0.25  # what each further link is worth to a word that has as many as are told apart, or more
SOURCES = SOURCE, LENGTH_I, ROW
TARGETS = TARGET, LENGTH_J, COLUMN
SIDES = np.array([[*SOURCES, *TARGETS], [*TARGETS, *SOURCES]])  # of either direction: what generates, what is generated
DIRECTIONS = ("forward", "reverse")


def end_bins(longest: int) -> np.ndarray:
    """The bin of every distance 0..longest - 1 from an end of the sentence."""
    return np.searchsorted(EDGES, np.arange(longest), side="right") - 1


def _widths() -> tuple[np.ndarray, np.ndarray]:
    """How many distances each bin of jumps, and each bin of the ends, holds."""
    ends = np.diff(np.append(EDGES, EDGES[-1] + FAR_WIDTH))
    return np.concatenate([ends[:0:-1], ends]), ends


@dataclass(frozen=True)
class Moves:
    """Counts of jumps by bin, of first and of last links by the bin of their distance from the ends."""

    jumps: np.ndarray  # float64 (BINS,)
    firsts: np.ndarray  # float64 (len(EDGES),)
    lasts: np.ndarray  # float64 (len(EDGES),)

    @classmethod
    def zeros(cls) -> Moves:
        return cls(np.zeros(BINS), np.zeros(len(EDGES)), np.zeros(len(EDGES)))

    def parts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.jumps, self.firsts, self.lasts

    def plus(self, other: Moves, factor: float = 1.0) -> Moves:
        return Moves(*(mine + factor * theirs for mine, theirs in zip(self.parts(), other.parts(), strict=True)))

    def expand(self, longest: int) -> tuple[np.ndarray, np.ndarray]:
        """A weight for every distance and every first position of sentences up to `longest` words, float32."""
        jumps, firsts, _ = self.weights(longest)
        return jumps, firsts

    def weights(self, longest: int, generator: np.random.Generator | None = None) -> tuple[np.ndarray, ...]:
        """Probabilities of every distance -longest..longest and 0..longest - 1 from either end, float32.

        With a generator they are drawn from their Dirichlet given the counts, else they are its mean.
        """
        shares = []
        for counts in self.parts():
            posterior = counts + JUMP_PRIOR
            shares.append(posterior / posterior.sum() if generator is None else generator.dirichlet(posterior))
        jump_width, end_width = _widths()
        ends = end_bins(longest)
        jumps = (shares[0] / jump_width)[bins_of(longest)]
        firsts, lasts = ((share / end_width)[ends] for share in shares[1:])
        return tuple(np.maximum(values, 1e-9).astype(np.float32) for values in (jumps, firsts, lasts))


@dataclass(frozen=True)
class FertilityHistogram:
    """Tokens of each word by their number of links (words, C + 1), the last column for C and more; the Dirichlet prior."""

    tokens: np.ndarray  # float32
    prior: np.ndarray  # float64 (C + 1,)

    def for_words(self, numbers: np.ndarray) -> FertilityHistogram:
        return replace(self, tokens=picked(self.tokens, numbers))

    def ratios(self) -> tuple[np.ndarray, np.ndarray]:
        """p(c + 1 | word) / p(c | word) for c below C, float32 (words, C), and log p(0 | word)."""
        shares = self.tokens + self.prior
        shares = shares / shares.sum(axis=1, keepdims=True)
        ratios = shares[:, 1:] / shares[:, :-1]
        ratios[:, -1] *= 1.0 - TAIL
        return ratios.astype(np.float32), np.log(shares[:, 0])


@dataclass
class BayesIBM1(IBM1):
    """IBM Model 1 with the lexicon integrated out.  Given the counts, marginals have a closed form: IBM Model 1's."""

    lexicon: BayesLexicon  # type: ignore[assignment]

    name = "ibm1-bayes"
    lexicon_type = BayesLexicon  # type: ignore[assignment]


@dataclass(frozen=True)
class FrozenSampling:
    """How new text is sampled while the counts stay as they are."""

    seed: int = 0
    samples: int = 4
    restarts: int = 2
    burn_in: int = 2


@dataclass
class BayesHMM:
    """The HMM with fertility, lexicon and fertilities integrated out.  `null` is p0."""

    lexicon: BayesLexicon
    moves: tuple[Moves, Moves]
    fertility: tuple[FertilityHistogram, FertilityHistogram]
    null: float = 0.2
    sampling: FrozenSampling = field(default_factory=FrozenSampling)

    name = "hmm-bayes"
    path = "hmm"  # fertility has no part in a path
    lexicon_type = BayesLexicon

    def posteriors(
        self, shard: Shard, block: Block, work: Workspace, engine: Threads, counting: bool = False
    ) -> tuple[np.ndarray, list[Any]]:
        """Marginals averaged over samples and chains, and the log-score of the best alignment seen (pieces, 2)."""
        scores = np.empty((2, len(block.lines)))
        tables = self.lexicon.null_forward, self.lexicon.null_reverse
        ids = shard.source_ids, shard.target_ids
        buffers = (work.forward, work.null_forward), (work.reverse, work.null_reverse)
        weights = [moves.weights(shard.longest) for moves in self.moves]
        ratios = [fertility.ratios() for fertility in self.fertility]
        sampling = self.sampling

        def task(direction: int, first: int, last: int) -> None:
            kernels.sample(
                first,
                last,
                block.lines,
                SIDES[direction],
                direction == 1,
                ids[direction],
                ids[1 - direction],
                tables[direction],
                *buffers[direction],
                self.null,
                *weights[direction],
                *ratios[direction],
                TAIL,
                stream_key(sampling.seed, direction),
                sampling.restarts,
                sampling.burn_in,
                sampling.samples,
                scores[direction],
            )

        engine.map(task, [(direction, *run) for direction in range(2) for run in block.tasks])
        return np.ascontiguousarray(scores.T), []

    @property
    def jumps(self) -> tuple[Moves, Moves]:
        """The moves, as the HMM's jumps: for its best path."""
        return self.moves

    def with_lexicon(self, lexicon: BayesLexicon) -> BayesHMM:
        """For another lexicon; one that was transferred to new text brings fertilities of its words along."""
        if lexicon.words is None:
            return replace(self, lexicon=lexicon)
        forward, reverse = self.fertility
        fertility = forward.for_words(lexicon.words.source), reverse.for_words(lexicon.words.target)
        return replace(self, lexicon=lexicon, fertility=fertility)

    def with_options(self, options: Any, seed: int) -> BayesHMM:
        """Set how alignments are drawn in decoding."""
        sampling = FrozenSampling(seed, options.decoding_samples, options.decoding_restarts)
        return replace(self, sampling=sampling)

    def arrays(self) -> dict[str, np.ndarray]:
        """Parameters besides the lexicon, by name, for saving."""
        arrays = {"null": np.array([self.null])}
        for name, moves, fertility in zip(DIRECTIONS, self.moves, self.fertility, strict=True):
            arrays |= {
                f"moves.{name}.jumps": moves.jumps,
                f"moves.{name}.firsts": moves.firsts,
                f"moves.{name}.lasts": moves.lasts,
                f"fertility.{name}.tokens": fertility.tokens,
                f"fertility.{name}.prior": fertility.prior,
            }
        return arrays

    @classmethod
    def from_arrays(cls, lexicon: BayesLexicon, arrays: dict[str, np.ndarray]) -> BayesHMM:
        moves, fertility = [], []
        for name, words in zip(DIRECTIONS, lexicon.sizes, strict=True):
            found = Moves(*(arrays[f"moves.{name}.{part}"] for part in ("jumps", "firsts", "lasts")))
            tokens, prior = arrays[f"fertility.{name}.tokens"], arrays[f"fertility.{name}.prior"]
            check_shapes(
                (found.jumps, np.float64, (BINS,)),
                (found.firsts, np.float64, (len(EDGES),)),
                (found.lasts, np.float64, (len(EDGES),)),
                (tokens, np.float32, (words, len(prior))),
                (prior, np.float64, (len(prior),)),
            )
            moves.append(found)
            fertility.append(FertilityHistogram(tokens, prior))
        return cls(lexicon, (moves[0], moves[1]), (fertility[0], fertility[1]), float(arrays["null"][0]))


def stream_key(seed: int, number: int) -> int:
    """A seed of its own for chain or direction `number`."""
    return int(stream(seed % (1 << 62), 1 << 40, number)) >> 2
