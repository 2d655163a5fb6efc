"""Model directories: what goes in comes out, damage is noticed, a failure leaves what was there, nothing is pickled."""

from __future__ import annotations

import hashlib
import json
import os
import pickletools
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load, save

from dovetail import Aligner, Bitext, InputError, TextOptions
from dovetail.bitext.normalise import Normaliser
from dovetail.bitext.store import map_of
from dovetail.models import storage
from dovetail.models.exchange import exchange
from folders import contents

PAIRS = [
    (["the", "house"], ["la", "maison"]),
    (["the", "flower"], ["la", "fleur"]),
    (["a", "house", "\udc80", "naïve\u2028"], ["une", "maison", "\ud83d", "𝒳", ""]),
    ([], ["rien"]),
]


@pytest.fixture(scope="module")
def aligner():
    return Aligner("hmm", seed=7, threads=1, window=3, null=0.3, additive=0.01).fit(Bitext.from_pairs(PAIRS))


@pytest.fixture
def place(aligner, tmp_path):
    aligner.save(tmp_path / "model")
    return tmp_path / "model"


def refusal(path) -> str:
    with pytest.raises(InputError) as caught:
        Aligner.load(path)
    message = str(caught.value)
    assert str(path) in message
    assert caught.value.remedy
    return message


def with_right_digests(place: Path, name: str, content: bytes) -> None:
    """Put other content into a model without the digests noticing: what an attacker would do."""
    (place / name).write_bytes(content)
    about = json.loads((place / storage.ABOUT).read_bytes())
    about["sha256"][name] = hashlib.sha256(content).hexdigest()
    about["sha256"][storage.ABOUT] = storage._digest_of_header(about)
    (place / storage.ABOUT).write_text(json.dumps(about))


def test_all_that_makes_up_an_aligner_comes_back(aligner, place):
    loaded = Aligner.load(place)
    assert loaded.recipe == aligner.recipe
    assert loaded.seed == 7
    assert loaded.text_options == aligner.text_options
    assert loaded.source_vocabulary.words == aligner.source_vocabulary.words
    assert loaded.target_vocabulary.words == aligner.target_vocabulary.words
    assert (loaded.target_vocabulary.counts == aligner.target_vocabulary.counts).all()
    assert type(loaded.model) is type(aligner.model)
    assert loaded.model.lexicon.smoothing == aligner.model.lexicon.smoothing
    for name, array in aligner.model.arrays().items():
        assert (loaded.model.arrays()[name] == array).all()
    for source, target in PAIRS:
        assert loaded.align_pair(source, target) == aligner.align_pair(source, target)


def test_a_model_remembers_how_its_text_was_read(tmp_path):
    options = TextOptions("unicode", Normaliser(lower=True, form="NFKC"))
    bitext = Bitext.from_pairs([("The house.", "La maison."), ("The flower.", "La fleur.")], options=options)
    Aligner("hmm", threads=1).fit(bitext).save(tmp_path / "model")
    loaded = Aligner.load(tmp_path / "model")
    assert loaded.text_options == options
    assert loaded.posteriors("THE HOUSE.", "la MAISON.").shape == (3, 3)
    assert (loaded.posteriors("THE HOUSE.", "la MAISON.") == loaded.posteriors("the house.", "La maison.")).all()


def test_saving_a_loaded_model_gives_the_same_files(place, tmp_path):
    Aligner.load(place).save(tmp_path / "again")
    assert contents(tmp_path / "again") == contents(place)


def test_a_mapped_model_links_as_one_in_memory_and_its_damage_is_noticed(aligner, place):
    mapped = Aligner.load(place, mapped=True)
    assert map_of(mapped.model.lexicon.table) is not None
    assert map_of(Aligner.load(place).model.lexicon.table) is None
    for source, target in PAIRS:
        assert mapped.align_pair(source, target) == aligner.align_pair(source, target)
    file = place / storage.PARAMETERS
    good = file.read_bytes()
    for bad in (good[:-1], good[:-1] + bytes([good[-1] ^ 1]), b""):
        file.write_bytes(bad)
        with pytest.raises(InputError, match="damaged"):
            Aligner.load(place, mapped=True)
    file.unlink()
    with pytest.raises(InputError, match="cannot be read"):
        Aligner.load(place, mapped=True)


def test_options_given_while_loading_override_the_saved_ones(place):
    assert Aligner.load(place, threshold=0.25).recipe.options.threshold == 0.25
    assert Aligner.load(place, decoder="viterbi").recipe.decoder == "viterbi"
    with pytest.raises(InputError):
        Aligner.load(place, decoder="guess")


