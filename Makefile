# Every verb sets up what it needs (virtual environment, locked packages, this package) and then does its job.
# The lock is a plain pip constraints file: one version of everything, installed only where an extra asks for it.
PYTHON ?= $(firstword $(shell command -v python3.11 python3.12 python3.13 python3 python))
VENV ?= .venv
BIN := $(VENV)/bin
JOBS ?= 2
# Workers fill the cores: threads inside them would wait for each other. Tests take few steps in many programs: those are
# compiled soon rather than fast, but where a test says otherwise. Files as they are listed: the long ones come first.
PYTEST := TRADINGBOT_OPTIMISATION=0 OMP_NUM_THREADS=1 POLARS_MAX_THREADS=1 $(BIN)/python -m pytest -q -n $(JOBS) --dist loadfile --no-loadscope-reorder

.PHONY: help install install-demo install-bench install-dev install-docs demo test test-slow bench docs notebooks lint type format coverage mutation audit sbom vulnerabilities lock-check lock-hashes controls clean

help:  ## Show the verbs
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

install: $(if $(EXTRA),$(VENV)/.$(EXTRA),$(VENV)/.base)  ## Install the package; EXTRA=alpaca (yfinance, plot, folds, supervised, train, tracking, serve, trade, tune, cluster, dashboard, alerts, docs, peers, bench, dev) adds an extra
install-demo: $(VENV)/.plot $(VENV)/.serve $(VENV)/.trade
install-bench: $(VENV)/.bench
install-dev: $(VENV)/.dev
install-docs: $(VENV)/.docs

demo: install-demo  ## The whole story on a synthetic market, to a verdict; MARKET=noise has no edge
	$(BIN)/tradingbot demo $(if $(MARKET),--market $(MARKET))

test: install-dev lint type  ## Lint, types and the default test suite
	$(PYTEST) -m "not slow"

test-slow: install-dev  ## The long tests as well
	$(PYTEST) -m slow

bench: install-bench  ## Measure speed against references in the same run
	$(BIN)/tradingbot bench data
	$(BIN)/tradingbot bench simulator

docs: install-docs  ## Build the documentation site into out/site; open out/site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "out/site/index.html"

notebooks: install-dev  ## Execute the notebooks of examples/ again, and keep what they print
	$(BIN)/python docs_site/notebooks.py

lint: install-dev
	$(BIN)/ruff check src tests benchmarks examples docs_site
	$(BIN)/ruff format --check src tests benchmarks examples docs_site

type: install-dev
	$(BIN)/mypy

format: install-dev  ## Format and sort imports
	$(BIN)/ruff check --fix src tests benchmarks examples docs_site
	$(BIN)/ruff format src tests benchmarks examples docs_site

audit: install-dev  ## Secure code, secrets, installed packages against the lock's hashes, known vulnerabilities (skipped offline), bill of materials in out/
	$(BIN)/python benchmarks/audit.py

sbom: install-dev  ## Bill of materials (CycloneDX) of what is installed, in out/
	$(BIN)/python benchmarks/audit.py --only bill

vulnerabilities: install-dev  ## Known vulnerabilities of the locked packages; skipped with the reason offline
	$(BIN)/python benchmarks/audit.py --only vulnerabilities

lock-check: install-dev  ## Every installed file against its package's record, every record against requirements.sha256
	$(BIN)/python benchmarks/lock_hashes.py --files

lock-hashes: install-dev  ## Add the builds that are installed here to requirements.sha256
	$(BIN)/python benchmarks/lock_hashes.py --write

controls: install-dev  ## Run the tests of every control and write docs/reference/controls.md; GROUP=U one table, SLOW=1 the long ones too
	TRADINGBOT_OPTIMISATION=0 OMP_NUM_THREADS=1 $(BIN)/python benchmarks/controls.py --run $(if $(GROUP),--group $(GROUP)) $(if $(SLOW),--slow)

coverage: install-dev  ## Line and branch coverage of the default suite
	$(PYTEST) -m "not slow" --cov=tradingbot --cov-branch --cov-report=term-missing

mutation: install-dev  ## Branch coverage and mutation score of risk, market, runs, statistics; ROOM=risk, SAMPLE=60 (0: all), SEED=1
	$(BIN)/python benchmarks/mutation.py $(if $(ROOM),--room $(ROOM)) $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(SEED),--seed $(SEED))

clean:  ## Remove the environment, caches and the workspace
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis workspace

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.base: $(BIN)/python pyproject.toml requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements.lock -e .
	@touch $@

EXTRAS := plot yfinance alpaca folds supervised train tracking serve trade tune cluster dashboard alerts docs peers bench dev
$(EXTRAS:%=$(VENV)/.%): $(VENV)/.%: $(BIN)/python pyproject.toml requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements.lock -e '.[$*]'
	@touch $@
