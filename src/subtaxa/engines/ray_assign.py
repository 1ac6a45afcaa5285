"""Assign a corpus of Parquet files on a Ray cluster, with Ray Data.

A partition is a few row groups of one input file. A worker reads it chunk by chunk, assigns the texts and writes one
output file, whole or not at all. No worker holds more than a chunk. A worker gets its next partition when it is free
(Ray Data's back-pressure). A run that was stopped continues with the partitions that have no output file yet.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subtaxa.assign import Assigner
from subtaxa.data.columns import text_and_known_label, unused_names
from subtaxa.data.readers import ParquetReader
from subtaxa.data.tables import write_tables
from subtaxa.data.values import is_missing
from subtaxa.engines.ray_start import connected
from subtaxa.errors import InputError, SubtaxaError
from subtaxa.runs import layout, reading
from subtaxa.runtime.atomic_files import whole_file, write_whole
from subtaxa.runtime.json_files import json_text
from subtaxa.runtime.progress import Progress

if TYPE_CHECKING:
    import pandas as pd
    from ray.data import Dataset

PARTITION_ROWS = 100_000  # The largest number of rows of a partition, unless one row group has more.
CHUNK_ROWS = 10_000  # The number of rows that a worker holds.
IDENTITY = "_subtaxa.json"  # What the output files were made with. Readers of Parquet folders ignore the leading "_".


@dataclass(frozen=True)
class Partition:
    """Some row groups of an input file, and the output file for their rows."""

    path: str
    row_groups: list[int]
    rows: int
    out: str

    def done(self) -> bool:
        """Whether the output file exists and has as many rows."""
        import pyarrow.parquet as pq

        return Path(self.out).exists() and pq.read_metadata(self.out).num_rows == self.rows


@dataclass(frozen=True)
class RayAssign:
    """The number of Ray workers that assign a corpus, and the address of the cluster."""

    workers: int = 2
    gpus_per_worker: int = 0
    address: str | None = None

    def assign_files(
        self,
        run: Path,
        pattern: str,
        out: Path,
        *,
        text: str | None,
        label: str | None,
        keep: Sequence[str] | None = None,
        overwrite: bool,
        progress: Progress,
    ) -> tuple[int, int]:
        """Assign the rows of all files that match the pattern, and write them to the folder `out`.

        Returns the number of rows, and the number of partitions that an earlier run had already written.
        """
        if keep is not None:
            raise InputError("--keep works on one machine only: leave out --keep or --engine ray")
        partitions = plan(pattern, out, text, label)
        _open(out, _identity(run, text, label), overwrite)
        left = [partition for partition in partitions if overwrite or not partition.done()]
        total = sum(partition.rows for partition in left)
        with connected(self.address, self.workers), progress.step("Assigning the texts", total) as step:
            for done in self._results(left, run, text, label):
                if done["error"]:
                    raise InputError(done["error"])
                step.advance(done["rows"])
        return total, len(partitions) - len(left)

    def _results(
        self, left: list[Partition], run: Path, text: str | None, label: str | None
    ) -> Iterator[dict[str, Any]]:
        if not left:
            return
        import ray

        ray.data.DataContext.get_current().enable_progress_bars = False
        items = ray.data.from_items([asdict(partition) for partition in left], override_num_blocks=len(left))
        given = (str(run.resolve()), text, label)
        needed = replace(self, workers=min(self.workers, len(left)))
        yield from items.map(_AssignPartition, fn_constructor_args=given, **_pool(needed)).iter_rows()


def assign_dataset(
    dataset: Dataset,
    run: str | Path,
    *,
    text: str = "text",
    label: str | None = None,
    workers: int = 2,
    gpus_per_worker: int = 0,
    batch_size: int = 1024,
) -> Dataset:
    """Add the assignment columns of `subtaxa assign` to a `ray.data` dataset in your own pipeline.

    Each worker takes one CPU; leave some for the rest of the pipeline.
    """
    return dataset.map_batches(
        _AssignBatch,
        fn_constructor_args=(str(Path(run).resolve()), text, label),
        batch_size=batch_size,
        batch_format="pandas",
        **_pool(RayAssign(workers, gpus_per_worker)),
    )


def plan(pattern: str, out: Path, text: str | None, label: str | None) -> list[Partition]:
    """The partitions of all files. Only the footers are read. Subfolders are kept in the output."""
    paths = sorted(map(Path, glob.glob(pattern, recursive=True)))
    if not paths:
        raise InputError(f"there is no file {pattern!r}: give Parquet files, in quotes, like 'corpus/*.parquet'")
    root = os.path.dirname(re.split(r"[*?\[]", pattern)[0])  # The folder before the first wildcard.
    partitions = []
    for path in paths:
        columns, sizes = _footer(path)
        text_and_known_label(columns, text, label, str(path))
        target = (out / path.relative_to(root)).resolve()
        for groups in _grouped(sizes):
            name = f"{path.stem}-{groups[0]:05d}.parquet"
            rows = sum(sizes[group] for group in groups)
            partitions.append(Partition(str(path.resolve()), groups, rows, str(target.with_name(name))))
    return partitions


def _footer(path: Path) -> tuple[list[str], list[int]]:
    """The columns of a Parquet file, and the number of rows of each row group."""
    import pyarrow.parquet as pq

    if path.suffix.lower() != ".parquet":
        raise InputError(f"{path} is not a Parquet file, which --engine ray needs: convert it, or omit --engine")
    try:
        with pq.ParquetFile(path) as file:
            groups = range(file.num_row_groups)
            return file.schema_arrow.names, [file.metadata.row_group(i).num_rows for i in groups]
    except (OSError, ValueError) as error:
        raise InputError(f"{path} is not a complete Parquet file: write it again") from error


def _grouped(sizes: list[int]) -> Iterator[list[int]]:
    """Lists of adjacent row groups with at most `PARTITION_ROWS` rows in total. Empty row groups are left out."""
    groups: list[int] = []
    for number, size in enumerate(sizes):
        if groups and sum(sizes[group] for group in groups) + size > PARTITION_ROWS:
            yield groups
            groups = []
        if size:
            groups.append(number)
    if groups:
        yield groups


def _open(out: Path, identity: dict[str, Any], overwrite: bool) -> None:
    """Create the output folder. An existing folder must be empty or hold a part of the same output."""
    if out.exists() and not out.is_dir():
        raise InputError(f"{str(out)!r} is a file: name a folder")
    file = out / IDENTITY
    if out.exists() and any(out.iterdir()) and not file.exists():
        raise InputError(f"{str(out)!r} holds other files: name a new folder")
    if file.exists() and not overwrite and reading.read_json(file) != identity:
        raise InputError(
            f"{str(out)!r} was started with another run or other columns: name a new folder or add --overwrite"
        )
    out.mkdir(parents=True, exist_ok=True)
    write_whole(file, json_text(identity).encode())


def _identity(run: Path, text: str | None, label: str | None) -> dict[str, Any]:
    reading.read_run(run)  # A folder that is not a run is refused.
    digest = hashlib.sha256(b"".join((run / name).read_bytes() for name in (layout.TAXONOMY, layout.CLUSTERS)))
    return {"run": digest.hexdigest(), "text": text, "label": label}


def _pool(engine: RayAssign) -> dict[str, Any]:
    """Options of Ray Data for a pool of actors, each of which loads the run once."""
    import ray

    gpus = {"num_gpus": engine.gpus_per_worker} if engine.gpus_per_worker else {}
    return {"compute": ray.data.ActorPoolStrategy(size=engine.workers), "num_cpus": 1, **gpus}


class _AssignBatch:
    """In a worker: adds the assignment columns to DataFrames."""

    def __init__(self, run: str, text: str | None, label: str | None) -> None:
        import torch

        self.text, self.label, self.assigner = text, label, Assigner(Path(run))
        if torch.cuda.is_available():
            self.assigner.model.encoder_.to(torch.device("cuda"))

    def __call__(self, frame: pd.DataFrame) -> pd.DataFrame:
        text, label = text_and_known_label(map(str, frame.columns), self.text, self.label, "the dataset")
        texts = ["" if is_missing(value) else str(value) for value in frame[text]]
        labels = None if label is None else [str(value).strip() for value in frame[label]]
        found = self.assigner.assign(texts, labels)
        names = unused_names(found, frame.columns)
        return frame.assign(**{names[name]: values for name, values in found.items()})


class _AssignPartition(_AssignBatch):
    """In a worker: reads a partition and writes its output file. User errors are returned; Ray handles all others."""

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:  # type: ignore[override]
        partition = Partition(**row)
        try:
            return {"rows": self._assign(partition), "error": ""}
        except SubtaxaError as error:
            return {"rows": 0, "error": str(error)}

    def _assign(self, partition: Partition) -> int:
        target = Path(partition.out)
        reader = ParquetReader(Path(partition.path), [int(group) for group in partition.row_groups])
        text, label = text_and_known_label(reader.columns, self.text, self.label, reader.name)
        tables = (self.assigner.assign_table(table, text, label) for table in reader.tables(text, CHUNK_ROWS))
        target.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(target) as sink:
            return write_tables(tables, sink, ".parquet")
