"""The trained part of an encoder: its transformer from a chosen layer up, followed by its pooling.

B texts in a batch, L tokens, D dimensions.
"""

from __future__ import annotations

import copy
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from subtaxa.errors import SettingError

# The size in bytes up to which a tensor is quick to allocate on a CPU. For larger ones, malloc asks the system for new
# pages each time.
MAX_TENSOR_BYTES = 2**24


class Tower(nn.Module):
    """Transformer layers above the frozen ones, then the model's own pooling."""

    def __init__(self, transformer: nn.Module, pooling: nn.ModuleList, *, n_frozen: int) -> None:
        super().__init__()
        self.transformer, self.pooling, self.n_frozen = transformer, pooling, n_frozen

    def forward(self, inputs: Tensor, attention_mask: Tensor, layer: int | None = None) -> Tensor | tuple[Tensor, ...]:
        """Features (B, D) from token ids (B, L) or, if there are frozen layers, from their output (B, L, D).

        With a `layer`, counted from the bottom of the whole encoder, the result has two parts: the features of that
        layer and those of the last one. A frozen layer is replaced by the output of the topmost frozen layer. On a CPU,
        a large batch goes through the layers in parts, in both directions.
        """
        parts = self._parts(*inputs.shape[:2]) if inputs.device.type == "cpu" else 1
        found = [
            self._features(*part, layer) for part in zip(inputs.chunk(parts), attention_mask.chunk(parts), strict=True)
        ]
        features = tuple(torch.cat(some) for some in zip(*found, strict=True))  # (B, D) each
        return features[0] if layer is None else features

    def _parts(self, texts: int, length: int) -> int:
        """The number of parts into which a batch is divided so that its largest tensor is quick to allocate."""
        config: Any = self.transformer.config
        width = getattr(config, "intermediate_size", None) or 4 * config.hidden_size
        heads = getattr(config, "num_attention_heads", 1)
        per_text = 4 * length * max(width, length * heads)  # Bytes of the widest states or of the attention weights.
        return max(1, -(-texts * per_text // MAX_TENSOR_BYTES))

    def _features(self, inputs: Tensor, attention_mask: Tensor, layer: int | None) -> tuple[Tensor, ...]:
        """The features (B, D) of a `layer`, if one is given, and of the last layer."""
        if layer is None:
            return (self._pool(self.states(inputs, attention_mask), attention_mask),)
        if layer <= self.n_frozen:
            shallow, deep = inputs, self.states(inputs, attention_mask)
        else:
            caught: list[Tensor] = []

            def catch(module: nn.Module, args: Any, output: Any) -> None:
                caught.append(output if isinstance(output, Tensor) else output[0])

            # `output_hidden_states` would not do: transformers then hooks the layers, which several models share.
            handle = layers_of(self.transformer, self.n_frozen)[layer - self.n_frozen - 1].register_forward_hook(catch)
            try:
                deep = self.states(inputs, attention_mask)
            finally:
                handle.remove()
            shallow = caught[0]
        return self._pool(shallow, attention_mask), self._pool(deep, attention_mask)  # (B, D) each

    def states(self, inputs: Tensor, attention_mask: Tensor) -> Tensor:
        """The last layer's state of each token (B, L, D), before pooling."""
        name = "inputs_embeds" if self.n_frozen else "input_ids"
        out = self.transformer(**{name: inputs, "attention_mask": attention_mask.long()})
        return out.last_hidden_state  # (B, L, D)

    def _pool(self, states: Tensor, attention_mask: Tensor) -> Tensor:
        features = {"token_embeddings": states, "attention_mask": attention_mask.long()}
        for module in self.pooling:
            features = module(features)
        return features["sentence_embedding"]  # (B, D)


def set_dropout(transformer: nn.Module, rate: float) -> None:
    """Set the dropout rate of all layers, attention included."""
    for module in transformer.modules():
        if isinstance(module, nn.Dropout):
            module.p = rate


def layers_of(transformer: nn.Module, n_removed: int = 0) -> nn.ModuleList:
    """The stack of transformer layers, whatever its name; `n_removed` of them have been removed before."""
    depth = getattr(transformer.config, "num_hidden_layers", -1) - n_removed
    for module in transformer.modules():
        if isinstance(module, nn.ModuleList) and len(module) == depth:
            return module
    raise SettingError(
        f"{type(transformer).__name__} has no layers of its own to choose from (its layers share their weights): "
        'use trained_layers "all", "layers" or 0'
    )


def without_lower_layers(transformer: nn.Module, n_frozen: int) -> nn.Module:
    """The transformer without its lowest layers. It takes their output as `inputs_embeds`.

    It shares the weights with the original: only the containers around the layers are copied.
    """
    if n_frozen == transformer.config.num_hidden_layers:  # type: ignore[union-attr]
        return _NoLayers(transformer.config)
    layers = layers_of(transformer)

    def rebuild(module: nn.Module) -> nn.Module:
        if module is layers:
            return nn.ModuleList(list(layers)[n_frozen:])
        if not any(child is layers for child in module.modules()):
            return module
        twin = copy.copy(module)
        twin._modules = {name: rebuild(child) for name, child in module._modules.items() if child is not None}
        twin._modules |= {name: None for name, child in module._modules.items() if child is None}
        kinds = getattr(getattr(module, "config", None), "layer_types", None)
        if kinds is not None:  # Some architectures look up the kind of a layer by its place.
            twin.config = copy.copy(module.config)
            twin.config.layer_types = kinds[n_frozen:]  # type: ignore[union-attr]
        return twin

    top = rebuild(transformer)
    for name in ("embeddings", "embeddings_project"):
        if isinstance(getattr(top, name, None), nn.Module):
            setattr(top, name, _PassThrough())
    if isinstance(getattr(top, "pooler", None), nn.Module):
        top.pooler = None  # type: ignore[assignment]
    return top


class _PassThrough(nn.Module):
    """Replaces the embeddings: its input is already what the next layer takes."""

    def forward(self, *inputs: Any, inputs_embeds: Tensor | None = None, **others: Any) -> Tensor:
        given = (one for one in inputs if isinstance(one, Tensor) and one.is_floating_point())
        return next(given) if inputs_embeds is None else inputs_embeds


class _NoLayers(nn.Module):
    """Replaces a transformer whose layers are all frozen."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.config = config

    def forward(self, inputs_embeds: Tensor, attention_mask: Tensor) -> Any:
        return SimpleNamespace(last_hidden_state=inputs_embeds)
