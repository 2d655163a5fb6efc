"""One run of `align`: learn what is to be learned, then write links; in a work folder, go on where a run before was."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from dovetail.aligner import Aligner
from dovetail.alignments.certificates import Certificates
from dovetail.bitext.paths import is_empty
from dovetail.cli.align import number_of, say_compiling
from dovetail.cli.links_out import Form, LinksOut, check_writable, links_out
from dovetail.cli.outputs import Paths, one_per_file
from dovetail.cli.progress import progress_bars, say
from dovetail.errors import InputError
from dovetail.fitting import aside, laid_out
from dovetail.kernels.compiled import worked_seconds
from dovetail.large.memory import check_budget
from dovetail.large.work import WorkFolder, identity
from dovetail.training.drawing import Lesson, lesson
from dovetail.training.monitor import Progress

if TYPE_CHECKING:
    from dovetail.bitext.corpus import Bitext
    from dovetail.bitext.source import TextSource
    from dovetail.training.monitor import Callback

FEW_PAIRS = 100  # a text of fewer is aligned, with a word of warning
LONG = 60.0  # seconds of a run that one would rather not do again
FILES = ("load", "warm_start", "dictionary", "constraints_file", "development_gold")


@contextmanager
def said_if_interrupted(work: str | None, output: str) -> Iterator[None]:
    """Have an interruption tell how to go on, or how that could be had."""
    began = monotonic()
    try:
        yield
    except KeyboardInterrupt as interruption:
        if work is not None:
            interruption.add_note(f"interrupted; the same command goes on where it was, from {work}")
        elif "*" in output:
            interruption.add_note("interrupted; the same command goes on with the files that are not there yet")
        elif monotonic() - began > LONG:
            interruption.add_note("interrupted; nothing was kept to go on from: --work DIR keeps it")
        raise


@dataclass
class Run:
    """What `align` was asked for; `values` are the command's."""

    aligner: Aligner
    text: TextSource
    work: WorkFolder
    format: str
    keep_text: bool
    values: dict[str, Any]
    unsaved: InputError | None = None  # what kept the model from being saved
    whole: Bitext | None = None  # the text, where all of it is in memory
    pairs: int = 0  # of the text, if somebody counted them
    seconds: float = 0.0

    def all(self) -> None:
        """From the text to files of links, and a word about them."""
        values = self.values
        quiet, kept = values["quiet"], values["work"] is not None
        if kept:
            self.work.check(self._command())
        # A pipe can be read but once: whoever needs it twice puts it by.  A loaded model aligns it as it comes.
        directly = bool(values["load"]) and not values["favour"] and not kept
        if not directly:
            self.text = replace(self.text, **self.work.spooled(self.text))
        outputs = one_per_file(self.text.source, self.text.target, values["output"])
        watched = directly and values["output"] == "-" and sys.stdout.isatty()
        # Links that stream into the terminal and bars would write over each other.
        with progress_bars(quiet or watched) as callback:
            say_compiling(quiet)
            if outputs is None:
                with self._out(values["output"], self.work if kept else None) as out:
                    self._prepare(callback)
                    self._write(self.text, out, callback)
                outs = [out]
            else:
                outs = []
                if outputs:
                    for name in {os.path.dirname(output): output for _, output in outputs}.values():
                        check_writable(name)
                    self._prepare(callback)
                    self.whole = None
                    outs.extend(self._write_each(outputs, callback))
        self._summarise(outs)
        if self.unsaved is not None:
            raise self.unsaved

    def _out(self, output: str, work: WorkFolder | None) -> Any:
        values = self.values
        return links_out(
            output,
            self.format,
            on_whitespace=values["on_whitespace"],
            tokens_prefix=values["write_tokens"],
            work=work,
        )

    def _summarise(self, outs: list[LinksOut]) -> None:
        quiet = self.values["quiet"]
        files = f"{number_of(len(outs), 'file')}, " if len(outs) != 1 else ""
        pairs, links = sum(out.pairs for out in outs), sum(out.links for out in outs)
        say(f"{files}{number_of(pairs, 'pair')}, {number_of(links, 'link')}", quiet)
        proved = Certificates()
        for out in outs:
            proved.join(out.certificates)
        if summary := proved.summary(self.seconds):
            say(summary, quiet)

    def _prepare(self, callback: Callback | None) -> None:
        """Have a model, learned now or before."""
        values = self.values
        about = self.work.learned if values["work"] is not None and not values["load"] else None
        if about is not None:
            self.aligner = Aligner.load(self.work.model, engine=self.aligner.engine, mapped=True)
            self.pairs = about["pairs"]
        if about is not None or values["load"]:
            check_budget(self.aligner.recipe, None, values["memory"], self.aligner.engine.pool.threads)
        else:
            self._learn(callback)
        if values["favour"] and about is None:
            text = self.whole if self.whole is not None else self.text
            threshold = self.aligner.favour(values["favour"], text)
            say(f"--threshold {threshold:.4g} favours {values['favour']}", values["quiet"])
        if values["save"]:
            self.unsaved = _save(self.aligner, values["save"])
        if values["work"] is not None and not values["load"]:
            self.whole = None
            if about is None:
                self.aligner.save(self.work.model)
                self.work.keep_model({"pairs": self.pairs})

    def _learn(self, callback: Callback | None) -> None:
        """Learn from the text, and say what there is to say about it."""
        values, aligner = self.values, self.aligner
        recipe, apart = aligner.recipe, aside(self.work.place)
        learned = lesson(self.text, recipe.options, self.keep_text, aligner.engine.pool, apart)
        self.pairs = learned.pairs
        self._hint(learned)
        work = self.work.place / "learning" if values["work"] is not None else None
        before = laid_out(work) if work is not None else 0
        shard_cells = check_budget(recipe, learned, values["memory"], aligner.engine.pool.threads, before)
        aligner.fit(
            replace(learned, shard_cells=shard_cells),
            callback,
            warm_start=values["warm_start"],
            dictionary=self._dictionary(),
            constraints=_constraints(values["constraints_file"]) if values["constraints_file"] else (),
            development=_development(values, learned.pairs) if values["development_gold"] else None,
            work=work,
        )
        if aligner.tuned is not None:
            threshold, grow, aer = aligner.tuned
            told = f"development gold chose: --threshold {threshold:.4g} --grow {grow:.4g} (AER {100 * aer:.2f})"
            say(told, values["quiet"])
        # What went aside is too large to be aligned at once: it streams by, as what a sample was drawn from.
        if not learned.sampled and learned.cells <= apart.cells:
            self.whole = learned.bitext

    def _hint(self, learned: Lesson) -> None:
        from dovetail.bitext.hints import hints
        from dovetail.bitext.text import display_name

        quiet, text = self.values["quiet"], self.text
        names = tuple("-" if name == "standard input" else name for name in map(display_name, self._sides(text)))
        for hint in hints(learned.bitext, (names[0], names[-1])):
            say(hint, quiet)
        if learned.pairs < FEW_PAIRS:
            say(f"{number_of(learned.pairs, 'pair')} teach little: many links will be wrong", quiet)

    @staticmethod
    def _sides(text: TextSource) -> list[Any]:
        return [text.source] if text.target is None else [text.source, text.target]

    def _write(self, text: TextSource, out: LinksOut, callback: Callback | None) -> None:
        """Align a text, all at once if it is in memory anyway, else as it comes, from the pair on that `out` is at."""
        began = worked_seconds()
        if self.whole is not None:
            result = self.aligner.align(self.whole, callback)
            self.seconds = worked_seconds() - began
            out.write(result, self.whole)
            return
        for part in self.aligner.align_stream(text, first=out.pairs, keep_text=self.keep_text, each=out.form):
            out.take(part)
            self._tell(out.pairs, began, callback)

    def _write_each(self, outputs: list[tuple[Paths, str]], callback: Callback | None) -> Iterator[LinksOut]:
        """Align many texts, side by side, each to a file of its own, which is there as soon as it is whole.

        Of an empty one there are no links.
        """
        began, pairs = worked_seconds(), 0
        empty = [is_empty(paths) for paths, _ in outputs]
        some = [paths for (paths, _), nothing in zip(outputs, empty, strict=True) if not nothing]
        texts = (replace(self.text, source=source, target=target) for source, target in some)
        form = Form(self.format, self.values["on_whitespace"], 0)
        parts = self.aligner.align_streams(texts, keep_text=self.keep_text, each=form)
        for (_, output), nothing in zip(outputs, empty, strict=True):
            with self._out(output, None) as out:
                for part in iter(partial(next, parts), None) if not nothing else ():
                    out.take(part)
                    pairs += part.pairs
                    self._tell(pairs, began, callback)
            yield out

    def _tell(self, pairs: int, began: float, callback: Callback | None) -> None:
        self.seconds = worked_seconds() - began
        if callback is not None:  # of a stream nobody knows how many pairs are still to come
            callback(Progress("align", pairs, max(self.pairs, pairs), "pairs", 0, 1, None, self.seconds))

    def _command(self) -> dict[str, Any]:
        """What the links depend on: a work folder belongs to one such command."""
        from dovetail import __version__

        values = self.values
        names = ("favour", "development_start", "on_whitespace")
        return {
            "version": __version__,
            "source": identity(self.text.source),
            "target": None if self.text.target is None else identity(self.text.target),
            "reading": self.text.reading,
            "recipe": self.aligner.recipe.to_dict(),
            "seed": self.aligner.seed,
            "format": self.format,
            "tokens": values["write_tokens"] is not None,
            **{name: identity(values[name]) for name in FILES if values[name]},
            **{name: values[name] for name in names},
        }

    def _dictionary(self) -> dict[tuple[str, str], float] | None:
        from dovetail.bitext.dictionaries import read_dictionary

        if not self.values["dictionary"]:
            return None
        languages = {name: self.text.reading.get(name) for name in ("source_language", "target_language")}
        return read_dictionary(self.values["dictionary"], **languages)


def _save(aligner: Aligner, place: str) -> InputError | None:
    """Save the model; what goes wrong is told at the end, when the links that were learned are written."""
    try:
        aligner.save(place)
    except InputError as error:
        told = f"{error.problem}; the links are written all the same"
        return InputError(told, path=error.path, remedy=error.remedy)
    return None


def _development(values: dict[str, Any], pairs: int) -> tuple[int, Any]:
    from dovetail.alignments.gold import read_gold

    start, gold = values["development_start"], read_gold(values["development_gold"])
    if not gold.sure.any():
        raise InputError(
            "no sure gold links here", path=values["development_gold"], remedy="Give gold links, as 0-0 1-2."
        )
    if start + len(gold) > pairs:
        raise InputError(
            f"gold links of {len(gold):,} pairs from pair {start:,} on, but the bitext has {pairs:,}",
            path=values["development_gold"],
            remedy="Pass --development-start: the first of these pairs, counted from 0.",
        )
    return start, gold


def _constraints(path: str) -> Any:
    from dovetail.models.constraints import read_constraints

    return read_constraints(path)
