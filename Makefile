# Tests of the pages need a browser (Debian's chromium); where there is none they are skipped, and pytest's last lines say so.
# `make demo` and `make test` set up what they need: a virtual environment in the tree, nothing outside it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint types contract docs format same-bytes fuzz bounds papers translation tables syntax wheel wheel-test test-versions test-long load kills many-texts clean

demo: $(VENV)/ready
	$(BIN)/dovetail demo

test: $(VENV)/ready-test lint types contract
	$(BIN)/python -m pytest -n auto --dist loadfile
	$(MAKE) docs

lint: $(VENV)/ready-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/ready-test
	$(BIN)/mypy

contract: $(VENV)/ready-test
	$(BIN)/lint-imports

docs: $(VENV)/ready-test
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html

# What every recipe writes with every decoder, against the record in tests/data; the demo's part is in the test suite, too.
same-bytes: $(VENV)/ready-test
	$(BIN)/python tests/same_bytes.py

# The papers' tables on our texts, into build/papers; a run that was interrupted goes on.  PAPERS="--size 1000" for less.
papers: $(VENV)/ready-test
	$(BIN)/python -m benchmarks.papers --out build/papers $(PAPERS)

# BLEU with each system's links, into build/translation; goes on as `papers` does.  TRANSLATION="--system default" for less.
translation: $(VENV)/ready-test
	$(BIN)/python -m benchmarks.translation --out build/translation $(TRANSLATION)

# The headline figures of README.md and RESULTS.md and results/peers.md; about an hour, and goes on as `papers` does.
tables: $(VENV)/ready-test
	$(BIN)/python -m benchmarks.tables --work build/tables

# Edges of trees carried over links, into build/syntax.
syntax: $(VENV)/ready-test
	$(BIN)/python -m benchmarks.syntax --out build/syntax $(SYNTAX)

# Altered models of every recipe must be refused or harmless; `make fuzz CASES=5000 SEED=7` tries more, and others.
CASES ?= 500
SEED ?= 0
fuzz: $(VENV)/ready-test
	$(BIN)/python tests/fuzz.py --replay tests/data/fuzz.jsonl
	$(BIN)/python tests/fuzz.py --cases $(CASES) --seed $(SEED)

# The kernels' tests with every access to an array checked; CI runs `make bounds SHARE=--share`.
bounds: $(VENV)/ready-test
	$(BIN)/python tests/bounds.py $(SHARE)

# Many clients of `serve` at once, with idle, slow and deaf ones among them; a short share is in the test suite.
load: $(VENV)/ready-test
	$(BIN)/python tests/load.py

# Runs in a work folder, trainings and workers that are killed twenty times go on to the same bytes; a share is in the tests.
kills: $(VENV)/ready-test
	$(BIN)/python tests/killing.py --kills 20
	DOVETAIL_KILLS=20 $(BIN)/python -m pytest tests/test_keeping.py tests/test_ray.py

# A thousand small texts in one process; a short share is in the test suite.
many-texts: $(VENV)/ready-test
	$(BIN)/python tests/many_texts.py

# One file to install elsewhere: dist/dovetail_align-VERSION-py3-none-any.whl
wheel: $(VENV)/ready
	rm -rf dist
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

# The wheel in an environment with nothing else in it, far from the tree.
wheel-test: wheel
	$(BIN)/python tests/wheel.py dist

# Every Python on this machine, with the lowest and the newest numba that it takes; tells which were not there.
test-versions: wheel
	$(BIN)/python tests/versions.py dist

# All that is too long for every day.  Add to it by a line of its own: `test-long: my-target`.
test-long: wheel-test
test-long: test-versions
test-long: kills
test-long: same-bytes
test-long: load
test-long: fuzz
test-long: bounds
test-long: kills
test-long: many-texts

format: $(VENV)/ready-test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) dist docs/_build .pytest_cache .mypy_cache .ruff_cache .import_linter_cache

$(VENV)/ready: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/ready-test: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[test,docs]'
	touch $@ $(VENV)/ready
