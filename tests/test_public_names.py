"""What `import subtaxa` offers: every public name, and nothing heavy until it is used."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys

import pytest

import subtaxa

HEAVY = ("torch", "numpy", "pandas", "sklearn", "pyarrow", "scipy", "transformers")


@pytest.mark.parametrize("name", subtaxa.__all__)
def test_every_public_name_can_be_imported(name: str) -> None:
    assert getattr(subtaxa, name).__doc__


def test_the_public_names_are_those_that_are_documented() -> None:
    assert subtaxa.__all__ == sorted(subtaxa.__all__)
    assert set(subtaxa.__all__) == {
        *("Discovery", "Taxonomy", "Category", "CoarseTexts", "Settings", "read_texts"),
        *("SubtaxaError", "InputError", "SettingError"),
    }
    assert set(subtaxa.__all__) <= set(dir(subtaxa))
    with pytest.raises(AttributeError, match="no attribute 'Discoverer'"):
        subtaxa.Discoverer  # noqa: B018


def test_import_loads_nothing_heavy() -> None:
    code = f"import subtaxa, sys; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_version_is_that_of_the_package() -> None:
    assert importlib.metadata.version("subtaxa") == subtaxa.__version__
