"""The tests mirror the rooms of the package, and CONTRIBUTING.md names every room."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "subtaxa"
ROOMS = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}


def test_each_room_has_a_folder_of_tests() -> None:
    folders = {path.name for path in (ROOT / "tests").iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders == {*ROOMS, "helpers", "project"}


def test_helpers_of_tests_are_in_one_place() -> None:
    others = {path.relative_to(ROOT / "tests") for path in (ROOT / "tests").rglob("*.py")}
    others = {path for path in others if path.parts[0] != "helpers" and not path.name.startswith("test_")}
    assert {path.name for path in others} == {"conftest.py"}


def test_contributing_names_every_room() -> None:
    table = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    assert {room for room in ROOMS if f"`{room}/`" not in table} == set()
    assert len([path for path in PACKAGE.glob("*.py") if path.name != "__init__.py"]) <= 8
