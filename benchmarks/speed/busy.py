"""Run the demo beside busy processes: how much more than its fair share of the time does it take?

    python benchmarks/speed/busy.py --busy 0 1 2 4 >> research/measurements/busy.jsonl

The demo is trained for one epoch on the first two cores of this process, and each busy process counts on the same
cores. Beside n of them, a fair share of the idle time is (2 + n) / 2 of it. With `--spin`, waiting threads keep
their cores busy, as they do without subtaxa's variables (runtime/cores.py).

Other programs of the machine count as busy processes too: `others` is the number of cores that they used meanwhile.
Each JSON record has the wall time, the processor time and the ratio to the fair share of the first record's time.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
from measurement import of_children

CORES = 2
# What the libraries do by default.
SPIN = {"GOMP_SPINCOUNT": "300000", "KMP_BLOCKTIME": "200", "OPENBLAS_THREAD_TIMEOUT": "26"}


def count_forever() -> None:
    number = 0
    while True:
        number += 1


@contextmanager
def busy(number: int) -> Iterator[None]:
    """Processes that use all the time they get."""
    processes = [multiprocessing.Process(target=count_forever, daemon=True) for _ in range(number)]
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.terminate()
            process.join()


def demo(epochs: int, *, spin: bool) -> dict[str, float]:
    """Wall time and processor time of a demo, and the time that all other programs used."""
    environment = os.environ | (SPIN if spin else {}) | {"OMP_NUM_THREADS": str(CORES)}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "subtaxa", "demo", "--quiet", "--epochs", str(epochs), "--out", folder]
        used, started, before = _all_processors(), time.perf_counter(), of_children()
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
        wall, own = time.perf_counter() - started, of_children() - before
        return {"wall": wall, "processor": own, "others": (_all_processors() - used - own) / wall}


def _all_processors() -> float:
    """The processor time that all programs of the machine have used."""
    times = psutil.cpu_times()
    return float(times.user + times.nice + times.system)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--busy", type=int, nargs="+", default=[0, 1, 2, 4], help="numbers of busy processes")
    parser.add_argument("--epochs", type=int, default=1, help="epochs of the demo (default: 1)")
    parser.add_argument("--spin", action="store_true", help="let waiting threads keep their cores busy")
    given = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    idle = None
    for number in given.busy:
        with busy(number):
            spent = demo(given.epochs, spin=given.spin)
        fair = (CORES + number) / CORES
        idle = idle or spent["wall"] / fair
        found = {name: round(value, 2) for name, value in spent.items()}
        ratio = round(spent["wall"] / (idle * fair), 2)
        print(json.dumps({"busy": number, "spin": given.spin, **found, "of_fair_share": ratio}), flush=True)


if __name__ == "__main__":
    main()
