"""What a newcomer to the repository relies on: files that say the same, checks that exist, a package that needs no Linux."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dovetail

ROOT = Path(__file__).resolve().parents[1]
if not (ROOT / "RELEASING.md").is_file():
    pytest.skip("these files are not part of this distribution", allow_module_level=True)
sys.path.insert(0, str(ROOT / "tests"))

import versions  # noqa: E402

PACKAGE = Path(dovetail.__file__).parent
UNIX_MODULES = {"fcntl", "termios", "tty", "pty", "pwd", "grp", "resource", "posix", "syslog", "curses", "readline"}
UNIX_NAMES = {
    *(
        "fork",
        "mkfifo",
        "getuid",
        "geteuid",
        "getpgid",
        "killpg",
        "setsid",
        "chown",
        "fchmod",
        "fchown",
        "sched_getaffinity",
    ),
    *(
        "SIGHUP",
        "SIGALRM",
        "SIGUSR1",
        "SIGUSR2",
        "SIGKILL",
        "SIGPIPE",
        "SIGCHLD",
        "setitimer",
        "alarm",
        "pthread_sigmask",
    ),
    *("O_NOFOLLOW", "O_DIRECTORY", "O_CLOEXEC", "O_NONBLOCK"),
}


def needs_unix(source: str) -> list[str]:
    """Modules and names in a source that Windows does not have, except those that it can be without.

    It asks `hasattr` about them, or has an answer to an ImportError or OSError.
    """
    found, spared = [], set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Try):
            kinds = [kind for handler in node.handlers for kind in ast.walk(handler.type) if isinstance(kind, ast.Name)]
            if {"ImportError", "OSError"} & {kind.id for kind in kinds}:
                inside = [one for part in node.body for one in ast.walk(part) if hasattr(one, "lineno")]
                spared |= {(one.lineno, one.col_offset) for one in inside}
    asked = re.findall(r"hasattr\((?:os|signal), \"(\w+)\"\)", source)
    for node in ast.walk(ast.parse(source)):
        if (getattr(node, "lineno", 0), getattr(node, "col_offset", 0)) in spared:
            continue
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            found += [name for name in names if name.partition(".")[0] in UNIX_MODULES]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("os", "signal"):
            found += [node.attr] if node.attr in UNIX_NAMES and node.attr not in asked else []
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found += [node.value] if re.match(r"/(proc|dev|sys|tmp)/", node.value) else []
    return found


def test_nothing_in_the_package_needs_unix():
    assert needs_unix("import fcntl") == ["fcntl"]
    assert sorted(needs_unix("import os, signal\nos.fork()\nsignal.SIGHUP")) == ["SIGHUP", "fork"]
    assert needs_unix("open('/proc/self/status')") == ["/proc/self/status"]
    assert needs_unix("try:\n    import fcntl\nexcept ImportError:\n    fcntl = None") == []
    for path in PACKAGE.rglob("*.py"):
        assert needs_unix(path.read_text("utf-8")) == [], path


def test_the_files_that_name_a_version_agree():
    found = {
        name: re.search(pattern, (ROOT / name).read_text("utf-8"), re.MULTILINE)
        for name, pattern in (("pyproject.toml", r'^version = "(.*)"$'), ("CITATION.cff", r"^version: (.*)$"))
    }
    assert len({match[1] for match in found.values()}) == 1
    assert f"## {found['CITATION.cff'][1]}" in (ROOT / "CHANGELOG.md").read_text("utf-8")


@pytest.mark.parametrize("name", ["CITATION.cff", ".pre-commit-config.yaml", ".github/workflows/checks.yml"])
def test_files_for_other_programs_can_be_read(name):
    yaml = pytest.importorskip("yaml")
    assert isinstance(yaml.safe_load((ROOT / name).read_text("utf-8")), dict)


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_what_the_workflow_and_the_checklist_call_exists():
    written = "".join((ROOT / name).read_text("utf-8") for name in (".github/workflows/checks.yml", "RELEASING.md"))
    targets = {word for line in re.findall(r"make ([a-z -]+)", written) for word in line.split()} - {"and"}
    assert {"lint", "wheel-test", "test-long"} <= targets
    for target in targets:
        done = subprocess.run(["make", "--dry-run", target], cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    for script in re.findall(r"python (\S+\.py)", written):
        assert (ROOT / script).is_file()


def test_versions_of_numba_are_ordered_as_numbers():
    class Index:
        def python(self, *words):
            return "numba (0.68.1)\nAvailable versions: 0.68.1, 0.60.0, 0.59.1, 0.59.0, 0.9.0\n"

    assert versions.numbas(Index(), "0.59") == ["0.59.0", "0.68.1"]
    assert versions.numbas(Index(), "0.68.1") == ["0.68.1"]
    assert versions.numbas(Index(), "1.0") == []
    assert versions.least_numba()
