# Everything stays inside the checkout: the virtual environment in .venv, caches in .cache, the demo's result in demo.
PYTHON ?= python3
PIP_OPTIONS = --quiet --disable-pip-version-check --no-cache-dir
LOCKED = --require-hashes --no-deps --requirement
export XDG_CACHE_HOME := $(CURDIR)/.cache
export HF_HOME := $(CURDIR)/.cache/huggingface
export HF_HUB_OFFLINE := 1

.PHONY: demo test lint bench soak clean

demo: .venv/installed
	.venv/bin/subtaxa demo --out demo --overwrite

test: .venv/installed
	OMP_NUM_THREADS=1 .venv/bin/python -m pytest --numprocesses logical --dist worksteal

lint: .venv/installed
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy

bench: .venv/installed
	.venv/bin/python benchmarks/speed/speed_page.py ../shared/data

soak: .venv/installed
	.venv/bin/python soak/kill.py
	.venv/bin/pip install $(PIP_OPTIONS) $(LOCKED) requirements-soak.lock
	.venv/bin/python soak/fuzz.py

# Every file that is installed is one whose hash is in a lock. On Linux, torch is the CPU build if pip can find it, else
# PyPI's, a GPU build with gigabytes of further packages.
.venv/installed: pyproject.toml $(wildcard requirements*.lock)
	@echo "Setting up .venv (about two minutes)"
	@$(PYTHON) -m venv .venv
	@{ .venv/bin/pip install $(PIP_OPTIONS) $(LOCKED) requirements.lock && \
	   { .venv/bin/pip install $(PIP_OPTIONS) $(LOCKED) requirements-cpu.lock || \
	     .venv/bin/pip install $(PIP_OPTIONS) $(LOCKED) requirements-cuda.lock; } && \
	   .venv/bin/pip install $(PIP_OPTIONS) --no-deps --no-build-isolation --editable .; \
	 } 2>.venv/pip.log || { cat .venv/pip.log >&2; exit 1; }
	@touch $@

clean:
	rm -rf .venv .cache .mypy_cache .pytest_cache .ruff_cache demo
