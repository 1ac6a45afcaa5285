"""The run folder: the names of its files, its checks, and how its files are written and read.

run/
  categories.csv        one row per category
  assignments.csv       one row per text (assignments.parquet if the input was Parquet)
  report.html           the page to look at
  run.json              settings, versions, seed, timings, fingerprint of the data
  model/                the trained encoder, which SentenceTransformer loads
  taxonomy.json         the categories
  clusters.safetensors  centroids, labels, confidences and the map
  features.safetensors  the features of all texts, in the order of the assignments
  words.safetensors     the vocabulary, if words count beside the features
  suspect_labels.csv    coarse labels that may be wrong
  edits.jsonl           the edits made since training, if there are any
  trained.json          the categories before these edits
  edits-before.jsonl    the edits made before the last `update`, for reading only
  model-int8.onnx       the export for `assign --backend onnx-int8`, once it was used
  model-int8.json       the digests of the model that was exported
  checkpoint/           the state of an unfinished training
"""

from __future__ import annotations

import csv
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subtaxa.data.raw_files import MAX_FIELD
from subtaxa.data.tables import unescape_formula
from subtaxa.errors import InputError, SubtaxaError
from subtaxa.runs import schema
from subtaxa.runtime import json_files
from subtaxa.runtime.folder_lock import check_is_folder
from subtaxa.runtime.free_memory import available
from subtaxa.taxonomy.categories import Taxonomy

if TYPE_CHECKING:
    from subtaxa.clustering.number_of_categories import CategoryCount

RUN, TAXONOMY, CLUSTERS, MODEL, REPORT = "run.json", "taxonomy.json", "clusters.safetensors", "model", "report.html"
FEATURES, EDITS, TRAINED = "features.safetensors", "edits.jsonl", "trained.json"
EARLIER_EDITS = "edits-before.jsonl"
WORDS = "words.safetensors"
CATEGORIES, ASSIGNMENTS = "categories.csv", "assignments"
CHECKPOINT, SUSPECTS = "checkpoint", "suspect_labels.csv"
GRAPH, GRAPH_NOTE = "model-int8.onnx", "model-int8.json"
OURS = {RUN, TAXONOMY, CLUSTERS, MODEL, REPORT, CATEGORIES, f"{ASSIGNMENTS}.csv", f"{ASSIGNMENTS}.parquet", CHECKPOINT}
OURS |= {FEATURES, WORDS, EDITS, EARLIER_EDITS, TRAINED, SUSPECTS, GRAPH, GRAPH_NOTE}
FORMAT = 3


def check_target(folder: Path, *, overwrite: bool, resume: bool) -> None:
    """Refuse a folder that is not empty, unless it holds a run that the caller may overwrite or resume."""
    check_is_folder(folder)
    inside = {path.name for path in folder.iterdir() if not path.name.startswith(".")} if folder.exists() else set()
    if not inside:
        return
    foreign = sorted(inside - OURS)
    if foreign:
        raise InputError(f"{str(folder)!r} holds other files ({foreign[0]!r}): name a new folder for the run")
    if not (overwrite or resume):
        raise InputError(f"{str(folder)!r} already holds a run: name a new folder, or add --overwrite or --resume")


def clear(folder: Path, names: set[str] = OURS) -> None:
    """Remove the files of a run and nothing else."""
    for name in names:
        path = folder / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files of processes that were killed while writing."""
    for stage in folder.glob(".writing-*"):
        shutil.rmtree(stage)
    for name in OURS:
        for file in folder.glob(f".{name}-*"):
            file.unlink()


@contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """A hidden folder for a whole result. It is moved into place at the end, or removed on failure.

    `run.json` is moved last: a folder that holds it is complete.
    """
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    remove_leftovers(folder)
    stage = Path(tempfile.mkdtemp(dir=folder, prefix=".writing-"))
    try:
        yield stage
        _sync(stage)
        # From here on, the files of an earlier run are replaced.
        (folder / RUN).unlink(missing_ok=True)
        clear(folder, OURS - {CHECKPOINT} - {path.name for path in stage.iterdir()})
        for path in sorted(stage.iterdir(), key=lambda p: p.name == RUN):
            target = folder / path.name
            if target.is_dir() and not target.is_symlink():
                shutil.rmtree(target)
            os.replace(path, target)
    except BaseException:
        shutil.rmtree(stage, ignore_errors=True)
        for path in made:
            if path.is_dir() and not any(path.iterdir()):
                path.rmdir()
        raise
    stage.rmdir()


def _sync(stage: Path) -> None:
    for path in stage.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays as a safetensors file."""
    from safetensors.numpy import save

    path.write_bytes(save({name: np.ascontiguousarray(array) for name, array in arrays.items()}))


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of a safetensors file, or one sentence on why it cannot be read."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        if path.stat().st_size > available():
            raise InputError(f"{str(path)!r} is larger than the free memory: free some memory, or run discover again")
        return load(path.read_bytes())
    except FileNotFoundError as error:
        raise InputError(f"{str(path)!r} is missing: the run folder is not complete, run discover again") from error
    except (
        SafetensorError,
        KeyError,
        TypeError,
    ) as error:
        raise SubtaxaError(f"{str(path)!r} is damaged ({error}): run discover again") from error


