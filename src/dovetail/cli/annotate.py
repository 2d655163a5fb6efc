"""`dovetail annotate`: links made or corrected by hand, in the browser."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from dovetail.cli.listening import listening_options, own_names, own_socket
from dovetail.cli.options import plugins, reading, reading_of, text_options
from dovetail.errors import InputError


class NumberRange(click.ParamType):
    """First and last number of pairs, counted from 1: 1-500, or 501- to the end."""

    name = "a-b"

    def convert(
        self, value: Any, parameter: click.Parameter | None, context: click.Context | None
    ) -> tuple[int, int | None]:
        match = re.fullmatch(r"([0-9]{1,9})-([0-9]{0,9})", str(value))
        first, last = (int(match[1]), int(match[2]) if match[2] else None) if match else (0, None)
        if first < 1 or (last is not None and last < first):
            self.fail(f"{value!r} is not a range of pairs, counted from 1, such as 1-500 or 501-.", parameter, context)
        return first, last


@click.command()
@click.argument("source")
@click.argument("target", required=False)
@click.option("--load", metavar="MODEL", help="A saved model: its links are there to begin with, with probabilities.")
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="GOLD",
    help="The gold links of finished pairs; who changed what, and when, goes to GOLD.log.",
)
@click.option("--pairs", metavar="FILE", help="Numbers of the pairs to annotate, as `dovetail pick` prints them.")
@click.option("--range", "limits", type=NumberRange(), metavar="A-B", help="Only pairs A to B; `501-` goes to the end.")
@click.option(
    "--order",
    type=click.Choice(["gain", "file"]),
    help="Offer first what would teach the model most, or go through the text.  [default: as in --pairs, else gain]",
)
@click.option("--name", default="", metavar="WHO", help="Who annotates; each can still write another name on the page.")
@listening_options
@click.option("--threads", type=click.IntRange(1), metavar="N", help="Threads; never changes the result.")
@click.option("--quiet", is_flag=True, help="Print the address only.")
@text_options
@plugins
def annotate(source: str, target: str | None, **values: Any) -> None:
    """Make gold links by hand, on a local web page: links of a model to begin with, to be corrected.

    Every change is saved at once.  GOLD gets a line for each finished pair: its number (from 1), a tab, and its links,
    as `dovetail learn` and `dovetail evaluate` read them.  Started again, it goes on where it stopped.  Several people can
    open one page, or share the work by --range, with a file each.
    """
    try:
        from dovetail.annotate.app import annotate_app
        from dovetail.serve.limits import Limits
        from dovetail.serve.server import run
    except ImportError as error:
        raise InputError(
            f"the editor needs the package {error.name}",
            remedy="Install what it needs: python -m pip install fastapi jinja2 uvicorn.",
        ) from error
    from dovetail.annotate.drafts import open_drafts
    from dovetail.annotate.sheet import open_sheet, read_numbers
    from dovetail.cli.align import say_compiling
    from dovetail.cli.progress import say

    options, quiet, load = reading(values), values["quiet"], values["load"]
    if values["order"] == "gain" and load is None:
        raise click.UsageError("--order gain asks a model: pass --load MODEL.")
    if len(values["name"]) > 60:
        raise click.UsageError("--name: at most 60 characters.")
    aligner = None
    if load is not None:
        from dovetail.aligner import Aligner

        aligner = Aligner.load(load, threads=values["threads"])
        options |= reading_of(aligner.text_options, options)
    say_compiling(quiet)
    drafts = open_drafts(values["output"])
    numbers = read_numbers(values["pairs"]) if values["pairs"] else None
    sheet = open_sheet(
        source,
        target,
        numbers=numbers,
        limits=values["limits"],
        aligner=aligner,
        by_gain=values["order"] == "gain" or (values["order"] is None and numbers is None),
        **options,
    )
    drafts.check({number: sheet.lengths(number) for number, _ in drafts.items() if number in sheet})
    sheet.warm_up()
    host = values["host"]
    limits = Limits(words=values["max_words"])
    title = " – ".join(Path(path).name for path in (source, target) if path)
    app = annotate_app(sheet, drafts, title=title, who=values["name"], limits=limits, hosts=own_names(host))
    with own_socket(host, values["port"]) as (listener, address):
        click.echo(address)
        finished = sum(draft.finished for _, draft in drafts.items())
        say(f"{len(sheet):,} pairs to annotate; {finished:,} finished in {values['output']}", quiet)
        if not own_names(host):
            say("Anybody who can reach this machine can read the text and change links: there is no password.", quiet)
        run(app, listener, limits, quiet=quiet)
