"""What the accessibility checker axe finds on a page."""

from __future__ import annotations

import pytest

GRAVE = ("serious", "critical")


def grave_findings(page) -> list[str]:
    """Serious and critical ones, each with the rule and the elements that break it; skips where axe is not installed."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found = axe.run(page).response["violations"]
    return [
        f"{finding['id']}: {', '.join(str(node['target'][0]) for node in finding['nodes'][:5])}"
        for finding in found
        if finding["impact"] in GRAVE
    ]
