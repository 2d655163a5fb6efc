"""`dovetail score`: how well the sentences of each pair translate each other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from dovetail.cli.aligned import aligned_text, open_aligned

if TYPE_CHECKING:
    from dovetail.uses.aligned import AlignedFiles
    from dovetail.uses.quality import PairQuality


@click.command()
@aligned_text
@click.option(
    "-o", "--output", default="-", metavar="FILE", help="Where scores go; - is standard output, .gz .zst work."
)
@click.option("--keep", type=click.FloatRange(0, 1), metavar="SHARE", help="Only the best share of all pairs, say 0.8.")
@click.option(
    "--below", type=click.FloatRange(0, 1), metavar="QUALITY", help="Only pairs of lower quality, to look at."
)
@click.option(
    "--sort", type=click.Choice(["best", "worst"]), help="The best or the worst first.  [default: as in the text]"
)
@click.option("--show", is_flag=True, help="Append the two sentences.")
@click.option("--write-text", metavar="PREFIX", help="Write the sentences of these pairs to PREFIX.source and .target.")
def score(
    output: str,
    keep: float | None,
    below: float | None,
    sort: str | None,
    show: bool,
    write_text: str | None,
    **values: Any,
) -> None:
    """How well the sentences of each pair translate each other, by a saved model (--load).

    Writes one line per pair, with tabs between: quality from 0 to 1; log-probability per word of the target given the
    source, and of the source given the target, never above 0; share of words that are linked with confidence; number of the
    pair, from 1.  Quality is the share of the information of the less covered sentence that is linked with confidence:
    most good pairs have more than 0.5, most pairs that do not belong together less than 0.4.
    """
    from dovetail.bitext.text import atomic_writer

    if values["load"] is None:
        raise click.UsageError("--load MODEL is needed: links alone do not tell how probable a sentence is.")
    if keep is not None and below is not None:
        raise click.UsageError("--keep and --below choose different pairs: give one of them.")
    twice = show or write_text is not None or keep is not None or sort is not None
    if twice and "-" in (values["source"], values["target"]):
        raise click.UsageError("this reads the text twice, which standard input can't be.")
    aligned = open_aligned(values)
    with ExitStack() as stack:
        handle = stack.enter_context(atomic_writer(output))
        if not twice:
            for number, pair in enumerate(_one_by_one(aligned), 1):
                if below is None or pair.quality < below:
                    handle.write(_line(number, pair) + "\n")
            return
        chosen = _chosen(aligned, keep, below)
        sentences: dict[int, tuple[str, str]] = {}
        if show or write_text is not None:
            files = []
            if write_text is not None:
                files = [stack.enter_context(atomic_writer(f"{write_text}.{side}")) for side in ("source", "target")]
            for number, texts in _texts(aligned, chosen):
                for file, text in zip(files, texts, strict=False):
                    file.write(text + "\n")
                if show:
                    sentences[number] = texts
        order = list(chosen)
        if sort is not None:
            order.sort(key=lambda number: chosen[number].quality, reverse=sort == "best")
        for number in order:
            handle.write("\t".join([_line(number, chosen[number]), *sentences.get(number, ())]) + "\n")


def _one_by_one(aligned: AlignedFiles) -> Iterator[PairQuality]:
    from dovetail.uses.quality import score_parts

    for part in score_parts(aligned.aligner, aligned):  # type: ignore[arg-type]
        yield from part


def _chosen(aligned: AlignedFiles, keep: float | None, below: float | None) -> dict[int, PairQuality]:
    """The pairs that were asked for, by number."""
    from dovetail.uses.quality import Qualities, score_parts

    found = Qualities.concatenate(list(score_parts(aligned.aligner, aligned)))  # type: ignore[arg-type]
    wanted = found.quality < below if below is not None else found.best(1.0 if keep is None else keep)
    return {int(n) + 1: found[int(n)] for n in wanted.nonzero()[0]}


def _texts(aligned: AlignedFiles, chosen: dict[int, PairQuality]) -> Iterator[tuple[int, tuple[str, str]]]:
    from dovetail.bitext.readers import read_pairs

    reading = {name: value for name, value in aligned.reading.items() if name not in ("tokenizer", "lower", "form")}
    for number, pair in enumerate(read_pairs(aligned.source, aligned.target, **reading), 1):
        if number in chosen:
            yield number, pair


def _line(number: int, pair: PairQuality) -> str:
    return f"{pair.quality:.4f}\t{pair.forward:.4f}\t{pair.reverse:.4f}\t{pair.linked:.4f}\t{number}"
