"""One file per method. A module here that defines `VARIANTS = {"name": Class}` is found; nothing else registers it.

The folders in the environment variable SUBTAXA_METHODS are searched too.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from subtaxa.errors import SettingError
from subtaxa.settings import PRESETS, Settings

if TYPE_CHECKING:
    from subtaxa.methods.base import Method

__path__ += [folder for folder in os.environ.get("SUBTAXA_METHODS", "").split(os.pathsep) if folder]


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


def settings_for(preset: str, data: Mapping[str, Any] | None = None, **given: Any) -> Settings:
    """The preset's settings; in their place those of the data, if any, then the method's own, then the given ones."""
    if preset not in PRESETS:
        return Settings.from_preset(preset)  # says which presets there are
    name = given.get("method") or {**PRESETS["paper"], **PRESETS[preset]}["method"]
    return Settings.from_preset(preset, **{**(data or {}), **method_class(name).own, **given})
