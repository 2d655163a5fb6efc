"""A made-up bitext of any number of pairs that is like a real one: for measurements, where nobody has ten million pairs.

    python -m benchmarks.large_text SOURCE TARGET --pairs 10000000 --model MODEL --out big   # big.source.zst, big.target.zst

Source sentences are drawn by trigrams of the real text.  For each of their words a trained model's fertility says how many
target words it has, its lexicon which, and its jumps in what order they stand; words of NULL come in between.  Rare words
are mostly invented, as many as Heaps' law, V(n) = K n^b fitted to the real text, wants after n words; each has an invented
translation of its own.  So vocabularies grow as real ones do.  MODEL is one of `default`; a seed gives one text.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from xopen import xopen

from dovetail.aligner import Aligner
from dovetail.bitext.corpus import Bitext, Side, read_bitext
from dovetail.models.jumps.word import bin_limits

BATCH = 1 << 14  # sentences that are made at once
LONGEST = 100  # words of a sentence
RARE = 2  # a word seen so often, or less, may stand for an invented one
SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]


def heaps(ids: np.ndarray) -> tuple[float, float]:
    """K and b of V(n) = K n^b, by least squares of logarithms over the text's second half of doublings."""
    first = np.unique(ids, return_index=True)[1]
    tokens = np.unique((len(ids) * 2.0 ** -np.arange(0, 6)).astype(np.int64))
    types = np.array([(first < n).sum() for n in tokens])
    exponent, scale = np.polyfit(np.log(tokens), np.log(np.maximum(types, 1)), 1)
    return float(np.exp(scale)), float(exponent)


def invented(number: int) -> str:
    """A word that can be pronounced, another one for each number."""
    word = ""
    number += len(SYLLABLES) ** 2  # three syllables at least: no real word is so odd
    while number:
        number, syllable = divmod(number, len(SYLLABLES))
        word += SYLLABLES[syllable]
    return word


class Trigrams:
    """Sentences whose every three words stand together somewhere in the text."""

    def __init__(self, side: Side) -> None:
        lengths = side.lengths.astype(np.int64)
        self.end = len(side.vocabulary)
        # each sentence with an end mark before it, and one behind the last
        text = np.full(len(side.ids) + len(lengths) + 1, self.end, np.int64)
        places = np.arange(len(side.ids)) + np.repeat(np.arange(1, len(lengths) + 1), lengths)
        text[places] = side.ids
        key = np.empty(len(text), np.int64)
        key[0], key[1:] = -1, text[:-1] * (self.end + 1) + text[1:]
        _, self.group = np.unique(key, return_inverse=True)
        self.order = np.argsort(self.group, kind="stable")
        self.start = np.concatenate([[0], np.cumsum(np.bincount(self.group))])
        self.text = text
        self.starts = np.flatnonzero(text[:-1] == self.end)  # of sentences: the marks before them
        self.starts = self.starts[text[self.starts + 1] != self.end]

    def draw(self, count: int, chance: np.random.Generator) -> list[np.ndarray]:
        """(words, lengths) of so many sentences: step by step, all at once."""
        place = chance.choice(self.starts, count) + 1
        columns = []
        going = np.ones(count, bool)
        for _ in range(LONGEST):
            columns.append(np.where(going, self.text[place], -1))
            group = self.group[place]
            same = self.start[group] + (chance.random(count) * (self.start[group + 1] - self.start[group])).astype(int)
            place = np.where(going, np.minimum(self.order[same] + 1, len(self.text) - 1), place)
            going &= self.text[place] != self.end
            if not going.any():
                break
        table = np.stack(columns, axis=1)
        return [table[table >= 0], (table >= 0).sum(axis=1)]


def draw_from_rows(start: np.ndarray, weight: np.ndarray, rows: np.ndarray, chance: np.random.Generator) -> np.ndarray:
    """For each row (start[r]:start[r + 1], none empty) an entry with a chance in proportion to its weight."""
    total = np.concatenate([[0.0], np.cumsum(weight)])
    low, high = total[start[rows]], total[start[rows + 1]]
    found = np.searchsorted(total, low + chance.random(len(rows)) * (high - low), side="right") - 1
    return np.clip(found, start[rows], start[rows + 1] - 1)


@dataclass
class Growth:
    """Invented words so far, and how fast there are to be more."""

    scale: float
    exponent: float
    real: int  # words of the real text that are not rare
    tokens: int = 0
    made: int = 0

    def draw(self, wanted: int, tokens: int, chance: np.random.Generator) -> np.ndarray:
        """Numbers of invented words for so many places, in a batch of so many tokens."""
        self.tokens += tokens
        missing = self.scale * self.tokens**self.exponent - self.real - self.made
        new = int(np.clip(missing, 0, wanted))
        numbers = np.empty(wanted, np.int64)
        fresh = chance.permutation(wanted) < new
        numbers[fresh] = self.made + np.arange(new)
        self.made += new
        # an old one, the newest most often: names are talked of for a while
        age = (max(self.made, 1) * chance.random(wanted - new) ** 3).astype(np.int64)
        numbers[~fresh] = np.maximum(self.made - 1 - age, 0)
        return numbers


