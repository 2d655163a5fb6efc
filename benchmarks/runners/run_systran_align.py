"""Runs inside systran-align's own environment: text to links by its Python interface.

    run_systran_align.py JOINED SOURCE TARGET OUTPUT

Its aligner offers one output, its own combination of both directions.  The settings are those that fast_align
recommends (-d -o -v), which are two points of AER better on Hansards text than the interface's defaults.
"""

import os
import sys
import tempfile

import systran_align


def read(path):
    with open(path, encoding="utf-8", newline="\n") as lines:
        return [line.split() for line in lines]


def main(joined, source, target, output):
    with tempfile.TemporaryDirectory() as folder:
        forward, backward = os.path.join(folder, "forward"), os.path.join(folder, "backward")
        systran_align.generate_alignment_probabilities(
            joined, forward, backward, favor_diagonal=True, optimize_tension=True, variational_bayes=True
        )
        aligner = systran_align.Aligner(forward, backward)
        results = aligner.align_batch(read(source), read(target))
    with open(output, "w", encoding="ascii") as handle:
        for result in results:
            handle.write(" ".join(f"{i}-{j}" for i, j in result["alignments"]) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
