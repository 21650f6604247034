# Two commands for a newcomer: `make train` and `make test`. Both set up what they need.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
NO_DEPS := tests/clients/without_dependencies.txt

.PHONY: train test test-all test-tf215 test-cross test-faults test-nightly matrix lint format bench clean

train: $(VENV)/.installed
	$(BIN)/genever train --gin_file flights_wide_deep.gin --model_dir runs/flights_wide_deep

test: $(VENV)/.installed lint
	$(BIN)/python -m pytest tests -m 'not nightly'

test-all: test test-nightly test-tf215 test-cross test-faults

test-nightly: $(VENV)/.installed
	$(BIN)/python -m pytest tests -m nightly

# Kills tasks of local clusters at random, thirty times in each mode; `make test` has a sample.
test-faults: $(VENV)/.installed
	$(BIN)/python tests/launch/fault_suite.py --mode parameter-servers --kills 30
	$(BIN)/python tests/launch/fault_suite.py --mode multi-worker --kills 30

# The core suite on the oldest supported TensorFlow, which needs Python 3.11 or older.
test-tf215: .venv-tf215/.installed
	.venv-tf215/bin/python -m pytest tests -m 'core and not nightly'

# Checkpoints and SavedModels of each of the two TensorFlows, read by the other.
test-cross: $(VENV)/.installed .venv-tf215/.installed
	$(BIN)/python tests/versions/cross_version.py $(BIN)/python .venv-tf215/bin/python

# A smoke run on TensorFlow 2.16 to 2.21; MATRIX_PYTHONS='/opt/a/python3.10 …' names Pythons that
# are not on PATH.
matrix:
	$(PYTHON) tests/versions/matrix.py

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/.installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.installed
	$(BIN)/python benchmarks/flights_auc.py

$(VENV)/.installed: setup.py $(NO_DEPS)
	@echo "Setting up $(VENV), which takes a minute or two"
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
	rm -rf .venv .venv-tf215 .venv-matrix-* build *.egg-info
