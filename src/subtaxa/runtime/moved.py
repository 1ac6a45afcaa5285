"""Keeps the module names of 0.1 importable until 0.3.0: `subtaxa.losses` is now `subtaxa.training.losses`.

A finder at the end of `sys.meta_path` handles only names that no other finder knows.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

MOVED = {
    "clustering.neighbours": ("neighbours",),
    "clustering.filters": ("filters",),
    "encoders.augmentation": ("views",),
    "encoders.sentence_encoder": ("encoder",),
    "encoders.tokens": ("tokens",),
    "engines.spark": ("spark",),
    "runtime.progress": ("progress",),
    "data.texts": ("texts",),
    "training.class_queue": ("class_queue",),
    "training.feature_queue": ("feature_queue",),
    "training.losses": ("losses",),
    "training.momentum": ("momentum",),
}
NEW_NAME = {f"subtaxa.{old}": f"subtaxa.{new}" for new, names in MOVED.items() for old in names}


class MovedModules(MetaPathFinder, Loader):
    """Imports the module under its new name and warns that the old name is deprecated."""

    def find_spec(self, fullname: str, path: object = None, target: ModuleType | None = None) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname in NEW_NAME else None

    def exec_module(self, module: ModuleType) -> None:
        new = NEW_NAME[module.__name__]
        warnings.warn(
            f"{module.__name__} is now {new}; the old name will be removed in 0.3.0", DeprecationWarning, stacklevel=2
        )
        sys.modules[module.__name__] = importlib.import_module(new)


def install() -> None:
    """Make the old names importable."""
    if not any(isinstance(finder, MovedModules) for finder in sys.meta_path):
        sys.meta_path.append(MovedModules())
