"""WorkingTaxonomy a corpus of Parquet files on a Ray cluster, by Ray Data.

A partition is a few row groups of one input file. A worker reads it chunk by chunk, files the texts and writes one
output file, whole or not at all: no worker holds more than a chunk, the next partition is handed out when a worker is
free (Ray Data's back-pressure), and a run that was stopped goes on with the partitions that are not there yet.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subtaxa.assign import Assigner
from subtaxa.data.tables import write_frames
from subtaxa.data.texts import iter_tables, resolve_text_column
from subtaxa.engines.ray_start import connected
from subtaxa.errors import InputError, SubtaxaError
from subtaxa.runs import layout
from subtaxa.runtime.atomic_files import whole_file, write_whole
from subtaxa.runtime.json_files import json_text
from subtaxa.runtime.progress import Progress

if TYPE_CHECKING:
    import pandas as pd
    from ray.data import Dataset

ROWS = 100_000  # of a partition, unless a single row group has more
CHUNK = 10_000  # rows that a worker holds
IDENTITY = "_subtaxa.json"  # what the files beside it were made with; readers of Parquet folders pass it by


@dataclass(frozen=True)
class Partition:
    """Some row groups of an input file, and the file that their rows go to."""

    path: str
    row_groups: list[int]
    rows: int
    out: str

    def done(self) -> bool:
        """Whether the output is there with as many rows."""
        import pyarrow.parquet as pq

        return Path(self.out).exists() and pq.read_metadata(self.out).num_rows == self.rows


@dataclass(frozen=True)
class RayAssign:
    """How a corpus is filed: by how many workers, and where."""

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
        overwrite: bool,
        progress: Progress,
    ) -> tuple[int, int]:
        """File the rows of all files of the pattern into `out`; how many rows, and how many partitions were there."""
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
        yield from items.map(_FilePartition, fn_constructor_args=given, **_pool(needed)).iter_rows()


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
    """A `ray.data` dataset with the category columns of `subtaxa assign`, for a pipeline of one's own.

    Each worker takes a CPU; the rest of the pipeline needs some, too.
    """
    return dataset.map_batches(
        _FileBatch,
        fn_constructor_args=(str(Path(run).resolve()), text, label),
        batch_size=batch_size,
        batch_format="pandas",
        **_pool(RayAssign(workers, gpus_per_worker)),
    )


def plan(pattern: str, out: Path, text: str | None, label: str | None) -> list[Partition]:
    """The partitions of all files, of which only the footers are read; the folders below the pattern's are kept."""
    paths = sorted(map(Path, glob.glob(pattern, recursive=True)))
    if not paths:
        raise InputError(f"there is no file {pattern!r}: give Parquet files, in quotes, like 'corpus/*.parquet'")
    root = os.path.dirname(re.split(r"[*?\[]", pattern)[0])  # of the part without wildcards
    partitions = []
    for path in paths:
        columns, sizes = _footer(path)
        resolve_text_column(columns, text, str(path))
        if label is not None and label not in columns:
            raise InputError(f"there is no column {label!r} in {path}, only {', '.join(columns)}")
        target = (out / path.relative_to(root)).resolve()
        for groups in _grouped(sizes):
            name = f"{path.stem}-{groups[0]:05d}.parquet"
            rows = sum(sizes[group] for group in groups)
            partitions.append(Partition(str(path.resolve()), groups, rows, str(target.with_name(name))))
    return partitions


def _footer(path: Path) -> tuple[list[str], list[int]]:
    """The columns of a Parquet file, and how many rows each of its row groups has."""
    import pyarrow.parquet as pq

    if path.suffix.lower() != ".parquet":
        raise InputError(f"{path} is not Parquet, which --engine ray reads: convert it, or leave --engine out")
    try:
        with pq.ParquetFile(path) as file:
            groups = range(file.num_row_groups)
            return file.schema_arrow.names, [file.metadata.row_group(i).num_rows for i in groups]
    except (OSError, ValueError) as error:
        raise InputError(f"{path} is not a complete Parquet file; write it again") from error


def _grouped(sizes: list[int]) -> Iterator[list[int]]:
    """Successive row groups, by their number, that have about `ROWS` rows together; empty ones are left out."""
    groups: list[int] = []
    for number, size in enumerate(sizes):
        if groups and sum(sizes[group] for group in groups) + size > ROWS:
            yield groups
            groups = []
        if size:
            groups.append(number)
    if groups:
        yield groups


def _open(out: Path, identity: dict[str, Any], overwrite: bool) -> None:
    """Make the folder; one that holds anything else than an earlier part of the same work is refused."""
    if out.exists() and not out.is_dir():
        raise InputError(f"{str(out)!r} is a file: name a folder")
    file = out / IDENTITY
    if out.exists() and any(out.iterdir()) and not file.exists():
        raise InputError(f"{str(out)!r} holds other files: name a new folder")
    if file.exists() and not overwrite and layout.read_json(file) != identity:
        raise InputError(
            f"{str(out)!r} was begun with another run or other columns: name a new folder or add --overwrite"
        )
    out.mkdir(parents=True, exist_ok=True)
    write_whole(file, json_text(identity).encode())


def _identity(run: Path, text: str | None, label: str | None) -> dict[str, Any]:
    layout.read_run(run)  # a folder that is no run is refused
    digest = hashlib.sha256(b"".join((run / name).read_bytes() for name in (layout.TAXONOMY, layout.CLUSTERS)))
    return {"run": digest.hexdigest(), "text": text, "label": label}


def _pool(engine: RayAssign) -> dict[str, Any]:
    """Actors that load the run once each."""
    import ray

    gpus = {"num_gpus": engine.gpus_per_worker} if engine.gpus_per_worker else {}
    return {"compute": ray.data.ActorPoolStrategy(size=engine.workers), "num_cpus": 1, **gpus}


class _FileBatch:
    """In a worker: frames with their category columns."""

    def __init__(self, run: str, text: str | None, label: str | None) -> None:
        import torch

        self.text, self.label, self.assigner = text, label, Assigner(Path(run))
        if torch.cuda.is_available():
            self.assigner.model.encoder_.to(torch.device("cuda"))

    def __call__(self, frame: pd.DataFrame) -> pd.DataFrame:
        return self.assigner.with_categories(frame, str(self.text), self.label)


class _FilePartition(_FileBatch):
    """In a worker: one partition from file to file. A user error is an answer; the others are Ray's to handle."""

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:  # type: ignore[override]
        partition = Partition(**row)
        try:
            return {"rows": self._file(partition), "error": ""}
        except SubtaxaError as error:
            return {"rows": 0, "error": str(error)}

    def _file(self, partition: Partition) -> int:
        target, groups = Path(partition.out), [int(group) for group in partition.row_groups]
        frames = iter_tables(partition.path, self.text, chunk_rows=CHUNK, row_groups=groups)
        target.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(target) as sink:
            return write_frames((self._filed(frame, partition) for frame in frames), sink, ".parquet")

    def _filed(self, frame: pd.DataFrame, partition: Partition) -> pd.DataFrame:
        column = resolve_text_column(list(map(str, frame.columns)), self.text, partition.path)
        return self.assigner.with_categories(frame, column, self.label)
