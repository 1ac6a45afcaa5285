"""Modules under the names that they had in 0.1."""

from __future__ import annotations

import importlib
import sys

import pytest

from subtaxa.runtime.moved import NEW_NAME

PLUGIN_OF_0_1 = """
from subtaxa.losses import info_nce
from subtaxa.methods.base import Method
from subtaxa.neighbours import retrieve_within
from subtaxa.tokens import Batch
"""


@pytest.mark.parametrize(("old", "new"), NEW_NAME.items())
def test_an_old_name_gives_the_module_at_its_new_place_with_a_warning(
    monkeypatch: pytest.MonkeyPatch, old: str, new: str
) -> None:
    monkeypatch.delitem(sys.modules, old, raising=False)
    with pytest.warns(DeprecationWarning, match=f"^{old} is now {new}; "):
        module = importlib.import_module(old)
    assert module is importlib.import_module(new)
    assert module.__name__ == module.__spec__.name == new
    monkeypatch.delitem(sys.modules, old)


def test_the_imports_of_a_method_file_of_0_1_still_work(monkeypatch: pytest.MonkeyPatch) -> None:
    for old in ("subtaxa.losses", "subtaxa.neighbours", "subtaxa.tokens"):
        monkeypatch.delitem(sys.modules, old, raising=False)
    names: dict[str, object] = {}
    with pytest.warns(DeprecationWarning, match="is now subtaxa"):
        exec(PLUGIN_OF_0_1, names)  # noqa: S102 - the text above
    assert {"info_nce", "retrieve_within", "Batch"} <= names.keys()


def test_a_name_that_never_was_is_not_found() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"subtaxa\.nothing"):
        importlib.import_module("subtaxa.nothing")
