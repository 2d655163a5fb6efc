"""The command line: parses, calls the API, prints; no logic of its own.  Heavy things are imported by the commands."""

from __future__ import annotations

import _thread
import gc
import io
import os
import signal
import sys
import warnings
from contextlib import suppress
from importlib import import_module
from threading import Timer
from typing import Any, NoReturn

import click

from dovetail import __version__
from dovetail.durable import FULL
from dovetail.errors import InputError

AGAIN = 0.05  # seconds after which a signal comes again that went unheard
COMMANDS = {
    "align": "Align the words of a bitext.",
    "evaluate": "Score an alignment against gold links.",
    "compare": "Compare alignments of the same gold set, with intervals and significance.",
    "curve": "Precision against recall over all thresholds, and how true the probabilities are.",
    "describe": "What an alignment looks like: one-to-one share, fertilities, symmetry, dictionary.",
    "view": "Write one HTML file to look at alignments.",
    "serve": "Align what one types, on a local web page, with saved models.",
    "show": "Draw a pair's alignment in the terminal.",
    "combine": "Make one alignment of two directions' files.",
    "convert": "Rewrite an alignment file in another format.",
    "lexicon": "Write words with their translations: a dictionary from links.",
    "find": "Show where a word stands and what it is linked to.",
    "phrases": "Extract phrase pairs from an aligned text, or score them.",
    "project": "Carry parts of speech, trees, names or other labels over links.",
    "remap": "Tell links in other tokens of the same text: words, pieces, and back.",
    "score": "How well the sentences of each pair translate each other.",
    "tags": "Move inline markup from a source text to its plain translation.",
    "annotate": "Make gold links by hand, on a local web page.",
    "learn": "Learn from a few gold pairs how their annotators link.",
    "pick": "Say which pairs to annotate: those that would teach a model most.",
    "fertilities": "Show how many links each word of a trained model takes.",
    "recipes": "List recipes, decoders, combinations and formats.",
    "warm": "Compile what recipes need before somebody waits for it.",
    "demo": "Train on the small bitext that comes with dovetail, and show what comes out.",
    "completion": "Print what your shell needs to complete dovetail's commands.",
}


class LazyGroup(click.Group):
    """Knows all commands by name and imports the one that is called: `dovetail --help` answers at once."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"dovetail.cli.{name}"), name)
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="dovetail")
def dovetail() -> None:
    """Word alignment: which words of two sentences translate each other, and how sure that is.

    Start with `dovetail demo`, then `dovetail align corpus.en corpus.fr -o links.txt`.
    """


def _mend_streams() -> None:
    """Text goes out in UTF-8 whatever the locale, and streams that are closed are there to write to or told of.

    A closed descriptor is taken by something harmless first, or the next file that is opened would get its number, and what
    is meant for a person would be written into it.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (as long as the process lives)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _hear_signals() -> None:
    """An end from outside, or of the terminal, raises, so that unfinished files are removed; nohup's is left in peace.

    It is heard wherever it comes.
    """
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda number, _: sys.exit(128 + number))
    told = sys.unraisablehook

    def hook(what: Any) -> None:
        """What is raised within a finaliser or a library's callback Python only tells of: the signal comes again."""
        if not isinstance(what.exc_value, KeyboardInterrupt | SystemExit):
            told(what)
            return
        code = getattr(what.exc_value, "code", None)
        number = code - 128 if isinstance(code, int) and code > 128 else signal.SIGINT
        again = Timer(AGAIN, _thread.interrupt_main, [number])
        again.daemon = True
        again.start()

    sys.unraisablehook = hook


def main() -> None:
    """Run a command; whatever goes wrong is one line on standard error, with exit status 2 for bad usage or input."""
    try:
        # A start makes many objects, all to stay: looking for garbage among them takes longer than a small text.
        gc.set_threshold(1_000_000)
        _mend_streams()
        _hear_signals()
        warnings.showwarning = lambda message, *place: _say(f"dovetail: {message}")
        status = dovetail.main(prog_name="dovetail", standalone_mode=False)
        sys.exit(status if isinstance(status, int) else 0)
    except InputError as error:
        _stop(f"dovetail: {error}", 2)
    except click.UsageError as error:
        if error.ctx is not None and error.message == error.ctx.get_help():  # `dovetail` and nothing else
            click.echo(error.message, err=True)
            sys.exit(2)
        command = error.ctx.command_path if error.ctx is not None else "dovetail"
        message = error.format_message().rstrip(".")
        _stop(f"{command}: {message}{'' if message.endswith(('?', '?)')) else '.'} Try `{command} --help`.", 2)
    except (click.Abort, KeyboardInterrupt) as error:
        if isinstance(error.__cause__, EOFError):  # which click takes for the end of a conversation
            raise error.__cause__ from None
        notes = getattr(error.__cause__ or error, "__notes__", ["interrupted, no file was written"])
        _stop(f"dovetail: {notes[-1]}", 130)
    except OSError as error:  # a full disk, say; a reader of our output that has seen enough is click's business
        place = f"{error.filename}: " if error.filename else ""
        remedy = ". Free some space and run the same command again." if error.errno in FULL else ""
        _stop(f"dovetail: {place}{error.strerror or error}{remedy}", 1)
    except RecursionError:
        _stop("dovetail: something in a file is nested too deeply. Is this the file that was meant?", 2)
    except MemoryError:
        _stop("dovetail: not enough memory. Align a part of the text, or use a machine with more.", 1)


def _stop(message: str, status: int) -> NoReturn:
    _say(message)
    sys.exit(status)


def _say(message: str) -> None:
    with suppress(OSError):  # nobody can hear it: the exit status speaks
        click.echo(message.replace("\n", " "), err=True)
