# The two commands a newcomer needs: `make demo` and `make test`. Everything else is for those who change the code.
.DEFAULT_GOAL := help
.PHONY: help setup setup-test demo test test-failed test-fast check ci bench figures docs native clean
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
	@echo 'make test-failed  what failed in the last `make test`, alone'
	@echo 'make test-fast  unit tests and the architecture; under five minutes'
	@echo 'make bench      measure and print, assert nothing'
	@echo 'make figures    the long measurements, written to docs/reference/figures/'
	@echo 'make worlds     the same six tasks in every world, one table; fails when one is missing'
	@echo 'make ci         all that CI runs'

setup:
	@tools/setup.sh

setup-test:
	@tools/setup.sh test

demo: setup
	@.venv/bin/gym-anything benchmark all --benchmark desktop_basics --split demo --agent oracle --fast-io --parallel 2 \
		--exp demo --expect passed $(ARGS)

# For a machine with two cores: real worlds do not get into each other's way and wait a quarter of their time, so there
# are three processes of them. Emulated machines take turns (tests/turns.py).
test: setup-test
	@rm -f .failed-tests; failed=0; set -x; \
	$(PYTEST) -m unit -n 2 --dist loadscope $(ARGS) || failed=1; \
	$(PYTEST) -m 'not unit and not soak' -n 3 --dist loadscope $(ARGS) || failed=1; \
	exit $$failed

# What failed in the last `make test`, one after another (tests/failed_list.py).
test-failed:
	mv .failed-tests .failed-tests.again && $(PYTEST) $(ARGS) @.failed-tests.again

test-fast: setup-test
	$(PYTEST) -m unit -n 2 --dist loadscope $(ARGS)

check: setup-test
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	$(PY) -m mypy
	.venv/bin/lint-imports --no-cache

# The native programs under the sanitizers: their own tests, and real guests and desktops.
native: setup-test
	$(MAKE) -s -C native test SANITIZE=1
	$(MAKE) -s -C native test-arm
	SANITIZE=1 $(PYTEST) -q tests/integration/guest tests/integration/desktop/test_wire_abuse.py

bench: setup-test
	$(PY) -m tests.bench.figures --print $(ARGS)

figures: setup-test
	$(PY) -m tests.bench.figures --write $(ARGS)

# The benchmark's solution in every world. What it finds must agree with the record that the docs show.
worlds: setup-test
	$(PY) -m tools.worlds_table

docs: setup
	$(PY) -m tools.reference

ci:
	bash .ci/run

clean:
	rm -rf .venv native/build build dist .pytest_cache .mypy_cache .ruff_cache
