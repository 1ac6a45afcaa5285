"""Every installed package is pinned, every pin has hashes, and every licence is listed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCKS = [f"requirements{part}.lock" for part in ("", "-cpu", "-cuda", "-docs", "-soak")]


def pins(name: str) -> dict[str, str]:
    """Return the version of each package in a file of pins."""
    found = re.findall(r"^([\w.-]+)==([^\s;]+)", (ROOT / name).read_text("utf-8"), re.M)
    return {re.sub(r"[-_.]+", "-", package).lower(): version for package, version in found}


@pytest.mark.parametrize("name", LOCKS)
def test_every_pin_has_hashes(name: str) -> None:
    blocks = re.split(r"\n(?=[^\s#])", (ROOT / name).read_text("utf-8"))[1:]
    assert len(blocks) == len(pins(name)) > 0
    for block in blocks:
        head, *hashes = block.strip().split(" \\\n")
        assert re.match(r"[\w.-]+==\S+", head)
        assert hashes
        assert all(re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}", line) for line in hashes)


def test_the_locks_hold_what_the_constraints_say() -> None:
    locked = {name: version for lock in LOCKS for name, version in pins(lock).items()}
    for name, version in pins("constraints.txt").items():
        assert locked[name].partition("+")[0] == version, name


def test_make_installs_nothing_without_a_hash() -> None:
    """Every pip of the Makefile checks hashes, except the one that installs this checkout without dependencies."""
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert "LOCKED = --require-hashes --no-deps --requirement" in makefile
    installs = re.findall(r"pip install \$\(PIP_OPTIONS\) (.*)", makefile)
    assert len(installs) == 6
    for options in installs:
        assert options.startswith(("$(LOCKED) requirements", "--no-deps --no-build-isolation --editable ."))


def test_every_licence_is_listed() -> None:
    text = (ROOT / "docs" / "reference" / "licences.md").read_text("utf-8")
    assert "UNKNOWN" not in text
    assert "d3.min.js" in text
    for name, version in {**pins("requirements.lock"), **pins("requirements-docs.lock")}.items():
        assert re.search(rf"^\| {name} \| {re.escape(version)} \| .+ \|$", text, re.M | re.I), name
