"""What is in a folder."""

from __future__ import annotations

from pathlib import Path


def contents(folder: Path) -> dict[str, bytes]:
    """Every file, those in folders within it, too, by its name from there."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
