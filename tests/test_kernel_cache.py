"""The cache of compiled kernels saves time and must never cost anything else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import numba
import numpy as np
import pytest

from dovetail.kernels import _numba, kernel
from dovetail.kernels.text.cooccurrence import sort_by_word

RUN = (
    "import numpy as np; from dovetail.kernels.lexicon.table import digamma; "
    "print(round(digamma(1.0), 6), digamma.dispatcher.stats.cache_hits)"
)
PREPARED = "; import sys; print('numba.np.npyimpl' in sys.modules)"  # what only a compiler needs


def run(place, code=RUN):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(place)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_a_second_process_finds_the_compiled_kernel_and_a_newer_source_makes_it_stale(tmp_path):
    first = run(tmp_path)
    assert first[0] == "-0.577216"
    indices = list(tmp_path.rglob("*.nbi"))
    assert indices
    values = run(tmp_path)
    assert "1" in "".join(values[1:])
    for index in indices:
        os.utime(index, (0, 0))  # as if every source had been written since
    assert run(tmp_path)[0] == "-0.577216"
    assert all(index.stat().st_mtime > 0 for index in tmp_path.rglob("*.nbi"))


def test_stale_files_are_dropped_once_a_place(tmp_path):
    old, new = tmp_path / "old.nbi", tmp_path / "new.nbi"
    old.touch()
    new.touch()
    os.utime(old, (0, 0))
    _numba._drop_stale.__wrapped__(str(tmp_path))
    assert not old.exists()
    assert new.exists()
    _numba._drop_stale.__wrapped__(str(tmp_path / "missing"))


@pytest.mark.skipif(numba.version_info.short not in _numba.QUICK_LOADING, reason="numba loads in its own way")
def test_a_compiled_kernel_is_loaded_without_preparing_the_compiler(tmp_path):
    assert run(tmp_path, RUN + PREPARED)[-1] == "True"
    assert run(tmp_path, RUN + PREPARED)[-1] == "False"
    both = "import numpy as np; from dovetail.kernels.lexicon.table import digamma, normalise_null; "
    code = both + "digamma(1.0); normalise_null(np.ones(3), 0.0, True, np.empty(3, np.float32)); print(digamma(2.0))"
    assert float(run(tmp_path, code + PREPARED)[0]) == pytest.approx(0.422784)  # one of them from the cache


def test_another_numba_loads_in_its_own_way(tmp_path):
    other = "from dovetail.kernels import _numba; _numba.QUICK_LOADING = (); "
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
