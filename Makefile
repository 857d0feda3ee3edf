# The commands of this checkout. Each sets up what it needs by itself (deploy/setup.sh).
# ARGS is passed on: make demo ARGS="--json", make test ARGS="-k inbox -x". Tests run in five
# processes, most of which wait: make test ARGS="-n 0 -s" runs them in one.

SHELL := /bin/bash
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.PHONY: help demo test quick attack check gates format style types layers read suite bench soak charts pictures lock sbom audit clean setup-runtime setup-dev

BIN := .venv/bin
AUDIT := .cache/audit/bin
PYTEST := $(BIN)/pytest -n 5 --dist worksteal
UV := $(BIN)/python deploy/uv_like_pip.py
COMPILE := $(UV) pip compile --quiet --generate-hashes --no-header --universal --python-version 3.11

# Five processes read all tests: it takes half as long where the last run left them compiled.
test quick attack check: export PYTHONDONTWRITEBYTECODE :=

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-7s %s\n", $$1, $$2 }' Makefile

demo: setup-runtime ## Watch a labelled issue become a pull request, all on this machine
	@$(BIN)/fettle demo $(ARGS)

quick: setup-dev ## Run the tests that take no servers, sandboxes and databases
	@$(BIN)/pytest -q -n 2 --dist worksteal --quick $(ARGS)

test: setup-dev ## Run every check and every test
	@$(MAKE) --jobs=5 gates suite

attack: setup-dev ## Attack all of it with a model that obeys, and print what was blocked
	@$(PYTEST) -q tests/attacks $(ARGS)

check: gates ## Check format, style, types, layers and sizes
	@$(BIN)/pytest -q -rP tests/test_architecture.py tests/test_finished_objects.py tests/test_repository.py

bench: setup-dev ## Measure speed, and print what was measured
	@$(BIN)/python tests/bench $(ARGS)

soak: setup-dev ## Disturb three workers for 15 minutes, and look whether anything was lost
	@$(BIN)/pytest -q -s -n 0 tests/bench/soak.py $(ARGS)

charts: setup-dev ## Draw the pipelines' flowcharts anew
	@$(BIN)/python -m agents.pipelines.flowchart

pictures: setup-dev ## Take the pictures of the pages anew
	@FETTLE_PICTURES=1 $(BIN)/pytest -q -n 0 tests/app/pages/browser/test_screenshots.py

lock: setup-dev ## Resolve the dependencies anew (ARGS=--upgrade: to the newest)
	@$(COMPILE) $(ARGS) pyproject.toml -o requirements.lock
	@$(COMPILE) $(ARGS) pyproject.toml --group dev -c requirements.lock \
		-o requirements-dev.lock
	@$(COMPILE) $(ARGS) pyproject.toml --all-extras -c requirements-dev.lock \
		-o requirements-extras.lock
	@printf 'editables\nhatchling\nuv\n' | $(COMPILE) $(ARGS) - -c requirements-dev.lock \
		-o deploy/requirements-setup.lock
	@printf 'cyclonedx-bom\npip-audit\n' | $(COMPILE) $(ARGS) - -c requirements-dev.lock \
		-o deploy/requirements-audit.lock

sbom: $(AUDIT) ## Write what Fettle is made of to fettle.cdx.json (CycloneDX)
	@$(AUDIT)/cyclonedx-py requirements --pyproject pyproject.toml --mc-type application \
		--output-reproducible -o fettle.cdx.json requirements-extras.lock
	@echo "fettle.cdx.json: $$(grep -c '"purl":' fettle.cdx.json) packages"

audit: $(AUDIT) ## Hold all that is installed against what is known of it (asks the public index)
	@for lock in requirements-dev.lock deploy/requirements-*.lock; do \
		$(AUDIT)/pip-audit --strict --disable-pip --require-hashes --progress-spinner off -r $$lock || exit 1; done

# Apart from what runs and what tests: neither needs these tools.
$(AUDIT): deploy/requirements-audit.lock | setup-runtime
	@rm -rf .cache/audit && $(BIN)/python -m venv .cache/audit
	@$(AUDIT)/pip install --quiet --require-hashes --no-deps -r $<
	@touch $@

clean: ## Remove everything that was made here
	@rm -rf .venv .cache .demo .coverage fettle.cdx.json .*_cache .hypothesis tests/referees/node_modules
	@find . -name __pycache__ -prune -exec rm -rf {} +

gates: types layers format style

format style types layers: setup-dev
format: ; @$(BIN)/ruff format --check .
style: ; @$(BIN)/ruff check .
types: ; @$(BIN)/mypy
layers: ; @$(BIN)/lint-imports

# Types take one processor. The other compiles the tests meanwhile, which each of five would do,
# and begins with them.
suite: read format style layers
	@MAKEFLAGS= $(PYTEST) $(ARGS)

read: setup-dev
	@$(BIN)/pytest -q -n 0 --collect-only >/dev/null 2>&1 || true  # what fails here fails again below

setup-runtime:
	@deploy/setup.sh runtime

setup-dev:
	@deploy/setup.sh dev
