"""The command line: parses, calls the API, prints; no logic of its own.  Heavy things are imported by the commands."""

from __future__ import annotations

import sys
from importlib import import_module

import click

from dovetail import __version__
from dovetail.errors import InputError

COMMANDS = {
    "align": "Align the words of a bitext.",
    "evaluate": "Score an alignment against gold links.",
    "compare": "Compare two alignments of the same gold set, with significance.",
    "combine": "Make one alignment of two directions' files.",
    "convert": "Rewrite an alignment file in another format.",
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


def main() -> None:
    """Run a command; bad input is one line on standard error and exit status 2."""
    try:
        status = dovetail.main(standalone_mode=False)
        sys.exit(status if isinstance(status, int) else 0)
    except InputError as error:
        click.echo(f"dovetail: {error}", err=True)
        sys.exit(2)
    except click.ClickException as error:
        error.show()
        sys.exit(2 if isinstance(error, click.UsageError) else error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("dovetail: interrupted, nothing was written", err=True)
        sys.exit(130)
    except BrokenPipeError:  # the reader of our output (say, head) has seen enough
        sys.stderr.close()
        sys.exit(0)
