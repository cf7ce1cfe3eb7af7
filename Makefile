# `make run` and `make test` do all the setting-up they need; see scripts/setup.
DOMAIN ?= pusht
OUT ?= runs/$(DOMAIN)
BIN := .venv/bin

.PHONY: run test speed lint format readme clean

run: .venv/ready
	$(BIN)/vpw run $(DOMAIN) --out $(OUT)

test: .venv/ready
	$(BIN)/pytest
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# How fast programs plan, against their engines; programs that are not there yet are induced first.
speed: .venv/ready
	$(BIN)/python benchmarks/speed.py --programs $(dir $(OUT)) --out $(dir $(OUT))speed.json

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

format: .venv/ready
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The table of results between the README's markers.
readme: .venv/ready
	$(BIN)/python scripts/readme_table

clean:
	rm -rf .venv runs

.venv/ready: requirements.lock pyproject.toml scripts/setup
	@scripts/setup
