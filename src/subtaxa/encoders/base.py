"""What an encoder is: the only interface to a text encoder that the other rooms see.

`TextEncoder` is what new texts need, `Encoder` is what training needs, and `MaskedEncoder` is what masked language
modelling needs on top. `SentenceEncoder` implements all three, `OnnxEncoder` the first. A package adds its own
implementation through the entry-point group `subtaxa.encoders` (registry.py).

N texts, B texts in a batch, L tokens in its longest text, D dimensions, M masked tokens, V tokens in the vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from subtaxa.encoders.tokens import Batch, Tokens

Advance = Callable[[int], None]  # Reports to a progress bar how many more texts are done.


def no_progress(count: int) -> None:
    """Report nothing."""


@runtime_checkable
class TextEncoder(Protocol):
    """Turns texts into features."""

    @property
    def dimensions(self) -> int:
        """D, the length of a feature."""

    def encode(self, texts: Sequence[str], advance: Advance = no_progress) -> Tensor:
        """Features (N, D) of unit length. No texts give an empty tensor (0, D)."""


@runtime_checkable
class Encoder(TextEncoder, Protocol):
    """An encoder that a method can train.

    Its layers are either frozen or trained. `tower` is the trained part. It takes what `inputs` returns for a batch and
    returns one feature per text, not normalised. With `layer=n`, it returns two features per text: one from layer n,
    counted from the bottom of the whole encoder, and one from the last layer.
    """

    chunk_tokens: int  # The number of tokens that `features` encodes at a time.

    @property
    def device(self) -> torch.device:
        """Where the weights are. Batches and features are there, too."""

    @property
    def tower(self) -> nn.Module:
        """The trained part."""

    @property
    def vocabulary(self) -> Tensor:
        """The ids (V,) of all tokens but the special ones."""

    @property
    def n_layers(self) -> int:
        """The number of layers, frozen or trained."""

    @property
    def n_frozen_layers(self) -> int:
        """The number of layers below the tower."""

    @property
    def inner_dimensions(self) -> int:
        """The largest number of values that a layer computes for one token. Memory is estimated from it."""

    def to(self, device: torch.device) -> Any:
        """Move all weights to a device."""

    def train(self) -> Any:
        """Switch the tower to training mode. Frozen layers always run without dropout."""

    def eval(self) -> Any:
        """Switch off dropout everywhere."""

    def tokenise(self, texts: Sequence[str], advance: Advance = no_progress) -> Tokens:
        """The tokens of all texts, in main memory."""

    def cache_frozen(self, tokens: Tokens, advance: Advance = no_progress, reserved: int = 0) -> Tokens:
        """The tokens with the output of the frozen layers attached, if there are any and memory allows it.

        `reserved` is the number of bytes that the caller will need for other things.
        """

    def batch(self, tokens: Tokens, index: Tensor) -> Batch:
        """The texts with the given positions as a padded batch on the encoder's device.

        If there are frozen layers, the batch holds their output for the whole texts. Augmentation then has the same
        effect whether that output is cached or not.
        """

    def inputs(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """What the tower, or a momentum copy of it, takes for a batch. The second part is the attention mask (B, L)."""

    def features(self, tokens: Tokens, tower: nn.Module | None = None, advance: Advance = no_progress) -> Tensor:
        """Features (N, D) of unit length, without dropout, from the encoder's own tower or from another one.

        Processes that train together call this together; each one encodes its share of the texts.
        """

    def momentum_copy(self) -> nn.Module:
        """A copy of the tower that takes no gradients and always runs without dropout."""

    def add_head(self) -> None:
        """Append a trained linear map to the tower. It starts as the identity."""

    def save(self, folder: Path) -> None:
        """Write the encoder so that `load_encoder` can load it: JSON and safetensors files only."""


@runtime_checkable
class MaskedEncoder(Encoder, Protocol):
    """An encoder whose tokens can be masked and predicted."""

    @property
    def mask_id(self) -> int | None:
        """The id of the mask token, or None if the tokeniser has none."""

    @property
    def word_embeddings(self) -> Tensor:
        """The input embeddings (V, E) of the tokens."""

    @property
    def token_dimensions(self) -> int:
        """The length of a token's state before pooling."""

    def token_states(self, batch: Batch) -> Tensor:
        """The last layer's state of each token (B, L, D), before pooling."""
