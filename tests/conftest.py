"""What all tests share: where the real data is, if it is there."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from browsing import DESK, Shown

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real bitexts with gold links; tests that need it are skipped, and say so, where it is missing."""
    if not SHARED.is_dir():
        pytest.skip("needs the real bitexts in ../shared/data, which are not part of the project")
    return SHARED


BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
NO_BROWSER = "needs a browser: install Debian's chromium (apt-get install chromium)"


@pytest.fixture(scope="module")
def browser():
    """Chromium without a window.  Where there is none the test is skipped; with DOVETAIL_REQUIRE_BROWSER it fails."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        if os.environ.get("DOVETAIL_REQUIRE_BROWSER"):
            pytest.fail(f"DOVETAIL_REQUIRE_BROWSER is set, but this test {NO_BROWSER}")
        pytest.skip(NO_BROWSER)
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright, of the test extra")
    # In a container one is root and /dev/shm is small; nothing but our own pages is opened.
    arguments = ["--no-sandbox", "--disable-dev-shm-usage"]
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=arguments)
        yield chromium
        chromium.close()


@pytest.fixture
def shown(browser, tmp_path):
    """Write a page and open it in a window of its own; nothing may go wrong on it."""
    opened, contexts = [], []

    def show(html, address="", viewport=DESK, **settings):
        path = tmp_path / f"page{len(opened)}.html"
        path.write_text(html, "utf-8")
        context = browser.new_context(viewport=viewport, **settings)
        contexts.append(context)
        opened.append(Shown(context.new_page(), path))
        return opened[-1].open(address)

    yield show
    for context in contexts:
        context.close()
    for page in opened:
        assert page.errors == []
        assert page.dialogs == []
        assert all(url.startswith("file://") for url in page.requests), "the page asks no network"


def pytest_terminal_summary(terminalreporter) -> None:
    """Say once, and clearly, that pages were not looked at."""
    skipped = [report for report in terminalreporter.stats.get("skipped", []) if NO_BROWSER in str(report.longrepr)]
    if skipped:
        terminalreporter.write_sep("!", f"{len(skipped)} browser tests skipped: this {NO_BROWSER}", yellow=True)
