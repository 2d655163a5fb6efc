# Tests of the pages need a browser (Debian's chromium); where there is none they are skipped, and pytest's last lines say so.
# `make demo` and `make test` set up what they need: a virtual environment in the tree, nothing outside it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint types contract docs format same-bytes papers clean

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

format: $(VENV)/ready-test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) docs/_build .pytest_cache .mypy_cache .ruff_cache .import_linter_cache

$(VENV)/ready: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/ready-test: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[test,docs]'
	touch $@ $(VENV)/ready
