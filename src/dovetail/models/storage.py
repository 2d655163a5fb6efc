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
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from dovetail.bitext.vocabulary import Vocabulary
from dovetail.errors import InputError
from dovetail.models.model import Model
from dovetail.models.registry import models

FORMAT_VERSION = 1
ABOUT = "model.json"
PARAMETERS = "parameters.safetensors"
WORDS = ("source.json", "target.json")
LEARNED = "learned."  # how the names of a learned decoder's arrays begin


def check_place(path: str | PathLike[str]) -> Path:
    """Where a model of this name would be written; InputError where that must not or cannot be done."""
    place = Path(os.path.realpath(path))  # the directory behind a symbolic link: the link itself stays
    if not place.parent.is_dir():
        raise InputError(f"the directory {place.parent} does not exist", path=path, remedy="Create it first.")
    if place.exists():
        names = {entry.name for entry in place.iterdir()} if place.is_dir() else {place.name}
        if names - {ABOUT, PARAMETERS, *WORDS}:  # saving replaces the directory, and all that is in it
            raise InputError("holds other things than a model already", path=path, remedy="Name a new directory.")
    return place


def save_model(
    path: str | PathLike[str],
    model: Model,
    source: Vocabulary,
    target: Vocabulary,
    about: Mapping[str, Any],
    learned: Mapping[str, np.ndarray] | None = None,
) -> None:
    """Write the directory beside its place and rename it, so that a failure leaves what was there.

    `learned` are the arrays of a decoder that was learned on top of the model.
    """
    place = check_place(path)
    arrays = {**model.lexicon.arrays(), **model.arrays()}
    arrays |= {LEARNED + name: values for name, values in (learned or {}).items()}
    files: dict[str, bytes] = {PARAMETERS: save({name: np.ascontiguousarray(a) for name, a in arrays.items()})}
    for name, vocabulary in zip(WORDS, (source, target), strict=True):
        words = {"words": vocabulary.words, "counts": vocabulary.counts.tolist()}
        files[name] = json.dumps(words, ensure_ascii=False).encode("utf-8", "surrogatepass")
    header = {
        "format": FORMAT_VERSION,
        "model": model.name,
        "settings": model.settings(),
        "lexicon": model.lexicon.settings(),
        **about,
        "sha256": {name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
    }
    header["sha256"][ABOUT] = _digest_of_header(header)
    files[ABOUT] = json.dumps(header, indent=2, ensure_ascii=False).encode()
    try:
        beside = Path(tempfile.mkdtemp(prefix=f".{place.name}.", dir=place.parent))
        try:
            beside.chmod(0o777 & ~_umask())
            for name, content in files.items():
                (beside / name).write_bytes(content)
            _put_in_place(beside, place)
        except BaseException:
            shutil.rmtree(beside, ignore_errors=True)
            raise
    except OSError as error:
        raise InputError(
            f"could not be written ({error.strerror})", path=path, remedy="Check space and permissions there."
        ) from error


def _put_in_place(beside: Path, place: Path) -> None:
    """Give the new directory its name; the old one is moved out of the way first, and back if that fails."""
    if not place.exists():
        os.replace(beside, place)
        return
    old = beside.with_name(f"{beside.name}.old")
    os.replace(place, old)
    try:
        os.replace(beside, place)
    except BaseException:
        os.replace(old, place)
        raise
    shutil.rmtree(old, ignore_errors=True)


class Saved(NamedTuple):
    """What a model directory holds; `learned` are the arrays of a learned decoder, if it has one."""

    model: Model
    source: Vocabulary
    target: Vocabulary
    about: dict[str, Any]
    learned: dict[str, np.ndarray]


def load_model(path: str | PathLike[str]) -> Saved:
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
    except (ValueError, LookupError, TypeError):
        raise _damaged(place / ABOUT) from None
    if version != FORMAT_VERSION:
        raise InputError(
            f"model of format {version}, but this dovetail reads format {FORMAT_VERSION}",
            path=place,
            remedy="Train it again, or use the dovetail version that wrote it.",
        )
    try:
        digests = about["sha256"]
        if digests[ABOUT] != _digest_of_header(about):
            raise _damaged(place / ABOUT)
        contents = {name: _checked(place / name, digests[name]) for name in (PARAMETERS, *WORDS)}
        arrays = load(contents[PARAMETERS])
        source, target = (_vocabulary(contents[name]) for name in WORDS)
        kind = models[about["model"]]
        lexicon = kind.lexicon_type.from_arrays(arrays, source, target, about["lexicon"])
        model = kind.from_arrays(lexicon, arrays, _settings(about, arrays))
        learned = {name.removeprefix(LEARNED): a for name, a in arrays.items() if name.startswith(LEARNED)}
        return Saved(model, source, target, about, learned)
    except InputError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, SafetensorError) as error:
        raise _damaged(place) from error


def _settings(about: Mapping[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """What is no array of a model; earlier versions kept constraints as JSON among the arrays."""
    if "settings" in about:
        return dict(about["settings"])
    return json.loads(arrays["constraints"].tobytes()) if "constraints" in arrays else {}


def _digest_of_header(header: Mapping[str, Any]) -> str:
    """Of everything in `model.json` but this digest itself, however it is spaced."""
    digests = {name: digest for name, digest in header["sha256"].items() if name != ABOUT}
    content = json.dumps({**header, "sha256": digests}, sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()


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
