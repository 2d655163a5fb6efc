"""Runs with bounds checks do check bounds: in kernels, in leaves, and where eight numbers are read at once."""

from __future__ import annotations

import pytest

import bounds


@pytest.mark.slow
def test_kernels_that_are_bad_on_purpose_are_caught(tmp_path):
    assert bounds.uncaught(str(tmp_path)) == []


def test_every_file_of_the_kernels_tests_is_there():
    assert [name for name in bounds.SHARE + bounds.REST if not (bounds.TESTS / name).is_file()] == []
