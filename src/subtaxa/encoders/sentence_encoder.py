"""The sentence-transformers encoder: tokenised once, batched by length, trained from a chosen layer up.

N texts, B texts in a batch, L tokens, T tokens in all texts, D dimensions.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from subtaxa.encoders.base import Advance, no_progress
from subtaxa.encoders.catalogue import known
from subtaxa.encoders.loading import is_static, load_pipeline, mean_pooling, save_pipeline, truncate
from subtaxa.encoders.static import StaticTokeniser, StaticTransformer
from subtaxa.encoders.tokenising import Tokeniser, limit_length, set_prompt
from subtaxa.encoders.tokens import CPU_BATCH_TOKENS, Batch, Tokens, zero_padding
from subtaxa.encoders.tower import Tower, layers_of, set_dropout, without_lower_layers
from subtaxa.errors import SettingError
from subtaxa.runtime import processes
from subtaxa.runtime.cores import cores
from subtaxa.runtime.finite import check_rows, with_texts
from subtaxa.runtime.free_memory import available
from subtaxa.runtime.threads import map_in_threads

# The output of the frozen layers is cached if it takes no more than this share of the free memory.
CACHE_SHARE = 0.25

# The number of tokens that a GPU encodes at a time.
GPU_BATCH_TOKENS = 8192

# The largest difference between a cut and an uncut model that rounding explains.
CUT_TOLERANCE = 1e-4


class SentenceEncoder:
    """A sentence-transformers model as an `Encoder` (base.py).

    With `trained_layers=n`, the top n layers are trained and the others are frozen. "all" trains every layer and the
    word embeddings; "layers" trains every layer but not the word embeddings. `prompt` is put before every text: the
    model's own, one of its prompts by name, or a text. With `dimensions`, only the first ones are kept, which models
    with Matryoshka training allow.
    """

    def __init__(
        self,
        name: str = "packaged",
        *,
        pooling: str = "model",
        max_tokens: int | None = None,
        trained_layers: int | str = "all",
        dropout: float | None = None,
        prompt: str = "model",
        dimensions: int | None = None,
    ) -> None:
        own = max(1, cores() // processes.local_world_size())
        torch.set_num_threads(min(torch.get_num_threads(), own))
        self.pipeline = load_pipeline(name, pooling)
        self.is_static = is_static(self.pipeline)
        entry = known(name)
        set_prompt(self.pipeline, entry.prompt if entry and entry.prompt and prompt == "model" else prompt)
        if self.is_static:
            self._transformer: Any = StaticTransformer(self.pipeline[0].embedding)
        else:
            self._transformer = self.pipeline[0].model
            limit_length(self.pipeline, max_tokens)
        self.tokeniser = StaticTokeniser(self.pipeline) if self.is_static else Tokeniser(self.pipeline)
        if dimensions is not None:
            truncate(self.pipeline, dimensions)
        transformer = self._transformer
        if dropout is not None:
            set_dropout(transformer, dropout)
        self.n_layers = int(transformer.config.num_hidden_layers)
        self._check_layers(trained_layers)
        self.n_frozen_layers = self.n_layers - trained_layers if isinstance(trained_layers, int) else 0
        frozen = self.n_frozen_layers
        self._boundary = layers_of(transformer)[frozen] if 0 < frozen < self.n_layers else None
        top = without_lower_layers(transformer, frozen) if frozen else transformer
        # The tower does not normalise: the coarse classifier takes the pooled features as they are.
        after = [m for m in list(self.pipeline)[1:] if type(m).__name__ != "Normalize"]
        after = [mean_pooling(self.token_dimensions), *after] if self.is_static else after
        self.tower = Tower(top, nn.ModuleList(after), n_frozen=frozen)
        self.device = torch.device("cpu")
        self.chunk_tokens = CPU_BATCH_TOKENS
        self._freeze(transformer, embeddings=trained_layers != "all")
        self._check_cut()

    def _check_layers(self, trained_layers: int | str) -> None:
        """Refuse layers that the encoder does not have."""
        if isinstance(trained_layers, int) and trained_layers > self.n_layers:
            if not self.n_layers:
                raise SettingError("the encoder has no layers to train: use the preset quick")
            raise SettingError(
                f"trained_layers is {trained_layers}, but the encoder has {self.n_layers} layers: "
                f'use 0 to {self.n_layers} or "all"'
            )

    @property
    def dimensions(self) -> int:
        return int(self.pipeline.get_embedding_dimension())

    @property
    def token_dimensions(self) -> int:
        return int(self.pipeline[0].get_embedding_dimension())

    @property
    def inner_dimensions(self) -> int:
        return int(getattr(self._transformer.config, "intermediate_size", 4 * self.dimensions))

    @property
    def vocabulary(self) -> Tensor:
        return self.tokeniser.vocabulary

    @property
    def mask_id(self) -> int | None:
        return self.tokeniser.mask_id

    @property
    def unknown_id(self) -> int | None:
        """The id of the token for what the tokeniser does not know, if it has one."""
        return self.tokeniser.unknown_id

    @property
    def word_embeddings(self) -> Tensor:
        return self._transformer.get_input_embeddings().weight

    def to(self, device: torch.device) -> None:
        self.device = device
        self.chunk_tokens = CPU_BATCH_TOKENS if device.type == "cpu" else GPU_BATCH_TOKENS
        self.pipeline.to(device)
        self.tower.to(device)

    def train(self) -> None:
        self.pipeline.eval()  # Frozen layers run without dropout whether or not their output is cached.
        self.tower.train()

    def eval(self) -> None:
        self.pipeline.eval()
        self.tower.eval()

    def add_head(self) -> None:
        from sentence_transformers.sentence_transformer.modules import Dense

        d = self.dimensions
        head = Dense(d, d, bias=False, activation_function=None, init_weight=torch.eye(d)).to(self.device)
        self.tower.pooling.append(head)
        self.pipeline.insert(len(self.pipeline) - 1, head)  # The last module normalises.

    def save(self, folder: Path) -> None:
        """Write a folder that `SentenceTransformer(folder)` loads."""
        save_pipeline(self.pipeline, folder)

    def momentum_copy(self) -> Tower:
        twin = copy.deepcopy(self.tower)
        return twin.requires_grad_(False).eval()

    def _freeze(self, transformer: nn.Module, *, embeddings: bool) -> None:
        """Take gradients for the tower only, and with `embeddings` not for the word embeddings either."""
        trained = set(map(id, self.tower.parameters()))
        if embeddings:
            for module in (getattr(transformer, "embeddings", nn.Module()), self._transformer.get_input_embeddings()):
                trained -= set(map(id, module.parameters()))
        for parameter in transformer.parameters():
            parameter.requires_grad_(id(parameter) in trained)
        pooler = getattr(transformer, "pooler", None)
        if isinstance(pooler, nn.Module):  # BERT's own pooler plays no part in sentence embeddings.
            pooler.requires_grad_(False)

    @torch.no_grad()
    def _check_cut(self) -> None:
        """Compare the cut model with the whole one: an architecture may do more between its layers than we know."""
        if not self.n_frozen_layers:
            return
        batch = self.tokenise(["one short text", "two"]).batch(torch.arange(2))
        self.eval()
        mask = batch.attention_mask
        try:
            whole = self._transformer(input_ids=batch.input_ids, attention_mask=mask.long())
            cut = self.tower.states(self.frozen_states(batch), mask)
            same = (whole.last_hidden_state - cut)[mask].abs().max() < CUT_TOLERANCE
        except (AttributeError, IndexError, KeyError, NameError, RuntimeError, TypeError, ValueError):
            same = False  # The architecture wants more of its parts than the upper layers.
        if not same:
            raise SettingError(
                f"some layers of {type(self._transformer).__name__} cannot be frozen without the others: "
                'use trained_layers "all", "layers" or 0'
            )

    def tokenise(self, texts: Sequence[str], advance: Advance = no_progress) -> Tokens:
        return self.tokeniser.tokenise(texts, advance)

    def batch(self, tokens: Tokens, index: Tensor) -> Batch:
        batch = tokens.batch(index.cpu()).to(self.device)
        if not self.n_frozen_layers or batch.states is not None:
            return batch
        return batch.with_(states=zero_padding(self.frozen_states(batch), batch.attention_mask))  # (B, L, D)

    @torch.no_grad()
    def frozen_states(self, batch: Batch) -> Tensor:
        """The output (B, L, D) of the frozen layers, which is the input of the first trained layer."""
        inputs = {"input_ids": batch.input_ids, "attention_mask": batch.attention_mask.long()}
        if self._boundary is None:  # Every layer is frozen, and the tower only pools.
            return self._transformer(**inputs).last_hidden_state

        caught: list[Tensor] = []

        def catch(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            caught.append(args[0] if args else kwargs["hidden_states"])
            raise _Reached

        handle = self._boundary.register_forward_pre_hook(catch, with_kwargs=True)
        try:
            self._transformer(**inputs)
        except _Reached:
            pass
        finally:
            handle.remove()
        return caught[0]  # (B, L, D)

    def inputs(self, batch: Batch) -> tuple[Tensor, Tensor]:
        if not self.n_frozen_layers:
            return batch.input_ids, batch.attention_mask
        states = self.frozen_states(batch) if batch.states is None else batch.states
        return states, batch.attention_mask

    def token_states(self, batch: Batch) -> Tensor:
        return self.tower.states(*self.inputs(batch))  # (B, L, D)

    def cache_frozen(self, tokens: Tokens, advance: Advance = no_progress, reserved: int = 0) -> Tokens:
        distinct = tokens.distinct[0]
        free, size = available() / processes.local_world_size(), int(tokens.lengths[distinct].sum())
        size *= self.token_dimensions * 4
        if not self.n_frozen_layers or size > min(CACHE_SHARE * free, free - reserved):
            return tokens
        self.pipeline.eval()

        def fill(states: Tensor, starts: Tensor) -> None:
            for index in tokens.batches_by_length(self.chunk_tokens):
                batch = tokens.batch(index).to(self.device)
                mask = batch.attention_mask.cpu()  # (B, L)
                where = starts[index][:, None] + torch.arange(mask.shape[1])  # (B, L)
                states[where[mask]] = self.frozen_states(batch).cpu()[mask]
                advance(len(index))

        cached = tokens.with_states(fill, self.token_dimensions)
        advance(len(tokens) - len(distinct))
        return cached

    @torch.no_grad()
    def features(self, tokens: Tokens, tower: nn.Module | None = None, advance: Advance = no_progress) -> Tensor:
        tower = self.tower if tower is None else tower
        training = tower.training
        self.pipeline.eval()
        tower.eval()
        out = torch.empty(len(tokens), self.dimensions, device=self.device)  # (N, D)
        batches = tokens.batches_by_length(self.chunk_tokens)
        own = processes.shard(batches)

        def encode(index: Tensor) -> Tensor:
            return F.normalize(tower(*self.inputs(self.batch(tokens, index))), dim=1)  # (B, D)

        # `frozen_states` hooks a shared module, so it must not run in several threads at once.
        hooked = self._boundary is not None and tokens.states is None
        spread: Callable[..., Any] = map if hooked or self.device.type != "cpu" else map_in_threads
        for index, rows in zip(own, spread(encode, own), strict=True):
            out[index] = rows
            advance(len(index))
        tower.train(training)
        processes.all_gather_rows(out, batches)
        out = tokens.copied_to_duplicates(out)
        advance(len(tokens) - len(tokens.distinct[0]))
        check_rows(out)
        return out

    def encode(self, texts: Sequence[str], advance: Advance = no_progress) -> Tensor:
        if not texts:
            return torch.empty(0, self.dimensions)
        with with_texts(texts):
            return self.features(self.tokenise(texts), advance=advance)

    @property
    def depth(self) -> int:
        """The old name of `n_layers`."""
        _warn_renamed("depth", "n_layers")
        return self.n_layers

    @property
    def cut(self) -> int:
        """The old name of `n_frozen_layers`."""
        _warn_renamed("cut", "n_frozen_layers")
        return self.n_frozen_layers


class _Reached(Exception):
    """The forward pass has reached the first trained layer."""


def _warn_renamed(old: str, new: str) -> None:
    warnings.warn(
        f"Encoder.{old} is now Encoder.{new}; the old name will be removed in 0.3.0", DeprecationWarning, stacklevel=3
    )


def __getattr__(name: str) -> Any:
    """`Encoder`, the class's name until 0.1, works until 0.3.0."""
    if name == "Encoder":
        message = "subtaxa.encoder.Encoder is now subtaxa.encoders.base.Encoder; the old name will be removed in 0.3.0"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return SentenceEncoder
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