def test_the_files_are_safetensors_and_json_and_nothing_else(place):
    files = contents(place)
    assert set(files) == {"model.json", "parameters.safetensors", "source.json", "target.json"}
    for name, content in files.items():
        if name.endswith(".json"):
            assert json.loads(content.decode("utf-8", "surrogatepass"))
        with pytest.raises(Exception):  # noqa: B017, PT011 (whatever the unpickler's complaint is)
            list(pickletools.genops(content))
    assert load(files["parameters.safetensors"])


@pytest.mark.parametrize("name", ["model.json", "parameters.safetensors", "source.json", "target.json"])
def test_a_missing_file_is_named(place, name):
    (place / name).unlink()
    assert name in refusal(place)


@pytest.mark.parametrize("name", ["model.json", "parameters.safetensors", "source.json", "target.json"])
def test_a_flipped_byte_anywhere_is_noticed(place, name):
    good = (place / name).read_bytes()
    generator = np.random.default_rng(0)
    for position in [0, len(good) - 1, *generator.integers(len(good), size=60).tolist()]:
        bad = bytearray(good)
        bad[position] ^= 1 << int(generator.integers(8))
        if bad[position : position + 1].isspace() and good[position : position + 1].isspace():
            continue  # one blank for another between the parts of model.json
        (place / name).write_bytes(bad)
        refusal(place)
    (place / name).write_bytes(good)
    Aligner.load(place)


@pytest.mark.parametrize("name", ["model.json", "parameters.safetensors", "source.json", "target.json"])
def test_a_file_that_was_cut_short_is_noticed(place, name):
    good = (place / name).read_bytes()
    for size in (0, 1, len(good) // 2, len(good) - 1):
        (place / name).write_bytes(good[:size])
        refusal(place)


def test_a_model_of_another_format_is_refused_with_both_numbers(place):
    about = json.loads((place / "model.json").read_bytes())
    (place / "model.json").write_text(json.dumps({"format": 99}))
    message = refusal(place)
    assert "99" in message
    assert str(about["format"]) in message


@pytest.mark.parametrize(
    "content", ["", "[]", "3", "null", '"model"', "{}", '{"format": 1}', '{"format": 1, "sha256": 3}']
)
def test_a_model_json_that_is_something_else_is_refused(place, content):
    (place / "model.json").write_text(content)
    refusal(place)


def test_what_is_no_model_directory_is_refused(tmp_path):
    for path in (tmp_path, tmp_path / "missing"):
        refusal(path)
    (tmp_path / "file").write_text("text")
    refusal(tmp_path / "file")


def test_a_recipe_of_another_version_is_refused(place):
    about = json.loads((place / "model.json").read_bytes())
    about["recipe"]["values"]["invented_later"] = 1
    about["sha256"]["model.json"] = storage._digest_of_header(about)
    (place / "model.json").write_text(json.dumps(about))
    assert "invented_later" in refusal(place)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("lexicon.row_start", lambda a: a[::-1].copy()),
        ("lexicon.row_start", lambda a: a + 1),
        ("lexicon.row_start", lambda a: a[:-1].copy()),
        ("lexicon.row_start", lambda a: a.astype(np.int32)),
        ("lexicon.target", lambda a: a + 1000),
        ("lexicon.target", lambda a: a - 1),
        ("lexicon.target", lambda a: a[:-1].copy()),
        ("lexicon.target", lambda a: a.reshape(-1, 1)),
        ("lexicon.table", lambda a: a[:-1].copy()),
        ("lexicon.table", lambda a: a[:, :1].copy()),
        ("lexicon.table", lambda a: a.astype(np.float64)),
        ("lexicon.null_forward", lambda a: a[:-1].copy()),
        ("lexicon.null_reverse", lambda a: a[:-1].copy()),
        ("lexicon.null_reverse", None),
    ],
)
def test_arrays_that_would_lead_a_kernel_out_of_bounds_are_refused(place, name, change):
    arrays = load((place / "parameters.safetensors").read_bytes())
    array = arrays.pop(name)
    if change is not None:
        arrays[name] = change(array)
    with_right_digests(place, "parameters.safetensors", save(arrays))
    refusal(place)


def test_saving_replaces_an_older_model_and_leaves_nothing_beside_it(aligner, place):
    before = contents(place)
    Aligner("ibm1", seed=8, threads=1).fit(Bitext.from_pairs(PAIRS[:2])).save(place)
    assert contents(place) != before
    aligner.save(place)
    assert contents(place) == before
    assert os.listdir(place.parent) == [place.name]


