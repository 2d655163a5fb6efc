"""The cache of compiled kernels saves time and must never cost anything else."""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
from importlib.resources import files

import numba
import numpy as np
import pytest

from dovetail.kernels import _numba, kernel
from dovetail.kernels.text.cooccurrence import sort_by_word

RUN = (
    "import numpy as np; from dovetail.kernels.lexicon.table import digamma; "
    "print(round(digamma(1.0), 6), digamma.dispatcher.stats.cache_hits)"
)
HITS = RUN.replace("cache_hits)", "cache_hits.total())")
PREPARED = "; import sys; print('numba.np.npyimpl' in sys.modules)"  # what only a compiler needs


def run(place, code=RUN, **settings):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(place), **settings}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.split()


def hits(place, **settings):
    value, found = run(place, HITS, **settings)
    assert value == "-0.577216"
    return int(found)


def test_a_second_process_finds_the_compiled_kernel(tmp_path):
    assert [hits(tmp_path), hits(tmp_path)] == [0, 1]


@pytest.fixture
def package(tmp_path):
    """A copy of the package, whose sources may be altered."""
    shutil.copytree(files("dovetail"), tmp_path / "dovetail", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "dovetail"


def test_a_change_in_any_kernel_makes_all_stale(tmp_path, package):
    settings = {"PYTHONPATH": str(tmp_path)}
    assert [hits(tmp_path / "cache", **settings) for _ in range(2)] == [0, 1]
    with open(package / "kernels" / "hmm" / "viterbi.py", "a") as other:
        other.write("# another kernel\n")
    assert [hits(tmp_path / "cache", **settings) for _ in range(2)] == [0, 1]


def test_dates_do_not_matter(tmp_path, package):
    """A source from the future, as an unpacked archive or a wrong clock makes it, must not have every run compile."""
    settings = {"PYTHONPATH": str(tmp_path)}
    future = time.time() + 1e6
    for source in package.rglob("*.py"):
        os.utime(source, (future, future))
    assert [hits(tmp_path / "cache", **settings) for _ in range(3)] == [0, 1, 1]


def flipped(content):
    return content[: len(content) // 2] + bytes([content[len(content) // 2] ^ 16]) + content[len(content) // 2 + 1 :]


DAMAGE = {
    "empty": lambda content: b"",
    "cut short": lambda content: content[:-9],
    "a bit flipped": flipped,
    "something else": lambda content: b"not a kernel at all",
    "another pickle": lambda content: pickle.dumps({"a": 1}),
    "zeros": lambda content: bytes(len(content)),
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_a_damaged_file_is_compiled_again_and_found_by_the_next_run(tmp_path, suffix, damage):
    hits(tmp_path)
    damaged = list(tmp_path.rglob(f"*{suffix}"))
    assert damaged
    for path in damaged:
        path.write_bytes(DAMAGE[damage](path.read_bytes()))
    assert hits(tmp_path) in (0, 1)  # 1: what was flipped says nothing
    assert hits(tmp_path) == 1


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_a_directory_in_the_place_of_a_file_is_no_obstacle(tmp_path, suffix):
    hits(tmp_path)
    for path in list(tmp_path.rglob(f"*{suffix}")):
        path.unlink()
        path.mkdir()
    assert hits(tmp_path) == 0


def test_a_file_of_another_signature_is_not_taken_for_the_one_asked_for(tmp_path):
    """Two processes that begin at once may both call their first file number 1."""
    code = "from dovetail.kernels.text.cooccurrence import sort_by_word as k; import numpy as np; "
    code += "print(k(np.zeros(3, np.{}), 1)[0].tolist(), sum(k.dispatcher.stats.cache_hits.values()))"
    first = run(tmp_path, code.format("int32"))
    run(tmp_path, code.format("int64"))
    one, two = sorted(path for path in tmp_path.rglob("*.nbc") if "sort_by_word" in path.name)
    one.write_bytes(two.read_bytes())
    assert run(tmp_path, code.format("int32")) == first


def test_what_is_compiled_is_counted_and_told_once(tmp_path):
    code = "from dovetail.kernels.compiled import compilation, worked_seconds; import time; "
    code += "compilation.when_begun = lambda: print('begun'); clock = worked_seconds(), time.monotonic(); "
    code += RUN.split("; print")[0] + "; digamma(1.0); digamma(2); "
    code += "print(compilation.kernels, compilation.seconds > 0); "
    code += "print(round(abs(worked_seconds() - clock[0] + compilation.seconds - time.monotonic() + clock[1]), 3))"
    assert run(tmp_path, code) == ["begun", "2", "True", "0.0"]  # of a float and of an integer
    assert run(tmp_path, code) == ["0", "False", "0.0"]


@pytest.mark.skipif(numba.version_info.short not in _numba.KNOWN_INSIDE, reason="numba loads in its own way")
def test_a_compiled_kernel_is_loaded_without_preparing_the_compiler(tmp_path):
    assert run(tmp_path, RUN + PREPARED)[-1] == "True"
    assert run(tmp_path, RUN + PREPARED)[-1] == "False"
    both = "import numpy as np; from dovetail.kernels.lexicon.table import digamma, normalise_null; "
    code = both + "digamma(1.0); normalise_null(np.ones(3), 0.0, True, np.empty(3, np.float32)); print(digamma(2.0))"
    assert float(run(tmp_path, code + PREPARED)[0]) == pytest.approx(0.422784)  # one of them from the cache


def test_another_numba_loads_in_its_own_way(tmp_path):
    other = "from dovetail.kernels import _numba; _numba.KNOWN_INSIDE = (); "
    first, second = (run(tmp_path, other + RUN + PREPARED) for _ in range(2))
    assert first[0] == second[0] == "-0.577216"
    assert "1" in "".join(second[1:-1])
    assert second[-1] == "True"


def test_numba_is_imported_when_a_kernel_is_called_and_no_sooner(tmp_path):
    code = "import sys, dovetail.aligner, dovetail.cli.align; print('numba' in sys.modules)"
    assert run(tmp_path, code) == ["False"]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer")
def test_a_signal_during_a_kernel_is_heard_when_the_kernel_ends():
    def interrupt(*_):
        raise KeyboardInterrupt

    words = np.random.default_rng(0).integers(0, 1 << 20, 1 << 23).astype(np.int32)
    sort_by_word(words[:5], 1 << 20)
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        with pytest.raises(KeyboardInterrupt):
            sort_by_word(words, 1 << 20)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_kernel_calls_others_and_looks_like_its_function():
    @kernel
    def half(x):
        """Half of it."""
        return x / 2

    @kernel
    def quarter(x):
        return half(half(x))

    assert quarter(2.0) == 0.5
    assert quarter(np.ones(3)).tolist() == [0.25] * 3
    assert len(quarter.dispatcher.signatures) == 2
    assert (half.__name__, half.__doc__) == ("half", "Half of it.")
