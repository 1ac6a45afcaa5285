"""Named implementations of one interface: the built-in ones and those of installed packages.

A package adds an implementation through a standard entry point, for example in its `pyproject.toml`:

    [project.entry-points."subtaxa.cluster_rules"]
    spectral = "my_package.spectral:SpectralRule"
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, TypeVar

from subtaxa.errors import SettingError

Interface = TypeVar("Interface")


class Registry(Generic[Interface]):
    """The classes that implement an interface, by name. A built-in name cannot be replaced by a package."""

    def __init__(self, kind: str, group: str, built_in: Mapping[str, type[Interface]]) -> None:
        self.kind, self.group, self.built_in = kind, group, built_in

    def names(self) -> list[str]:
        """The built-in names, then those of installed packages in alphabetical order."""
        return [*self.built_in, *sorted(self._installed())]

    def get(self, name: str) -> type[Interface]:
        """The class with this name."""
        if name in self.built_in:
            return self.built_in[name]
        installed = self._installed()
        if name not in installed:
            close = difflib.get_close_matches(name, self.names(), n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"use {', '.join(self.names())}"
            raise SettingError(f"unknown {self.kind} {name!r}: {hint}")
        try:
            found: type[Interface] = installed[name].load()
        except Exception as error:  # whatever the package raises on import
            raise SettingError(
                f"the {self.kind} {name!r} of {installed[name].value!r} cannot be loaded ({error}): "
                "update or uninstall its package"
            ) from error
        return found

    def _installed(self) -> dict[str, EntryPoint]:
        return {point.name: point for point in entry_points(group=self.group) if point.name not in self.built_in}
