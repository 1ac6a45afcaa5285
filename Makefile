# Everything stays inside the checkout: the virtual environment in .venv, caches in .cache, the demo's result in demo.
PYTHON ?= python3
PIP_OPTIONS = --quiet --disable-pip-version-check --no-cache-dir --constraint constraints.txt
export XDG_CACHE_HOME := $(CURDIR)/.cache
export HF_HOME := $(CURDIR)/.cache/huggingface
export HF_HUB_OFFLINE := 1

.PHONY: demo test lint bench soak clean

demo: .venv/installed
	.venv/bin/subtaxa demo --out demo --overwrite

test: .venv/installed
	.venv/bin/python -m pytest

lint: .venv/installed
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy

bench: .venv/installed
	.venv/bin/python benchmarks/speed_page.py ../shared/data

soak: .venv/installed
	.venv/bin/python soak/kill.py

.venv/installed: pyproject.toml constraints.txt
	@echo "Setting up .venv (about two minutes)"
	@$(PYTHON) -m venv .venv
	@.venv/bin/pip install $(PIP_OPTIONS) --editable '.[dev]' 2>.venv/pip.log || { cat .venv/pip.log >&2; exit 1; }
	@touch $@

clean:
	rm -rf .venv .cache .mypy_cache .pytest_cache .ruff_cache demo
