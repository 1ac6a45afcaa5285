"""Profile training: the operations of a hundred steps of the default method on HWU64, by kind.

    python benchmarks/speed/step.py ../shared/data

PyTorch's profiler sees every operation; each second counts once, where it is spent. The work between epochs (encoding
all texts, neighbours, filters) is timed separately.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from subtaxa.bench.datasets import load
from subtaxa.methods import method_class, settings_for
from subtaxa.methods.base import TrainingData
from subtaxa.runtime.progress import Progress
from subtaxa.training.fit_encoder import encoder_for
from subtaxa.training.trainer import Trainer

# Steps that are profiled, and the step at which profiling starts.
STEPS, FIRST = 100, 10
# Each kind with parts of the names of its operations. The first match counts.
KINDS = {
    "matrix products": ("mm", "matmul", "linear"),
    "attention without products": ("attention", "softmax"),
    "dropout": ("dropout", "bernoulli"),
    "norms and activations": ("norm", "gelu", "tanh"),
    "AdamW and clipping": ("adam", "foreach", "clip"),
    "the loss without products": ("logsumexp", "gather", "scatter", "index"),
    "sums and products of gradients": ("add", "mul", "sum", "div"),
    "moving and sorting": ("copy", "cat", "sort", "clone", "fill", "zero", "empty", "embedding"),
}


class Stop(Exception):
    """All steps were profiled."""


class Profiled(Trainer):
    """A trainer that profiles some of its steps and then stops with an exception."""

    n_steps = 0

    def _step(self, index: Tensor) -> float:
        self.n_steps += 1
        if self.n_steps == FIRST:
            self.profiler = profile(activities=[ProfilerActivity.CPU])
            self.profiler.start()
            self.started = time.perf_counter()
        loss = super()._step(index)
        if self.n_steps == FIRST + STEPS:
            self.took = time.perf_counter() - self.started
            self.profiler.stop()
            raise Stop
        return loss


def kind(name: str) -> str:
    return next((kind for kind, words in KINDS.items() if any(word in name.lower() for word in words)), "other")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path, help="folder with the authors' files")
    data = load("hwu64", parser.parse_args().data)
    settings = settings_for("default").for_data(data.train.texts)
    labels = torch.from_numpy(data.train.coarse_codes)
    encoder = encoder_for(settings)
    tokens = encoder.tokenise(data.train.texts)
    start = time.perf_counter()
    untrained = encoder.features(tokens)
    encoding = time.perf_counter() - start
    training = TrainingData(tokens, labels, data.n_coarse, data.n_fine, untrained=untrained)
    trainer = Profiled(settings, 0, Progress())
    with suppress(Stop):
        trainer.run("", method_class(settings.method)(settings), encoder, training, int(settings.epochs))
    spent: Counter[str] = Counter()
    for event in trainer.profiler.key_averages():
        spent[kind(event.key)] += event.self_cpu_time_total
    total, each = sum(spent.values()), trainer.took / STEPS * 1000
    print(f"| {STEPS} steps of {settings.method}, {each:.0f} ms each while profiled | share of the time |\n|---|---|")
    for name, microseconds in spent.most_common():
        print(f"| {name} | {100 * microseconds / total:.1f} % |")
    steps, retrieval = len(trainer.data.tokens) / settings.batch_size, trainer.state.epoch_log["retrieval_seconds"]
    print(f"\nAn epoch has {steps:.0f} steps; encoding all texts takes {encoding:.1f} s, retrieval {retrieval:.1f} s.")


if __name__ == "__main__":
    main()
