"""KnownTexts of `subtaxa assign` for a file and for one that is ten times as long, each in a process of its own.

The encoder is that which comes along without its layers: what is measured is what we hold, not how long it takes.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from pyarrow import csv, parquet
from speed import reading
from speed.rows import Row

from subtaxa import Discovery
from subtaxa.bench.datasets import Dataset
from subtaxa.encoders.loading import save_pipeline
from subtaxa.encoders.sentence_encoder import Encoder

SHORT, TIMES, TRAINED = 20_000, 10, 500
WATCH = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""  # from a small process, since a child's memory is at least what its parent had when it began


def measure(data: Dataset, *, million: bool = False) -> list[Row]:
    rows = 10**6 // TIMES if million else SHORT
    known = data.limited(TRAINED).train
    found = []
    with tempfile.TemporaryDirectory() as name:
        room = Path(name)
        encoder = without_layers(room / "encoder")
        Discovery(data.n_fine, epochs=0, encoder=encoder).fit(known.texts, known.coarse).save(room / "run")
        for kind in ("csv", "parquet"):
            short, long = (_megabytes(room, kind, count) for count in (rows, TIMES * rows))
            how = f"{rows * TIMES:,} rows {long:.0f} MB, {rows:,} rows {short:.0f} MB; to and from .{kind}"
            found.append(Row(f"memory of assign for {TIMES} times the rows", long / short, 1.2, False, how))
    return found


def without_layers(folder: Path) -> str:
    """The word embeddings of the encoder that comes along, which take next to no time."""
    pipeline = Encoder().pipeline
    model = pipeline[0].model
    model.encoder.layer = model.encoder.layer[:0]
    model.config.num_hidden_layers = 0
    save_pipeline(pipeline, folder)
    return str(folder)


def _megabytes(room: Path, kind: str, rows: int) -> float:
    source = room / f"new.{kind}"
    reading.write(room / "new.csv", rows)
    if kind == "parquet":
        parquet.write_table(csv.read_csv(room / "new.csv"), source)
    target = room / f"assigned.{kind}"
    command = [sys.executable, "-m", "subtaxa", "assign", str(room / "run"), str(source), "--out", str(target)]
    command += ["--quiet", "--overwrite"]
    done = subprocess.run([sys.executable, "-c", WATCH, *command], check=True, capture_output=True, text=True)
    return int(done.stdout.splitlines()[-1]) / 1024
