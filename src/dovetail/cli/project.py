"""`dovetail project`: parts of speech, trees, names and other labels, carried over links to the other language."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from dovetail.cli.aligned import check_one_of_links_and_load, links_format
from dovetail.cli.options import Names, plugins, tokenizer_names

if TYPE_CHECKING:
    from dovetail.uses.annotation import Annotated, Projected

KINDS = ("upos", "xpos", "feats", "lemma", "heads")


def written_formats() -> list[str]:
    from dovetail.uses.annotation import annotation_formats

    return [name for name, known in annotation_formats.items() if known.write is not None]


@click.command()
@click.argument("source")
@click.argument("target")
@click.option("--links", metavar="FILE", help="Links between the words of both, in any format that dovetail reads.")
@links_format
@click.option(
    "--text", nargs=2, metavar="SRC TGT", help="With --links: the text whose tokens they count, if not the words."
)
@click.option("--load", metavar="MODEL", help="Align with this saved model, in place of --links.")
@click.option(
    "-o", "--output", default="-", metavar="FILE", help="Where the target goes; - is standard output, .gz .zst work."
)
@click.option(
    "--format", "format_", type=Names("name", written_formats), help="What is written.  [default: as SOURCE is]"
)
@click.option(
    "--carry",
    default="upos,heads",
    show_default=True,
    help=f"Of CoNLL-U, with commas between them: {', '.join(KINDS)}.",
)
@click.option("--threshold", type=click.FloatRange(0, 1), help="How sure what is carried must be.  [default: best F]")
@click.option(
    "--split", is_flag=True, help="All parts of a span that is torn apart, not only the one that weighs most."
)
@click.option(
    "--lend", is_flag=True, help="Words without a label take the one that the same word mostly got elsewhere."
)
@click.option("--score", is_flag=True, help="Print how right it is by TARGET's own annotation, and write nothing.")
@click.option("--json", "as_json", is_flag=True, help="With --score: print one JSON object.")
@click.option(
    "--tokenizer",
    type=Names("name", tokenizer_names),
    help="How plain text, and --text, is cut.  [default: whitespace]",
)
@click.option("--threads", type=click.IntRange(1), metavar="N", help="Threads; never changes the result.")
@click.option("--quiet", is_flag=True, help="No notes.")
@plugins
def project(**values: Any) -> None:
    """Carry annotation over links to the other language.

    SOURCE is annotated: CoNLL-U, columns (a word first, its label last: BIO, BIOES or any other), or JSON lines with
    character offsets.  TARGET are the same sentences in the other language, annotated or plain, one per line.  Links
    count the words of both files; a model's own tokens, or those of --text, are matched to them by characters.

    Each word is told which source word its label came from, and how sure it is.  If TARGET has annotation of its own, scores
    against it are noted.
    """
    from dovetail.bitext.text import atomic_writer
    from dovetail.cli.progress import say
    from dovetail.uses.annotation import annotation_formats
    from dovetail.uses.projection import ProjectionScore, learn_words, lend_words

    if values["as_json"] and not values["score"]:
        raise click.UsageError("--json belongs to --score.")
    if values["score"] and values["output"] != "-":
        raise click.UsageError("--score prints a score and writes no annotation: drop -o.")
    check_one_of_links_and_load(values["links"], values["load"])
    if values["load"] and (values["text"] or values["links_format"]):
        raise click.UsageError("--text and --links-format belong to --links.")
    files = [values[name] for name in ("source", "target", "links") if values[name]] + list(values["text"] or ())
    if files.count("-") > (0 if values["lend"] else 1):
        raise click.UsageError(
            "--lend reads everything twice, which standard input can't be."
            if values["lend"]
            else "only one file can come from standard input."
        )
    work = _Work(values)
    words = learn_words(work.results()) if values["lend"] else None
    score = ProjectionScore()

    def results() -> Iterator[tuple[Annotated, Annotated, Projected]]:
        for source, target, projected in work.results():
            if words is not None:
                lend_words(projected, target, words)
            score.add(source, target, projected)
            yield source, target, projected

    if values["score"]:
        for _ in results():
            pass
        if not score.tallies:
            raise click.UsageError("--score: TARGET has no annotation of what is carried.")
        click.echo(json.dumps(score.to_dict()) if values["as_json"] else str(score))
        return
    with atomic_writer(values["output"]) as handle:
        for source, target, projected in results():
            write = annotation_formats[work.written].write
            assert write is not None
            handle.write(write(source, target, projected))
    if score.tallies:
        say(str(score), values["quiet"])


class _Work:
    """What was asked for, ready to be walked through, more than once if need be."""

    def __init__(self, values: dict[str, Any]) -> None:
        from dovetail.bitext.corpus import TextOptions
        from dovetail.uses.carrying import LINK_THRESHOLD, THRESHOLD
        from dovetail.uses.projection import Carry

        self.values = values
        self.written = values["format_"] or ""
        chosen = [name.strip() for name in values["carry"].split(",")]
        if wrong := [name for name in chosen if name not in KINDS]:
            raise click.UsageError(f"--carry: {wrong[0]!r} is not one of: {', '.join(KINDS)}.")
        threshold = THRESHOLD if values["threshold"] is None else values["threshold"]
        labels = [name for name in chosen if name != "heads"]
        self.carry = Carry((*labels, "label"), "heads" in chosen, True, threshold, values["split"])
        self.options = TextOptions(values["tokenizer"] or "whitespace")
        self.aligner = None
        if values["load"]:
            from dovetail.aligner import Aligner

            self.aligner = Aligner.load(values["load"], threads=values["threads"])
            if "threshold" in self.aligner.recipe.options:  # doubtful links are still worth their vote
                self.aligner.recipe = self.aligner.recipe.with_options({"threshold": LINK_THRESHOLD}, trained=True)
            if values["tokenizer"] not in (None, self.aligner.text_options.tokenizer):
                own = self.aligner.text_options.tokenizer
                raise click.UsageError(f"--load: the model's text was read with tokenizer={own}. Drop --tokenizer.")
            self.options = self.aligner.text_options

    def results(self) -> Iterator[tuple[Annotated, Annotated, Projected]]:
        from dovetail.alignments.stream import LinkStream
        from dovetail.bitext.readers import read_pairs
        from dovetail.bitext.text import display_name
        from dovetail.uses import projection
        from dovetail.uses.annotation import read_annotated

        source, target, text = self.values["source"], self.values["target"], self.values["text"]
        kind, here = read_annotated(source, self.options)
        _, there = read_annotated(target, self.options, plain=True)
        self._check_written(kind)
        pairs = projection.in_step(here, there, (display_name(source), display_name(target)))
        if self.aligner is not None:
            yield from projection.project(pairs, projection.links_from_model(self.aligner, self.options), self.carry)
            return
        stream = LinkStream(self.values["links"], self.values["links_format"])
        linker = (
            projection.links_from_text(stream, read_pairs(*text), self.options)
            if text
            else projection.links_from_file(stream)
        )
        size = projection.PART if stream.in_order else sys.maxsize
        yield from projection.project(pairs, linker, self.carry, size)
        stream.end()

    def _check_written(self, kind: str) -> None:
        """Trees and spans are told in formats of their own."""
        self.written = self.written or kind
        if (kind == "conllu") != (self.written == "conllu"):
            raise click.UsageError(f"--format {self.written} can't hold what is carried from {kind}.")
