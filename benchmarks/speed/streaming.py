"""Memory of `subtaxa assign` for a file and for one that is ten times as long, each in a process of its own.

The encoder is the first layer of the one that comes along: what is measured is what we hold, not how long it takes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from pyarrow import csv, parquet
from speed import reading
from speed.rows import Row

from subtaxa import Discovery
from subtaxa.bench.datasets import Dataset
from subtaxa.encoder import Encoder
from subtaxa.encoder_files import save_pipeline

SHORT, TIMES, TRAINED = 20_000, 10, 500


def measure(data: Dataset, *, million: bool = False) -> list[Row]:
    rows = 10**6 // TIMES if million else SHORT
    known = data.limited(TRAINED).train
    found = []
    with tempfile.TemporaryDirectory() as name:
        room = Path(name)
        encoder = one_layer(room / "encoder")
        Discovery(data.n_fine, epochs=0, encoder=encoder).fit(known.texts, known.coarse).save(room / "run")
        for kind in ("csv", "parquet"):
            short, long = (_megabytes(room, kind, count) for count in (rows, TIMES * rows))
            how = f"{rows * TIMES:,} rows {long:.0f} MB, {rows:,} rows {short:.0f} MB; to and from .{kind}"
            found.append(Row(f"memory of assign for {TIMES} times the rows", long / short, 1.2, False, how))
    return found


def one_layer(folder: Path) -> str:
    """The encoder that comes along, without all layers but the first."""
    pipeline = Encoder().pipeline
    model = pipeline[0].model
    model.encoder.layer = model.encoder.layer[:1]
    model.config.num_hidden_layers = 1
    save_pipeline(pipeline, folder)
    return str(folder)


def _megabytes(room: Path, kind: str, rows: int) -> float:
    source = room / f"new.{kind}"
    reading.write(room / "new.csv", rows)
    if kind == "parquet":
        parquet.write_table(csv.read_csv(room / "new.csv"), source)
    target = room / f"assigned.{kind}"
    command = [sys.executable, "-m", "subtaxa", "assign", str(room / "run"), str(source), "--out", str(target)]
    process = subprocess.Popen([*command, "--quiet", "--overwrite"], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0
    return used.ru_maxrss / 1024
