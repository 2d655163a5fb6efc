"""Runs inside sil-machine's own environment: a phrase-based translation system of its parts, step by step.

    run_sil_machine.py learn FOLDER SOURCE TARGET TUNE_TARGET      lexical models, n-gram model; links `forward`, `reverse`
    run_sil_machine.py phrases LINKS.A3 TABLE LONGEST              the phrase table of given links
    run_sil_machine.py tune FOLDER SOURCE TARGET WEIGHTS EVALUATIONS
    run_sil_machine.py translate FOLDER SOURCE WEIGHTS OUTPUT

FOLDER/tm/model has the phrase table and the lexical models, FOLDER/lm/model the n-gram model.  WEIGHTS is JSON.  The
library's trainer does all of this at once with links of its own; to give it other links, its steps are called one by one.
"""

import json
import os
import sys
from pathlib import Path

import thot.alignment
import thot.translation
from machine.corpora import TextFileTextCorpus
from machine.tokenization import WhitespaceTokenizer
from machine.translation.thot import (
    ThotSmtModelTrainer,
    ThotSmtParameters,
    ThotWordAlignmentModelTrainer,
    ThotWordAlignmentModelType,
)
from machine.translation.thot.simplex_model_weight_tuner import SimplexModelWeightTuner
from machine.translation.thot.thot_utils import load_smt_decoder, load_smt_model, to_sentence, to_target_tokens
from machine.translation.trainer import TrainStats

LEXICAL = ThotWordAlignmentModelType.HMM
ORDER = 3  # words of an n-gram, as the library's trainer has it
CHUNK = 10_000  # pairs aligned at a time: the library keeps one matrix per pair


def read(path):
    with open(path, encoding="utf-8", newline="\n") as lines:
        return [line.split() for line in lines]


def parameters(folder, weights=()):
    return ThotSmtParameters(
        translation_model_filename_prefix=str(Path(folder, "tm", "model")),
        language_model_filename_prefix=str(Path(folder, "lm", "model")),
        model_weights=list(weights),
    )


def learn(folder, source, target, tune_target):
    """Both directions' lexical models and the n-gram model, and the links of the former."""
    folder = Path(folder)
    for name in ("tm", "lm"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    sides = TextFileTextCorpus(source), TextFileTextCorpus(target)
    corpus = sides[0].align_rows(sides[1]).tokenize(WhitespaceTokenizer())
    with ThotSmtModelTrainer(LEXICAL, corpus, parameters(folder)) as trainer:
        trainer._train_language_model(folder / "lm" / "model", ORDER, corpus)
        trainer._tune_language_model(folder / "lm" / "model", read(tune_target), ORDER)
    learn_links(folder / "tm" / "model_swm", corpus, read(source), read(target), folder / "forward", False)
    learn_links(folder / "tm" / "model_invswm", corpus.invert(), read(target), read(source), folder / "reverse", True)


def learn_links(prefix, corpus, source, target, output, swapped):
    with ThotWordAlignmentModelTrainer(LEXICAL, corpus, prefix) as trainer:
        trainer.train()
        trainer.save()
    model = thot.alignment.HmmAlignmentModel()
    if not model.load(str(prefix)):
        raise SystemExit(f"{prefix}: not the model that was just written")
    with open(output, "w", encoding="ascii") as handle:
        for start in range(0, len(source), CHUNK):
            part = slice(start, start + CHUNK)
            for _, matrix in model.get_best_alignments(source[part], target[part]):
                # Entry j of the library's list is 1 + i, or 0 for NULL.
                links = [(i - 1, j) for j, i in enumerate(matrix.to_list()) if i > 0]
                handle.write(" ".join(f"{j}-{i}" if swapped else f"{i}-{j}" for i, j in links) + "\n")


def phrases(links, table, longest):
    rules = thot.translation.PhraseExtractParameters()
    rules.max_target_phrase_length = int(longest)
    rules.constrain_source_length = True
    model = thot.translation.PhraseModel()
    if not model.build(str(links), rules, False) or not model.print_phrase_table(str(table)):
        raise SystemExit(f"{links}: no phrase table")


class Tuner(SimplexModelWeightTuner):
    """The library's, with the tables loaded once: they are the same at every step, only the weights change."""

    loaded = None

    def _generate_translations(self, settings, source_corpus):
        if self.loaded is None:
            model = load_smt_model(LEXICAL, settings)
            self.loaded = model, load_smt_decoder(model, settings)
        model, decoder = self.loaded
        model.weights = settings.model_weights
        found = decoder.translate_batch([to_sentence(words) for words in source_corpus])
        return [to_target_tokens(one.target) for one in found]


def tune(folder, source, target, weights, evaluations):
    settings = parameters(folder)
    settings.model_weights = list(thot.translation.SmtModel(thot.alignment.AlignmentModelType.HMM).weights)
    tuner = Tuner(LEXICAL, max_function_evaluations=int(evaluations))
    stats = TrainStats()
    tuned = tuner.tune(settings, read(source), read(target), stats, lambda status: None)
    keep(weights, {"start": settings.model_weights, "weights": list(tuned.model_weights), **stats.metrics})


def translate(folder, source, weights, output):
    settings = parameters(folder, json.loads(Path(weights).read_text())["weights"])
    model = load_smt_model(LEXICAL, settings)  # the decoder does not keep it alive
    decoder = load_smt_decoder(model, settings)
    found = decoder.translate_batch([to_sentence(words) for words in read(source)])
    lines = "".join(" ".join(to_target_tokens(one.target)) + "\n" for one in found)
    Path(output).write_text(lines, encoding="utf-8")


def keep(path, facts):
    """Whole or not at all."""
    part = Path(f"{path}.part")
    part.write_text(json.dumps(facts) + "\n")
    os.replace(part, path)


if __name__ == "__main__":
    {"learn": learn, "phrases": phrases, "tune": tune, "translate": translate}[sys.argv[1]](*sys.argv[2:])
