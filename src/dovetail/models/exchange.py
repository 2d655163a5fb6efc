"""Two names of the file system exchanged in one step: at no time is one of them missing."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

_HERE = -100  # AT_FDCWD: names are relative to the working directory
_SWAP = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS


def exchange(one: Path, other: Path) -> bool:
    """Whether the two have exchanged names; False, and nothing done, where system or file system cannot do that."""
    names = os.fsencode(one), os.fsencode(other)
    try:
        if sys.platform == "linux":
            status = ctypes.CDLL(None).renameat2(_HERE, names[0], _HERE, names[1], _SWAP)
        elif sys.platform == "darwin":
            status = ctypes.CDLL(None).renamex_np(*names, _SWAP)
        else:
            return False
    except (OSError, AttributeError):  # a C library without it
        return False
    return bool(status == 0)
