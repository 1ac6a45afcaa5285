"""Tables that are written for a user: CSV, TSV, JSON Lines and Parquet."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

# A spreadsheet runs a cell that begins with one of these. Such cells get a leading apostrophe, which reading takes off.
_DANGEROUS = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")  # noqa: RUF001


def neutral(cell: str) -> str:
    """The cell as a spreadsheet may safely open it."""
    return f"'{cell}" if _DANGEROUS.match(cell) else cell


def original(cell: str) -> str:
    """What `neutral` was given."""
    return cell[1:] if cell.startswith("'") and _DANGEROUS.match(cell[1:]) else cell


def csv_text(columns: Mapping[str, Any]) -> str:
    """Columns as CSV; strings are neutralised, lone surrogates replaced."""
    out = io.StringIO(newline="")
    rows = [[neutral(name) for name in columns]]
    rows += map(list, zip(*([_cell(value) for value in values] for values in columns.values()), strict=True))
    csv.writer(out, lineterminator="\n", quoting=quoting(cell for row in rows for cell in row)).writerows(rows)
    return out.getvalue().encode("utf-8", "replace").decode("utf-8")


def quoting(cells: Iterable[Any]) -> Literal[0, 2]:
    """How to quote: with lines that end in \\n, Python 3.11 leaves a lone \\r bare, which would break the row."""
    torn = any(isinstance(cell, str) and "\r" in cell for cell in cells)
    return csv.QUOTE_NONNUMERIC if torn else csv.QUOTE_MINIMAL


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return neutral(value)
    if isinstance(value, (float, np.floating)):
        return f"{value:.4f}"
    return value


def parquet_bytes(columns: Mapping[str, Any]) -> bytes:
    """Columns as Parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    clean = {
        name: [v.encode("utf-8", "replace").decode() if isinstance(v, str) else v for v in values]
        for name, values in columns.items()
    }
    out = io.BytesIO()
    pq.write_table(pa.table(clean), out)
    return out.getvalue()


def write_frames(frames: Iterator[pd.DataFrame], sink: IO[bytes], kind: str) -> int:
    """Write the frames one after the other in the format of the file's ending."""
    count, writer = 0, None
    for frame in frames:
        if kind == ".parquet":
            import pyarrow as pa
            import pyarrow.parquet as pq

            table = pa.Table.from_pandas(frame, preserve_index=False)
            writer = writer or pq.ParquetWriter(sink, table.schema)
            writer.write_table(table.cast(writer.schema))
        elif kind == ".jsonl":
            sink.write(frame.to_json(orient="records", lines=True, force_ascii=False).encode("utf-8", "replace"))
        else:
            safe = frame.map(lambda value: neutral(value) if isinstance(value, str) else value)
            safe.columns = [neutral(str(name)) for name in safe.columns]
            lines = safe.to_csv(
                index=False,
                header=count == 0,
                sep="," if kind == ".csv" else "\t",
                lineterminator="\n",
                quoting=quoting(cell for cells in (safe.columns, *safe.to_numpy()) for cell in cells),
            )
            sink.write(lines.encode("utf-8", "replace"))
        count += len(frame)
    if writer is not None:
        writer.close()
    return count
