# Everything stays inside the checkout: the environment in .venv, caches in .cache, the demo's run in demo, the site in site.
PYTHON ?= python3
PIP_OPTIONS = --quiet --disable-pip-version-check --no-cache-dir
LOCKED = --require-hashes --no-deps --requirement
export XDG_CACHE_HOME := $(CURDIR)/.cache
export HF_HOME := $(CURDIR)/.cache/huggingface
export HF_HUB_OFFLINE := 1
export IPYTHONDIR := $(CURDIR)/.cache/ipython

.PHONY: demo test coverage lint docs bench soak clean

demo: .venv/installed
	.venv/bin/subtaxa demo --out demo --overwrite

test: .venv/installed
	OMP_NUM_THREADS=1 .venv/bin/python -m pytest --numprocesses logical --dist worksteal

coverage: .venv/installed
	OMP_NUM_THREADS=1 .venv/bin/python -m pytest --numprocesses logical --dist worksteal --cov --cov-report=term

lint: .venv/installed
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports --no-cache

docs: .venv/docs
	NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict --quiet
	@echo "The site is in site/index.html"

bench: .venv/installed
	.venv/bin/python benchmarks/speed/speed_page.py ../shared/data

soak: .venv/installed
	.venv/bin/python soak/kill.py
	OMP_NUM_THREADS=1 .venv/bin/python soak/kill_writes.py
	OMP_NUM_THREADS=1 .venv/bin/python soak/evil.py
	OMP_NUM_THREADS=1 .venv/bin/python soak/load.py
	.venv/bin/pip install $(PIP_OPTIONS) $(LOCKED) requirements-soak.lock
	.venv/bin/python soak/fuzz.py

# pip installs only files whose hash is in a lock file. On Linux it takes the CPU build of torch if it finds one,
# otherwise PyPI's GPU build, which needs gigabytes of further packages.
.venv/installed: pyproject.toml $(wildcard requirements*.lock)
	@echo "Setting up .venv (about two minutes)"
	@$(PYTHON) -m venv .venv
	@{ .venv/bin/pip install $(PIP_OPTIONS) $(LOCKED) requirements.lock && \
	   { .venv/bin/pip install $(PIP_OPTIONS) $(LOCKED) requirements-cpu.lock || \
	     .venv/bin/pip install $(PIP_OPTIONS) $(LOCKED) requirements-cuda.lock; } && \
	   .venv/bin/pip install $(PIP_OPTIONS) --no-deps --no-build-isolation --editable .; \
	 } 2>.venv/pip.log || { cat .venv/pip.log >&2; exit 1; }
	@touch $@

.venv/docs: .venv/installed requirements-docs.lock
	@.venv/bin/pip install $(PIP_OPTIONS) $(LOCKED) requirements-docs.lock
	@touch $@

clean:
	rm -rf .venv .cache .mypy_cache .pytest_cache .ruff_cache demo site
