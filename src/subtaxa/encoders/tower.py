"""The part of an encoder that is trained: its transformer from a chosen layer up, then its pooling.

B texts in a batch, L tokens, D dimensions.
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn

from subtaxa.errors import SettingError

LARGEST = 2**24  # bytes of one tensor on a CPU: malloc keeps no much larger ones, and fresh pages take long


class Tower(nn.Module):
    """The part of the encoder that is trained: transformer layers, then the model's own pooling."""

    def __init__(self, transformer: nn.Module, pooling: nn.ModuleList, *, cut: int) -> None:
        super().__init__()
        self.transformer, self.pooling, self.cut = transformer, pooling, cut

    def forward(self, inputs: Tensor, attention_mask: Tensor, layer: int | None = None) -> Tensor | tuple[Tensor, ...]:
        """Token ids (B, L), or the lower layers' states (B, L, D) when the tower starts above them, to features (B, D).

        With a `layer`, counted from the bottom of the whole encoder, two of them: that layer's and the last's.
        Of a layer below the tower only the tower's inputs are known: they stand in its place. On a CPU a large batch
        goes through the layers in parts, and so does its gradient on the way back.
        """
        parts = self._parts(*inputs.shape[:2]) if inputs.device.type == "cpu" else 1
        found = [
            self._features(*part, layer) for part in zip(inputs.chunk(parts), attention_mask.chunk(parts), strict=True)
        ]
        features = tuple(torch.cat(some) for some in zip(*found, strict=True))  # (B, D) each
        return features[0] if layer is None else features

    def _parts(self, texts: int, length: int) -> int:
        """In how many parts a batch is small enough, by its widest states and by how its tokens heed each other."""
        config: Any = self.transformer.config
        width = getattr(config, "intermediate_size", None) or 4 * config.hidden_size
        each = 4 * length * max(width, length * getattr(config, "num_attention_heads", 1))  # bytes of a text
        return max(1, -(-texts * each // LARGEST))

    def _features(self, inputs: Tensor, attention_mask: Tensor, layer: int | None) -> tuple[Tensor, ...]:
        """The features (B, D) of a `layer`, if one is named, and of the last."""
        if layer is None:
            return (self._pool(self.states(inputs, attention_mask), attention_mask),)
        if layer <= self.cut:
            shallow, deep = inputs, self.states(inputs, attention_mask)
        else:
            caught: list[Tensor] = []

            def catch(module: nn.Module, args: Any, output: Any) -> None:
                caught.append(output if isinstance(output, Tensor) else output[0])

            # Not by output_hidden_states: transformers hooks each model that is asked, and this one shares its layers.
            handle = layers_of(self.transformer, self.cut)[layer - self.cut - 1].register_forward_hook(catch)
            try:
                deep = self.states(inputs, attention_mask)
            finally:
                handle.remove()
            shallow = caught[0]
        return self._pool(shallow, attention_mask), self._pool(deep, attention_mask)  # (B, D) each

    def states(self, inputs: Tensor, attention_mask: Tensor) -> Tensor:
        """The last layer's token states (B, L, D), before pooling."""
        name = "inputs_embeds" if self.cut else "input_ids"
        out = self.transformer(**{name: inputs, "attention_mask": attention_mask.long()})
        return out.last_hidden_state  # (B, L, D)

    def _pool(self, states: Tensor, attention_mask: Tensor) -> Tensor:
        features = {"token_embeddings": states, "attention_mask": attention_mask.long()}
        for module in self.pooling:
            features = module(features)
        return features["sentence_embedding"]  # (B, D)


def set_dropout(transformer: nn.Module, share: float) -> None:
    """Training leaves out this share of all states, attention included."""
    for module in transformer.modules():
        if isinstance(module, nn.Dropout):
            module.p = share


def layers_of(transformer: nn.Module, cut: int = 0) -> nn.ModuleList:
    """The stack of transformer layers, whatever the architecture calls it; `cut` of them have been left out."""
    depth = getattr(transformer.config, "num_hidden_layers", -1) - cut
    for module in transformer.modules():
        if isinstance(module, nn.ModuleList) and len(module) == depth:
            return module
    raise SettingError(f"cannot find the layers of {type(transformer).__name__}: use a BERT-like encoder")


def without_lower_layers(transformer: nn.Module, layers: nn.ModuleList, cut: int) -> nn.Module:
    """A view of the transformer that starts at layer `cut` and takes that layer's input as `inputs_embeds`.

    It shares the weights: only the containers on the way to the layers are copied, and the embeddings are passed by.
    """

    def rebuild(module: nn.Module) -> nn.Module:
        if module is layers:
            return nn.ModuleList(list(layers)[cut:])
        if not any(child is layers for child in module.modules()):
            return module
        twin = copy.copy(module)
        twin._modules = {name: rebuild(child) for name, child in module._modules.items() if child is not None}
        twin._modules |= {name: None for name, child in module._modules.items() if child is None}
        return twin

    tail = rebuild(transformer)
    if not isinstance(getattr(tail, "embeddings", None), nn.Module):
        raise SettingError(f'{type(transformer).__name__} cannot be cut: use trained_layers="all"')
    tail.embeddings = _PassThrough()
    if isinstance(getattr(tail, "pooler", None), nn.Module):
        tail.pooler = None  # type: ignore[assignment]
    return tail


class _PassThrough(nn.Module):
    """Stands where the embeddings were: its input is already the state that the next layer expects."""

    def forward(self, inputs_embeds: Tensor, **others: Any) -> Tensor:
        return inputs_embeds
