"""Arrays on disk: they read back unchanged, and damage leads to one sentence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from subtaxa.errors import SubtaxaError
from subtaxa.runs.array_files import read_arrays, write_arrays


def test_arrays_read_back(tmp_path: Path) -> None:
    arrays = {"x": np.arange(6, dtype=np.float32).reshape(2, 3).T, "keys": np.array([2**64 - 1], dtype=np.uint64)}
    write_arrays(tmp_path / "a.safetensors", arrays)
    found = read_arrays(tmp_path / "a.safetensors")
    assert found.keys() == arrays.keys()
    assert all(np.array_equal(found[name], arrays[name]) for name in arrays)
    assert found["keys"].dtype == np.uint64


@pytest.mark.parametrize("damage", [b"", b"not safetensors", bytes(100)])
def test_damaged_arrays_are_refused(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "a.safetensors").write_bytes(damage)
    with pytest.raises(SubtaxaError, match=r"'.*a\.safetensors' is damaged .*run discover again"):
        read_arrays(tmp_path / "a.safetensors")
