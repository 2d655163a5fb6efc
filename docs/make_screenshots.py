"""Make the pictures of the pages: images/page.png, page-dark.png and annotate.png.  Needs playwright, pillow and chromium.

python docs/make_screenshots.py              # all
python docs/make_screenshots.py annotate.png
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from dovetail import Aligner, read_bitext, read_gold
from dovetail.report.page import view_page
from dovetail.report.systems import System

IMAGES = Path(__file__).resolve().parent / "images"
PICTURES = {
    "page.png": ("light", "#pair=13&baseline=1", 1400, 1050),
    "page-dark.png": ("dark", "#view=summary", 1280, 800),
}
EDITOR = "annotate.png"


def page() -> str:
    """Two recipes on the demo's text."""
    with as_file(files("dovetail") / "data") as folder:
        bitext = read_bitext(folder / "demo.en", folder / "demo.fr")
        gold = read_gold(folder / "demo.gold")
    systems = [System.of_aligner(name, Aligner(name).fit(bitext), bitext) for name in ("hmm", "joint")]
    return view_page(bitext, systems, gold, title="English – French")


@contextmanager
def editor(folder: Path) -> Iterator[str]:
    """The address of `dovetail annotate` on the demo's text."""
    with as_file(files("dovetail") / "data") as data:
        text = data / "demo.en", data / "demo.fr"
        Aligner("hmm").fit(read_bitext(*text)).save(folder / "model")
        command = [
            sys.executable,
            "-m",
            "dovetail",
            "annotate",
            *text,
            "--load",
            folder / "model",
            "-o",
            folder / "gold",
        ]
        arguments = [*map(str, command), "--port", "0", "--order", "file", "--name", "anna"]
        process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()
            process.wait()


def save(window: Page, name: str) -> None:
    window.wait_for_timeout(300)
    picture = Image.open(BytesIO(window.screenshot()))
    picture.convert("RGB").quantize(255, dither=Image.Dither.NONE).save(IMAGES / name, optimize=True)


def main(asked: list[str]) -> None:
    names = asked or [*PICTURES, EDITOR]
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        path = Path(place) / "page.html"
        if set(names) & set(PICTURES):
            path.write_text(page(), "utf-8")
        for name, (scheme, address, width, height) in PICTURES.items():
            if name not in names:
                continue
            window = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
            window.goto(f"file://{path}{address}")
            window.wait_for_selector(".panel, .card")
            save(window, name)
        if EDITOR in names:
            with editor(Path(place)) as address:
                window = browser.new_page(viewport={"width": 1280, "height": 700}, color_scheme="light")
                window.goto(f"{address}#pair=13")
                window.wait_for_selector(".sheet")
                window.locator('td[data-i="5"][data-j="6"]').click(modifiers=["Shift"])
                window.wait_for_selector(".curve.possible")
                save(window, EDITOR)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
