"""Runs inside sil-thot's own environment: text to the links of both directions by its Python interface.

    run_sil_thot.py MODEL SOURCE TARGET FORWARD REVERSE         MODEL: hmm, ibm4, fast-align or eflomal

Every model is trained with the library's own defaults, five iterations a stage as is usual for the IBM
models; where two ways were open, the one with the better AER was taken: Model 4 starts from the HMM and not
from Model 3, fast_align is trained with variational Bayes.  Model 4 has one word class: the library brings no
clustering.
"""

import sys

import thot.alignment as thot

ITERATIONS = 5
CHUNK = 10_000  # pairs aligned at a time: the library keeps one matrix a pair


def read(path):
    with open(path, encoding="utf-8", newline="\n") as lines:
        return [line.split() for line in lines]


def trained(model, iterations=ITERATIONS):
    model.start_training()
    for _ in range(iterations or model.scheduled_iterations):
        model.train()
    model.end_training()
    return model


def fitted(name, source, target):
    """The named model of `target` given `source`, trained on the two files."""
    if name == "fast-align":
        model = thot.FastAlignModel()
        model.variational_bayes = True
        model.read_sentence_pairs(source, target)
        return trained(model)
    if name == "eflomal":
        model = thot.EflomalAlignmentModel()
        model.read_sentence_pairs(source, target)
        return trained(model, iterations=None)  # it plans them itself, from the size of the text
    model = thot.Ibm1AlignmentModel()
    model.read_sentence_pairs(source, target)
    lexicon = trained(model)
    hmm = trained(thot.HmmAlignmentModel(lexicon))
    return {"hmm": lambda: hmm, "ibm4": lambda: trained(thot.Ibm4AlignmentModel(hmm))}[name]()


def links(model, source, target):
    """The (source, target) positions of each pair; entry j of the library's list is 1 + i, or 0 for NULL."""
    for start in range(0, len(source), CHUNK):
        for _, matrix in model.get_best_alignments(source[start : start + CHUNK], target[start : start + CHUNK]):
            yield [(i - 1, j) for j, i in enumerate(matrix.to_list()) if i > 0]


def main(name, source, target, forward, reverse):
    source_words, target_words = read(source), read(target)
    with open(forward, "w", encoding="ascii") as handle:
        for pair in links(fitted(name, source, target), source_words, target_words):
            handle.write(" ".join(f"{i}-{j}" for i, j in pair) + "\n")
    with open(reverse, "w", encoding="ascii") as handle:
        for pair in links(fitted(name, target, source), target_words, source_words):
            handle.write(" ".join(f"{i}-{j}" for j, i in pair) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
