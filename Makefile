# Etalon: `make demo` runs everything once, `make test` proves it. Needs Python 3.11 and make, nothing else.
SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help setup demo test test-spark quick unit generate explore fuzz-api lint audit bench docs serve dev clean

ETALON_HOME ?= $(CURDIR)/.etalon
export ETALON_HOME
BIN := .venv/bin
# The groups of packages beside those of an installation; none in an image.
SYNC_GROUPS ?= --group dev
STAMP := .venv/.synced
COMPILED := dbt/target/manifest.json
KERNELS := .venv/lib/etalon/.compiled
# Tests wait for servers and disks: a process more than there are cores fills that time.
# Rewriting the tests' assertions is half of collecting them: what pytest made of them is kept.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder

help: ## list what can be made
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 10

setup: $(STAMP) $(COMPILED) $(KERNELS) ## make the virtual environment from the lock file
	@$(BIN)/python -m compileall -q expectations ingest model pipelines serve state

$(STAMP): uv.lock pyproject.toml
	@uv=$$(sh .ci/uv) && UV_PYTHON_DOWNLOADS=never UV_PROJECT_ENVIRONMENT=.venv "$$uv" sync --locked $(SYNC_GROUPS) --compile-bytecode $(if $(PYTHON),--python $(PYTHON))
	@touch $@

# For every state folder without metrics of its own.
$(COMPILED): $(STAMP) pipelines/building/project.py $(shell find dbt -path dbt/target -prune -o -name '*.sql' -print -o -name '*.yml' -print)
	@$(BIN)/python -m pipelines.building.project

# Where every command looks for the machine code of loops, whatever its state folder. What has not changed is not compiled again.
$(KERNELS): $(STAMP) $(shell find ingest model/network state/kernels.py -name '*.py')
	@$(BIN)/python -m pipelines.kernels
	@mkdir -p $(@D) && touch $@

demo: setup ## published benchmarks in, a calibrated capacity answer out (3 minutes)
	@$(BIN)/etalon demo

test: setup ## import rules and all tests
	$(PYTEST)

test-spark: setup ## builds on a Spark cluster of processes; needs Java 17
	@uv=$$(sh .ci/uv) && UV_PYTHON_DOWNLOADS=never UV_PROJECT_ENVIRONMENT=.venv-spark "$$uv" sync --locked --no-default-groups --group test --group spark
	PYTHONPATH=$(CURDIR) .venv-spark/bin/pytest tests/spark

quick: setup ## short examples of ingest and model; no warehouse, no simulation, no property tests
	$(PYTEST) -m quick tests/ingest tests/model

unit: setup ## dbt unit tests of one model: make unit MODEL=fct_service_class
	@$(BIN)/python -m pipelines.unit_tests $(MODEL)

# Two pages show a published snapshot: DATABASE is that of `make demo`.
generate: setup ## all generated files; with DATABASE=SNAPSHOT, pages of a snapshot too
	$(BIN)/python -m ingest.schema --write
	$(BIN)/python -m pipelines.contracts --write
	$(BIN)/python -m pipelines.dictionary --write $(if $(DATABASE),--database $(DATABASE))
	$(if $(DATABASE),$(BIN)/python -m pipelines.questions $(DATABASE))

explore: setup ## property tests with new random examples, ROUNDS times (3)
	@for round in $$(seq $(or $(ROUNDS),3)); do \
		$(PYTEST) -m hypothesis --hypothesis-profile explore || exit 1; \
	done

fuzz-api: setup ## the service against its own description (schemathesis, five minutes; after make demo)
	@uv=$$(sh .ci/uv) && $(BIN)/python -m tests.fuzz.api "$$uv"

lint: setup ## style, types and import rules
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

audit: setup ## known vulnerabilities of the locked dependencies (asks osv.dev)
	@.ci/audit

bench: setup ## measured speeds
	$(BIN)/python -m benchmarks

docs: setup ## the documentation site, in site/
	$(BIN)/mkdocs build --quiet

serve: setup ## the HTTP service and the planner's page
	$(BIN)/etalon serve

dev: setup ## the pipelines with their web interface
	$(BIN)/dagster dev

clean: ## remove the virtual environments, caches and state
	rm -rf .venv .venv-spark .venv-tools .etalon site dbt/target .pytest_cache .hypothesis .mypy_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
