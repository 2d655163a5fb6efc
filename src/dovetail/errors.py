"""What went wrong with the user's input, said so that the user can mend it."""

from __future__ import annotations

from os import PathLike


class InputError(ValueError):
    """Bad input: names the place, what is wrong there, and the remedy.  The command line turns it into exit status 2.

    >>> str(InputError("not valid UTF-8", path="corpus.fr", line=4312, remedy="Pass --encoding-errors replace."))
    'corpus.fr, line 4,312: not valid UTF-8. Pass --encoding-errors replace.'
    """

    def __init__(
        self,
        problem: str,
        *,
        path: str | PathLike[str] | None = None,
        line: int | None = None,
        remedy: str | None = None,
    ) -> None:
        self.problem = problem
        self.path = path
        self.line = line
        self.remedy = remedy
        place = "" if path is None else str(path)
        if line is not None:
            place += f", line {line:,}" if place else f"line {line:,}"
        message = f"{place}: {problem}" if place else problem
        if remedy is not None:
            message = f"{message.rstrip('.')}. {remedy}"
        super().__init__(message)
