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

VARIABLE = "SUBTAXA_METHODS"
PLUGINS = list(dict.fromkeys(os.path.abspath(f) for f in os.environ.get(VARIABLE, "").split(os.pathsep) if f))
__path__ += PLUGINS


@cache
def variants() -> dict[str, type[Method]]:
    """Every method by its name. A file with one of our names, or with a method of one, is refused, not passed over."""
    found: dict[str, type[Method]] = {}
    files: set[str] = set()
    for folder in __path__:
        if not os.path.isdir(folder):
            raise SettingError(f"{VARIABLE} names {folder!r}: it must be a folder of method files")
        for module in sorted(pkgutil.iter_modules([folder]), key=lambda m: m.name):
            path = os.path.join(folder, f"{module.name}.py")
            if module.name in files:
                raise SettingError(f"the method file {path!r} has the name of another: rename it")
            new = _variants_in(module.name, path if folder in PLUGINS else "")
            if taken := found.keys() & new.keys():
                raise SettingError(f"the method file {path!r} has a second {min(taken)!r}: give it another name")
            files.add(module.name)
            found |= new
    return found


def _variants_in(module: str, plugin: str) -> dict[str, type[Method]]:
    """What a module offers. A plug-in may fail in any way that a program can: that is told in a sentence."""
    try:
        return dict(getattr(importlib.import_module(f"{__name__}.{module}"), "VARIANTS", {}))
    except Exception as error:
        if not plugin:
            raise
        reason = f"{type(error).__name__}: {error}"
        raise SettingError(
            f"cannot import the method file {plugin!r} ({reason}): correct it or move it away"
        ) from error


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
