"""Equal budgets: all methods of a data set get the same encoder, trained layers, passes over the texts and text length.

A method keeps what defines it: its loss, temperature, momentum, neighbours and its own augmentation, if it has one. Its
learning rate is chosen from the grid of the budget (learning_rates.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from subtaxa.errors import SettingError


@dataclass(frozen=True)
class Budget:
    """What a method may spend. `settings` override those of the method; `rates` are the learning rates to try."""

    about: str
    settings: Mapping[str, Any]
    rates: tuple[float, ...]


# Settings that are the same in both budgets. 160 tokens are what the default method reads.
EQUAL: Mapping[str, Any] = {
    "encoder": "packaged",
    "pooling": "model",
    "max_tokens": 160,
    "pretrain_epochs": 0,
    "batch_size": 64,
}
BUDGETS: dict[str, Budget] = {
    "short": Budget(
        "the top two layers are trained, with four passes over the texts",
        {**EQUAL, "trained_layers": 2, "epochs": 4},
        (1e-4, 2e-4, 5e-4),
    ),
    "full": Budget(
        "every layer except the word embeddings is trained, with as many passes over the texts as by default",
        {**EQUAL, "trained_layers": "layers", "epochs": "auto"},
        (5e-5, 1e-4, 2e-4),
    ),
}


def budget_of(name: str) -> Budget:
    """The budget of this name, or an error that lists the names."""
    if name not in BUDGETS:
        raise SettingError(f"unknown budget {name!r}: use {' or '.join(BUDGETS)}")
    return BUDGETS[name]


def describe(name: str) -> str:
    """The budget in words, for the captions of tables and figures."""
    budget = budget_of(name)
    equal = budget.settings
    rates = ", ".join(f"{rate:g}" for rate in budget.rates)
    return (
        f"Budget {name}: {budget.about}; encoder {equal['encoder']}, texts cut to {equal['max_tokens']} tokens, "
        f"batches of {equal['batch_size']}, no pretraining; augmentation drops tokens where a method has none of its "
        f"own; the learning rate of each method is one of {rates}, chosen without fine labels."
    )
