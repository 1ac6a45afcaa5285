"""One file per method. A module here that defines `VARIANTS = {"name": Class}` is found; nothing else registers it."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import TYPE_CHECKING

from subtaxa.errors import SettingError

if TYPE_CHECKING:
    from subtaxa.methods.base import Method


@cache
def variants() -> dict[str, type[Method]]:
    """Every method by its name."""
    found: dict[str, type[Method]] = {}
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda m: m.name):
        found |= getattr(importlib.import_module(f"{__name__}.{module.name}"), "VARIANTS", {})
    return found


def method_class(name: str) -> type[Method]:
    """The class of a method, or an error that lists the names."""
    if name not in variants():
        raise SettingError(f"unknown method {name!r}: use {', '.join(variants())}")
    return variants()[name]
