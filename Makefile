# `make` lists the targets. `make demo` and `make test` need nothing first: they find a Python, make .venv and install.

PYTHON ?=
DRAWS ?= 100
ARGS ?=
WORKERS ?= 2

BIN := .venv/bin
READY := .venv/.installed
READY_BENCH := .venv/.installed-bench
READY_DOCS := .venv/.installed-docs
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq

# Run, not looked up: a pyenv shim exists for versions that it then refuses to start.
FITS := import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 12))

.DEFAULT_GOAL := help
.PHONY: help setup demo test calibrate lint format types layers notebooks bench docs lab clean ci new-venv

help:  ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18

setup: $(READY)  ## make .venv and install bayescale with its development tools

demo: $(READY)  ## the bundled runs, end to end, with plots
	$(BIN)/bayescale demo $(ARGS)

test: $(READY)  ## the tests, bar the slow ones, in WORKERS=2 processes (ARGS="tests/laws -x" to choose)
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile $(ARGS)

calibrate: $(READY)  ## the slow tests: simulation-based calibration, minutes
	$(BIN)/python -m pytest -m slow $(ARGS)

lint: $(READY)  ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(READY)  ## put right what ruff can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(READY)  ## mypy over bayescale/
	$(BIN)/mypy

layers: $(READY)  ## import-linter: who imports whom
	$(BIN)/lint-imports

notebooks: $(READY)  ## execute every notebook with DRAWS draws; the files stay as they are
	@for notebook in notebooks/*.ipynb; do \
	  [ -e "$$notebook" ] || { echo "no notebooks to execute"; break; }; \
	  echo "executing $$notebook with $(DRAWS) draws"; \
	  BAYESCALE_DRAWS=$(DRAWS) $(BIN)/jupyter-execute --timeout=600 "$$notebook" || exit 1; \
	done

bench: $(READY_BENCH)  ## speed against PyMC + nutpie and NumPyro's MCMC
	$(BIN)/python -m benchmarks $(ARGS)

docs: $(READY_DOCS)  ## API pages from the docstrings, in build/docs
	$(BIN)/pdoc --docformat numpy --math --output-directory build/docs bayescale

lab: $(READY)  ## train the toy source's tiny models and write the table again
	$(BIN)/bayescale lab $(ARGS)

clean:  ## remove .venv, caches and builds
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

ci:  ## everything that continuous integration runs
	bash .ci/run

# .python-version may hide a newer Python that pyenv has: `pyenv whence` names those by path.
new-venv:
	@for python in $(PYTHON) python3 python3.14 python3.13 python3.12 python \
	    $$(pyenv whence --path python3 2>/dev/null); do \
	  if "$$python" -c '$(FITS)' >/dev/null 2>&1; then \
	    echo "making .venv with $$("$$python" --version) ($$python)"; \
	    exec "$$python" -m venv --clear .venv; \
	  fi; \
	done; \
	echo "bayescale needs Python 3.12 or newer with its venv module, and none was found" \
	  "$(if $(PYTHON),at PYTHON=$(PYTHON) or )as python3, python3.14, python3.13, python3.12 or python:" \
	  "install one, or name it, as in 'make PYTHON=/path/to/python3.12 $(MAKECMDGOALS)'." >&2; \
	exit 2

$(READY): pyproject.toml $(shell $(BIN)/python -c '$(FITS)' >/dev/null 2>&1 || echo new-venv)
	@echo "installing bayescale and its development tools in .venv (once, a minute or two)"
	@$(PIP) install --editable ".[dev]"
	@touch $@

$(READY_BENCH): $(READY)
	@echo "installing the peers to measure against"
	@$(PIP) install --editable ".[bench]"
	@touch $@

$(READY_DOCS): $(READY)
	@$(PIP) install --editable ".[docs]"
	@touch $@
