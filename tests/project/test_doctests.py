"""The examples in the docstrings of the public API run and print what they show."""

from __future__ import annotations

import doctest
import importlib
import inspect
from pathlib import Path

import pytest

import subtaxa

MODULES = ("assign", "data.texts", "discovery", "errors", "settings", "taxonomy.categories")


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(f"subtaxa.{name}")
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failed, _ = doctest.testmod(module, optionflags=options, report=True)
    assert failed == 0


def public_callables() -> list[str]:
    """Return the public functions and classes, except errors, which nobody calls."""
    values = {name: getattr(subtaxa, name) for name in subtaxa.__all__}
    return [n for n, v in values.items() if callable(v) and not (inspect.isclass(v) and issubclass(v, Exception))]


@pytest.mark.parametrize("name", public_callables())
def test_every_public_callable_has_an_example(name: str) -> None:
    found = doctest.DocTestFinder(recurse=False).find(getattr(subtaxa, name), name)
    assert any(test.examples for test in found), f"{name} has no example in its docstring"
    assert "Examples\n    --------" in (getattr(subtaxa, name).__doc__ or "")
