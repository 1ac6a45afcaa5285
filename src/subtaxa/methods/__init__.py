"""One file per method. A module here that defines `VARIANTS = {"name": Class}` is found without further registration.

Methods are also found in the folders listed in the environment variable SUBTAXA_METHODS, and through the entry points
of installed packages in the group "subtaxa.methods".
"""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from subtaxa.errors import SettingError
from subtaxa.settings import PRESETS, Settings

if TYPE_CHECKING:
    from subtaxa.methods.base import Method

VARIABLE = "SUBTAXA_METHODS"
GROUP = "subtaxa.methods"
PLUGINS = list(dict.fromkeys(os.path.abspath(f) for f in os.environ.get(VARIABLE, "").split(os.pathsep) if f))
__path__ += PLUGINS


@cache
def variants() -> dict[str, type[Method]]:
    """Every method by its name. A file or a method whose name is taken raises an error; nothing is skipped silently."""
    found: dict[str, type[Method]] = {}
    files: set[str] = set()
    for folder in __path__:
        if not os.path.isdir(folder):
            raise SettingError(f"{VARIABLE} names {folder!r}, which is not a folder: name a folder of method files")
        for module in sorted(pkgutil.iter_modules([folder]), key=lambda m: m.name):
            path = os.path.join(folder, f"{module.name}.py")
            if module.name in files:
                raise SettingError(f"the method file {path!r} has the name of another: rename it")
            new = _variants_in(module.name, path if folder in PLUGINS else "")
            if taken := found.keys() & new.keys():
                raise SettingError(f"the method file {path!r} has a second {min(taken)!r}: give it another name")
            files.add(module.name)
            found |= new
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        if entry.name in found:
            raise SettingError(f"{_package(entry)} has a second method {entry.name!r}: uninstall it")
        found[entry.name] = _from_package(entry)
    return found


def _variants_in(module: str, plugin: str) -> dict[str, type[Method]]:
    """The methods of a module. A plug-in may fail in any way; the error then names its file."""
    try:
        return dict(getattr(importlib.import_module(f"{__name__}.{module}"), "VARIANTS", {}))
    except Exception as error:
        if not plugin:
            raise
        reason = f"{type(error).__name__}: {error}"
        raise SettingError(
            f"cannot import the method file {plugin!r} ({reason}): correct it or move it away"
        ) from error


def _from_package(entry: EntryPoint) -> type[Method]:
    """The method that an installed package offers."""
    from subtaxa.methods.base import Method

    try:
        method = entry.load()
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise SettingError(
            f"cannot import the method {entry.name!r} of {_package(entry)} ({reason}): update or uninstall it"
        ) from error
    if not isinstance(method, type) or not issubclass(method, Method):
        raise SettingError(
            f"the method {entry.name!r} of {_package(entry)} is {method!r}, not a subclass of Method: uninstall it"
        )
    return method


def _package(entry: EntryPoint) -> str:
    return f"the package {entry.dist.name!r}" if entry.dist is not None else f"the entry point {entry.value!r}"


def method_class(name: str) -> type[Method]:
    """The class of a method, or an error that lists the names."""
    if name not in variants():
        raise SettingError(f"unknown method {name!r}: use {', '.join(variants())}")
    return variants()[name]


def settings_for(preset: str, data: Mapping[str, Any] | None = None, **given: Any) -> Settings:
    """The preset's settings, overridden in turn by those of the data, the method's defaults and the given ones."""
    if preset not in PRESETS:
        return Settings.from_preset(preset)  # This raises an error that lists the presets.
    name = given.get("method") or {**PRESETS["paper"], **PRESETS[preset]}["method"]
    return Settings.from_preset(preset, **{**(data or {}), **method_class(name).defaults, **given})
