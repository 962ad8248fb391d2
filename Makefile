# Two commands do everything on a machine with Python (3.11 or later), a C compiler and make: `make demo` and `make test`.
# Both work in their own virtual environment, .venv; `make PYTHON=python3.12 …` picks the interpreter it is made with.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
NATIVE := $(wildcard src/*.py src/*.pyx src/*.pxd src/*.pxi src/generated/* src/include/fastfilter/* src/kernels/* src/json/*)

.PHONY: help demo test lint tests test-cluster bench bench-quick bench-seed bench-scale bench-workers instructions memory generate clean

help:
	@echo "make demo         build, make a sample corpus, filter both seed examples out of Parquet and JSONL"
	@echo "make test         linters, type checks and the whole test suite"
	@echo "make lint, tests  one half of it each"
	@echo "make test-cluster the same rows from Ray, Spark (needs Java 17) and Dask, on two local workers each"
	@echo "make bench        every case on every engine, into benchmarks/results (an hour at most; wants a quiet machine)"
	@echo "make bench-quick  the headline cases in about two minutes"
	@echo "make bench-seed   the seed example against a bound, with pytest-benchmark"
	@echo "make bench-scale  5 GB of Parquet and 1 GB of JSONL against other engines, with peak memory"
	@echo "make bench-workers Ray, Spark and Dask on one worker and on two"
	@echo "make instructions instructions a row, counted by valgrind, against the committed baseline"
	@echo "make memory       filter 1 GB of Parquet and report the peak memory"
	@echo "make generate     write again what derives from the opcode table"
	@echo "make clean        remove all that was built"

$(VENV)/installed: pyproject.toml setup.py $(NATIVE)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

# The project is installed already, so this installs only what its extras need, and compiles nothing again.
$(VENV)/tools: $(VENV)/installed
	$(BIN)/python -m pip install --quiet 'fastfilter[test,lint]'
	touch $@

demo: $(VENV)/installed
	$(BIN)/python -m examples.demo

test: lint tests

lint: $(VENV)/tools
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict fastfilter
	PATH="$(abspath $(BIN)):$$PATH" cython-lint src/*.pyx src/*.pxi  # it looks for pycodestyle there
	$(BIN)/python -m fastfilter.bytecode.reference --check

tests: $(VENV)/tools
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal --ignore=tests/integrations tests

$(VENV)/cluster: $(VENV)/tools
	$(BIN)/python -m pip install --quiet 'fastfilter[cluster]'
	touch $@

test-cluster: $(VENV)/cluster
	$(BIN)/python -m pytest tests/integrations

$(VENV)/engines: $(VENV)/installed
	$(BIN)/python -m pip install --quiet 'fastfilter[bench]'
	touch $@

bench: $(VENV)/engines
	$(BIN)/python -m benchmarks

bench-quick: $(VENV)/engines
	$(BIN)/python -m benchmarks --quick --out benchmarks/results/quick

bench-seed: $(VENV)/tools
	$(BIN)/python -m pytest benchmarks --benchmark-only

bench-scale: $(VENV)/engines
	$(BIN)/python -m benchmarks.corpus

bench-workers: $(VENV)/cluster
	$(BIN)/python -m benchmarks.workers

instructions: $(VENV)/installed
	$(BIN)/python -m benchmarks.instructions

memory: $(VENV)/tools
	$(BIN)/python -m benchmarks.memory

generate: $(VENV)/tools
	$(BIN)/python -m fastfilter.bytecode.reference

clean:
	rm -rf $(VENV) build dist demo *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -f fastfilter/*.so src/_content.c src/_native.c src/_records.c src/unicode_lower_table.h
