"""The base class of all methods. A method is a small class with hooks, of which only `loss` is required."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from subtaxa.encoders.augmentation import drop_tokens, replace_tokens, shorten
from subtaxa.encoders.base import Encoder
from subtaxa.encoders.tokens import Batch, Tokens
from subtaxa.settings import Settings


@dataclass(frozen=True)
class TrainingData:
    """What a method may see: tokens, coarse labels and the number of categories. There is no field for fine labels."""

    tokens: Tokens
    labels: Tensor  # (N,) indices of coarse labels
    n_labels: int
    n_categories: int  # the number that the user gave, or a guess; only methods that cluster in training use it
    untrained: Tensor | None = None  # (N, D) the encoder's features before training, if they are known
    lexical: Tensor | None = None  # (N, W) the lexical features (encoders/lexical.py), if there are any

    def __len__(self) -> int:
        return len(self.labels)

    def to(self, device: torch.device) -> TrainingData:
        """The data on a device. Tokens stay in main memory and are moved batch by batch."""
        untrained, lexical = (rows if rows is None else rows.to(device) for rows in (self.untrained, self.lexical))
        return replace(self, labels=self.labels.to(device), untrained=untrained, lexical=lexical)


class _OldName:
    """`Method.own` was renamed to `Method.defaults` in 0.2.0. Reading the old name works until 0.3.0."""

    def __get__(self, method: Method | None, owner: type[Method]) -> Mapping[str, Any]:
        return owner.defaults


class Method:
    """Base class of all methods. The trainer calls the hooks in the order in which they are defined here.

    `defaults` are the settings that define the method. They override the preset, and the user overrides them.
    `pretraining` names the method that runs before this one for `pretrain_epochs` epochs.
    `random_batches` is for methods whose negatives are the other texts of the batch: batches are then drawn at random.
    Otherwise a batch holds texts of similar length. This is faster, but negatives would be about as long as the query.
    """

    defaults: ClassVar[Mapping[str, Any]] = {}
    own = _OldName()
    pretraining: ClassVar[str] = "bert+ce"
    random_batches: ClassVar[bool] = False

    encoder: Encoder
    data: TrainingData
    tower: nn.Module  # the query encoder, which the trainer may wrap for several processes

    # What `begin_epoch` retrieved, for the benchmark's curves: neighbours (N, k) and one mask (N, k) per filter stage.
    mined: tuple[Tensor, Mapping[str, Tensor]] | None = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "own" in cls.__dict__:
            warnings.warn(
                f"{cls.__name__}.own is now {cls.__name__}.defaults; the old name will be removed in 0.3.0",
                DeprecationWarning,
                stacklevel=2,
            )
            cls.defaults = cls.__dict__["own"]
            del cls.own

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.gather: Callable[[Tensor], Tensor] = lambda rows: rows  # concatenates the rows of all processes

    def start(self, encoder: Encoder, data: TrainingData) -> None:
        """Called before the first epoch. A subclass calls this first and then builds what it needs."""
        self.encoder, self.data, self.tower = encoder, data, encoder.tower

    def modules(self) -> dict[str, nn.Module]:
        """Every module with weights, trained or not, by name. A checkpoint holds them."""
        return {"tower": self.tower}

    def state(self) -> dict[str, Tensor]:
        """The other tensors that a checkpoint must hold."""
        return {}

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Restore what `state` returned. Other tensors, as from a stranger, raise a ValueError or a RuntimeError."""

    def final_lexical_weight(self) -> float:
        """The weight of the lexical features beside the trained features (encoders/lexical.py), after training."""
        return 0.0

    def begin_epoch(self, epoch: int) -> dict[str, float]:
        """Called before each epoch, for instance to retrieve neighbours. Return numbers for the log."""
        return {}

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """The named parts of the loss. Their sum is minimised."""
        raise NotImplementedError(f"{type(self).__name__} has no loss")  # pragma: no cover

    def after_step(self, batch: Batch) -> None:
        """Called after each optimiser step, for instance to update a momentum encoder."""

    def training_subset(self) -> Tensor | None:
        """The texts to train on in the current epoch, or None for all.

        Their number must be the same in each epoch. A text may occur more than once.
        """
        return None

    def score(self) -> float | None:
        """The score of an epoch, higher is better. The best epoch's weights are kept, or the last epoch's if None."""
        return None

    def query(self, batch: Batch) -> Tensor:
        """The query encoder's features (B, D) of an augmented view of the batch, not normalised."""
        return self.tower(*self.encoder.inputs(self._view(batch)))

    def _view(self, batch: Batch) -> Batch:
        rate = float(self.settings.augment_rate)
        if self.settings.augment == "replace":
            ids = replace_tokens(batch.input_ids, batch.ordinary, rate, self.encoder.vocabulary)
            return batch.with_(input_ids=ids, states=None)  # Cached states belong to the original tokens.
        if self.settings.augment == "drop":
            return batch.with_(attention_mask=drop_tokens(batch.attention_mask, batch.ordinary, rate))
        if self.settings.augment == "shorten":
            return shorten(batch, rate, self.settings.augment_tokens)
        return batch


def coarse_head(encoder: Encoder, data: TrainingData) -> nn.Linear:
    """A linear classifier of the coarse labels on the pooled feature."""
    head = nn.Linear(encoder.dimensions, data.n_labels)
    nn.init.normal_(head.weight, std=0.02)
    nn.init.zeros_(head.bias)
    return head


def dense_tanh(dimensions: int) -> nn.Sequential:
    """A dense layer with tanh that starts as the identity, so that at first it hardly changes the features."""
    dense = nn.Linear(dimensions, dimensions)
    nn.init.eye_(dense.weight)
    nn.init.zeros_(dense.bias)
    return nn.Sequential(dense, nn.Tanh())


def coarse_loss(head: nn.Module, pooled: Tensor, data: TrainingData, batch: Batch) -> Tensor:
    """The cross-entropy of the coarse labels, given the pooled features (B, D)."""
    return F.cross_entropy(head(pooled), labels_of(data, batch))


def labels_of(data: TrainingData, batch: Batch) -> Tensor:
    """The coarse labels (B,) of a batch."""
    return data.labels[batch.index]


def checked_positions(found: Tensor, count: int) -> Tensor:
    """Whole numbers (N, ...) of a checkpoint that must be from 0 to `count` - 1, or a ValueError."""
    if found.is_floating_point() or not found.ndim or not bool(((found >= 0) & (found < count)).all()):
        raise ValueError(f"a position is not from 0 to {count - 1}")
    return found.long()
