"""Garbage collection is as before after the libraries were loaded."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from subtaxa.runtime.imports import without_garbage_collection


@pytest.fixture(autouse=True)
def enabled() -> Iterator[None]:
    yield
    gc.enable()


def fail() -> None:
    assert not gc.isenabled()
    raise ImportError


def test_it_is_off_inside_and_on_again_after_an_error() -> None:
    with pytest.raises(ImportError), without_garbage_collection():
        fail()
    assert gc.isenabled()


def test_it_stays_off_where_it_was_off() -> None:
    gc.disable()
    with without_garbage_collection():
        pass
    assert not gc.isenabled()
