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

Implementation = TypeVar("Implementation")


class Registry(Generic[Implementation]):
    """The implementations of an interface, by name. A package is imported only when its implementation is used."""

    def __init__(self, kind: str, group: str, built_in: Mapping[str, Implementation]) -> None:
        self.kind, self.group, self.built_in = kind, group, built_in

    def names(self) -> list[str]:
        """The built-in names, then those of installed packages in alphabetical order."""
        return [*self.built_in, *sorted(self.installed())]

    def get(self, name: str) -> Implementation:
        """The implementation with this name."""
        if name in self.built_in:
            return self.built_in[name]
        installed = self.installed()
        if name not in installed:
            close = difflib.get_close_matches(name, self.names(), n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"use {', '.join(self.names())}"
            raise SettingError(f"unknown {self.kind} {name!r}: {hint}")
        try:
            found: Implementation = installed[name].load()
        except Exception as error:  # A package may raise anything on import.
            reason = f"{type(error).__name__}: {error}"
            raise SettingError(
                f"the {self.kind} {name!r} of {installed[name].value!r} cannot be loaded ({reason}): "
                "update or uninstall its package"
            ) from error
        return found

    def installed(self) -> dict[str, EntryPoint]:
        """The entry points of installed packages, by name. A name that is already in use is an error."""
        found: dict[str, EntryPoint] = {}
        for point in entry_points(group=self.group):
            if point.name in found or point.name in self.built_in:
                raise SettingError(
                    f"the {self.kind} name {point.name!r} is used twice: uninstall the package with {point.value!r}"
                )
            found[point.name] = point
        return found
