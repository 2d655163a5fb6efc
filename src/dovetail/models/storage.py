"""A model directory: `model.json` says what it is, `parameters.safetensors` holds the arrays, two files the words.

Models over other views of the text have directories of their own in it, by the names of the views.
No pickle: a model from a stranger can be loaded without running the stranger's code.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load

from dovetail.bitext.paths import check_on_disk
from dovetail.bitext.store import AT_ONCE, arrays_of, file_of
from dovetail.bitext.views import views as view_names
from dovetail.bitext.vocabulary import Vocabulary
from dovetail.durable import to_disk
from dovetail.errors import InputError
from dovetail.models.checks import Unsound
from dovetail.models.exchange import exchange
from dovetail.models.model import Model
from dovetail.models.registry import models

FORMAT_VERSION = 1
ABOUT = "model.json"
PARAMETERS = "parameters.safetensors"
WORDS = ("source.json", "target.json")
OLD = ".old"  # ends the name of a model that makes way for a new one
LEARNED = "learned."  # how the names of a learned decoder's arrays begin
Content = bytes | Mapping[str, np.ndarray]  # of a file: text, or arrays, which are not copied


def check_place(path: str | PathLike[str]) -> Path:
    """Where a model of this name would be written; InputError where that must not or cannot be done."""
    if not os.fspath(path):
        raise InputError("no name for the model's directory", remedy="Name a directory.")
    check_on_disk(path)
    place = Path(os.path.realpath(path))  # the directory behind a symbolic link: the link itself stays
    if not place.parent.is_dir():
        raise InputError(f"the directory {place.parent} does not exist", path=path, remedy="Create it first.")
    if place.exists() and not _is_model(place):  # saving replaces the directory, and all that is in it
        raise InputError("holds other things than a model already", path=path, remedy="Name a new directory.")
    with _written(path), tempfile.TemporaryDirectory(prefix=f".{place.name}.", dir=place.parent):
        pass  # it can be done
    return place


def _is_model(place: Path) -> bool:
    """Whether nothing but a model's files, and models of other views, is there."""
    if not place.is_dir():
        return False
    others = [entry for entry in place.iterdir() if entry.name not in (ABOUT, PARAMETERS, *WORDS)]
    return all(entry.name in view_names and not entry.is_symlink() and _is_model(entry) for entry in others)


