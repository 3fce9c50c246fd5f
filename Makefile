# Every target builds .venv itself when it is missing or older than pyproject.toml:
# a machine with python3 (3.11 or newer) and make needs nothing else.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo readme test test-all test-peers browser lint format bench clean

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "driftglm needs Python 3.11 or newer; set PYTHON=python3.11")'
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[plot,report,parquet,test,lint]'
	touch $@

demo: $(READY)
	$(BIN)/driftglm demo --out demo-output

# The demo's table and the picture of its report, for README.md.
readme: $(READY)
	$(BIN)/python docs/tools/readme_demo.py

test: $(READY)
	$(BIN)/python -m pytest --ignore=tests/browser

test-all: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[oracle]'
	$(BIN)/python -m pytest -m ''

# The only target that installs something outside of $(VENV): chromium, where there is none.
SUDO := $(if $(filter 0,$(shell id -u)),,sudo)

browser: $(READY)
	command -v chromium > /dev/null || { $(SUDO) apt-get update && $(SUDO) apt-get install --yes chromium; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[report,browser]'
	DRIFTGLM_BROWSER=required $(BIN)/python -m pytest tests/browser

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell src tests docs benchmarks README.md CONTRIBUTING.md CHANGELOG.md

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Some peers need an older numpy, so benchmarks have an environment of their own.
BENCH := .venv-bench
BENCH_READY := $(BENCH)/.ready

$(BENCH_READY): pyproject.toml
	$(PYTHON) -m venv --clear $(BENCH)
	$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	touch $@

bench: $(BENCH_READY)
	$(BENCH)/bin/python benchmarks/peers.py --write docs/results/peers.md

# Adapters are skipped by `make test`, whose environment has none of the peers.
test-peers: $(BENCH_READY)
	$(BENCH)/bin/python -m pytest tests/unit/test_peers.py tests/unit/test_peers_running.py

clean:
	rm -rf $(VENV) $(BENCH) .pytest_cache .ruff_cache .mypy_cache .hypothesis .import_linter_cache .bench-results