def read_run(folder: Path) -> dict[str, Any]:
    """The content of run.json, or one sentence on why the folder is not a finished run."""
    if not folder.is_dir():
        raise InputError(f"there is no folder {str(folder)!r}: give the folder that discover wrote")
    if not (folder / RUN).is_file():
        unfinished = (folder / CHECKPOINT).exists()
        fix = "it was not finished: run discover again with --resume" if unfinished else f"it has no {RUN}"
        raise InputError(f"{str(folder)!r} is not a finished run: {fix}")
    check_inside(folder)
    facts = read_json(folder / RUN)
    if not isinstance(facts, dict) or facts.get("format") != FORMAT:
        raise InputError(f"{str(folder / RUN)!r} was not written by this version of subtaxa: run discover again")
    _check_shape(folder / RUN, facts, schema.RUN)
    return facts


def check_inside(folder: Path) -> None:
    """Refuse a run with files that are links to elsewhere, or not regular files: edits would write through them."""
    for path in map(folder.joinpath, sorted(OURS)):
        if path.is_symlink() and not path.resolve().is_relative_to(folder.resolve()):
            raise InputError(f"{str(path)!r} links to a place outside the run folder: replace the link by a copy")
        if path.exists() and not path.is_file() and path.name not in (MODEL, CHECKPOINT):
            raise InputError(f"{str(path)!r} is not a regular file: run discover again")


def read_json(path: Path) -> Any:
    try:
        return json_files.read_json(path)
    except FileNotFoundError as error:
        raise InputError(f"{str(path)!r} is missing: the run folder is not complete, run discover again") from error
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        raise InputError(f"{str(path)!r} is damaged ({error}): run discover again") from error


def _check_shape(path: Path, content: Any, shape: Any) -> None:
    if found := json_files.difference(content, shape):
        raise InputError(f"{str(path)!r} is damaged ({found}): run discover again")


def read_taxonomy(folder: Path, name: str = TAXONOMY) -> Taxonomy:
    """The categories in one of the files of a run."""
    rows = read_json(folder / name)
    _check_shape(folder / name, rows, schema.TAXONOMY)
    return Taxonomy.from_dict(rows)


def read_assignments(folder: Path) -> dict[str, list[Any]]:
    """The row, text and label of every text of the run, as in the user's file."""
    return _assignment_rows(folder, ["row", "text", "label"])


def _assignment_rows(folder: Path, columns: list[str]) -> dict[str, list[Any]]:
    """Some columns of the assignments: rows as integers, everything else as strings."""
    parquet, table = folder / f"{ASSIGNMENTS}.parquet", folder / f"{ASSIGNMENTS}.csv"
    try:
        if parquet.exists():
            import pyarrow.parquet as pq

            found = dict(pq.read_table(parquet, columns=columns).to_pydict())
        else:
            with table.open(encoding="utf-8", newline="") as file:
                csv.field_size_limit(MAX_FIELD + 1)
                rows = list(csv.DictReader(file))
            found = {n: [int(row[n]) if n == "row" else unescape_formula(row[n]) for row in rows] for n in columns}
    except FileNotFoundError as error:
        raise InputError(f"{str(table)!r} is missing: the run folder is not complete, run discover again") from error
    except (csv.Error, KeyError, TypeError, AttributeError, ValueError, OSError) as error:
        raise InputError(f"the assignments in {str(folder)!r} are damaged ({error}): run discover again") from error
    _check_shape(parquet if parquet.exists() else table, found, {n: [int if n == "row" else str] for n in columns})
    return found


def read_numbers(facts: dict[str, Any]) -> dict[str, CategoryCount]:
    """The number of categories of each label and the plausible range, from run.json."""
    from subtaxa.clustering.number_of_categories import CategoryCount

    try:
        return {
            label: CategoryCount(
                row["chosen"],
                row["low"],
                row["high"],
                tuple((int(k), float(v)) for k, v in row["curve"]),
                row.get("even", False),
            )
            for label, row in facts["numbers"].items()
        }
    except ValueError as error:
        raise InputError(f"the curves in {RUN} are damaged ({error}): run discover again") from error


def outlier_lines(folder: Path) -> list[str]:
    """A line with the number of outliers, then one line per outlier: row, label, category and text."""
    rows = _assignment_rows(folder, ["row", "text", "label", "category", "outlier"])
    lines = [
        f"{row}\t{label}\t{category}\t{' '.join(text.split())}"
        for row, text, label, category, out in zip(*rows.values(), strict=True)
        if out == "yes"
    ]
    return [f"{len(lines):,} of {len(rows['row']):,} texts fit nowhere: row, label, category, text", *lines]


def clear_checkpoint(folder: Path) -> None:
    """Remove the checkpoint, and the run folder if nothing else is in it."""
    shutil.rmtree(folder / CHECKPOINT, ignore_errors=True)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
