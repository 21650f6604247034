# Two commands for a newcomer: `make train` and `make test`. Both set up what they need.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
NO_DEPS := tests/clients/without_dependencies.txt

.PHONY: train test test-all test-tf215 lint format bench clean

train: $(VENV)/.installed
	$(BIN)/genever train --gin_file flights_wide_deep.gin --model_dir runs/flights_wide_deep

test: $(VENV)/.installed lint
	$(BIN)/python -m pytest tests

test-all: test test-tf215

# The core suite on the oldest supported TensorFlow, which needs Python 3.11 or older.
test-tf215: .venv-tf215/.installed
	.venv-tf215/bin/python -m pytest tests -m core

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/.installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.installed
	$(BIN)/python benchmarks/flights_auc.py

$(VENV)/.installed: setup.py $(NO_DEPS)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -qq --upgrade pip
	$(BIN)/python -m pip install -qq --editable '.[test]'
	$(BIN)/python -m pip install -qq --no-deps --requirement $(NO_DEPS)
	touch $@

.venv-tf215/.installed: setup.py $(NO_DEPS)
	$$(for p in $(PYTHON) python3.11 python3.10; do $$p -c 'import sys; sys.exit(sys.version_info >= (3, 12))' 2>/dev/null && echo $$p && break; done) -m venv .venv-tf215
	.venv-tf215/bin/python -m pip install -qq --upgrade pip
	.venv-tf215/bin/python -m pip install -qq 'tensorflow==2.15.1' --editable '.[test]'
	.venv-tf215/bin/python -m pip install -qq --no-deps --requirement $(NO_DEPS)
	touch $@

clean:
	rm -rf .venv .venv-tf215 build *.egg-info
