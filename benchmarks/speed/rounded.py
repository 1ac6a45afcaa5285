"""Where the time of `--backend onnx-int8` goes, and how much quicker its products are than those of 32 bits.

    cd benchmarks && python -m speed.rounded run        of a run folder; one thread

B texts in a batch, L tokens, D dimensions.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from speed.rows import seconds

from subtaxa import Discovery
from subtaxa.encoders.onnx import SLOW, session_options

BATCH, LENGTH, TIMES = 16, 12, 50  # texts and tokens of a typical batch
PRODUCTS = ("DynamicQuantizeMatMul", "MatMulIntegerToFloat")


def profile(graph: Path, room: Path) -> Counter[str]:
    """Milliseconds of each kind of operation in one batch."""
    options = session_options()
    options.enable_profiling, options.profile_file_prefix = True, str(room / "profile")
    session = onnxruntime.InferenceSession(graph, options, ["CPUExecutionProvider"], disabled_optimizers=SLOW)
    ids = np.random.default_rng(0).integers(1000, 20000, (BATCH, LENGTH))  # (B, L)
    for _ in range(TIMES):
        session.run(None, {"ids": ids, "mask": np.ones_like(ids)})
    spent: Counter[str] = Counter()
    for event in json.loads(Path(session.end_profiling()).read_text("utf-8")):
        if event.get("cat") == "Node" and event["name"].endswith("kernel_time"):
            spent[event["args"]["op_name"]] += event["dur"] / 1000 / TIMES
    return spent


def main(run: Path) -> None:
    torch.set_num_threads(1)
    model = Discovery.load(run, backend="onnx-int8")
    model.transform(["a text"])  # exports
    layers = [part for part in model.encoder_.tower.transformer.modules() if isinstance(part, torch.nn.Linear)]
    with tempfile.TemporaryDirectory() as room:
        spent = profile(run / "model-int8.onnx", Path(room))
    rows = {size: torch.randn(BATCH * LENGTH, size) for size in {part.in_features for part in layers}}  # (B·L, D)

    def products() -> None:
        with torch.inference_mode():
            for part in layers:
                part(rows[part.in_features])

    ours, plain = sum(spent[name] for name in PRODUCTS), 1000 * seconds(products, TIMES)
    print("| operation | milliseconds | of the time |\n|---|---|---|")
    for name, value in spent.most_common(10):
        print(f"| {name} | {value:.2f} | {100 * value / spent.total():.1f} % |")
    print(f"\nthe products take {ours:.1f} ms, in 32 bits {plain:.1f} ms: {plain / ours:.2f} times as long")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
