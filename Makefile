# Two commands matter: `make run` (the demo) and `make test` (lint, types, layers, tests).
# Both set up their own virtual environment first; nothing but Python 3.11+ and make is needed.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: run test check tests format docs bench clean

run: $(STAMP)
	$(BIN)/holdtrue demo

# Beside one another: linting and type-checking take one core for a minute, and the end of the tests leaves one free.
test: $(STAMP)
	$(MAKE) --jobs=2 check tests

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/pyright --pythonpath $(BIN)/python

# Two workers: the suite is bound by compilation, which one process does on one core. A file's tests share compiled
# programs and fixtures, so they stay together. Where Python writes no bytecode, each of the processes that the tests
# start would compile all of holdtrue.
tests: $(STAMP)
	$(BIN)/python -m compileall -qq holdtrue experiments
	$(BIN)/python -m pytest -n 2 --dist loadfile --durations 25

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(STAMP)
	$(BIN)/python -m holdtrue.cli._reference > docs/reference/cli.md
	$(BIN)/python docs/reference/make_datasets.py
	$(BIN)/python docs/reference/make_methods.py
	$(BIN)/python docs/reference/make_comparison.py
	$(BIN)/python docs/explanation/make_sizing.py
	$(BIN)/python docs/images/make.py
	$(BIN)/python -m experiments

bench: $(STAMP)
	$(BIN)/python -m benchmarks

$(STAMP): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("holdtrue needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --no-compile --editable '.[dev]'
	$(BIN)/python -m compileall -qq -j 0 $(VENV)/lib holdtrue >/dev/null 2>&1 || true # pip compiles on one core
	touch $(STAMP)

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis .import_linter_cache build dist
