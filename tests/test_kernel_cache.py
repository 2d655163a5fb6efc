"""The cache of compiled kernels saves time and must never cost anything else."""

from __future__ import annotations

import os
import subprocess
import sys

from dovetail import kernels

RUN = (
    "import numpy as np; from dovetail.kernels.lexicon import digamma; "
    "print(round(digamma(1.0), 6), digamma.stats.cache_hits)"
)


def run(place):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(place)}
    done = subprocess.run([sys.executable, "-c", RUN], env=environment, capture_output=True, text=True, check=True)
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
    kernels._drop_stale.__wrapped__(str(tmp_path))
    assert not old.exists()
    assert new.exists()
    kernels._drop_stale.__wrapped__(str(tmp_path / "missing"))
