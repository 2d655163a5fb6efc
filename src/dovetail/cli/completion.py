"""`dovetail completion`: the shell's side of completion."""

from __future__ import annotations

import click


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print what your shell needs to complete dovetail's commands.

    For bash: add `eval "$(dovetail completion bash)"` to ~/.bashrc.
    """
    from click.shell_completion import get_completion_class

    from dovetail.cli import dovetail

    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"no completion for {shell}")
    click.echo(kind(dovetail, {}, "dovetail", "_DOVETAIL_COMPLETE").source())
