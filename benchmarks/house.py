"""What the inside of the package looks like: figures of an earlier commit and of the code as it is, side by side.

    python benchmarks/house.py --against 8a7c7db

They are counted in the source, nothing is imported or run.  An argument is any that a function names, `self` and `*rest`
too; a line of code is one that is neither blank, comment nor docstring.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import shutil
import subprocess
import sys
import tempfile
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

import commits
from dovetail.errors import InputError
from report import markdown

MANY_ARGUMENTS = 15
MANY_FIELDS = 12
ASKING = ("isinstance", "hasattr")
ROOMS_THAT_SHOULD_NOT_ASK = ("models/", "training/", "decoding/", "aligner.py")
NOT_MEASURED = "not measured"
NOT_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """A file of the package; `path` is that below `src/dovetail`."""

    path: str
    text: str

    @property
    def nodes(self) -> Iterator[ast.AST]:
        return ast.walk(ast.parse(self.text))

    @property
    def tokens(self) -> Iterator[tokenize.TokenInfo]:
        return tokenize.generate_tokens(io.StringIO(self.text).readline)


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        with tempfile.TemporaryDirectory(prefix="dovetail-house-") as folder:
            before = commits.unpack(options.against, Path(folder, "before"))
            if options.commit is None:
                after, name = commits.ROOT / "src", commits.working_tree()
            else:
                after, name = commits.unpack(options.commit, Path(folder, "after")), options.commit
            sources = {f"before ({options.against})": before, f"after ({name})": after}
            print(table({title: figures(source, options.without) for title, source in sources.items()}))
    except InputError as error:
        print(f"house.py: {error}", file=sys.stderr)
        return 2
    return 0


def figures(source: Path, without: Sequence[str] = ()) -> dict[str, str]:
    """All figures of the package in this `src`, by name; `without` files of these patterns."""
    package = source / "dovetail"
    modules = [
        Module(path.relative_to(package).as_posix(), path.read_text(encoding="utf-8"))
        for path in sorted(package.rglob("*.py"))
        if not any(fnmatch(path.relative_to(package).as_posix(), pattern) for pattern in without)
    ]
    code = sum(len(code_lines(module)) for module in modules)
    commented = sum(len(comment_lines(module)) for module in modules)
    alone = sum(len(comment_lines(module) - code_lines(module)) for module in modules)
    arguments = sorted((count, where) for module in modules for where, count in argument_counts(module))
    records = sorted(
        (-count, name) for module in modules for name, count in field_counts(module) if count > MANY_FIELDS
    )
    asking = [module for module in modules if module.path.startswith(ROOMS_THAT_SHOULD_NOT_ASK)]
    return {
        "Python files": f"{len(modules):,}",
        "lines": f"{sum(len(module.text.splitlines()) for module in modules):,}",
        "lines of code": f"{code:,}",
        f"functions with {MANY_ARGUMENTS} or more arguments": str(sum(n >= MANY_ARGUMENTS for n, _ in arguments)),
        "most arguments": "{}: {}".format(*arguments[-1]) if arguments else "0",
        f"NamedTuples and dataclasses with more than {MANY_FIELDS} fields": _listed(records),
        "`Any` in annotations": str(sum(any_count(module) for module in modules)),
        **{
            f"`{name}` in {', '.join(ROOMS_THAT_SHOULD_NOT_ASK)}": str(sum(call_count(one, name) for one in asking))
            for name in ASKING
        },
        "comment lines per 100 lines of code": f"{100 * alone / code:.1f}" if code else "0",
        "the same with comments behind code": f"{100 * commented / code:.1f}" if code else "0",
        "pairs of places that `duplicates` finds": duplicates(source),
    }


def table(columns: dict[str, dict[str, str]]) -> str:
    """Markdown: one row per figure, one column per state of the code."""
    names = next(iter(columns.values()))
    return markdown(["figure", *columns], [[name, *(column[name] for column in columns.values())] for name in names])


def code_lines(module: Module) -> set[int]:
    """Numbers of the lines that have code on them."""
    lines: set[int] = set()
    for token in module.tokens:
        if token.type not in NOT_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in module.nodes:
        if isinstance(node, ast.Module | ast.ClassDef | Function) and ast.get_docstring(node, clean=False) is not None:
            docstring = node.body[0]
            lines.difference_update(range(docstring.lineno, (docstring.end_lineno or docstring.lineno) + 1))
    return lines


def comment_lines(module: Module) -> set[int]:
    """Numbers of the lines that have a comment, alone or behind code."""
    return {token.start[0] for token in module.tokens if token.type == tokenize.COMMENT}


def argument_counts(module: Module) -> Iterator[tuple[str, int]]:
    """(file: function, arguments) of every function."""
    for node in module.nodes:
        if isinstance(node, Function):
            yield f"`{node.name}` in {module.path}", len(_arguments(node))


def field_counts(module: Module) -> Iterator[tuple[str, int]]:
    """(class, fields) of every NamedTuple and dataclass, without those that it inherits."""
    for node in module.nodes:
        if not isinstance(node, ast.ClassDef):
            continue
        decorators = [one.func if isinstance(one, ast.Call) else one for one in node.decorator_list]
        if "NamedTuple" in map(_last_name, node.bases) or "dataclass" in map(_last_name, decorators):
            annotated = [line.annotation for line in node.body if isinstance(line, ast.AnnAssign)]
            yield node.name, sum("ClassVar" not in ast.unparse(annotation) for annotation in annotated)


def any_count(module: Module) -> int:
    """How often annotations say `Any`, in quotes too."""
    annotations: list[ast.expr | None] = []
    for node in module.nodes:
        if isinstance(node, ast.AnnAssign):
            annotations.append(node.annotation)
        elif isinstance(node, Function):
            annotations += [node.returns, *(argument.annotation for argument in _arguments(node))]
    written = [ast.unparse(annotation) for annotation in annotations if annotation is not None]
    return sum(len(re.findall(r"\bAny\b", words)) for words in written)


def call_count(module: Module, name: str) -> int:
    """How often the function of this name is called."""
    calls = (node.func for node in module.nodes if isinstance(node, ast.Call))
    return sum(isinstance(function, ast.Name) and function.id == name for function in calls)


def duplicates(source: Path) -> str:
    """What the command `duplicates` counts in this folder, where there is such a command."""
    program = shutil.which("duplicates")
    if program is None:
        return NOT_MEASURED
    command = [program, "--repo", source, "--most", "200", "--seconds", "60"]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return pairs_counted(said)


def pairs_counted(said: str) -> str:
    """The number at the beginning of what `duplicates` says."""
    number = re.match(r"([\d,]+) pairs? ", said)
    if number is None and not said.startswith("no duplicates"):
        return NOT_MEASURED
    incomplete = re.search("^incomplete:", said, re.MULTILINE)
    return (number[1] if number else "0") + (" (not all files read)" if incomplete else "")


def _arguments(function: Function) -> list[ast.arg]:
    own = function.args
    rest = [one for one in (own.vararg, own.kwarg) if one is not None]
    return [*own.posonlyargs, *own.args, *own.kwonlyargs, *rest]


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _listed(records: list[tuple[int, str]]) -> str:
    names = ", ".join(f"{name} ({-count})" for count, name in records)
    return f"{len(records)}: {names}" if records else "0"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("commit", nargs="?", help="the later one (the working tree)")
    parser.add_argument("--against", default=commits.EARLIER, metavar="COMMIT", help="the earlier one (%(default)s)")
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        metavar="PATTERN",
        help="leave out files such as 'uses/*', which one side does not have at all (repeatable; not for `duplicates`)",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