@contextmanager
def _written(path: str | PathLike[str]) -> Iterator[None]:
    """What the system refuses becomes an InputError that names the model."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"could not be written ({error.strerror})", path=path, remedy="Check space and permissions there."
        ) from error


def model_files(
    model: Model,
    source: Vocabulary,
    target: Vocabulary,
    about: Mapping[str, Any],
    learned: Mapping[str, np.ndarray] | None = None,
    views: Mapping[str, Mapping[str, Content]] | None = None,
) -> dict[str, Content]:
    """What goes into a model's directory, by names in it.

    `learned` are the arrays of a decoder that was learned on top of the model, `views` the files of other views' models.
    """
    arrays = {**model.lexicon.arrays(), **model.arrays()}
    arrays |= {LEARNED + name: values for name, values in (learned or {}).items()}
    files: dict[str, Content] = {PARAMETERS: arrays}
    for name, vocabulary in zip(WORDS, (source, target), strict=True):
        words = {"words": vocabulary.words, "counts": vocabulary.counts.tolist()}
        files[name] = json.dumps(words, ensure_ascii=False).encode("utf-8", "surrogatepass")
    for view, of_view in (views or {}).items():
        files |= {f"{view}/{name}": content for name, content in of_view.items()}
    header = {
        "format": FORMAT_VERSION,
        "model": model.name,
        "settings": model.settings(),
        "lexicon": model.lexicon.settings(),
        **about,
        "sha256": {name: _digest(content) for name, content in files.items()},
    }
    header["sha256"][ABOUT] = _digest_of_header(header)
    files[ABOUT] = json.dumps(header, indent=2, ensure_ascii=False).encode()
    return files


def _pieces(content: Content) -> Iterable[bytes | memoryview]:
    return [content] if isinstance(content, bytes) else file_of(content)


def _write(path: Path, content: Content) -> None:
    with open(path, "wb") as file:
        file.writelines(_pieces(content))
        file.flush()
        os.fsync(file.fileno())


def _digest(content: Content) -> str:
    digest = hashlib.sha256()
    for piece in _pieces(content):
        digest.update(piece)
    return digest.hexdigest()


def save_model(path: str | PathLike[str], files: Mapping[str, Content]) -> None:
    """Write the directory beside its place and rename it: whatever happens, the old model or the new one is there."""
    place = check_place(path)
    with _written(path):
        beside = Path(tempfile.mkdtemp(prefix=f".{place.name}.", dir=place.parent))
        try:
            beside.chmod(0o777 & ~_umask())
            for name, content in files.items():
                (beside / name).parent.mkdir(exist_ok=True)
                _write(beside / name, content)
            for folder in {beside, *((beside / name).parent for name in files)}:
                to_disk(folder)
            _put_in_place(beside, place)
            to_disk(place.parent)
        finally:
            shutil.rmtree(beside, ignore_errors=True)  # what was not finished, or the old model


def _put_in_place(beside: Path, place: Path) -> None:
    """Give the new directory its name: in one step where the system can exchange two names.

    Elsewhere the old one is moved out of the way first, and back if that fails.
    """
    if not place.exists():
        os.replace(beside, place)
        return
    if exchange(beside, place):
        return
    old = beside.with_name(f"{beside.name}{OLD}")
    os.replace(place, old)
    try:
        os.replace(beside, place)
    except BaseException:
        os.replace(old, place)
        raise
    shutil.rmtree(old, ignore_errors=True)


class Saved(NamedTuple):
    """What a model directory holds; `learned` are the arrays of a learned decoder, if it has one; other views' models."""

    model: Model
    source: Vocabulary
    target: Vocabulary
    about: dict[str, Any]
    learned: dict[str, np.ndarray]
    views: dict[str, Saved]


def load_model(path: str | PathLike[str], mapped: bool = False) -> Saved:
    """The model, its vocabularies and what else was saved about it; anything amiss is an InputError.

    `mapped`: arrays stay in their file, which this process wrote itself, or one before it, and nobody will change.
    """
    check_on_disk(path)
    place = Path(path)
    if not os.fspath(path) or not place.is_dir() or not os.path.lexists(place / ABOUT):
        left = next(place.parent.glob(f".{place.name}.*{OLD}"), None) if place.name else None
        remedy = f"A save was cut short: the old model is {left}." if left else None
        raise InputError(
            f"no model here (no {ABOUT})",
            path=place,
            remedy=remedy or "Name a directory that `dovetail align --save` wrote.",
        )
    content = _read(place, ABOUT)
    try:
        about = json.loads(content)
        version = about["format"]
    except (ValueError, LookupError, TypeError, RecursionError):
        raise _damaged(place / ABOUT) from None
    if version != FORMAT_VERSION:
        raise InputError(
            f"model of format {version}, but this dovetail reads format {FORMAT_VERSION}",
            path=place,
            remedy="Train it again, or use the dovetail version that wrote it.",
        )
    with one_line(place):
        digests = about["sha256"]
        if digests[ABOUT] != _digest_of_header(about):
            raise _damaged(place / ABOUT)
        arrays = _mapped(place, digests[PARAMETERS]) if mapped else load(_read(place, PARAMETERS, digests[PARAMETERS]))
        source, target = (_vocabulary(name, _read(place, name, digests[name])) for name in WORDS)
        kind = models[about["model"]]
        lexicon = kind.lexicon_type.from_arrays(arrays, source, target, about["lexicon"])
        model = kind.from_arrays(lexicon, arrays, _settings(about, arrays))
        learned = {name.removeprefix(LEARNED): a for name, a in arrays.items() if name.startswith(LEARNED)}
        return Saved(model, source, target, about, learned, _views(place, digests, mapped))


