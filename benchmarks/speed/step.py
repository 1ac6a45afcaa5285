"""Where the time of training goes: the operations of a hundred steps of the default on HWU64, by kind.

    cd benchmarks && python -m speed.step ../../shared/data

PyTorch's profiler sees every operation; each second counts once, where it is spent. What is done between epochs
(reading all texts anew, neighbours, filters) is timed by the clock beside it.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

from common import coarse_numbers
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from subtaxa.bench.datasets import load
from subtaxa.methods import method_class, settings_for
from subtaxa.methods.base import TrainingData
from subtaxa.runtime.progress import Progress
from subtaxa.training.fit_encoder import encoder_for
from subtaxa.training.trainer import Trainer

STEPS, WARM = 100, 10
KINDS = {  # by what is in the name of an operation, the first that fits
    "matrix products": ("mm", "matmul", "linear"),
    "attention without its products": ("attention", "softmax"),
    "dropout": ("dropout", "bernoulli"),
    "norms and activations": ("norm", "gelu", "tanh"),
    "AdamW and clipping": ("adam", "foreach", "clip"),
    "the loss beside its products": ("logsumexp", "gather", "scatter", "index"),
    "sums and products of gradients": ("add", "mul", "sum", "div"),
    "moving and sorting": ("copy", "cat", "sort", "clone", "fill", "zero", "empty", "embedding"),
}


class Stop(Exception):
    """Enough steps were seen."""


class Profiled(Trainer):
    """The trainer, with the profiler on after some steps; it stops by an exception."""

    seen = 0

    def _step(self, index: Tensor) -> float:
        self.seen += 1
        if self.seen == WARM:
            self.profiler = profile(activities=[ProfilerActivity.CPU])
            self.profiler.start()
            self.begun = time.perf_counter()
        loss = super()._step(index)
        if self.seen == WARM + STEPS:
            self.took = time.perf_counter() - self.begun
            self.profiler.stop()
            raise Stop
        return loss


def kind(name: str) -> str:
    return next((kind for kind, words in KINDS.items() if any(word in name.lower() for word in words)), "the rest")


def main() -> None:
    data = load("hwu64", Path(sys.argv[1]))
    settings = settings_for("default").for_data(data.train.texts, data.n_fine)
    labels = coarse_numbers(data.train)
    encoder = encoder_for(settings)
    tokens = encoder.tokenise(data.train.texts)
    begun = time.perf_counter()
    before = encoder.features(tokens)
    reading = time.perf_counter() - begun
    training = TrainingData(tokens, labels, data.n_coarse, data.n_fine, untrained=before)
    trainer = Profiled(settings, 0, Progress())
    with suppress(Stop):
        trainer.run("", method_class(settings.method)(settings), encoder, training, int(settings.epochs))
    spent: Counter[str] = Counter()
    for event in trainer.profiler.key_averages():
        spent[kind(event.key)] += event.self_cpu_time_total
    whole, each = sum(spent.values()), trainer.took / STEPS * 1000
    print(f"| {STEPS} steps of {settings.method}, {each:.0f} ms each with the profiler on | of the time |\n|---|---|")
    for name, microseconds in spent.most_common():
        print(f"| {name} | {100 * microseconds / whole:.1f} % |")
    steps, found = len(trainer.data.tokens) / settings.batch_size, trainer.place.log["retrieval_seconds"]
    print(f"\nAn epoch has {steps:.0f} steps; before it, reading takes {reading:.1f} s, comparing {found:.1f} s.")


if __name__ == "__main__":
    main()
