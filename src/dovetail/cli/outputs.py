"""Many files of text, a file of links for each: `align 'part-*.en' 'part-*.fr' -o 'links/part-*.txt'`."""

from __future__ import annotations

import os
import posixpath

import click

from dovetail.bitext.paths import StrPath, file_system, files_of_sides, is_pattern, is_remote

Paths = tuple[StrPath, StrPath | None]


def one_per_file(source: StrPath, target: StrPath | None, output: str) -> list[tuple[Paths, str]] | None:
    """The files of a text that have no file of links yet, with its name; None where all links go to one file.

    The * of `output` stands for what that of `source` does.
    """
    if "*" not in os.path.basename(output):
        return None
    pattern = os.path.basename(os.fspath(source))
    if not is_pattern(source) or pattern.count("*") != 1 or any(sign in pattern for sign in "?["):
        raise click.UsageError(f"-o {output}: its * stands for what one * in the name of SOURCE's files does.")
    before, after = pattern.split("*")
    found = []
    for paths in files_of_sides(source, target):
        name = posixpath.basename(os.fspath(paths[0]).replace(os.sep, "/"))
        links = output.replace("*", name[len(before) : len(name) - len(after)])
        if not _exists(links):
            found.append((paths, links))
    return found


def _exists(path: str) -> bool:
    if is_remote(path):
        system, name = file_system(path)
        return bool(system.exists(name))
    return os.path.exists(path)
