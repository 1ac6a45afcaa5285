"""Coarse cross-entropy plus masked-language-model loss: the pretraining of DOWN, STAR and CLNN.

The coarse label is learned from the unchanged text. A second pass predicts the masked tokens of a copy. The prediction
head is BERT's: dense, GELU, LayerNorm, then the input word embeddings as output weights, plus a bias. Sentence encoders
are published without the weights of this head, so it starts untrained. The embeddings are trained only if all layers
are.
M masked tokens, V tokens in the vocabulary, D dimensions, E dimensions of the embeddings.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from subtaxa.encoders.base import Encoder, MaskedEncoder
from subtaxa.encoders.tokens import Batch
from subtaxa.errors import SettingError
from subtaxa.methods.base import TrainingData
from subtaxa.methods.bert import BertCE

# The share of ordinary tokens to predict, between the 15 % of CLNN and the 25 % of DOWN.
RATE = 0.2

# The shares of these that become the mask token and a random token. The rest stay unchanged.
HIDDEN, RANDOM = 0.8, 0.1


class TokenHead(nn.Module):
    """Maps states (M, D) to logits (M, V), with the word embeddings (V, E) as output weights."""

    def __init__(self, dimensions: int, embeddings: Tensor) -> None:
        super().__init__()
        vocabulary, width = embeddings.shape
        self.dense, self.norm = nn.Linear(dimensions, width), nn.LayerNorm(width)
        self.bias = nn.Parameter(torch.zeros(vocabulary))
        nn.init.normal_(self.dense.weight, std=0.02)
        nn.init.zeros_(self.dense.bias)

    def forward(self, states: Tensor, embeddings: Tensor) -> Tensor:
        return F.linear(self.norm(F.gelu(self.dense(states))), embeddings, self.bias)


class BertCEMLM(BertCE):
    """Coarse cross-entropy plus masked-language-model loss; the pretraining of DOWN, STAR and CLNN."""

    def start(self, encoder: Encoder, data: TrainingData) -> None:
        super().start(encoder, data)
        if not isinstance(encoder, MaskedEncoder) or encoder.mask_id is None:
            raise SettingError(
                f"the encoder {self.settings.encoder!r} has no mask token, which the masked-language-model loss needs: "
                "use another encoder, or skip this pretraining with pretrain_epochs 0"
            )
        self.masked_encoder, self.mask_id = encoder, encoder.mask_id
        self.token_head = TokenHead(encoder.token_dimensions, encoder.word_embeddings)

    def modules(self) -> dict[str, nn.Module]:
        return super().modules() | {"token_head": self.token_head}

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        ids, masked = mask_tokens(batch.input_ids, batch.ordinary, RATE, self.mask_id, self.encoder.vocabulary)
        hidden = batch.with_(input_ids=ids, states=None)  # Cached states belong to the original tokens.
        states = self.masked_encoder.token_states(hidden)[masked]  # (M, D)
        logits = self.token_head(states, self.masked_encoder.word_embeddings)  # (M, V)
        return super().loss(batch) | {"mlm": token_loss(logits, batch.input_ids[masked])}


def mask_tokens(
    input_ids: Tensor, ordinary: Tensor, rate: float, mask_id: int, vocabulary: Tensor
) -> tuple[Tensor, Tensor]:
    """The ids (B, L) with some ordinary tokens masked as in BERT, and the mask of these tokens (B, L)."""
    masked = (torch.rand(input_ids.shape, device=input_ids.device) < rate) & ordinary  # (B, L)
    draw = torch.rand(input_ids.shape, device=input_ids.device)  # (B, L)
    picks = vocabulary[torch.randint(len(vocabulary), input_ids.shape)].to(input_ids.device)  # (B, L)
    ids = torch.where(masked & (draw < HIDDEN), mask_id, input_ids)
    return torch.where(masked & (draw >= HIDDEN) & (draw < HIDDEN + RANDOM), picks, ids), masked


def token_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """The mean cross-entropy of the masked tokens (M,), or 0 if no token of the batch is masked."""
    return F.cross_entropy(logits, targets, reduction="sum") / max(1, len(targets))


VARIANTS = {"bert+ce+mlm": BertCEMLM}
