"""Going on where a killed training was: after every iteration of EM, what the next one needs is put into a folder.

What a training has anyway, vocabularies, slots and priors of its text, is left out and put back.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.bitext.corpus import Bitext
from dovetail.bitext.store import Folder, release
from dovetail.durable import put
from dovetail.errors import InputError
from dovetail.models.tree import kept, taken

ABOUT = "about.json"
COPIED = 1 << 20  # rows at a time


class Keeper:
    """Keeps the iterations of a training in a folder, one file for each stage; `given` are values that it has anyway."""

    def __init__(self, folder: Folder, given: Mapping[str, Any]) -> None:
        self.folder, self.given = folder, given
        self._stage = -1

    def knows(self, **values: Any) -> None:
        """These are given from now on, too, or in place of others."""
        self.given = {**self.given, **values}

    def begin(self) -> dict[str, Any] | None:
        """A stage begins: what was kept of it, if anything was."""
        self._stage += 1
        if self._name not in self.folder:
            return None
        return taken({key: self._own(values) for key, values in self.folder.get(self._name).items()}, self.given)

    def _own(self, values: np.ndarray) -> np.ndarray:
        """A copy that a training may write to, aside from memory like all that is large."""
        own = self.folder.table("kept", values.shape, values.dtype)
        for first in range(0, len(own), COPIED):
            own[first : first + COPIED] = values[first : first + COPIED]
            release(own[first : first + COPIED])
            release(values[first : first + COPIED])
        return own

    def keep(self, **values: Any) -> None:
        """What the stage needs to go on from here."""
        self.folder.put(self._name, kept(values, self.given), lasting=True)

    @property
    def _name(self) -> str:
        return f"stage-{self._stage}"


def claim(path: str | os.PathLike[str], about: Mapping[str, Any]) -> None:
    """Make the folder that of this training, which `about` tells from others; InputError if it is another's already."""
    if not os.fspath(path):  # which would be the current folder
        raise InputError("no name for the work folder", remedy="Name a folder.")
    text = json.dumps(about, sort_keys=True, default=str).encode()
    path = Path(path)
    place = path / ABOUT
    try:
        if place.exists():
            if place.read_bytes() != text:
                raise InputError(
                    "belongs to the training of something else",
                    path=path,
                    remedy="Name another folder, or remove this one.",
                )
            return
        path.mkdir(parents=True, exist_ok=True)
        beside = path / f".{ABOUT}"
        if any(one != beside for one in path.iterdir()):  # which a killed run may have left
            raise InputError("is neither empty nor a work folder", path=path, remedy="Name a new folder.")
        put(place, text)
    except OSError as error:
        raise InputError(
            f"could not be written ({error.strerror})", path=path, remedy="Check space and permissions there."
        ) from error


def digest(bitext: Bitext) -> str:
    """Tells a text from others."""
    found = hashlib.sha256()
    for side in (bitext.source, bitext.target):
        for values in (side.ids, side.offsets):
            for first in range(0, len(values), COPIED):
                found.update(values[first : first + COPIED].tobytes())
                release(values[first : first + COPIED])
        found.update("\n".join(side.vocabulary).encode("utf-8", "surrogatepass"))
    return found.hexdigest()
