"""Ways to make the encoder's arithmetic cheaper, each against the plain one on the same batches: 16-bit, compiled.

    cd benchmarks && python -m speed.skipped ../../shared/data

Forward and back through all layers of the encoder, HWU64's training texts in the batches of an epoch. The ways take
turns, batch by batch, so that a noisy machine disturbs them alike. What skips a part of the work, and so may cost
quality, is in docs/speed.md with its scores.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import torch
from common import cores
from torch import Tensor, nn

from subtaxa.bench.datasets import load
from subtaxa.encoder import Encoder

STEPS, WARM = 40, 20  # batches that count, and before them some that do not: compiling takes minutes

Way = tuple[nn.Module, Callable[[], AbstractContextManager[object]]]


def spent(way: Way, inputs: tuple[Tensor, Tensor]) -> float:
    """Seconds of a pass forward and back."""
    module, manner = way
    begun = time.perf_counter()
    with manner():
        out = module(*inputs)
    out.float().square().mean().backward()
    module.zero_grad()
    return time.perf_counter() - begun


def main() -> None:
    data = load("hwu64", Path(sys.argv[1]))
    encoder = Encoder("packaged", trained_layers="all")
    tokens = encoder.tokenise(data.train.texts)
    batches = tokens.shuffled_batches(64, torch.Generator().manual_seed(0))[: WARM + STEPS]
    tower = encoder.tower.train()
    ways: dict[str, Way] = {
        "plain": (tower, nullcontext),
        "bfloat16": (tower, lambda: torch.autocast("cpu", torch.bfloat16)),
        "compiled": (torch.compile(tower, dynamic=True), nullcontext),  # type: ignore[dict-item]
    }
    seconds = dict.fromkeys(ways, 0.0)
    for step, index in enumerate(batches):
        inputs = encoder.inputs(encoder.batch(tokens, index))
        for name, way in ways.items():
            seconds[name] += spent(way, inputs) * (step >= WARM)
    ratios = {name: round(value / seconds["plain"], 2) for name, value in seconds.items()}
    print(json.dumps({"command": "python -m speed.skipped", "of_plain": ratios, "steps": STEPS, "cores": cores()}))


if __name__ == "__main__":
    main()
