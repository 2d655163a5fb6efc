"""A model directory: `model.json` says what it is, `parameters.safetensors` holds the arrays, two files the words.

No pickle: a model from a stranger can be loaded without running the stranger's code.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from dovetail.bitext.cells import Slots
from dovetail.bitext.vocabulary import Vocabulary
from dovetail.errors import InputError
from dovetail.models.lexicon import Lexicon, Smoothing
from dovetail.models.registry import models

FORMAT_VERSION = 1
ABOUT = "model.json"
PARAMETERS = "parameters.safetensors"
WORDS = ("source.json", "target.json")


def save_model(
    path: str | PathLike[str], model: Any, source: Vocabulary, target: Vocabulary, about: Mapping[str, Any]
) -> None:
    """Write the directory beside its place and rename it, so that a failure leaves what was there."""
    place = Path(path)
    if place.exists() and not (place / ABOUT).is_file() and (not place.is_dir() or any(place.iterdir())):
        raise InputError("is there already and is no model", path=place, remedy="Name a new directory.")
    if not place.parent.is_dir():
        raise InputError(f"the directory {place.parent} does not exist", path=place, remedy="Create it first.")
    lexicon: Lexicon = model.lexicon
    arrays = {
        "lexicon.row_start": lexicon.slots.row_start,
        "lexicon.target": lexicon.slots.target,
        "lexicon.table": lexicon.table,
        "lexicon.null_forward": lexicon.null_forward,
        "lexicon.null_reverse": lexicon.null_reverse,
        **model.arrays(),
    }
    files: dict[str, bytes] = {PARAMETERS: save({name: np.ascontiguousarray(a) for name, a in arrays.items()})}
    for name, vocabulary in zip(WORDS, (source, target), strict=True):
        words = {"words": vocabulary.words, "counts": vocabulary.counts.tolist()}
        files[name] = json.dumps(words, ensure_ascii=False).encode("utf-8", "surrogatepass")
    header = {
        "format": FORMAT_VERSION,
        "model": model.name,
        "smoothing": {"additive": lexicon.smoothing.additive, "variational": lexicon.smoothing.variational},
        **about,
        "sha256": {name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
    }
    files[ABOUT] = json.dumps(header, indent=2, ensure_ascii=False).encode()
    beside = Path(tempfile.mkdtemp(prefix=f".{place.name}.", dir=place.parent))
    try:
        beside.chmod(0o777 & ~_umask())
        for name, content in files.items():
            (beside / name).write_bytes(content)
        if place.exists():
            shutil.rmtree(place)
        os.replace(beside, place)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise


def load_model(path: str | PathLike[str]) -> tuple[Any, Vocabulary, Vocabulary, dict[str, Any]]:
    """The model, its vocabularies and what else was saved about it; anything amiss is an InputError."""
    place = Path(path)
    if not place.is_dir() or not (place / ABOUT).is_file():
        raise InputError(
            f"no model here (no {ABOUT})",
            path=place,
            remedy="Name a directory that `dovetail align --save` wrote.",
        )
    try:
        about = json.loads((place / ABOUT).read_bytes())
        version = about["format"]
    except (ValueError, KeyError, TypeError):
        raise _damaged(place / ABOUT) from None
    if version != FORMAT_VERSION:
        raise InputError(
            f"model of format {version}, but this dovetail reads format {FORMAT_VERSION}",
            path=place,
            remedy="Train it again, or use the dovetail version that wrote it.",
        )
    try:
        contents = {name: _checked(place / name, about["sha256"][name]) for name in (PARAMETERS, *WORDS)}
        arrays = load(contents[PARAMETERS])
        source, target = (_vocabulary(contents[name]) for name in WORDS)
        lexicon = Lexicon(
            Slots(arrays["lexicon.row_start"], arrays["lexicon.target"], len(target)),
            arrays["lexicon.table"],
            arrays["lexicon.null_forward"],
            arrays["lexicon.null_reverse"],
            Smoothing(**about["smoothing"]),
        )
        return models[about["model"]].from_arrays(lexicon, arrays), source, target, about
    except (KeyError, TypeError, ValueError, SafetensorError) as error:
        if isinstance(error, InputError):
            raise
        raise _damaged(place) from error


def _vocabulary(content: bytes) -> Vocabulary:
    values = json.loads(content.decode("utf-8", "surrogatepass"))
    return Vocabulary(values["words"], np.array(values["counts"], np.int64))


def _checked(path: Path, digest: str) -> bytes:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", path=path, remedy=_REMEDY) from None
    if hashlib.sha256(content).hexdigest() != digest:
        raise _damaged(path)
    return content


_REMEDY = "Copy the whole model directory again, or train it anew."


def _damaged(path: Path) -> InputError:
    return InputError("the file is damaged", path=path, remedy=_REMEDY)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
