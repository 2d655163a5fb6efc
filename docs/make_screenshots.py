"""Make the pictures of the page, images/page*.png.  Needs playwright, pillow and chromium.

python docs/make_screenshots.py
"""

from __future__ import annotations

import shutil
import tempfile
from importlib.resources import as_file, files
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from dovetail import Aligner, read_bitext, read_gold
from dovetail.report.page import view_page
from dovetail.report.systems import System

IMAGES = Path(__file__).resolve().parent / "images"
PICTURES = {
    "page.png": ("light", "#pair=13&baseline=1", 1400, 1050),
    "page-dark.png": ("dark", "#view=summary", 1280, 800),
    "page-dictionary.png": ("light", "#view=dictionary&word=time", 1280, 800),
}


def page() -> str:
    """Two recipes on the demo's text."""
    with as_file(files("dovetail") / "data") as folder:
        bitext = read_bitext(folder / "demo.en", folder / "demo.fr")
        gold = read_gold(folder / "demo.gold")
    systems = [System.of_aligner(name, Aligner(name).fit(bitext), bitext) for name in ("hmm", "joint")]
    return view_page(bitext, systems, gold, title="English – French")


def main() -> None:
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        path = Path(place) / "page.html"
        path.write_text(page(), "utf-8")
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, (scheme, address, width, height) in PICTURES.items():
            window = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
            window.goto(f"file://{path}{address}")
            window.wait_for_selector(".panel, .card, .hit")
            window.wait_for_timeout(300)
            picture = Image.open(BytesIO(window.screenshot()))
            picture.convert("RGB").quantize(255, dither=Image.Dither.NONE).save(IMAGES / name, optimize=True)
        browser.close()


if __name__ == "__main__":
    main()