@pytest.mark.parametrize("step", ["write", "rename", "second rename", "interrupt"])
def test_a_failure_while_saving_leaves_the_old_model_and_nothing_else(aligner, place, monkeypatch, step):
    before = contents(place)
    replace, write, renames = os.replace, storage._write, []

    def failing_write(path, content):
        if path.name == "target.json":
            raise KeyboardInterrupt if step == "interrupt" else OSError(28, "No space left on device")
        write(path, content)

    def failing_replace(old, new):
        renames.append(new)
        if len(renames) == (1 if step == "rename" else 2):
            raise OSError(5, "Input/output error")
        replace(old, new)

    if "rename" in step:  # as on a system that cannot exchange two names
        monkeypatch.setattr(storage, "exchange", lambda one, other: False)
        monkeypatch.setattr(storage.os, "replace", failing_replace)
    else:
        monkeypatch.setattr(storage, "_write", failing_write)
    with pytest.raises(KeyboardInterrupt if step == "interrupt" else InputError) as caught:
        Aligner("ibm1", seed=8, threads=1).fit(Bitext.from_pairs(PAIRS[:2])).save(place)
    monkeypatch.undo()
    if step != "interrupt":
        assert str(place) in str(caught.value)
    assert contents(place) == before
    assert os.listdir(place.parent) == [place.name]
    Aligner.load(place)


KILLED = """
import os, shutil, signal, sys
from dovetail import Aligner, Bitext
from dovetail.models import storage

aligner = Aligner("ibm1", seed=8, threads=1).fit(Bitext.from_pairs([(["new"], ["neu"])]))
left = int(sys.argv[2])

def dying(function):
    def step(*arguments, **settings):
        global left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        return function(*arguments, **settings)
    return step

os.replace, os.mkdir, shutil.rmtree = dying(os.replace), dying(os.mkdir), dying(shutil.rmtree)
storage._write, storage.exchange = dying(storage._write), dying(storage.exchange)
aligner.save(sys.argv[1])
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="needs signals")
def test_killed_at_any_step_of_saving_there_is_the_old_model_or_the_new_one(aligner, tmp_path):
    probes = [tmp_path / name for name in ("one", "other")]
    for probe in probes:
        probe.mkdir()
    if not exchange(*probes):
        pytest.skip("this file system cannot exchange two names")
    seen = []
    for step in range(30):
        place = tmp_path / f"model{step}"
        aligner.save(place)
        ended = subprocess.run([sys.executable, "-c", KILLED, place, str(step)], timeout=100)
        seen.append((ended.returncode, Aligner.load(place).seed))
        if ended.returncode == 0:
            break
    assert seen[0] == (-9, 7)
    assert seen[-1] == (0, 8)
    assert (-9, 8) in seen
    assert len(seen) > 7


def test_where_names_cannot_be_exchanged_an_old_model_can_be_found(aligner, place):
    os.rename(place, place.with_name(f".{place.name}.x.old"))  # killed between two renames
    assert f".{place.name}.x.old" in refusal(place)


def test_exchanging_is_refused_where_a_name_is_missing(tmp_path):
    (tmp_path / "one").mkdir()
    assert not exchange(tmp_path / "one", tmp_path / "other")
    assert os.listdir(tmp_path) == ["one"]


def test_parameters_are_written_as_the_library_writes_them(place):
    content = (place / storage.PARAMETERS).read_bytes()
    assert content == save(load(content))


def test_an_empty_name_is_no_model(aligner, place, monkeypatch):
    monkeypatch.chdir(place)
    with pytest.raises(InputError, match="no model here"):
        Aligner.load("")
    with pytest.raises(InputError, match="no name"):
        aligner.save("")


def test_what_is_not_a_model_is_never_overwritten(aligner, tmp_path):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "model.json").write_text("{}")
    (tmp_path / "folder" / "thesis.tex").write_text("mine")
    for name in ("file", "folder"):
        with pytest.raises(InputError, match=name):
            aligner.save(tmp_path / name)
    assert (tmp_path / "file").read_text() == "mine"
    assert (tmp_path / "folder" / "thesis.tex").read_text() == "mine"
    with pytest.raises(InputError, match="does not exist"):
        aligner.save(tmp_path / "no" / "such" / "folder")


def test_an_empty_directory_and_a_symbolic_link_are_written_to(aligner, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    for _ in range(2):
        aligner.save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert contents(tmp_path / "real")
    assert sorted(os.listdir(tmp_path)) == ["link", "real"]


def test_an_aligner_without_a_model_cannot_be_saved(tmp_path):
    with pytest.raises(InputError, match="fit"):
        Aligner().save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_model_may_be_moved(aligner, place, tmp_path):
    shutil.move(place, tmp_path / "elsewhere")
    assert Aligner.load(tmp_path / "elsewhere").align_pair(*PAIRS[0]) == aligner.align_pair(*PAIRS[0])


def test_numpy_numbers_as_options_and_seed_are_saved_like_pythons(tmp_path):
    aligner = Aligner("hmm", seed=np.int64(3), threads=1, window=np.int32(4), null=np.float32(0.25))
    aligner.fit(Bitext.from_pairs(PAIRS)).save(tmp_path / "model")
    loaded = Aligner.load(tmp_path / "model")
    assert (loaded.seed, loaded.recipe.options.window, loaded.recipe.options.null) == (3, 4, 0.25)