def _views(place: Path, digests: Mapping[str, str], mapped: bool) -> dict[str, Saved]:
    """The models of other views that the digests speak of, each as it was saved with the others."""
    found = {}
    for view in (name.removesuffix(f"/{ABOUT}") for name in digests if name.endswith(f"/{ABOUT}")):
        if view not in view_names:
            raise Unsound(f"it has a view {view!r}")
        if (place / view).is_symlink():
            raise InputError(
                "is a link out of the model's directory", path=place / view, remedy="Copy the folder there."
            )
        _read(place / view, ABOUT, digests[f"{view}/{ABOUT}"])
        found[view] = load_model(place / view, mapped)
        if found[view].views:
            raise Unsound(f"its view {view!r} has views")
    return found


@contextmanager
def one_line(path: str | PathLike[str]) -> Iterator[None]:
    """Whatever is wrong with what was saved there becomes an InputError that names the place."""
    try:
        yield
    except InputError as error:
        if error.path is not None:
            raise
        raise InputError(error.problem, path=path, remedy=error.remedy or _REMEDY) from error
    except Unsound as error:
        raise InputError(f"the model is damaged: {error}", path=path, remedy=_REMEDY) from error
    except (
        LookupError,
        TypeError,
        ValueError,
        AttributeError,
        ArithmeticError,
        RecursionError,
        SafetensorError,
    ) as error:
        raise _damaged(path) from error


def _settings(about: Mapping[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """What is no array of a model; earlier versions kept constraints as JSON among the arrays."""
    if "settings" in about:
        return dict(about["settings"])
    return dict(json.loads(arrays["constraints"].tobytes())) if "constraints" in arrays else {}


def _digest_of_header(header: Mapping[str, Any]) -> str:
    """Of everything in `model.json` but this digest itself, however it is spaced."""
    digests = {name: digest for name, digest in header["sha256"].items() if name != ABOUT}
    content = json.dumps({**header, "sha256": digests}, sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()


def _vocabulary(name: str, content: bytes) -> Vocabulary:
    values = json.loads(content.decode("utf-8", "surrogatepass"))
    words, counts = values["words"], np.array(values["counts"])
    if not (isinstance(words, list) and all(isinstance(word, str) for word in words) and len(set(words)) == len(words)):
        raise Unsound(f"{name} is not a list of different words")
    if counts.shape != (len(words),) or (len(words) and counts.dtype.kind != "i") or (counts < 0).any():
        raise Unsound(f"{name} does not say how often each of its words was seen")
    return Vocabulary(words, counts.astype(np.int64))


def _read(place: Path, name: str, digest: str | None = None) -> bytes:
    """A file of the model, which must lie in the folder itself: no link out of it, no pipe that never ends."""
    path, real = place / name, os.path.realpath(place / name)
    if os.path.dirname(real) != os.path.realpath(place):
        raise InputError("is a link out of the model's directory", path=path, remedy="Copy the file itself there.")
    try:
        with open(os.open(real, os.O_RDONLY | _BINARY | _WITHOUT_WAITING), "rb") as handle:
            if not stat.S_ISREG(os.fstat(handle.fileno()).st_mode):
                raise InputError("is not a regular file", path=path, remedy=_REMEDY)
            content = handle.read()
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", path=path, remedy=_REMEDY) from None
    if digest is not None and hashlib.sha256(content).hexdigest() != digest:
        raise _damaged(path)
    return content


def _mapped(place: Path, digest: str) -> dict[str, np.ndarray]:
    """The arrays of the model's file."""
    path, found = place / PARAMETERS, hashlib.sha256()
    try:
        with open(path, "rb") as file:
            while piece := file.read(AT_ONCE):
                found.update(piece)
        if found.hexdigest() == digest:
            return arrays_of(path)
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", path=path, remedy=_REMEDY) from None
    raise _damaged(path)


# Windows knows text files, which it would change, and no pipes in folders.
_BINARY, _WITHOUT_WAITING = getattr(os, "O_BINARY", 0), getattr(os, "O_NONBLOCK", 0)
_REMEDY = "Copy the whole model directory again, or train it anew."


def _damaged(path: str | PathLike[str]) -> InputError:
    return InputError("the file is damaged", path=path, remedy=_REMEDY)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
