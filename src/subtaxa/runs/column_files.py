"""The other columns of the texts on disk, as a Parquet file of strings. run.json states the kind of each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from subtaxa.data.column_kinds import KINDS
from subtaxa.data.kept_columns import NO_COLUMNS, KeptColumn, KeptColumns
from subtaxa.data.tables import RUN_ASSIGNMENT_COLUMNS
from subtaxa.errors import InputError
from subtaxa.runs.layout import COLUMNS
from subtaxa.runtime.free_memory import available


def write_columns(path: Path, columns: KeptColumns) -> None:
    """Write the columns as a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_arrays([column.values for column in columns], names=list(columns.kinds))
    pq.write_table(table, path, store_schema=False)


def read_columns(folder: Path, facts: Mapping[str, Any], n: int) -> KeptColumns:
    """The columns of a run with `n` texts. A run of an earlier version has none."""
    kinds: dict[str, str] = facts.get("columns", {})
    if not kinds:
        return NO_COLUMNS
    import pyarrow as pa
    import pyarrow.parquet as pq

    path, groups, size = folder / COLUMNS, [], 0
    try:
        with pq.ParquetFile(path, read_dictionary=list(kinds), buffer_size=2**20) as file:
            wrong = file.schema_arrow.names != list(kinds) or file.metadata.num_rows != n
            if wrong or not set(kinds.values()) <= set(KINDS) or not all(map(_is_string, file.schema_arrow.types)):
                raise ValueError("it does not belong to this run")
            for i in range(file.num_row_groups):
                if size + file.metadata.row_group(i).total_byte_size > available():
                    raise InputError(f"{str(path)!r} needs more than the free memory: free some memory")
                groups.append(file.read_row_group(i))
                groups[-1].validate(full=True)
                size += groups[-1].nbytes
        table = pa.concat_tables(groups).unify_dictionaries().combine_chunks()
        arrays = {name: table.column(name).chunk(0) for name in kinds}
    except FileNotFoundError as error:
        raise InputError(f"{str(path)!r} is missing: the run folder is not complete, run discover again") from error
    except (pa.ArrowException, OSError, ValueError, LookupError, ArithmeticError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"{str(path)!r} is damaged ({reason}): run discover again") from error
    return KeptColumns(tuple(KeptColumn(name, kinds[name], array) for name, array in arrays.items()))


def shown_columns(columns: KeptColumns, typed: bool = False) -> dict[str, Any]:
    """The columns as the assignments show them: one with the name of a column of ours gets the prefix input_.

    If they are `typed`, numbers and dates are no strings.
    """
    taken = {*RUN_ASSIGNMENT_COLUMNS, *columns.kinds}
    shown: dict[str, Any] = {}
    for column in columns:
        name = column.name
        while name in RUN_ASSIGNMENT_COLUMNS or (name != column.name and name in taken):
            name = f"input_{name}"
        shown[name] = column.typed() if typed else column.strings()
    return shown


def _is_string(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_dictionary(kind) and pa.types.is_string(kind.value_type))
