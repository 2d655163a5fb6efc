"""What all tests share: where the real data is, if it is there."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real bitexts with gold links; tests that need it are skipped, and say so, where it is missing."""
    if not SHARED.is_dir():
        pytest.skip("needs the real bitexts in ../shared/data, which are not part of the project")
    return SHARED
