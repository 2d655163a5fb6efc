"""Whether a wheel works where nothing else is: `python tests/wheel.py dist`.

Installs it into an empty environment, without the tree in sight, and takes the newcomer's tour; then with all extras that
can be installed without a compiler, and looks at the page.
"""

from __future__ import annotations

import sys
from pathlib import Path
from zipfile import ZipFile

from clean import Failed, clean_environment, only_wheel, tour

EXTRAS = "page,serve,plot,notebook,integer"


def contents(wheel: Path) -> None:
    """A wheel holds the package and its data, and nothing of tests or compiled kernels."""
    with ZipFile(wheel) as archive:
        names = archive.namelist()
    for wanted in (
        "dovetail/py.typed",
        "dovetail/data/demo.gold",
        "dovetail/report/page/view.js",
        "dovetail/cli/align.py",
    ):
        if wanted not in names:
            raise Failed(f"{wheel} lacks {wanted}")
    for name in names:
        if not name.startswith(("dovetail/", "dovetail_align-")) or name.endswith((".pyc", ".nbi", ".nbc")):
            raise Failed(f"{wheel} holds {name}")


def main() -> None:
    wheel = only_wheel(sys.argv[1])
    try:
        contents(wheel)
        with clean_environment() as environment:
            environment.install(str(wheel))
            print(f"plain: {tour(environment)}")
            environment.install(f"{wheel}[{EXTRAS}]")
            sides = "tour/demo.en", "tour/demo.fr"
            environment.dovetail("view", *sides, "--load", "model", "--gold", "tour/demo.gold", "-o", "page.html")
            environment.python("-c", "import dovetail.report.plots, matplotlib, uvicorn, starlette, highspy, tqdm")
            environment.dovetail("serve", "--help")
            print(f"with {EXTRAS}: a page of {(environment.folder / 'page.html').stat().st_size:,} bytes")
    except Failed as failure:
        sys.exit(f"failed: {failure}")


if __name__ == "__main__":
    main()
