"""Arrays on disk, as safetensors files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subtaxa.errors import InputError, SubtaxaError
from subtaxa.runtime.free_memory import available


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays as a safetensors file."""
    from safetensors.numpy import save

    path.write_bytes(save({name: np.ascontiguousarray(array) for name, array in arrays.items()}))


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of a safetensors file, all finite, or one sentence on why it cannot be read."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        if path.stat().st_size > available():
            raise InputError(f"{str(path)!r} is larger than the free memory: free some memory, or run discover again")
        arrays = load(path.read_bytes())
    except FileNotFoundError as error:
        raise InputError(f"{str(path)!r} is missing: the run folder is not complete, run discover again") from error
    except (SafetensorError, KeyError, TypeError) as error:
        raise SubtaxaError(f"{str(path)!r} is damaged ({error}): run discover again") from error
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise InputError(f"{str(path)!r} holds NaN or infinity in {name[:40]!r}: run discover again")
    return arrays
