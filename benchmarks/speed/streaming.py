"""Compare the memory of `subtaxa assign` for a file and for one ten times as long, each in a process of its own.

The encoder is the packaged one without its layers: the memory of our own data is measured, not the encoder's speed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import reading
from measurement import Measurement
from pyarrow import csv, parquet

from subtaxa import Discovery
from subtaxa.bench.datasets import Dataset
from subtaxa.encoders.loading import save_pipeline
from subtaxa.encoders.sentence_encoder import SentenceEncoder

SHORT, TIMES, TRAINED = 20_000, 10, 500
# A small process starts the command, because a child's peak is at least the memory of its parent at the fork.
PRINT_PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def measure(data: Dataset, *, million: bool = False) -> list[Measurement]:
    rows = 10**6 // TIMES if million else SHORT
    known = data.limited(TRAINED).train
    found = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        encoder = without_layers(folder / "encoder")
        Discovery(data.n_fine, epochs=0, encoder=encoder).fit(known.texts, known.coarse).save(folder / "run")
        for kind in ("csv", "parquet"):
            short, long = (_megabytes(folder, kind, count) for count in (rows, TIMES * rows))
            how = f"{rows * TIMES:,} rows {long:.0f} MB, {rows:,} rows {short:.0f} MB; to and from .{kind}"
            found.append(Measurement(f"memory of assign with {TIMES} times the rows", long / short, 1.2, False, how))
    return found


def without_layers(folder: Path) -> str:
    """The packaged encoder's word embeddings alone, which take almost no time."""
    pipeline = SentenceEncoder().pipeline
    model = pipeline[0].model
    model.encoder.layer = model.encoder.layer[:0]
    model.config.num_hidden_layers = 0
    save_pipeline(pipeline, folder)
    return str(folder)


def _megabytes(folder: Path, kind: str, rows: int) -> float:
    source = folder / f"new.{kind}"
    reading.write_messages(folder / "new.csv", rows)
    if kind == "parquet":
        parquet.write_table(csv.read_csv(folder / "new.csv"), source)
    target = folder / f"assigned.{kind}"
    command = [sys.executable, "-m", "subtaxa", "assign", str(folder / "run"), str(source), "--out", str(target)]
    command += ["--quiet", "--overwrite"]
    done = subprocess.run([sys.executable, "-c", PRINT_PEAK, *command], check=True, capture_output=True, text=True)
    return int(done.stdout.splitlines()[-1]) / 1024
