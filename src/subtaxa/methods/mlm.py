"""Coarse cross-entropy plus masked-language-model loss: the pretraining of DOWN, STAR and CLNN.

The coarse label is learned from the unchanged text. A second pass predicts the masked tokens of a copy. The prediction
head is BERT's: dense, GELU, LayerNorm, then the input word embeddings as output weights, plus a bias. Sentence encoders
come without the weights of this head, so it starts untrained, and the embeddings are trained only if all layers are.
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

RATE = 0.2  # of the ordinary tokens are to be guessed: between the 15 % of CLNN and the 25 % of DOWN
HIDDEN, RANDOM = 0.8, 0.1  # of these become the mask token, or a random one; the rest stay as they are


class TokenHead(nn.Module):
    """States (M, D) to logits (M, V), given the word embeddings (V, E) as output weights."""

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
    """Cross-entropy on the coarse labels plus the masked-language-model loss; also the pretraining of DOWN."""

    def start(self, encoder: Encoder, data: TrainingData) -> None:
        super().start(encoder, data)
        if not isinstance(encoder, MaskedEncoder) or encoder.mask_id is None:
            raise SettingError(
                f"the encoder {self.settings.encoder!r} has no mask token, which the masked-language-model loss needs: "
                "use another encoder, or pretrain_epochs 0 to go without this pretraining"
            )
        self.masked_encoder, self.mask_id = encoder, encoder.mask_id
        self.token_head = TokenHead(encoder.token_dimensions, encoder.word_embeddings)

    def modules(self) -> dict[str, nn.Module]:
        return super().modules() | {"token_head": self.token_head}

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        ids, masked = mask_tokens(batch.input_ids, batch.ordinary, RATE, self.mask_id, self.encoder.vocabulary)
        hidden = batch.with_(input_ids=ids, states=None)  # cached states belong to the tokens as they were
        states = self.masked_encoder.token_states(hidden)[masked]  # (M, D)
        logits = self.token_head(states, self.masked_encoder.word_embeddings)  # (M, V)
        return super().loss(batch) | {"mlm": token_loss(logits, batch.input_ids[masked])}


def mask_tokens(
    input_ids: Tensor, ordinary: Tensor, rate: float, mask_id: int, vocabulary: Tensor
) -> tuple[Tensor, Tensor]:
    """The ids (B, L) with some ordinary tokens hidden as BERT does, and which they are (B, L)."""
    masked = (torch.rand(input_ids.shape, device=input_ids.device) < rate) & ordinary  # (B, L)
    fate = torch.rand(input_ids.shape, device=input_ids.device)  # (B, L)
    picks = vocabulary[torch.randint(len(vocabulary), input_ids.shape)].to(input_ids.device)  # (B, L)
    ids = torch.where(masked & (fate < HIDDEN), mask_id, input_ids)
    return torch.where(masked & (fate >= HIDDEN) & (fate < HIDDEN + RANDOM), picks, ids), masked


def token_loss(logits: Tensor, wanted: Tensor) -> Tensor:
    """Mean cross-entropy of the masked tokens (M,); 0 if a batch of short texts happens to have none."""
    return F.cross_entropy(logits, wanted, reduction="sum") / max(1, len(wanted))


VARIANTS = {"bert+ce+mlm": BertCEMLM}
