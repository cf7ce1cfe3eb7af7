# `make run` and `make test` do all the setting-up they need; see scripts/setup.
WORLD ?= pusht
TESTS := pytest --numprocesses auto --dist loadfile -rs
# What the lower bounds in pyproject.toml are tested with: a minute or two of everything that a program needs.
CORE := tests/cli tests/laws tests/plan tests/program tests/trace tests/world tests/test_extras.py \
	$(addprefix tests/induction/test_,fields.py fit.py reward.py select.py)
BIN := .venv/bin

.PHONY: run test browser oldest quick speed lint format readme docs clean

# WORLD is a domain, a Gymnasium id, a dm_control task or a log; what is made lies in runs/.
run: .venv/ready
	$(BIN)/vpw run $(WORLD)

test: lint browser
	$(BIN)/$(TESTS)
	@$(MAKE) --no-print-directory oldest

# Chromium for the tests of pages, where it can be installed.
browser:
	@scripts/setup browser

# The core with the oldest versions of what it needs.
oldest: .venv-oldest/ready
	test ! -d .venv-oldest || .venv-oldest/bin/$(TESTS) -m "not slow" $(CORE)

# For people who change code: all tests that were measured to be fast; see tests/slow.txt.
quick: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/$(TESTS) -m "not slow"

# How fast programs plan, against their engines; programs that are not there yet are induced first.
speed: .venv/ready
	$(BIN)/python benchmarks/speed.py --programs runs --out runs/speed.json

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

format: .venv/ready
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The tables of results between the markers of the README and the docs.
readme: .venv/ready
	$(BIN)/python scripts/fill_tables

# The documentation as a site, in site/; builds offline.
docs: .venv/ready
	$(BIN)/mkdocs build --strict --quiet

clean:
	rm -rf .venv .venv-oldest runs site

.venv/ready: requirements.lock pyproject.toml scripts/setup
	@scripts/setup

.venv-oldest/ready: requirements-oldest.lock pyproject.toml scripts/setup
	@scripts/setup oldest
