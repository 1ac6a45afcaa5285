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

NEW_NAME = {
    "subtaxa.class_queue": "subtaxa.training.class_queue",
    "subtaxa.encoder": "subtaxa.encoders.sentence_encoder",
    "subtaxa.feature_queue": "subtaxa.training.feature_queue",
    "subtaxa.filters": "subtaxa.clustering.filters",
    "subtaxa.losses": "subtaxa.training.losses",
    "subtaxa.momentum": "subtaxa.training.momentum",
    "subtaxa.neighbours": "subtaxa.clustering.neighbours",
    "subtaxa.progress": "subtaxa.runtime.progress",
    "subtaxa.spark": "subtaxa.engines.spark",
    "subtaxa.texts": "subtaxa.data.texts",
    "subtaxa.tokens": "subtaxa.encoders.tokens",
    "subtaxa.views": "subtaxa.encoders.augmentation",
}


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
