"""Old module names, for one release: `subtaxa.losses` is now `subtaxa.training.losses`, and so on.

A finder at the end of `sys.meta_path` answers only for names that nothing else found. To be removed in 0.3.0.
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
    """Gives the module at its new place for its old name, with a word about it."""

    def find_spec(self, fullname: str, path: object = None, target: ModuleType | None = None) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname in NEW_NAME else None

    def exec_module(self, module: ModuleType) -> None:
        new = NEW_NAME[module.__name__]
        warnings.warn(f"{module.__name__} is now {new}; the old name goes in 0.3.0", DeprecationWarning, stacklevel=2)
        sys.modules[module.__name__] = importlib.import_module(new)


def install() -> None:
    """Answer for the old names from now on."""
    if not any(isinstance(finder, MovedModules) for finder in sys.meta_path):
        sys.meta_path.append(MovedModules())
