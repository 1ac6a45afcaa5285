"""Methods on the planted corpus, prepared for a training step."""

from __future__ import annotations

import copy
import math
from functools import cache

import numpy as np
import torch
from torch import Tensor

from helpers.corpus import planted_corpus
from subtaxa.encoders.sentence_encoder import SentenceEncoder
from subtaxa.methods import method_class, settings_for
from subtaxa.methods.base import Method, TrainingData
from subtaxa.methods.simcse import SimCSE
from subtaxa.settings import Settings


def prepared(
    tiny_encoder: str, *, per_topic: int = 30, **changes: object
) -> tuple[Settings, SentenceEncoder, TrainingData, list[str]]:
    given = {"encoder": tiny_encoder, "neighbours": 20, "epochs": 4, "batch_size": 32, "learning_rate": 1e-3} | changes
    given = {"untrained_share": 0.0} | given  # Methods are tested as they are, without a share of untrained weights.
    texts, labels, fine = planted_corpus(per_topic)
    settings = settings_for("default", **given).for_data(texts)
    longest = settings.max_tokens if isinstance(settings.max_tokens, int) else None
    encoder = copy.deepcopy(_loaded(tiny_encoder, longest, settings.trained_layers))
    torch.manual_seed(0)
    names, numbers = np.unique(labels, return_inverse=True)
    data = TrainingData(
        encoder.cache_frozen(encoder.tokenise(texts)), torch.from_numpy(numbers), len(names), len(set(fine))
    )
    return settings, encoder, data, fine


@cache
def _loaded(tiny_encoder: str, longest: int | None, trained_layers: int | str) -> SentenceEncoder:
    """An encoder as it is loaded. A copy of it takes less time than loading it again."""
    return SentenceEncoder(tiny_encoder, max_tokens=longest, trained_layers=trained_layers)


def resume(method: Method, stopped: Method) -> None:
    """Restore a method from the checkpoint of another."""
    for name, module in method.modules().items():
        module.load_state_dict(stopped.modules()[name].state_dict())
    method.load_state({name: tensor.clone() for name, tensor in stopped.state().items()})


def slow_info_nce(queries: Tensor, keys: Tensor, tau: float) -> float:
    total = 0.0
    for i, query in enumerate(queries.tolist()):
        scores = [sum(a * b for a, b in zip(query, key, strict=True)) / tau for key in keys.tolist()]
        total -= scores[i] - math.log(sum(math.exp(s) for s in scores))
    return total / len(queries)


def started(tiny_encoder: str, name: str = "simcse", **changes: object) -> SimCSE:
    """The method with its default settings, in training mode."""
    own = {key: value for key, value in method_class(name).defaults.items() if key != "pretrain_epochs"}
    settings, encoder, data, _ = prepared(tiny_encoder, **{**own, **changes})
    method = method_class(name)(settings)
    method.start(encoder, data)
    method.tower.train()
    return method
