"""Profile `--backend onnx-int8`: where its time goes, and how much faster its products are than 32-bit ones.

    python benchmarks/speed/rounded.py RUN        one thread

B texts in a batch, L tokens, D dimensions.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from measurement import seconds

from subtaxa import Discovery
from subtaxa.encoders.onnx import SLOW_OPTIMISATIONS, session_options

# Texts and tokens of a typical batch, and the number of repetitions.
BATCH, LENGTH, TIMES = 16, 12, 50
PRODUCTS = ("DynamicQuantizeMatMul", "MatMulIntegerToFloat")


def profile(graph: Path, folder: Path) -> Counter[str]:
    """Milliseconds per batch of each kind of operation."""
    options = session_options()
    options.enable_profiling, options.profile_file_prefix = True, str(folder / "profile")
    session = onnxruntime.InferenceSession(
        graph, options, ["CPUExecutionProvider"], disabled_optimizers=SLOW_OPTIMISATIONS
    )
    ids = np.random.default_rng(0).integers(1000, 20000, (BATCH, LENGTH))  # (B, L)
    for _ in range(TIMES):
        session.run(None, {"ids": ids, "mask": np.ones_like(ids)})
    spent: Counter[str] = Counter()
    for event in json.loads(Path(session.end_profiling()).read_text("utf-8")):
        if event.get("cat") == "Node" and event["name"].endswith("kernel_time"):
            spent[event["args"]["op_name"]] += event["dur"] / 1000 / TIMES
    return spent


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("run", type=Path)
    run = parser.parse_args().run
    torch.set_num_threads(1)
    model = Discovery.load(run, backend="onnx-int8")
    model.transform(["a text"])  # The first call exports the model.
    layers = [part for part in model.encoder_.tower.transformer.modules() if isinstance(part, torch.nn.Linear)]
    with tempfile.TemporaryDirectory() as folder:
        spent = profile(run / "model-int8.onnx", Path(folder))
    rows = {size: torch.randn(BATCH * LENGTH, size) for size in {part.in_features for part in layers}}  # (B·L, D)

    def products() -> None:
        with torch.inference_mode():
            for part in layers:
                part(rows[part.in_features])

    int8, float32 = sum(spent[name] for name in PRODUCTS), 1000 * seconds(products, TIMES)
    print("| operation | milliseconds | share of the time |\n|---|---|---|")
    for name, value in spent.most_common(10):
        print(f"| {name} | {value:.2f} | {100 * value / spent.total():.1f} % |")
    print(f"\nproducts: {int8:.1f} ms with 8 bits, {float32:.1f} ms with 32 bits, a ratio of {float32 / int8:.2f}")


if __name__ == "__main__":
    main()