class Generator:
    """Pairs after the manner of a text and a model."""

    def __init__(self, bitext: Bitext, aligner: Aligner) -> None:
        model: Any = aligner.model
        lexicon = model.lexicon.compact()
        if model.fertility is None:
            raise SystemExit("The model has no fertility: train one with the recipe default.")
        numbers = bitext.source.vocabulary.numbers_in(aligner.source_vocabulary)
        self.words = [*aligner.target_vocabulary]
        self.sources = [*bitext.source.vocabulary]
        self.trigrams = Trigrams(bitext.source)
        self.row_start, self.targets, self.counts = lexicon.slots.row_start, lexicon.slots.target, lexicon.counts
        known = np.diff(self.row_start)[numbers] > 0
        self.model_word = np.where((numbers >= 0) & known, numbers, -1)
        chances = np.vstack([model.fertility[0].chances(), model.fertility[0].shared / model.fertility[0].shared.sum()])
        self.fertility = np.cumsum(chances, axis=1)
        self.nulls = np.asarray(lexicon.nulls.forward, np.float64)
        links = lexicon.counts.sum()
        self.null_share = 1 - links / max(aligner.target_vocabulary.counts.sum(), links)
        low, high = bin_limits()
        near = (low > -LONGEST) & (high < LONGEST)
        self.jumps = np.round((low + high) / 2)[near].astype(np.int64)
        weight = model.jumps[0].shared[near] * (high - low + 1)[near]
        self.jump_chances = weight / weight.sum()
        counts = bitext.source.vocabulary.counts
        self.rare = counts <= RARE
        self.growth = Growth(*heaps(bitext.source.ids), int((~self.rare).sum()))

    def pairs(self, count: int, seed: int) -> Iterator[tuple[str, str]]:
        chance = np.random.default_rng(seed)
        for first in range(0, count, BATCH):
            yield from self._batch(min(BATCH, count - first), chance)

    def _batch(self, count: int, chance: np.random.Generator) -> Iterator[tuple[str, str]]:
        words, lengths = self.trigrams.draw(count, chance)
        sentence = np.repeat(np.arange(count), lengths)
        position = np.arange(len(words)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        names = np.full(len(words), -1, np.int64)
        rare = self.rare[words]
        names[rare] = self.growth.draw(int(rare.sum()), len(words), chance)
        model_word = self.model_word[words]
        number = (chance.random(len(words))[:, None] > self.fertility[model_word]).sum(axis=1)  # row -1: all words'
        number[names >= 0] = 1
        number[(names < 0) & (model_word < 0)] = 0
        parent = np.repeat(np.arange(len(words)), number)
        made = np.full(len(parent), -1, np.int64)
        plain = names[parent] < 0
        slots = draw_from_rows(self.row_start, self.counts, model_word[parent[plain]], chance)
        made[plain] = self.targets[slots]
        # where a target word stands: at its source word, moved by a jump less the step to the next word
        moved = position[parent] + 0.5 * (chance.choice(self.jumps, len(parent), p=self.jump_chances) - 1)
        nulls = chance.random(len(parent)) < self.null_share / max(1 - self.null_share, 0.1)
        null_words = np.searchsorted(np.cumsum(self.nulls) / self.nulls.sum(), chance.random(int(nulls.sum())))
        at = np.concatenate([sentence[parent], sentence[parent[nulls]]])
        where = np.concatenate([moved, moved[nulls] + 0.25])
        target = np.concatenate([made, np.minimum(null_words, len(self.words) - 1)])
        name = np.concatenate([np.where(plain, -1, names[parent]), np.full(len(null_words), -1)])
        order = np.lexsort((where, at))
        sides = (
            [self.sources[w] if n < 0 else invented(n) for w, n in zip(words.tolist(), names.tolist(), strict=True)],
            [
                self.words[w] if n < 0 else invented(n) + "o"
                for w, n in zip(target[order].tolist(), name[order].tolist(), strict=True)
            ],
        )
        ends = np.cumsum(lengths).tolist(), np.cumsum(np.bincount(at, minlength=count)).tolist()
        begin = [0, 0]
        for stops in zip(*ends, strict=True):
            yield " ".join(sides[0][begin[0] : stops[0]]), " ".join(sides[1][begin[1] : stops[1]])
            begin = list(stops)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="the real text")
    parser.add_argument("target", type=Path)
    parser.add_argument("--pairs", type=int, required=True)
    parser.add_argument("--model", required=True, help="a directory that `align --save` wrote")
    parser.add_argument("--out", required=True, help="writes OUT.source and OUT.target, with the suffix")
    parser.add_argument("--suffix", default=".zst", help=".zst, .gz, or nothing for plain files")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    generator = Generator(read_bitext(chosen.source, chosen.target, keep_text=False), Aligner.load(chosen.model))
    names = [f"{chosen.out}.{side}{chosen.suffix}" for side in ("source", "target")]
    with xopen(names[0], "wt", encoding="utf-8") as source, xopen(names[1], "wt", encoding="utf-8") as target:
        for pair in generator.pairs(chosen.pairs, chosen.seed):
            source.write(pair[0] + "\n")
            target.write(pair[1] + "\n")
    growth = generator.growth
    law = f"V(n) = {growth.scale:.2f} n^{growth.exponent:.3f}"
    print(f"{chosen.pairs:,} pairs, {growth.tokens:,} source words, {growth.made:,} invented types; {law}")


if __name__ == "__main__":
    main()
