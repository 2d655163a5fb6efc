"""Lines of raw bytes."""

from __future__ import annotations

from dovetail.kernels import kernel

NEWLINE = 10


@kernel
def every_line(text, first, step, chosen):
    """Copy lines first, first + step, ... with their ends, which the last may lack; returns how many bytes they are."""
    position = used = 0
    for _ in range(first):
        position = after_line(text, position)
    while position < len(text):
        begin = position
        position = after_line(text, position)
        for k in range(begin, position):
            chosen[used] = text[k]
            used += 1
        for _ in range(step - 1):
            position = after_line(text, position)
    return used


@kernel
def after_line(text, position):
    """Where the next line begins, or the text ends."""
    while position < len(text) and text[position] != NEWLINE:
        position += 1
    return min(position + 1, len(text))
