"""subtaxa finds the fine-grained categories hidden inside coarse labels."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from subtaxa.runtime.moved import install as _install_old_names
from subtaxa.runtime.version import __version__ as __version__

if TYPE_CHECKING:
    from subtaxa.data.texts import CoarseTexts, read_texts
    from subtaxa.discovery import Discovery
    from subtaxa.errors import InputError, SettingError, SubtaxaError
    from subtaxa.settings import Settings
    from subtaxa.taxonomy.categories import Category, Taxonomy

__all__ = [
    "Category",
    "CoarseTexts",
    "Discovery",
    "InputError",
    "SettingError",
    "Settings",
    "SubtaxaError",
    "Taxonomy",
    "read_texts",
]

_HOME = {
    "Category": "taxonomy.categories",
    "CoarseTexts": "data.texts",
    "Discovery": "discovery",
    "InputError": "errors",
    "SettingError": "errors",
    "Settings": "settings",
    "SubtaxaError": "errors",
    "Taxonomy": "taxonomy.categories",
    "read_texts": "data.texts",
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used, so that `import subtaxa` stays fast (no torch)."""
    if name in _HOME:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


_install_old_names()
