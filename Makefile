# Every target builds .venv itself when it is missing or older than pyproject.toml:
# a machine with python3 (3.11 or newer) and make needs nothing else.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

PIP := -m pip install --quiet --disable-pip-version-check

.PHONY: torture demo readme test test-all test-peers test-oldest browser lint format bench docs docs-fast docs-browser wheel wheel-test review clean

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "driftglm needs Python 3.11 or newer; set PYTHON=python3.11")'
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python $(PIP) --upgrade 'pip>=25.1'
	$(BIN)/python $(PIP) -e '.[plot,report,parquet]' --group test --group lint
	touch $@

demo: $(READY)
	$(BIN)/driftglm demo --out demo-output

# The demo's table and the picture of its report, for README.md.
readme: $(READY)
	$(BIN)/python docs/tools/readme_demo.py

# Two processes, each with one thread of BLAS; the one that is done first takes over from the other.
WORKERS ?= 2
PARALLEL := -n $(WORKERS) --dist worksteal
# Tests start many processes, so bytecode is kept even where the environment says otherwise.
TESTING := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=

test: $(READY)
	$(TESTING) $(BIN)/python -m pytest --ignore=tests/browser $(PARALLEL)

test-all: $(READY)
	$(BIN)/python $(PIP) --group oracle
	$(BIN)/python -m pytest -m ''

# The only target that installs something outside of $(VENV): chromium, where there is none.
SUDO := $(if $(filter 0,$(shell id -u)),,sudo)

browser: $(READY)
	command -v chromium > /dev/null || { $(SUDO) apt-get update && $(SUDO) apt-get install --yes chromium; }
	$(BIN)/python $(PIP) --group browser
	DRIFTGLM_BROWSER=required $(BIN)/python -m pytest tests/browser

# Bad calls, mutated files, nasty problems, kills, a full disk; SHARE=0.05 runs a twentieth.
SHARE ?= 1
torture: $(READY)
	$(BIN)/python benchmarks/torture/run.py --jobs 2 --share $(SHARE)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell src tests docs benchmarks tools changelog.d *.md
	$(BIN)/python tools/changelog.py check

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Some peers need an older numpy, so benchmarks have an environment of their own.
BENCH := .venv-bench
BENCH_READY := $(BENCH)/.ready

$(BENCH_READY): pyproject.toml
	$(PYTHON) -m venv --clear $(BENCH)
	$(BENCH)/bin/python $(PIP) --upgrade 'pip>=25.1'
	$(BENCH)/bin/python $(PIP) -e . --group bench
	touch $@

bench: $(BENCH_READY)
	$(BENCH)/bin/python benchmarks/peers.py --write docs/results/peers.md

# Adapters are skipped by `make test`, whose environment has none of the peers.
test-peers: $(BENCH_READY)
	$(BENCH)/bin/python -m pytest tests/unit/test_peers.py tests/unit/test_peers_running.py

# The site, in an environment of its own; a warning is an error, and every example is run.
DOCS := .venv-docs
DOCS_READY := $(DOCS)/.ready
SITE := build/site/dev

$(DOCS_READY): pyproject.toml
	$(PYTHON) -m venv --clear $(DOCS)
	$(DOCS)/bin/python $(PIP) --upgrade 'pip>=25.1'
	$(DOCS)/bin/python $(PIP) -e . --group docs
	touch $@

docs: $(DOCS_READY)
	rm -rf $(SITE) docs/tutorials docs/examples docs/backreferences
	$(DOCS)/bin/sphinx-build --fail-on-warning --keep-going -q -b html docs $(SITE)
	@echo "open $(SITE)/index.html"

# The pages without the examples, in about a minute: for those who write them, and before a change lands.
docs-fast: $(DOCS_READY)
	DRIFTGLM_DOCS=fast $(DOCS)/bin/sphinx-build --fail-on-warning --keep-going -q -b html docs build/site/fast

# What `make docs` made, in chromium: errors, network, accessibility; pictures in build/screenshots.
docs-browser: $(READY)
	$(BIN)/python $(PIP) --group browser
	DRIFTGLM_SITE=$(SITE) DRIFTGLM_BROWSER=required $(BIN)/python -m pytest tests/browser/test_site.py

# The core of the suite against the oldest versions that pyproject.toml allows.
OLDEST := .venv-oldest
OLDEST_READY := $(OLDEST)/.ready

# Before 1.9, scikit-learn reads names of columns by a protocol that polars 2 no longer has.
$(OLDEST_READY): pyproject.toml tools/floors.py
	$(PYTHON) -m venv --clear $(OLDEST)
	$(OLDEST)/bin/python $(PIP) --upgrade 'pip>=25.1'
	$(OLDEST)/bin/python tools/floors.py > $(OLDEST)/oldest.txt
	$(OLDEST)/bin/python $(PIP) -e '.[plot,report,parquet,excel,formula]' --group test 'polars<2' -c $(OLDEST)/oldest.txt
	touch $@

# What old packages do to new ones beneath them, and are told not to, is not ours.
AGED := -W "ignore:'click.utils:DeprecationWarning" -W ignore::pyparsing.warnings.PyparsingDeprecationWarning

test-oldest: $(OLDEST_READY)
	$(TESTING) $(OLDEST)/bin/python -m pytest -p no:cacheprovider $(AGED) -m 'not slow and not newest' \
		$(PARALLEL) tests/unit tests/oracle tests/cli

# Sdist and wheel, and what a user without rights and without the repository makes of each.
WHEEL := .venv-wheel
WHEEL_READY := $(WHEEL)/.ready

$(WHEEL_READY): pyproject.toml
	$(PYTHON) -m venv --clear $(WHEEL)
	$(WHEEL)/bin/python $(PIP) --upgrade 'pip>=25.1'
	$(WHEEL)/bin/python $(PIP) --group wheel
	touch $@

wheel: $(WHEEL_READY)
	rm -rf dist
	$(WHEEL)/bin/python -m build --outdir dist .
	$(WHEEL)/bin/twine check --strict dist/*

wheel-test: wheel
	PYTHON=$(PYTHON) tools/wheel_test.sh dist

# What reviewers of Python projects look for. Exceptions, each with its reason, are in pyproject.toml.
review: $(READY)
	$(BIN)/python $(PIP) --group review
	$(BIN)/sp-repo-review .
	$(BIN)/zizmor --offline --persona=pedantic .github/workflows
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff

clean:
	rm -rf $(VENV) $(BENCH) $(DOCS) $(OLDEST) $(WHEEL) build dist .pytest_cache .ruff_cache .mypy_cache .hypothesis .import_linter_cache .bench-results
