"""Small files for the tests of the readers."""

from __future__ import annotations

import io
from pathlib import Path

import pandas as pd

from subtaxa.data.texts import CoarseTexts


def write(tmp_path: Path, name: str, data: bytes | str) -> Path:
    path = tmp_path / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def pairs(read: CoarseTexts) -> tuple[tuple[str, str], ...]:
    return tuple(zip(read.texts, read.labels, strict=True))


def parquet(**columns: object) -> bytes:
    buffer = io.BytesIO()
    pd.DataFrame(columns).to_parquet(buffer)
    return buffer.getvalue()
