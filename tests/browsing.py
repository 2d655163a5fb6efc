"""Pages in a real browser, for tests: windows of several sizes, and what goes wrong in them."""

from __future__ import annotations

from importlib.resources import files

import pytest

PHONE = {"width": 390, "height": 844}
TABLET = {"width": 768, "height": 1024}
DESK = {"width": 1440, "height": 900}

NASTY = [
    "</script><script>alert(1)</script>",
    "<img/src=x/onerror=alert(2)>",
    "\"'><svg/onload=alert(3)>",
    "&lt;b&gt;",
    "<!--",
    "]]>",
    "{{7*7}}",
    "\u202eevil",
    "\u2067isolate",
    "${alert(4)}",
    "\\u003cb\\u003e",
    "$&",
    "a\u0000b",
    "__proto__",
    "\ud800",
    "x" * 3000,
]


def serious(page):
    """What axe-core, the accessibility checker, finds serious or critical: rule, and where."""
    package = pytest.importorskip("axe_playwright_python", reason="needs axe, of the test extra")
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate((files(package) / "axe.min.js").read_text("utf-8"))
    found = page.evaluate("() => axe.run({resultTypes: ['violations']})")
    grave = [rule for rule in found["violations"] if rule["impact"] in ("serious", "critical")]
    return [(rule["id"], node["target"], node["failureSummary"]) for rule in grave for node in rule["nodes"]]


class Shown:
    """A page, opened, that remembers what went wrong and what it asked the network for."""

    def __init__(self, page, path):
        self.page, self.path = page, path
        self.errors, self.requests, self.dialogs = [], [], []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda message: message.type in ("error", "warning") and self.errors.append(message.text))
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("dialog", lambda dialog: (self.dialogs.append(dialog.message), dialog.dismiss()))

    def open(self, address=""):
        self.page.goto(f"file://{self.path}{address}")
        self.page.wait_for_selector(".panel, .card, .translations", state="attached")
        return self

    def js(self, code, *arguments):
        return self.page.evaluate(code, *arguments)

    def order(self):
        """The pairs of the list, in order: from the page's own list, which the rows are drawn from."""
        rows = self.js(
            "[...document.querySelectorAll('.row')].map(r => [r.getAttribute('aria-posinset') - 1, +r.dataset.n])"
        )
        return [n for _, n in sorted(rows)]

    def all_found(self):
        found = []
        height = self.js("document.getElementById('list').scrollHeight")
        for top in range(0, height, 600):
            self.js("t => { document.getElementById('list').scrollTop = t; }", top)
            self.js("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
            found += [n for n in self.order() if n not in found]
        return found

    def found(self, query):
        self.page.locator("#search").fill(query)
        return self.all_found()

    def scores(self):
        return self.js("dovetail.corpus.systems.map((_, s) => dovetail.metrics(s))")
