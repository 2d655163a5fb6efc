"""The command line: parses, calls the API, prints; no logic of its own.  Heavy things are imported by the commands."""

from __future__ import annotations

import gc
import signal
import sys
import warnings
from contextlib import suppress
from importlib import import_module
from typing import NoReturn

import click

from dovetail import __version__
from dovetail.errors import InputError

COMMANDS = {
    "align": "Align the words of a bitext.",
    "evaluate": "Score an alignment against gold links.",
    "compare": "Compare two alignments of the same gold set, with significance.",
    "curve": "Precision against recall over all thresholds, and how true the probabilities are.",
    "describe": "What an alignment looks like: one-to-one share, fertilities, symmetry, dictionary.",
    "view": "Write one HTML file to look at alignments.",
    "serve": "Align what one types, on a local web page, with saved models.",
    "show": "Draw a pair's alignment in the terminal.",
    "combine": "Make one alignment of two directions' files.",
    "convert": "Rewrite an alignment file in another format.",
    "phrases": "Extract phrase pairs from an aligned bitext, or score them.",
    "fertilities": "Show how many links each word of a trained model takes.",
    "recipes": "List recipes, decoders, combinations and formats.",
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


def _share_memory() -> None:
    """Let all threads take memory from one place, where the C library knows how (glibc's M_ARENA_MAX, -8).

    Blocks of many megabytes come and go in threads, and a place for each hands them back to the system every time.
    """
    if sys.platform == "linux":
        import ctypes

        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).mallopt(-8, 1)


def main() -> None:
    """Run a command; whatever goes wrong is one line on standard error, with exit status 2 for bad usage or input."""
    # A start makes many objects, all to stay: looking for garbage among them takes longer than a small text.
    gc.set_threshold(1_000_000)
    _share_memory()
    for name in ("SIGTERM", "SIGHUP"):  # raise, so that unfinished files are removed; `nohup` ignores the second
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda number, _: sys.exit(128 + number))
    warnings.showwarning = lambda message, *place: _say(f"dovetail: {message}")
    try:
        status = dovetail.main(prog_name="dovetail", standalone_mode=False)
        sys.exit(status if isinstance(status, int) else 0)
    except InputError as error:
        _stop(f"dovetail: {error}", 2)
    except click.UsageError as error:
        if error.ctx is not None and error.message == error.ctx.get_help():  # `dovetail` and nothing else
            click.echo(error.message, err=True)
            sys.exit(2)
        command = error.ctx.command_path if error.ctx is not None else "dovetail"
        _stop(f"{command}: {error.format_message().rstrip('.')}. Try `{command} --help`.", 2)
    except (click.Abort, KeyboardInterrupt):
        _stop("dovetail: interrupted, no links were written", 130)
    except OSError as error:  # a full disk, say; a reader of our output that has seen enough is click's business
        place = f"{error.filename}: " if error.filename else ""
        _stop(f"dovetail: {place}{error.strerror or error}", 1)
    except MemoryError:
        _stop("dovetail: not enough memory. Align a part of the text, or use a machine with more.", 1)


def _stop(message: str, status: int) -> NoReturn:
    _say(message)
    sys.exit(status)


def _say(message: str) -> None:
    click.echo(message.replace("\n", " "), err=True)
