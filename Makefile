# The two commands a newcomer needs: `make demo` and `make test`. Everything else is for those who change the code.
.DEFAULT_GOAL := help
.PHONY: help setup demo test test-fast check ci bench figures docs native clean
SHELL := /bin/sh

# Real environments that must load unchanged; where the folder is absent the tests say so.
CORPUS ?= ../shared
export CORPUS

PY := .venv/bin/python
PYTEST := $(PY) -m pytest

help:
	@echo 'make demo       set up everything, let an agent solve six tasks on a real desktop, print the table'
	@echo 'make test       all tests but the long ones'
	@echo 'make setup      system packages, .venv and native programs; instant when nothing changed'
	@echo 'make check      formatting, lint, types and layers; under a minute'
	@echo 'make test-fast  unit tests and the architecture; under five minutes'
	@echo 'make bench      measure and print, assert nothing'
	@echo 'make figures    the long measurements, written to docs/reference/figures/'
	@echo 'make ci         all that CI runs'

setup:
	@tools/setup.sh

demo: setup
	@.venv/bin/gym-anything benchmark all --benchmark desktop_basics --agent oracle --fast-io --parallel 2 \
		--exp demo --expect passed $(ARGS)

# Unit tests share the cores; what drives real worlds has them to itself.
test: setup
	$(PYTEST) -m unit -n 2 --dist loadscope $(ARGS)
	$(PYTEST) -m 'not unit and not soak' $(ARGS)

test-fast: setup
	$(PYTEST) -m unit -n 2 --dist loadscope $(ARGS)

check: setup
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	$(PY) -m mypy
	.venv/bin/lint-imports --no-cache

# The native programs under the sanitizers: their own tests, and real guests and desktops.
native: setup
	$(MAKE) -s -C native test SANITIZE=1
	SANITIZE=1 $(PYTEST) -q tests/integration/guest tests/integration/desktop/test_wire_abuse.py

bench: setup
	$(PY) -m tests.bench.figures --print $(ARGS)

figures: setup
	$(PY) -m tests.bench.figures --write $(ARGS)

docs: setup
	$(PY) -m tools.reference

ci:
	bash .ci/run

clean:
	rm -rf .venv native/build build dist .pytest_cache .mypy_cache .ruff_cache
