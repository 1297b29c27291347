# Two commands matter: `make run` (the demo) and `make test` (lint, types, layers, tests).
# Both set up their own virtual environment first; nothing but Python 3.11+ and make is needed.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# Which of the two is installed: the package and what it needs, or the developers' tools with it.
PACKAGE := $(VENV)/.package
TOOLS := $(VENV)/.tools
# What `make quick` asks: folders and files whose tests compile little, chosen by what they take. Of the package as a
# whole, not what type checkers say of it (`make test` asks them).
QUICK := tests/schema tests/datasets tests/encoding tests/ledger/test_ledger.py tests/ledger/test_record.py \
	tests/ledger/test_migrations.py tests/promises/test_letter.py tests/promises/test_letters_of_a_plan.py \
	tests/metrics/test_cost.py tests/metrics/test_disparity.py tests/metrics/test_plausibility.py \
	tests/metrics/test_reliability.py tests/metrics/test_implausibility.py tests/metrics/test_survival.py \
	tests/cli/test_main.py tests/cli/test_datasets.py tests/cli/test_options.py \
	tests/docs/test_house.py tests/docs/test_pages.py tests/docs/test_reference.py tests/test_package.py
# What `make oldest` installs and asks. Not torch: its build with a graphics card's libraries is 2 GB. Neither optbinning
# nor mcp: they bring numpy 2 and pydantic 2.12, and the bounds below those would not be asked.
EXTRAS := plots serve xgboost lightgbm catboost skops onnx postgres ray mlflow tune sign
OLDEST := tests/schema tests/encoding tests/ledger tests/test_package.py tests/classifier/test_classifier.py

.PHONY: run test quick check tests shapes oldest format program docs site bench clean

run: $(PACKAGE)
	$(BIN)/holdtrue demo --picture demo.png

# Beside one another: linting and type-checking take one core for a minute, and the end of the tests leaves one free.
test: $(TOOLS)
	$(MAKE) --jobs=2 check tests

check: $(TOOLS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/pyright --pythonpath $(BIN)/python

# Two workers: the suite is bound by compilation, which one process does on one core. A file's tests share compiled
# programs and fixtures, so they stay together. Where Python writes no bytecode, each of the processes that the tests
# start would compile all of holdtrue; and each worker the search over trees, 20 s of it, where it is not there yet.
tests: $(TOOLS)
	$(BIN)/python -m compileall -qq holdtrue experiments
	$(BIN)/python -c "import holdtrue.search.exact._workers"
	$(BIN)/python -m pytest -n 2 --dist loadfile --durations 25

# Between two edits: everything that needs no long compilation.
quick: $(TOOLS)
	$(BIN)/python -m pytest -q -n 2 --dist loadfile -k "not code_runs and not nothing_to_say" $(QUICK)

# Annotations of arrays, shapes and dtypes included, held against every call; no axis is added and no dtype changed
# unasked; see CHECKED in conftest.py.
shapes: $(TOOLS)
	HOLDTRUE_TYPECHECK=1 $(BIN)/python -m pytest -q -n 2 --dist loadfile tests/encoding tests/search tests/batch

# The oldest versions that pyproject.toml allows, in an environment of their own: are the lower bounds true? Old
# packages warn about newer ones, so warnings are no errors here.
oldest: $(TOOLS)
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(VENV)/oldest
	echo 'polars>=1.10' | $(BIN)/uv pip compile --quiet --resolution lowest-direct - pyproject.toml \
		$(foreach extra,$(EXTRAS),--extra $(extra)) --python $(VENV)/oldest/bin/python --output-file $(VENV)/oldest/versions.txt
	$(BIN)/uv pip install --quiet --python $(VENV)/oldest/bin/python --requirements $(VENV)/oldest/versions.txt \
		hypothesis httpx pytest
	$(BIN)/uv pip install --quiet --python $(VENV)/oldest/bin/python --no-deps --editable .
	$(VENV)/oldest/bin/holdtrue demo --retrain 5
	$(VENV)/oldest/bin/python -m pytest -q -o filterwarnings=default $(OLDEST)

format: $(TOOLS)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The search in trees as a program of LLVM, which comes with the package; after an edit of what it is made from.
program: $(TOOLS)
	$(BIN)/python -m holdtrue.search.exact._make

docs: $(TOOLS)
	$(BIN)/python -m holdtrue.cli._reference > docs/reference/cli.md
	$(BIN)/python docs/reference/make_datasets.py
	$(BIN)/python docs/reference/make_methods.py
	$(BIN)/python docs/reference/make_comparison.py
	$(BIN)/python docs/explanation/make_sizing.py
	$(BIN)/python docs/how-to/make_measured.py
	$(BIN)/python docs/explanation/make_attacked.py
	$(BIN)/python docs/images/make.py
	$(BIN)/python docs/notebooks/make.py
	$(BIN)/python -m experiments
	$(BIN)/python -m experiments.hold.page
	$(BIN)/python -m experiments.shelf_life.page
	$(MAKE) site
	$(BIN)/python docs/site/look.py --every

# The pages as a site, in build/site/html: every warning is an error, every link is followed; looked at in a browser
# where there is one.
site: $(TOOLS)
	$(BIN)/python -m pip install --quiet --editable '.[site]'
	$(BIN)/python docs/site/make.py
	$(BIN)/python docs/site/look.py

bench: $(TOOLS)
	$(BIN)/python -m benchmarks

$(PACKAGE): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --no-compile --editable '.[plots]'
	$(BIN)/python -m compileall -qq -j 0 $(VENV)/lib holdtrue >/dev/null 2>&1 || true # pip compiles on one core
	touch $(PACKAGE)

$(TOOLS): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --no-compile --editable '.[dev]'
	$(BIN)/python -m compileall -qq -j 0 $(VENV)/lib holdtrue >/dev/null 2>&1 || true
	touch $(PACKAGE) $(TOOLS)

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit("holdtrue needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis .import_linter_cache .mypy_cache build dist
