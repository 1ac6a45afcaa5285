"""Version, citation, changelog and workflows say the same."""

from __future__ import annotations

import re
from pathlib import Path

import subtaxa

ROOT = Path(__file__).parents[2]


def test_the_version_is_the_same_everywhere() -> None:
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert re.findall(r"^version: (.+)$", citation, re.M) == [subtaxa.__version__]
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert re.findall(r"^## (\S+)", changelog, re.M)[0] == subtaxa.__version__


def test_the_workflows_run_the_checks_and_publish_without_a_token() -> None:
    tests = (ROOT / ".github" / "workflows" / "tests.yml").read_text("utf-8")
    assert "run: .ci/run" in tests
    publish = (ROOT / ".github" / "workflows" / "publish.yml").read_text("utf-8")
    assert "pypa/gh-action-pypi-publish" in publish
    assert "id-token: write" in publish
    assert "secrets." not in publish


def test_every_make_target_of_the_checks_exists() -> None:
    targets = re.findall(r"^make --no-print-directory (\w+)$", (ROOT / ".ci" / "run").read_text("utf-8"), re.M)
    assert targets == ["test", "lint", "docs"]
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert all(re.search(rf"^{target}: ", makefile, re.M) for target in targets)
