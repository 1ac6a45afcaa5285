"""Read the files of a run: run.json, the categories and the assignments, each checked before it is used."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subtaxa.data.raw_files import MAX_FIELD
from subtaxa.data.tables import unescape_formula
from subtaxa.errors import InputError
from subtaxa.runs import schema, staging
from subtaxa.runs.layout import (
    ALL_FILES,
    ASSIGNMENTS,
    CHECKPOINT,
    EDITS,
    FORMAT,
    MANIFEST,
    MODEL,
    RUN,
    SUSPECT_LABELS,
    TAXONOMY,
)
from subtaxa.runs.manifest import digest_of
from subtaxa.runtime import json_files
from subtaxa.taxonomy.categories import Taxonomy

if TYPE_CHECKING:
    from subtaxa.clustering.number_of_categories import CategoryCount

# The columns of the assignments that do not hold strings.
_NUMBERS: dict[str, type] = {"row": int, "category_id": int, "confidence": float}


def read_run(folder: Path) -> dict[str, Any]:
    """The content of run.json, or one sentence on why the folder is not a finished run."""
    if not folder.is_dir():
        raise InputError(f"there is no folder {str(folder)!r}: give the folder that discover wrote")
    staging.recover(folder)
    if not (folder / RUN).is_file():
        unfinished = (folder / CHECKPOINT).exists()
        fix = "it was not finished: run discover again with --resume" if unfinished else f"it has no {RUN}"
        raise InputError(f"{str(folder)!r} is not a finished run: {fix}")
    check_inside(folder)
    facts = read_json(folder / RUN)
    if not isinstance(facts, dict) or facts.get("format") != FORMAT:
        raise InputError(f"{str(folder / RUN)!r} was not written by this version of subtaxa: run discover again")
    _check_shape(folder / RUN, facts, schema.RUN)
    _check_shape(folder / RUN, facts["settings"], schema.SETTINGS)
    if not 0 <= facts["seed"] < 2**31:
        raise InputError(f"{str(folder / RUN)!r} is damaged (the seed is {facts['seed']}): run discover again")
    return facts


def version_of(folder: Path) -> tuple[str, ...]:
    """What changes whenever a command changes the run: the digests of the files that describe it."""
    if not folder.is_dir():
        return ()
    staging.recover(folder)
    paths = (folder / name for name in (MANIFEST, RUN, EDITS))
    return tuple(digest_of(path) if path.is_file() and not path.is_symlink() else "" for path in paths)


def check_inside(folder: Path) -> None:
    """Refuse a run with files that are links or not regular files: edits would write through them."""
    for path in map(folder.joinpath, sorted(ALL_FILES)):
        if path.is_symlink():
            raise InputError(f"{str(path)!r} is a link, which subtaxa does not follow: replace it by a copy")
        if path.exists() and not path.is_file() and path.name not in (MODEL, CHECKPOINT):
            raise InputError(f"{str(path)!r} is not a regular file: run discover again")


def read_json(path: Path) -> Any:
    """The content of a JSON file of a run, or one sentence on why it cannot be read."""
    try:
        return json_files.read_json(path)
    except FileNotFoundError as error:
        raise InputError(f"{str(path)!r} is missing: the run folder is not complete, run discover again") from error
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        raise InputError(f"{str(path)!r} is damaged ({error}): run discover again") from error


def read_taxonomy(folder: Path, name: str = TAXONOMY) -> Taxonomy:
    """The categories in one of the files of a run."""
    rows = read_json(folder / name)
    _check_shape(folder / name, rows, schema.TAXONOMY)
    return Taxonomy.from_dict(rows)


def read_assignments(folder: Path, columns: Sequence[str] = ("row", "text", "label")) -> dict[str, list[Any]]:
    """Some columns of the assignments: numbers as such, everything else as strings."""
    parquet, table = folder / f"{ASSIGNMENTS}.parquet", folder / f"{ASSIGNMENTS}.csv"
    try:
        if parquet.exists():
            import pyarrow.parquet as pq

            found = dict(pq.read_table(parquet, columns=list(columns)).to_pydict())
        else:
            with table.open(encoding="utf-8", newline="") as file:
                csv.field_size_limit(MAX_FIELD + 1)
                rows = [tuple(row[n] for n in columns) for row in csv.DictReader(file)]
            cells = dict(zip(columns, zip(*rows, strict=True) if rows else ((),) * len(columns), strict=True))
            found = {n: list(map(_NUMBERS.get(n, unescape_formula), cells[n])) for n in columns}
    except FileNotFoundError as error:
        raise InputError(f"{str(table)!r} is missing: the run folder is not complete, run discover again") from error
    except (csv.Error, KeyError, TypeError, AttributeError, ValueError, OSError) as error:
        raise InputError(f"the assignments in {str(folder)!r} are damaged ({error}): run discover again") from error
    _check_shape(parquet if parquet.exists() else table, found, {n: [_NUMBERS.get(n, str)] for n in columns})
    return found


def read_category_counts(facts: dict[str, Any]) -> dict[str, CategoryCount]:
    """The number of categories of each label and the plausible range, from run.json."""
    from subtaxa.clustering.number_of_categories import CategoryCount

    try:
        return {
            label: CategoryCount(
                row["chosen"],
                row["low"],
                row["high"],
                tuple((int(k), float(v)) for k, v in row["curve"]),
            )
            for label, row in facts["numbers"].items()
        }
    except ValueError as error:
        raise InputError(f"the curves in {RUN} are damaged ({error}): run discover again") from error


def count_suspects(folder: Path) -> int:
    """How many coarse labels of the run may be wrong."""
    path = folder / SUSPECT_LABELS
    if not path.is_file():
        return 0
    try:
        with path.open(encoding="utf-8", newline="") as file:
            csv.field_size_limit(MAX_FIELD + 1)
            return sum(1 for _ in csv.DictReader(file))
    except (csv.Error, ValueError) as error:
        raise InputError(f"{str(path)!r} is damaged ({error}): run discover again") from error


def _check_shape(path: Path, content: Any, shape: Any) -> None:
    if found := json_files.difference(content, shape):
        raise InputError(f"{str(path)!r} is damaged ({found}): run discover again")
