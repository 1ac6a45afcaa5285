"""The encoder: a sentence-transformers model, tokenised once, batched by length, trained from a chosen layer up.

B texts in a batch, L tokens, D dimensions, N texts.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import torch
from joblib import cpu_count
from torch import Tensor, nn
from torch.nn import functional as F

from subtaxa.encoders.loading import load_pipeline
from subtaxa.encoders.tokens import IN_CACHE, Batch, Tokens
from subtaxa.encoders.tower import Tower, layers_of, set_dropout, without_lower_layers
from subtaxa.errors import SettingError
from subtaxa.runtime import processes
from subtaxa.runtime.finite import check_rows, naming
from subtaxa.runtime.free_memory import available
from subtaxa.runtime.threads import side_by_side

CACHE_SHARE = 0.25  # of the free memory may hold cached hidden states
CHUNK_TOKENS = 8192  # that a GPU reads at a time


class Encoder:
    """Texts to unit features. Layers below `trained_layers` from the top are frozen and can be cached. The word
    embeddings are trained only with "all"; "layers" is every layer without them."""

    def __init__(
        self,
        name: str = "packaged",
        *,
        pooling: str = "model",
        max_tokens: int | None = None,
        trained_layers: int | str = "all",
        dropout: float | None = None,
    ) -> None:
        cores = max(1, cpu_count() // processes.processes_here())  # what this process may use, not what there is
        torch.set_num_threads(min(torch.get_num_threads(), cores))
        self.pipeline = load_pipeline(name, pooling)
        if max_tokens is not None:
            self.pipeline.max_seq_length = min(max_tokens, self.pipeline.max_seq_length or max_tokens)
        transformer = self.pipeline[0].model
        if dropout is not None:
            set_dropout(transformer, dropout)
        layers = layers_of(transformer)
        self.depth = len(layers)
        if isinstance(trained_layers, int) and trained_layers > len(layers):
            raise SettingError(
                f"trained_layers is {trained_layers}, but the encoder has {len(layers)} layers: use 0 to {len(layers)} "
                'or "all"'
            )
        self.cut = len(layers) - trained_layers if isinstance(trained_layers, int) else 0
        self._boundary = layers[self.cut] if 0 < self.cut < len(layers) else None
        tail = without_lower_layers(transformer, layers, self.cut) if self.cut else transformer
        # Normalising is left to whoever uses the features: the coarse classifier sees them as pooled.
        after = [m for m in list(self.pipeline)[1:] if type(m).__name__ != "Normalize"]
        self.tower = Tower(tail, nn.ModuleList(after), cut=self.cut)
        self.device = torch.device("cpu")
        self.chunk_tokens = IN_CACHE  # read at a time
        self._freeze_lower(transformer, words=trained_layers != "all")
        self._check_cut()

    def to(self, device: torch.device) -> None:
        """Move all weights; batches follow through `batch`."""
        self.device = device
        self.chunk_tokens = IN_CACHE if device.type == "cpu" else CHUNK_TOKENS
        self.pipeline.to(device)
        self.tower.to(device)

    def add_head(self) -> None:
        """A linear map of the pooled features, at first the identity: it is trained whatever layers are not."""
        from sentence_transformers.sentence_transformer.modules import Dense

        d = self.dimensions
        head = Dense(d, d, bias=False, activation_function=None, init_weight=torch.eye(d)).to(self.device)
        self.tower.pooling.append(head)
        self.pipeline.insert(len(self.pipeline) - 1, head)  # before the normalising

    def batch(self, tokens: Tokens, index: Tensor) -> Batch:
        """A batch of texts on the encoder's device."""
        return tokens.batch(index.cpu()).to(self.device)

    def _freeze_lower(self, transformer: nn.Module, *, words: bool) -> None:
        """Only the tower is trained, and with `words` not the embeddings below its lowest layer either."""
        trained = set(map(id, self.tower.parameters()))
        if words:
            trained -= set(map(id, getattr(transformer, "embeddings", nn.Module()).parameters()))
        for parameter in transformer.parameters():
            parameter.requires_grad_(id(parameter) in trained)
        pooler = getattr(transformer, "pooler", None)
        if isinstance(pooler, nn.Module):  # BERT's own pooler is not part of any sentence embedding
            pooler.requires_grad_(False)

    @torch.no_grad()
    def _check_cut(self) -> None:
        """An architecture may do more between its layers than the cut knows: compare once with the uncut model."""
        if not self.cut:
            return
        batch = self.tokenise(["one short text", "two"]).batch(torch.arange(2))
        self.pipeline.eval()
        self.tower.eval()
        whole = self.pipeline[0].model(input_ids=batch.input_ids, attention_mask=batch.attention_mask.long())
        cut = self.tower.transformer(inputs_embeds=self.lower(batch), attention_mask=batch.attention_mask.long())
        difference = (whole.last_hidden_state - cut.last_hidden_state)[batch.attention_mask].abs().max()
        if not difference < 1e-4:
            raise SettingError(f'{type(self.pipeline[0].model).__name__} cannot be cut: use trained_layers="all"')

    @property
    def dimensions(self) -> int:
        return int(self.pipeline.get_embedding_dimension())

    @property
    def vocabulary(self) -> Tensor:
        """All token ids but the special ones, for random replacement."""
        tokenizer = self.pipeline.tokenizer
        special = torch.tensor(sorted(tokenizer.all_special_ids))
        ids = torch.arange(len(tokenizer))
        return ids[~torch.isin(ids, special)]

    def tokenise(self, texts: Sequence[str], advance: Callable[[int], None] = lambda n: None) -> Tokens:
        """Tokenise every text once."""
        tokenizer = self.pipeline.tokenizer
        prompt = self.pipeline.prompts.get(self.pipeline.default_prompt_name or "", "")
        lowercase = getattr(self.pipeline[0], "do_lower_case", False)
        ids: list[int] = []
        special: list[int] = []
        offsets = [0]
        for start in range(0, len(texts), 1024):
            chunk = [prompt + (text.lower() if lowercase else text).strip() for text in texts[start : start + 1024]]
            encoded = tokenizer(
                chunk,
                truncation=True,
                max_length=self.pipeline.max_seq_length,
                return_special_tokens_mask=True,
                return_attention_mask=False,
                return_token_type_ids=False,
            )
            for row, mask in zip(encoded["input_ids"], encoded["special_tokens_mask"], strict=True):
                ids += row
                special += mask
                offsets.append(len(ids))
            advance(len(chunk))
        pad = tokenizer.pad_token_id or 0
        return Tokens(
            torch.tensor(ids, dtype=torch.int32), ~torch.tensor(special, dtype=torch.bool), torch.tensor(offsets), pad
        )

    @torch.no_grad()
    def lower(self, batch: Batch) -> Tensor:
        """The input of the first trained layer: the frozen layers' output."""
        if self._boundary is None:  # every layer is frozen: the tower is pooling alone
            return (
                self.pipeline[0]
                .model(input_ids=batch.input_ids, attention_mask=batch.attention_mask.long())
                .last_hidden_state
            )

        caught: list[Tensor] = []

        def catch(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            caught.append(args[0] if args else kwargs["hidden_states"])
            raise _Reached

        handle = self._boundary.register_forward_pre_hook(catch, with_kwargs=True)
        try:
            self.pipeline[0].model(input_ids=batch.input_ids, attention_mask=batch.attention_mask.long())
        except _Reached:
            pass
        finally:
            handle.remove()
        return caught[0]  # (B, L, D)

    def inputs(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """What a tower (this encoder's or its momentum copy) takes for a batch."""
        if not self.cut:
            return batch.input_ids, batch.attention_mask
        states = self.lower(batch) if batch.states is None else batch.states
        return states, batch.attention_mask

    def cache_lower(self, tokens: Tokens, advance: Callable[[int], None] = lambda n: None, reserved: int = 0) -> Tokens:
        """Tokens with the frozen layers' output attached, if there are frozen layers and the memory for it besides what
        is `reserved` (bytes)."""
        free, size = available() / processes.processes_here(), len(tokens.ids) * self.dimensions * 4
        if not self.cut or size > min(CACHE_SHARE * free, free - reserved):
            return tokens
        self.pipeline.eval()
        width = int(self.pipeline[0].get_embedding_dimension())
        states = torch.empty(len(tokens.ids), width)  # (T, D)
        for index in tokens.batches_by_length(self.chunk_tokens):
            batch = self.batch(tokens, index)
            mask = batch.attention_mask.cpu()  # (B, L)
            where = tokens.offsets[index][:, None] + torch.arange(mask.shape[1])  # (B, L)
            states[where[mask]] = self.lower(batch).cpu()[mask]
            advance(len(index))
        return Tokens(tokens.ids, tokens.ordinary, tokens.offsets, tokens.pad_id, states)

    @torch.no_grad()
    def features(
        self, tokens: Tokens, tower: nn.Module | None = None, advance: Callable[[int], None] = lambda n: None
    ) -> Tensor:
        """Unit features (N, D) of all texts, from this encoder's tower or another one, without dropout. Processes that
        work together call this together; each encodes its share."""
        tower = self.tower if tower is None else tower
        training = tower.training
        self.pipeline.eval()
        tower.eval()
        out = torch.empty(len(tokens), self.dimensions, device=self.device)
        batches = tokens.batches_by_length(self.chunk_tokens)
        own = processes.share(batches)

        def read(index: Tensor) -> Tensor:
            return F.normalize(tower(*self.inputs(self.batch(tokens, index))), dim=1)  # (B, D)

        hooked = self.cut and self._boundary is not None and tokens.states is None  # `lower` is for one at a time
        spread = map if hooked or self.device.type != "cpu" else side_by_side
        for index, rows in zip(own, spread(read, own), strict=True):
            out[index] = rows
            advance(len(index))
        tower.train(training)
        processes.exchange(out, batches)
        check_rows(out)
        return out

    def momentum_copy(self) -> Tower:
        """A copy of the tower that is never trained directly."""
        twin = copy.deepcopy(self.tower)
        return twin.requires_grad_(False).eval()

    def encode(self, texts: Sequence[str], advance: Callable[[int], None] = lambda n: None) -> Tensor:
        """Texts to unit features in one call, for new texts."""
        if not texts:
            return torch.empty(0, self.dimensions)
        with naming(texts):
            return self.features(self.tokenise(texts), advance=advance)


class _Reached(Exception):
    """The forward pass has come to the boundary between frozen and trained layers."""
