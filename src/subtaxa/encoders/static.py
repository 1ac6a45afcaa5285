"""Static models (model2vec): each token has one vector, and a text is the mean of the vectors of its tokens.

They play the role of a transformer without layers, so that everything else works as with other encoders.

B texts in a batch, L tokens, D dimensions, V tokens in the vocabulary.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from subtaxa.encoders.tokenising import MAX_TOKENS, Tokeniser


class StaticTransformer(nn.Module):
    """The table of token vectors as a transformer without layers. It shares the weights with the module."""

    def __init__(self, table: nn.EmbeddingBag) -> None:
        super().__init__()
        self.table = table
        width = table.embedding_dim
        self.config = SimpleNamespace(hidden_size=width, intermediate_size=width, num_hidden_layers=0)

    def get_input_embeddings(self) -> nn.EmbeddingBag:
        """The table (V, D)."""
        return self.table

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Any:
        """The vector of each token (B, L, D)."""
        return SimpleNamespace(last_hidden_state=F.embedding(input_ids, self.table.weight))


class StaticTokeniser(Tokeniser):
    """Tokenises without special tokens, as static models want it."""

    @property
    def max_tokens(self) -> int:
        return MAX_TOKENS  # Static models read whole texts.

    @property
    def vocabulary(self) -> Tensor:
        return torch.arange(self.tokenizer.get_vocab_size())

    @property
    def mask_id(self) -> int | None:
        return None

    @property
    def unknown_id(self) -> int | None:
        return None

    @property
    def pad_id(self) -> int:
        return 0

    def _rows(self, texts: list[str]) -> tuple[list[list[int]], list[list[int]]]:
        found = self.tokenizer.encode_batch(texts, add_special_tokens=False)
        rows = [row.ids[:MAX_TOKENS] or [0] for row in found]  # A text must have a token to have a feature.
        return rows, [[0] * len(row) for row in rows]
