# Everything runs from one environment, .venv, made from requirements.lock (exact versions and hashes).
# A bare machine needs Python >= 3.11 and make, nothing else.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help demo test check bench screenshots lock clean

help:          ## show this list
	@grep -E '^[a-z]+: .*##|^[a-z]+:  +##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 14

$(READY): pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "memdeck needs Python 3.11 or newer; $(PYTHON) is older. Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' || \
	  { echo "This Python cannot make environments (on Debian and Ubuntu: apt install python3-venv)."; exit 1; }
	@echo "Making the environment in $(VENV), once; this takes about a minute."
	@rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: $(READY)   ## open the app on the made-up memory (nothing of yours is touched)
	$(BIN)/memdeck demo

test: check      ## lint, types, import rules and all tests
	$(BIN)/python -m pytest -n auto --dist loadgroup

check: $(READY)  ## lint, types and import rules only
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

bench: $(READY)  ## measure the bars; prints ratios beside a peer in the same run
	$(BIN)/python -m bench

screenshots: $(READY)  ## redraw the pictures of the README from the demo memory
	$(BIN)/python screenshots/make.py

lock:            ## resolve the versions again (needs uv)
	uv pip compile pyproject.toml --group dev --universal --python-version 3.11 \
	  --generate-hashes --no-annotate --no-header --upgrade -o requirements.lock

clean:           ## remove the environment and the caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build
